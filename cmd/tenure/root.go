package main

import (
	"github.com/spf13/cobra"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "tenure",
		Short: "Run commands under locks",
		Long: "Tenure runs commands under locks, so that at most one of them runs at a time.\n" +
			"Locks live in a store: by default in a directory of the user's state, which needs no setting up, or with\n" +
			"--store postgres://… in a database that several machines share.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("unknown command %q; to run a command under a lock: tenure run NAME -- COMMAND (see \"tenure --help\")", args[0])
			}
			return nil
		},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Version:           version(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%v (see \"%s --help\")", err, cmd.CommandPath())
	})
	root.AddCommand(newRun(), newInit(), newKey(), newVersion(), newMan())
	return root
}
