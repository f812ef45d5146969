package servers

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// probePostgres logs in as postgres and returns nil if that leads to a session that can be used. A server that starts,
// recovers or ends says so in an error. It costs a fraction of starting psql or pg_isready, and knows more.
func probePostgres(ctx context.Context, address, database string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()

	login := binary.BigEndian.AppendUint32(nil, 3<<16) // protocol 3.0
	login = append(login, "user\x00postgres\x00database\x00"+database+"\x00\x00"...)
	if _, err := connection.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(login)+4)), login...)); err != nil {
		return err
	}
	for from := bufio.NewReader(connection); ; {
		var head [5]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return fmt.Errorf("log in: %w", err)
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(from, body); err != nil {
			return fmt.Errorf("log in: %w", err)
		}
		switch head[0] {
		case 'Z': // ready for a query
			_, err := connection.Write([]byte{'X', 0, 0, 0, 4})
			return err
		case 'E':
			return fmt.Errorf("log in: %s", strings.ReplaceAll(string(body), "\x00", " "))
		}
	}
}
