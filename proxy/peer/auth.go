package peer

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"net"
)

const nonceBytes = 32

// role is which end proves that it has the key: what one end has said cannot
// be said back to it.
type role string

const (
	asClient role = "freshet peer client"
	asServer role = "freshet peer server"
)

// proof is what only who has the key can say of this one handshake: a MAC
// (HMAC-SHA256, RFC 2104) of the role and of all that was said so far, with
// both nonces in it. So the versions that were offered cannot be lowered on the
// way, and nothing that was ever said can be said again.
func proof(key []byte, r role, said ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(r))
	for _, part := range said {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		mac.Write(length[:])
		mac.Write(part)
	}
	return mac.Sum(nil)
}

// proven compares in constant time.
func proven(key []byte, r role, claimed []byte, said ...[]byte) bool {
	return hmac.Equal(claimed, proof(key, r, said...))
}

// binding is a secret of the TLS session underneath (RFC 9266): who stands
// between two sessions cannot pass proofs from one to the other. It is empty
// where there is no TLS.
func binding(nc net.Conn) ([]byte, error) {
	c, ok := nc.(*tls.Conn)
	if !ok {
		return nil, nil
	}
	state := c.ConnectionState()
	return state.ExportKeyingMaterial("EXPORTER-Channel-Binding", nil, 32)
}
