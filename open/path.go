package open

import (
	"path/filepath"
	"runtime"
	"strings"
)

// plainPath says whether an address is a path and no URL: absolute, or beginning with a dot.
func plainPath(address string) (string, bool) {
	switch {
	case strings.HasPrefix(address, "/"), strings.HasPrefix(address, "./"), strings.HasPrefix(address, "../"),
		address == ".", address == "..":
		return address, true
	case runtime.GOOS == "windows":
		return address, filepath.IsAbs(address) || strings.HasPrefix(address, `.\`) || strings.HasPrefix(address, `..\`)
	}
	return "", false
}

// local turns a file URL's path into one of this system: on Windows, /C:/locks is C:\locks.
func local(path string) string {
	if runtime.GOOS == "windows" && len(path) > 2 && path[0] == '/' && path[2] == ':' {
		path = path[1:]
	}
	return filepath.FromSlash(path)
}
