package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIRECTORY",
		Short:  "Write the manual pages",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return &failure{1, err}
			}
			header := &doc.GenManHeader{Section: "1", Source: "tenure", Manual: "Tenure"}
			if err := doc.GenManTree(cmd.Root(), header, args[0]); err != nil {
				return &failure{1, err}
			}
			return nil
		},
	}
}
