module github.com/tenurelock/tenure/open

go 1.25

require (
	github.com/tenurelock/tenure v0.0.0
	go.uber.org/goleak v1.3.0
)
