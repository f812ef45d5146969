module github.com/tenurelock/tenure/proof

go 1.25.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/tenurelock/tenure v0.0.0
	go.uber.org/goleak v1.3.0
)
