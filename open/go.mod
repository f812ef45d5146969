module github.com/tenurelock/tenure/open

go 1.25.0

require (
	github.com/jackc/pgx/v5 v5.13.0
	github.com/tenurelock/tenure v0.0.0
	github.com/tenurelock/tenure/pglock v0.0.0
	github.com/tenurelock/tenure/redislock v0.0.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/redis/rueidis v1.0.79 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)
