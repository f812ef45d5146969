package session

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/tenurelock/tenure/driver"
	"github.com/tenurelock/tenure/redislock/internal/script"
)

// most bounds how many readers and waiters are listed.
const most = 1000

// Inspect tells who has a name, and who waits for it.
func (s *Store) Inspect(ctx context.Context, name string) (report driver.Report, err error) {
	key, err := s.Key(name)
	if err != nil {
		return report, lasting(err)
	}
	result, sent := s.exec(ctx, script.Inspect, keysOf(key, nil), []string{strconv.Itoa(most)})
	parts, err := result.ToArray()
	if err == nil && len(parts) < 7 {
		err = fmt.Errorf("an answer of %d parts", len(parts))
	}
	if err != nil {
		return report, s.fault(sent, err)
	}
	switch value, state := text(parts[0]), text(parts[2]); {
	case value == "" || value == sharedValue:
	case offered(value, state):
		report.Waiters = append(report.Waiters, holderOf(value, state))
	default:
		report.Holders = append(report.Holders, holderOf(value, state))
	}
	report.LastRun = lastHolder(text(parts[3])).Since
	for _, r := range rows(parts[4], 3) {
		report.Holders = append(report.Holders, readerOf(r[0], r[2]))
	}
	for _, w := range rows(parts[5], 2) {
		report.Waiters = append(report.Waiters, waiterOf(w[0], w[1]))
	}
	return report, nil
}

// rows reads a list of rows.
func rows(m rueidis.RedisMessage, width int) (found [][]string) {
	all, err := m.ToArray()
	if err != nil {
		return nil
	}
	for ; len(all) >= width; all = all[width:] {
		row := make([]string, width)
		for i := range row {
			row[i] = text(all[i])
		}
		found = append(found, row)
	}
	return found
}
