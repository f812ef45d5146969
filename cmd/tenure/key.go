package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/spf13/cobra"
)

func newKey() *cobra.Command {
	var address address
	cmd := &cobra.Command{
		Use:   "key NAME",
		Short: "Print what a name is called in the store",
		Long: "Print two lines: the store's own key of a name, and the name's number.\n\n" +
			"Names with one key exclude each other. The number is what programs in any language can compute: the first eight\n" +
			"bytes of the SHA-256 of the name, big-endian, as a signed 64-bit integer. It is the advisory lock key in PostgreSQL,\n" +
			"but for names that begin with pgkey: and stand for a key of their own.",
		Example: "  tenure key report/daily",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := address.open(cmd.Context(), 0)
			if err != nil {
				return err
			}
			defer func() { _ = store.Close(cmd.Context()) }() // it holds nothing
			key, err := store.Key(args[0])
			if err != nil {
				return usage("%w", err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "key     %s\nnumber  %d\n", key, number(args[0]))
			return err
		},
	}
	address.add(cmd)
	return cmd
}

// number is the signed 64-bit key of a name, the same for every program in any language.
func number(name string) int64 {
	sum := sha256.Sum256([]byte(name))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}
