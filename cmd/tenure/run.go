package main

import "github.com/spf13/cobra"

const runLong = `Run a command under a lock: at most one holder of NAME runs at a time.

If somebody else holds the lock, run waits for it. The command's exit status is passed on; its standard input, output and
error are left as they are, and our own words go to standard error. A guardian process ends the command before the lock
can pass on, even when tenure itself is killed or stopped.

Everything behind NAME is the command's. A "--" before the command may be left out.

A duration is 30s, 5m, 1h30m, 500ms, or a bare number of seconds.

The command finds in its environment: TENURE_LOCK, the name that is held (of a slot: the slot's); TENURE_TOKEN, its
fencing token, a number that is higher for every later holder; TENURE_HOLDER, how others see it; TENURE_TTL, in seconds.

Exit status:
   0-125  the command's own
  126/127 the command cannot be run / was not found
   128+N  signal N ended the command, or the wait for the lock
      64  the command line is wrong
      69  the store cannot be reached
      70  the guardian died, and the command was ended
      75  not acquired: somebody else has the lock, or had it in this period (see --conflict-exit-code)
      79  the lock was lost, or the command was ended so that it was not; also if the command itself ended with 0`

const runExample = `  tenure run backup -- restic backup /home
  tenure run -n report/daily ./report --all      # do not wait
  tenure run -w 30s deploy -- sh -c 'make && make install'
  tenure run --shell mirror 'rsync -a a/ b/ && touch done'
  tenure run --once-per 1h newsletter ./send     # from cron on several machines
  tenure run --slots 4 encode -- ffmpeg -i in.mov out.mp4
  tenure run -s postgres://db.example/app nightly -- ./report`

func newRun() *cobra.Command {
	s := &settings{ttl: seconds(defaultTTL), killAfter: seconds(defaultKillAfter)}
	cmd := &cobra.Command{
		Use:                   "run [flags] NAME [--] COMMAND [ARG…]",
		Short:                 "Run a command under a lock",
		Long:                  runLong,
		Example:               runExample,
		DisableFlagsInUseLine: true,
		ValidArgsFunction:     cobra.NoFileCompletions,
		Args:                  cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			name, command, err := split(args, s.shell)
			if err != nil {
				return err
			}
			if err := s.check(); err != nil {
				return err
			}
			return perform(s, name, command)
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.SortFlags = false
	s.given = flags.Changed
	s.store.add(cmd)
	flags.BoolVarP(&s.nonblock, "nonblock", "n", false, "do not wait: end at once if somebody else has the lock")
	flags.VarP(&s.wait, "wait", "w", "wait for the lock at most so long (default: as long as it takes)")
	flags.IntVarP(&s.conflict, "conflict-exit-code", "E", statusNotAcquired, "exit status when the lock was not acquired, 0 to 255")
	flags.BoolVar(&s.shared, "shared", false, "hold the lock beside other --shared holders, but beside no other holder")
	flags.IntVar(&s.slots, "slots", 0, "let so many holders run at a time (1 to 1024; give the same number everywhere)")
	flags.Var(&s.oncePer, "once-per", "run once in each period of that length, by the store's clock; else skip it")
	flags.Var(&s.minHold, "min-hold", "begin at least so long after the last run with --min-hold or --once-per began; others are not kept out")
	flags.Var(&s.maxHold, "max-hold", "end the command after so long")
	flags.Var(&s.ttl, "ttl", "how long the lock outlives a holder that is cut off from the store, or was stopped")
	flags.Var(&s.killAfter, "kill-after", "how long the command has to end after TERM, until KILL (less if --ttl is short)")
	flags.BoolVar(&s.shell, "shell", false, "the command is one string for sh -c")
	flags.BoolVarP(&s.quiet, "quiet", "q", false, "say nothing about waiting, or about somebody else having the lock")
	flags.BoolVarP(&s.verbose, "verbose", "v", false, "say what happens")
	return cmd
}
