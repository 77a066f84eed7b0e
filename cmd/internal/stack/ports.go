package stack

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// FreePort returns a port of 127.0.0.1 that nobody uses. It lies below those
// that the system gives to connections, so that it is still free when the part
// that has it starts again.
func FreePort() (int, error) {
	for range 100 {
		port := 10000 + rand.IntN(20000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no port is free")
}
