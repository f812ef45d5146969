module github.com/tenurelock/tenure

go 1.25
