# Run `make` alone for the list.
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.PHONY: help test bench lint cover fmt tidy demo man release-check guarantees model

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

test: ## install what the tests need, then vet and test every module with the race detector
	./scripts/install
	go vet work
	go build -race work
	go test -race -p 1 work # one package at a time: some test what a lease promises in time, and start servers

bench: ## benchmarks of the root module, of pglock beside bare pgx, and of Redis beside other libraries
	go test -run '^$$' -bench . -count 5 .
	go test -run '^$$' -bench . -benchtime 1x ./pglock
	go test -run '^$$' -bench . -benchtime 1x ./bench

lint: ## golangci-lint over every module; its first build takes some minutes
	./scripts/lint $(GOLANGCI)

cover: ## coverage of every module, as dist/cover.html
	mkdir -p dist
	go test -coverpkg=github.com/tenurelock/tenure/... -coverprofile=dist/cover.out work
	go tool cover -html=dist/cover.out -o dist/cover.html
	go tool cover -func=dist/cover.out | tail -n 1

fmt: ## gofmt every file
	gofmt -w .

tidy: ## go mod tidy of every module
	./scripts/tidy

demo: ## two commands after one lock, in one terminal
	./scripts/demo

man: ## the manual pages, into dist/man
	mkdir -p dist/man
	go run ./cmd/tenure man dist/man

release-check: ## build what users will build, from the tree and without go.work
	./scripts/release-check

guarantees: ## write the table in docs/guarantees.md from what the drivers say
	go test ./proof -run TestGuaranteesPage -update

model: ## check the models of the Redis protocol with Spin, with their mutants
	./scripts/install model
	./proof/models/check
