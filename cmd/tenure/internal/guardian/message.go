//go:build linux || darwin

package guardian

import "encoding/binary"

// kind is what a message is about.
type kind byte

const (
	// To the guardian.
	grace    kind = 'g' // how long from TERM to KILL, in ns
	hold     kind = 'h' // so many descriptors come with the message, in place of those before; it is acknowledged
	watch    kind = 'w' // the process group; it is acknowledged
	deadline kind = 'd' // when the group must be dead, on the shared clock
	done     kind = 'e' // the work is over: let go of everything and end
	// To the wrapper.
	acknowledged kind = 'a' // the value is the kind that was received
)

// message has one size, so that a reader never takes a part of the next one, whose descriptors would be lost.
type message struct {
	kind  kind
	value int64
}

const messageSize = 9

func (m message) encode() []byte {
	b := make([]byte, 1, messageSize)
	b[0] = byte(m.kind)
	return binary.LittleEndian.AppendUint64(b, uint64(m.value))
}

func decode(b []byte) message {
	return message{kind(b[0]), int64(binary.LittleEndian.Uint64(b[1:messageSize]))}
}

// maxDescriptors is how many the kernel passes in one message (SCM_MAX_FD).
const maxDescriptors = 253
