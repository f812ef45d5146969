package companion

import "strings"

// Slots is how many slots a Cluster has.
const Slots = 16384

// Slot is a key's slot in a Cluster: that of its hash tag, if it has one.
// Source: the Redis Cluster specification, "Hash tags", and its appendix A for the checksum, which is CRC-16/XMODEM.
func Slot(key string) uint16 {
	if tag, has := hashTag(key); has {
		key = tag
	}
	return checksum(key) % Slots
}

// hashTag is what is between the first "{" and the first "}" after it, if that is not empty.
func hashTag(key string) (string, bool) {
	_, rest, found := strings.Cut(key, "{")
	if !found {
		return "", false
	}
	tag, _, closed := strings.Cut(rest, "}")
	return tag, closed && tag != ""
}

func checksum(key string) (sum uint16) {
	for i := range len(key) {
		sum = sum<<8 ^ table[byte(sum>>8)^key[i]]
	}
	return sum
}

// polynomial is CRC-16/XMODEM's.
const polynomial = 0x1021

var table = func() (t [256]uint16) {
	for i := range t {
		sum := uint16(i) << 8
		for range 8 {
			carry := sum&0x8000 != 0
			if sum <<= 1; carry {
				sum ^= polynomial
			}
		}
		t[i] = sum
	}
	return t
}()
