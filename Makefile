# Shortcuts for meson and ninja; each target first installs what it needs (tools/install-deps). Only changed files are
# rebuilt.

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
# Tests in a sanitized build take several times as long.
SLOW = --timeout-multiplier 6
# gcc's thread sanitizer does not start if the kernel randomizes more than 28 bits of addresses.
UNSPREAD = $(shell [ $$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28) -le 28 ] || echo --wrapper "'setarch -R'")
MESON_FLAGS ?= -Dwerror=true
FORMAT = clang-format-19
SOURCES = $(shell find src include tests examples \( -name '*.c' -o -name '*.h' \) 2>/dev/null)

.DEFAULT_GOAL := all
.PHONY: all help test check demo bench asan tsan fuzz fmt tidy lint install clean deps-build deps-test deps-dev \
	e2e e2e-quick e2e-upstream bench-live

all: build/build.ninja ## Build the program: build/berth
	@ninja -C build berth

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

deps-build:
	@tools/install-deps build
deps-test:
	@tools/install-deps test
deps-dev:
	@tools/install-deps dev

build/build.ninja: | deps-build
	meson setup build $(MESON_FLAGS)

# Enabled once in the same build folder, so that the tests use the objects of the program.
build/.with-tests: | deps-test build/build.ninja
	meson configure build -Dtests=true
	@touch $@

test: build/.with-tests ## Build, and run every test that needs no Kubernetes
	@ninja -C build
	@rm -f build/meson-logs/testlog.json
	-meson test -C build --no-rebuild --print-errorlogs
	@tools/test-report build/meson-logs/testlog.json

demo: all ## Show the program at work on the example cluster
	@examples/demo build/berth

bench: build/.with-tests ## Measure decisions per second (BENCH_ARGS="--nodes 5000")
	@ninja -C build tests/bench/bench tests/plugins/noop.so
	build/tests/bench/bench $(BENCH_ARGS)

# E2E_SCHEDULER=kube-scheduler runs the reference instead; E2E_FLAGS go to go test (-short, -run NAME) or the program.
E2E = BERTH=build/berth E2E_SCHEDULER='$(E2E_SCHEDULER)' tests/e2e/run

e2e: all ## Test the live scheduler against real Kubernetes (needs Go)
	$(E2E) test $(E2E_FLAGS)

e2e-quick: all ## The same without what takes long, and with two parts only
	$(E2E) quick $(E2E_FLAGS)

e2e-upstream: all ## Run Kubernetes' own scheduling tests with it
	$(E2E) upstream $(E2E_FLAGS)

bench-live: build/.with-tests ## Compare it with kube-scheduler on one API server
	@ninja -C build berth tests/bench/bench
	$(E2E) bench $(E2E_FLAGS)

asan: | deps-test ## Run the tests under the address and undefined sanitizers
	@test -f build-asan/build.ninja || meson setup build-asan -Dtests=true -Db_sanitize=address,undefined -Doptimization=1
	@ninja -C build-asan
	meson test -C build-asan --no-rebuild --print-errorlogs $(SLOW) --no-suite house

tsan: | deps-test ## Run the tests under the thread sanitizer
	@test -f build-tsan/build.ninja || meson setup build-tsan -Dtests=true -Db_sanitize=thread -Doptimization=1
	@ninja -C build-tsan
	meson test -C build-tsan --no-rebuild --print-errorlogs $(SLOW) $(UNSPREAD) --no-suite house

fuzz: | deps-dev ## Fuzz each decoder for FUZZ_SECONDS (60), two at a time
	@test -f build-fuzz/build.ninja || CC=clang-19 meson setup build-fuzz -Dfuzzing=true \
		-Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1
	@ninja -C build-fuzz
	tests/fuzz/run build-fuzz/tests/fuzz $(FUZZ_SECONDS)

fmt: | deps-dev ## Format the sources in place
	$(FORMAT) -i $(SOURCES)

tidy: | deps-dev ## Check layers, sizes, banned calls and format
	@status=0; \
	tools/check-layers . || status=1; \
	tools/tidy . || status=1; \
	$(FORMAT) --dry-run -Werror $(SOURCES) && echo 'format: all in order' || status=1; \
	exit $$status

lint: build/.with-tests | deps-dev ## Read src/ with clang-tidy, look for dead functions: findings are hints
	@tools/check-dead . || true
	@ninja -C build
	run-clang-tidy-19 -quiet -p build '$(CURDIR)/src/.*'

check: ## Everything: tidy, test, e2e, asan, tsan, fuzz; what CI runs
	@tools/check-everything

install: all ## Install it under PREFIX (/usr/local), below DESTDIR if set
	meson configure build -Dprefix=$(abspath $(PREFIX))
	@ninja -C build berth
	meson install -C build --no-rebuild --tags runtime,devel

clean: ## Remove everything that was built
	rm -rf build build-asan build-tsan build-fuzz
