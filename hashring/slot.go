package hashring

import "bytes"

// Slots is the number of slots: that of Redis Cluster.
const Slots = 16384

// SlotOf returns the slot of a key: CRC16 of the key modulo Slots. If the key
// has a "{", and a "}" behind it with something in between, only what is
// between the first such pair counts, so that keys with one tag share a slot.
func SlotOf(key []byte) int {
	if open := bytes.IndexByte(key, '{'); open >= 0 {
		rest := key[open+1:]
		if end := bytes.IndexByte(rest, '}'); end > 0 {
			key = rest[:end]
		}
	}
	return int(crc16(key)) % Slots
}

// crc16 is CRC-16/XMODEM: polynomial 0x1021, no reflection, start and final
// exclusive-or 0.
func crc16(p []byte) uint16 {
	var crc uint16
	for _, b := range p {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^b]
	}
	return crc
}

var crcTable = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}()
