// Package process stops and continues the processes that tests have started.
package process
