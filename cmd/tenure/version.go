package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version())
			return err
		},
	}
}

// version says what the build knows of itself.
func version() string {
	name, commit, changed := "(unknown)", "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		name = info.Main.Version
		for _, setting := range info.Settings {
			switch {
			case setting.Key == "vcs.revision":
				commit = " " + setting.Value[:min(12, len(setting.Value))]
			case setting.Key == "vcs.modified" && setting.Value == "true":
				changed = "+changes"
			}
		}
	}
	return fmt.Sprintf("tenure %s%s%s %s %s/%s", name, commit, changed, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
