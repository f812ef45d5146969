//go:build !unix

package process

import "errors"

// CanStop says whether a process can be stopped and continued here.
const CanStop = false

// Stop cannot be done here.
func Stop(int) error { return errors.ErrUnsupported }

// Continue cannot be done here.
func Continue(int) error { return errors.ErrUnsupported }
