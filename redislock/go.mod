module github.com/tenurelock/tenure/redislock

go 1.25.0

require (
	github.com/redis/rueidis v1.0.79
	github.com/tenurelock/tenure v0.0.0
	go.uber.org/goleak v1.3.0
)

require golang.org/x/sys v0.47.0 // indirect
