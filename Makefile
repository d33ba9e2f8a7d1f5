# Targets with a ## comment are listed by `make` alone.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# Where `make run` listens, and for how long `make fuzz` runs each fuzz test.
LISTEN ?= 127.0.0.1:8080
FUZZTIME ?= 10s
# How many seeds `make chaos` runs each fault with, and for how long `make soak` runs.
SEEDS ?= 3
SOAK ?= 1h

GOLANGCI_VERSION := v2.15.0
GOLANGCI := bin/tools/golangci-lint-$(GOLANGCI_VERSION)
GOVULNCHECK_VERSION := v1.9.0
GOVULNCHECK := bin/tools/govulncheck-$(GOVULNCHECK_VERSION)

UI := web/ui
UI_SOURCES := $(shell find $(UI) \( -name node_modules -o -name dist -o -name .out \) -prune -o -type f -print)

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z0-9]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r name text; do printf '  make %-9s %s\n' "$$name" "$$text"; done

.PHONY: run
run: need-run build ## the whole box office on this machine, with a demo cinema: open the address it prints
	bin/aisle up --demo --listen $(LISTEN)

.PHONY: test
test: need-test $(UI)/dist/index.html ## everything: unit tests, the real stores, two real browsers
	cd $(UI) && npm run --silent typecheck
	cd $(UI) && npm run --silent test
	go vet ./...
	go test -race -timeout 20m ./...
	@$(MAKE) e2e
	@$(MAKE) chaos-short

.PHONY: build
build: $(UI)/dist/index.html ## bin/aisle, with the web application inside
	go build -buildvcs=false -ldflags '-X main.version=$(VERSION)' -o bin/aisle ./cmd/aisle

.PHONY: ui
ui: $(UI)/dist/index.html ## the web application, built into web/ui/dist

.PHONY: generate
generate: $(UI)/node_modules/.package-lock.json ## the OpenAPI document from the handlers, and the UI's types from it
	go generate ./...
	cd $(UI) && npm run --silent generate

.PHONY: lint
lint: $(GOLANGCI) $(UI)/node_modules/.package-lock.json ## golangci-lint, ESLint, vue-tsc, and whether all is formatted
	$(GOLANGCI) run ./...
	$(GOLANGCI) fmt --diff ./...
	cd $(UI) && npm run --silent lint
	cd $(UI) && npm run --silent typecheck
	cd $(UI) && npm run --silent format:check

.PHONY: fmt
fmt: $(GOLANGCI) $(UI)/node_modules/.package-lock.json ## format Go, TypeScript and Vue
	$(GOLANGCI) fmt ./...
	cd $(UI) && npm run --silent format

.PHONY: fuzz
fuzz: ## each fuzz test for FUZZTIME (10s)
	deploy/scripts/fuzz $(FUZZTIME)

.PHONY: vuln
vuln: $(GOVULNCHECK) ## known vulnerabilities that our code reaches (two minutes at first, for the data base)
	deploy/scripts/vuln $(GOVULNCHECK)

.PHONY: e2e
e2e: need-test build ## two headless browsers against the built program
	cd $(UI) && AISLE_BIN=$(CURDIR)/bin/aisle npm run --silent e2e

.PHONY: chaos
chaos: need-chaos build ## every fault on the list, SEEDS (3) times, and the planted bugs: writes docs/proof.md (an hour, as root)
	go build -o bin/chaos ./deploy/chaos
	rm -f bin/chaos-results.jsonl
	bin/chaos run --seeds $(SEEDS)
	bin/chaos plants
	bin/chaos table

# What `make test` runs of it, in under four minutes.
.PHONY: chaos-short
chaos-short: need-test build
	go build -o bin/chaos ./deploy/chaos
	bin/chaos run --short --seeds 1 --watchers 300 --results bin/chaos-short.jsonl
	bin/chaos plants --watchers 300 --results bin/chaos-short.jsonl

.PHONY: soak
soak: need-chaos build ## clients buy for SOAK (1h): memory, goroutines and descriptors stay flat
	go build -o bin/chaos ./deploy/chaos
	bin/chaos soak --for $(SOAK)

.PHONY: bench
bench: need-test build ## what it can do against the other ways, on real stores: writes docs/bench.md (half an hour)
	go build -buildvcs=false -o bin/aislebench ./cmd/aislebench
	bin/aislebench run --page docs/bench.md

# The same in under three minutes, in small; it writes nothing.
.PHONY: bench-short
bench-short: need-test build
	go build -buildvcs=false -o bin/aislebench ./cmd/aislebench
	bin/aislebench run --short

.PHONY: clean
clean: ## remove what was built (not the data of `make run`)
	rm -rf bin $(UI)/node_modules
	find $(UI)/dist -mindepth 1 ! -name .keep -delete

.PHONY: need-run need-test need-chaos
need-run need-test need-chaos: need-%:
	@deploy/scripts/need $*

# npm writes this file last.
$(UI)/node_modules/.package-lock.json: $(UI)/package-lock.json
	cd $(UI) && npm ci --no-audit --no-fund
	@touch $@

$(UI)/dist/index.html: $(UI)/node_modules/.package-lock.json $(UI_SOURCES)
	cd $(UI) && npm run --silent build
	@touch $@

$(GOLANGCI):
	GOBIN=$(CURDIR)/bin/tools go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv bin/tools/golangci-lint $@

$(GOVULNCHECK):
	GOBIN=$(CURDIR)/bin/tools go install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)
	mv bin/tools/govulncheck $@
