package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// probeRedis returns nil if the server executes commands. One that loads its data says so in an error. It must also be the
// server that was started: another process may have taken its port, and be a Redis too.
func probeRedis(ctx context.Context, r *Redis) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := r.ask(ctx, "PING"); err != nil {
		return err
	}
	info, err := r.info(ctx, "server")
	if err == nil && info["config_file"] != r.file() {
		err = fmt.Errorf("port %d belongs to a Redis that was started with %q", r.port, info["config_file"])
	}
	return err
}

// Command runs one command on a connection of its own and gives the answer: text and numbers as they are, nothing for null,
// a line an element for arrays. The server's refusals are errors.
func (r *Redis) Command(arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	said, err := r.ask(ctx, arguments...)
	return strings.Join(said, "\n"), err
}

// ask is Command with the elements one by one; those of arrays in arrays too.
func (r *Redis) ask(ctx context.Context, arguments ...string) ([]string, error) {
	return askRedis(ctx, r.Address(), r.password(), arguments...)
}

func askRedis(ctx context.Context, address, password string, arguments ...string) ([]string, error) {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }()
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	from := bufio.NewReader(connection)
	exchange := func(arguments ...string) ([]string, error) {
		said, err := []string(nil), writeRedis(connection, arguments)
		if err == nil {
			said, err = readRedis(from)
		}
		if err != nil {
			return nil, fmt.Errorf("%s to %s: %w", arguments[0], address, errors.Join(err, ctx.Err()))
		}
		return said, nil
	}
	if password != "" {
		if _, err := exchange("AUTH", password); err != nil {
			return nil, err
		}
	}
	return exchange(arguments...)
}

// writeRedis sends a command as RESP2 has it: an array of bulk strings.
func writeRedis(to io.Writer, arguments []string) error {
	request := fmt.Appendf(nil, "*%d\r\n", len(arguments))
	for _, argument := range arguments {
		request = fmt.Appendf(request, "$%d\r\n%s\r\n", len(argument), argument)
	}
	_, err := to.Write(request)
	return err
}

// readRedis reads one answer of RESP2.
func readRedis(from *bufio.Reader) ([]string, error) {
	line, err := from.ReadString('\n')
	if err != nil {
		return nil, err
	}
	kind, rest := line[0], strings.TrimRight(line[1:], "\r\n")
	switch kind {
	case '+', ':':
		return []string{rest}, nil
	case '-':
		return nil, errors.New(rest)
	case '$', '*':
	default:
		return nil, fmt.Errorf("%q is no RESP2", line)
	}
	length, err := strconv.Atoi(rest)
	if err != nil {
		return nil, err
	}
	if length < 0 { // null
		return []string{""}, nil
	}
	if kind == '$' {
		text := make([]byte, length+len("\r\n"))
		_, err := io.ReadFull(from, text)
		return []string{string(text[:length])}, err
	}
	var all []string
	for range length {
		element, err := readRedis(from)
		if err != nil {
			return nil, err
		}
		all = append(all, element...)
	}
	return all, nil
}

// info gives a section of what the server says about itself.
func (r *Redis) info(ctx context.Context, section string) (map[string]string, error) {
	said, err := r.ask(ctx, "INFO", section)
	if err != nil {
		return nil, err
	}
	return redisFields(said[0]), nil
}

// redisFields reads lines of the kind name:value.
func redisFields(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// untilRedis asks every 20 ms until the check has nothing to say against what it sees.
func untilRedis(ctx context.Context, check func(ctx context.Context) error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}
