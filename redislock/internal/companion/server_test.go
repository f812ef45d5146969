package companion

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenurelock/tenure/internal/servers"
)

// TestH45SlotsAreTheServers: a real server agrees on where keys are: those of locks with nasty names, their companions, and the
// words of all slots.
func TestH45SlotsAreTheServers(t *testing.T) {
	t.Parallel()
	server := servers.StartRedis(t, servers.RedisOptions{Settings: map[string]string{"cluster-enabled": "yes"}})
	names := slices.Clone(nasty)
	r := rand.New(rand.NewPCG(3, 4))
	for range 4000 {
		names = append(names, random(r), anyBytes(r))
	}
	names = append(names, "", strings.Repeat("}", longest), strings.Repeat("{", longest), strings.Repeat("{}", longest/2))
	var keys []string
	for _, name := range names {
		keys = append(keys, name, Of(name, Queue))
	}
	for _, word := range words() {
		keys = append(keys, "{"+word+"}")
	}
	slots := serverSlots(t, server.Address(), keys)
	for i, key := range keys {
		if slots[i] != Slot(key) {
			t.Fatalf("%q: the server says slot %d; we say %d", key, slots[i], Slot(key))
		}
	}
	for i, name := range names {
		if slots[2*i] != slots[2*i+1] {
			t.Errorf("to the server, %q is in slot %d and its companion %q in slot %d", name, slots[2*i], keys[2*i+1], slots[2*i+1])
		}
	}
	for slot, said := range slots[2*len(names):] {
		if int(said) != slot {
			t.Errorf("to the server, the word %q of slot %d is in slot %d", words()[slot], slot, said)
		}
	}
}

// anyBytes makes a name of any bytes, a third of them braces.
func anyBytes(r *rand.Rand) string {
	name := make([]byte, 1+r.IntN(24))
	for i := range name {
		switch r.IntN(6) {
		case 0:
			name[i] = '{'
		case 1:
			name[i] = '}'
		default:
			name[i] = byte(r.IntN(256))
		}
	}
	return string(name)
}

// serverSlots asks a server for the slots of keys, some hundred at a time on one connection.
func serverSlots(t *testing.T, address string, keys []string) (slots []uint16) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	from := bufio.NewReader(conn)
	for some := range slices.Chunk(keys, 256) {
		var questions bytes.Buffer
		for _, key := range some {
			fmt.Fprintf(&questions, "*3\r\n$7\r\nCLUSTER\r\n$7\r\nKEYSLOT\r\n$%d\r\n%s\r\n", len(key), key)
		}
		if _, err := conn.Write(questions.Bytes()); err != nil {
			t.Fatal(err)
		}
		for _, key := range some {
			line, err := from.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			slot, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimPrefix(line, ":"), "\r\n"), 10, 16)
			if err != nil {
				t.Fatalf("%q: the server says %q", key, line)
			}
			slots = append(slots, uint16(slot))
		}
	}
	return slots
}
