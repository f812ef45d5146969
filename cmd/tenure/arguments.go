package main

import "strings"

// shape is what the arguments of run look like.
const shape = "tenure run [flags] NAME [--] COMMAND [ARG…]"

// split takes the arguments of run apart: the lock's name, and the command, whose arguments are never joined or split.
//
// Flags end at NAME, so that everything behind it is the command's: "run key grep -v foo". One "--" between them may be
// there or not.
func split(args []string, shell bool) (name string, command []string, err error) {
	if len(args) == 0 {
		return "", nil, usage("NAME and COMMAND are missing: %s", shape)
	}
	name, command = args[0], args[1:]
	switch {
	case len(command) == 0:
	case command[0] == "--":
		command = command[1:]
	case strings.HasPrefix(command[0], "-"):
		return "", nil, usage("%q stands behind the name %q, where the command begins. Flags go before the name: "+
			"tenure run %s %s -- COMMAND. (A command with such a name needs a \"--\" before it.)",
			command[0], name, command[0], name)
	}
	if len(command) == 0 {
		return "", nil, usage("COMMAND is missing: %s", shape)
	}
	if !shell {
		return name, command, nil
	}
	if len(command) > 1 {
		return "", nil, usage("--shell takes one string for sh -c, and got %d: quote it", len(command))
	}
	return name, []string{"sh", "-c", command[0]}, nil
}
