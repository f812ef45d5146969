package wire

import (
	"encoding/binary"
	"fmt"
	"time"
)

// The binary forms of the few types that a lock needs.

const (
	oidInt8 = 20
	oidText = 25
)

// AppendInt8 appends a bigint.
func AppendInt8(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

// AppendInt8s appends a bigint[].
func AppendInt8s(b []byte, values []int64) []byte {
	b = appendArray(b, oidInt8, len(values))
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, 8)
		b = AppendInt8(b, v)
	}
	return b
}

// AppendTexts appends a text[].
func AppendTexts(b []byte, values []string) []byte {
	b = appendArray(b, oidText, len(values))
	for _, v := range values {
		b = binary.BigEndian.AppendUint32(b, uint32(len(v)))
		b = append(b, v...)
	}
	return b
}

func appendArray(b []byte, oid uint32, length int) []byte {
	dimensions := uint32(1)
	if length == 0 {
		dimensions = 0
	}
	b = binary.BigEndian.AppendUint32(b, dimensions)
	b = binary.BigEndian.AppendUint32(b, 0) // no nulls
	b = binary.BigEndian.AppendUint32(b, oid)
	if length > 0 {
		b = binary.BigEndian.AppendUint32(b, uint32(length))
		b = binary.BigEndian.AppendUint32(b, 1) // the lower bound
	}
	return b
}

// ParseInt reads an int2, int4 or int8; null is zero.
func ParseInt(v []byte) int64 {
	switch len(v) {
	case 2:
		return int64(int16(binary.BigEndian.Uint16(v)))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(v)))
	case 8:
		return int64(binary.BigEndian.Uint64(v))
	}
	return 0
}

// ParseBool reads a boolean; null is false.
func ParseBool(v []byte) bool { return len(v) == 1 && v[0] != 0 }

// epoch is PostgreSQL's, in microseconds since 1970.
const epoch = 946684800 * 1_000_000

// ParseTime reads a timestamptz; null is the zero time.
func ParseTime(v []byte) time.Time {
	if len(v) != 8 {
		return time.Time{}
	}
	return time.UnixMicro(int64(binary.BigEndian.Uint64(v)) + epoch)
}

// ParseInt8s reads an array of int4 or int8 without nulls; null is nil.
func ParseInt8s(v []byte) ([]int64, error) {
	if len(v) < 20 {
		return nil, nil
	}
	length := int(binary.BigEndian.Uint32(v[12:]))
	v = v[20:]
	values := make([]int64, 0, min(length, len(v)/4))
	for range length {
		if len(v) < 4 {
			return nil, fmt.Errorf("an array ended early")
		}
		size := int(int32(binary.BigEndian.Uint32(v)))
		if v = v[4:]; size < 0 || size > len(v) {
			return nil, fmt.Errorf("an array with an element of %d bytes", size)
		}
		values = append(values, ParseInt(v[:size]))
		v = v[size:]
	}
	return values, nil
}
