// Package bench has benchmarks of redislock beside the lock libraries for Redis that Go programs use, and beside
// PostgreSQL's advisory locks on bare pgx: real servers, one run, all of them in turns. It has nothing but tests.
//
//	go test -v ./bench                                      # what a lease costs in commands and connections; 30 s
//	go test -run '^$' -bench . -benchtime 1x ./bench        # everything; 3 minutes
//	go test -run '^$' -bench Busy -benchtime 1x -turn 2s ./bench
//
// It needs redis-server and PostgreSQL, as scripts/install leaves them.
//
// A rival works for a turn (-turn), then the next one does, and so on for 7 rounds. Reported are
//
//	tenure-µs, bsm-µs, …   the median, over its turns, of the time that one acquiring and giving back takes: the turn,
//	                       divided by how many there were
//	x                      how many times as fast Tenure is as the fastest of the others: the ratio of these medians
//	x-min, x-max           the lowest and the highest ratio of two turns of one round
//	…-failed               how many attempts failed or had to be broken off; not reported where there were none
//	max/p99, min, max      of Hold: see there
//
// The log names the fastest. Medians say little on a machine that does other things too; x and its spread say more.
//
// The rivals are used as their READMEs do it. None but Tenure has tokens, and of those on Redis none but Tenure has a queue:
//
//	bsm           github.com/bsm/redislock, TTL 30 s, no retries, which nobody needs where each caller has its own name
//	redsync       github.com/go-redsync/redsync, one pool, its defaults. Version 4.17.0, the newest that Go 1.25 builds; the
//	              source files of 4.18.1 are the same
//	rueidislock   github.com/redis/rueidis/rueidislock, its defaults: two of three keys, all of them on the one server
//	rueidislock1  the same with KeyMajority: 1 and NoLoopTracking, which its README advises for one server
//	postgres      pg_advisory_lock: no TTL, no server between the callers and the queue; each caller that holds or waits has a
//	              connection to itself
package bench
