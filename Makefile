# Shortcuts for meson and ninja; each target first installs what it needs (tools/install-deps). Only changed files are
# rebuilt.

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
FUZZ_SEED ?= 0 # another one each time
# Tests in a sanitized build take several times as long.
SLOW = --timeout-multiplier 6
# Most tests wait more than they compute.
TEST_JOBS = --num-processes $(shell echo $$(($$(nproc) * 2)))
# gcc's thread sanitizer does not start if the kernel randomizes more than 28 bits of addresses.
UNSPREAD = $(shell [ $$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 28) -le 28 ] || echo setarch -R)
MESON_FLAGS ?= -Dwerror=true
FORMAT = clang-format-19
SOURCES = $(shell find src include strategies tests examples \( -name '*.c' -o -name '*.h' \) 2>/dev/null)

.DEFAULT_GOAL := all
.PHONY: all help test test-programs check demo bench asan tsan fuzz fmt tidy lint install dist deb image clean deps-build deps-test deps-dev \
	asan-programs asan-tests asan-e2e tsan-programs tsan-tests tsan-e2e e2e e2e-quick e2e-upstream bench-live bench-cluster churn

all: build/build.ninja ## Build the program: build/berth, and build/strategies
	@ninja -C build berth catalogue

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

test-programs: build/.with-tests
	@ninja -C build

test: test-programs ## Build, and run every test that needs no Kubernetes
	@rm -f build/meson-logs/testlog.json
	-meson test -C build --no-rebuild --print-errorlogs $(TEST_JOBS)
	@tools/test-report build/meson-logs/testlog.json

demo: all ## Start a development cluster with the examples, and show where pods go (ARGS=--once: and end)
	@examples/demo $(ARGS) build/berth

bench: build/.with-tests ## Measure decisions per second (BENCH_ARGS="--nodes 5000")
	@ninja -C build tests/bench/bench tests/plugins/noop.so catalogue
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

bench-cluster: all ## Measure the development cluster with 5,000 nodes and 50,000 pods
	$(E2E) cluster $(E2E_FLAGS)

churn: all ## Run informers and a controller on the development cluster while everything changes (E2E_FLAGS='-duration 1h')
	$(E2E) churn $(E2E_FLAGS)

ADDRESS = address,undefined
# Suites that run the core alone, which has no threads: the thread sanitizer could find nothing there.
UNTHREADED = golden property sim

# $(call sanitized_programs,FOLDER,SANITIZERS)
define sanitized_programs
	@test -f $(1)/build.ninja || meson setup $(1) -Dtests=true -Db_sanitize=$(2) -Doptimization=1
	@ninja -C $(1)
endef

# $(call sanitized_tests,FOLDER,WRAPPER,SUITES): the tests in a sanitized build, but for those of the sources, those that
# count the instructions of the ordinary build, those of what is installed, and these suites.
define sanitized_tests
	meson test -C $(1) --no-rebuild --print-errorlogs $(TEST_JOBS) $(SLOW) $(if $(2),--wrapper '$(2)') $(addprefix --no-suite ,house linear packaging $(3))
endef

# The quick e2e tests with the scheduler of that build.
define sanitized_e2e
	CFLAGS=-fsanitize=$(2) BERTH=$(1)/berth E2E_RESULTS=$(1)/e2e-results.json E2E_REPORTS=$(1)/reports \
		$(3) tests/e2e/run quick
endef

asan: ## Run the tests and e2e-quick under the address and undefined sanitizers
	@$(MAKE) --no-print-directory --keep-going asan-tests asan-e2e

tsan: ## Run the tests and e2e-quick under the thread sanitizer
	@$(MAKE) --no-print-directory --keep-going tsan-tests tsan-e2e

asan-programs: | deps-test
	$(call sanitized_programs,build-asan,$(ADDRESS))
asan-tests: asan-programs
	$(call sanitized_tests,build-asan,)
asan-e2e:
	$(call sanitized_e2e,build-asan,$(ADDRESS),)
tsan-programs: | deps-test
	$(call sanitized_programs,build-tsan,thread)
tsan-tests: tsan-programs
	$(call sanitized_tests,build-tsan,$(UNSPREAD),$(UNTHREADED))
tsan-e2e:
	$(call sanitized_e2e,build-tsan,thread,$(UNSPREAD))

fuzz: | deps-dev ## Fuzz each decoder for FUZZ_SECONDS (60), two at a time
	@test -f build-fuzz/build.ninja || CC=clang-19 meson setup build-fuzz -Dfuzzing=true \
		-Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1
	@ninja -C build-fuzz
	tests/fuzz/run build-fuzz/tests/fuzz $(FUZZ_SECONDS) $(FUZZ_SEED)

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
	@ninja -C build berth catalogue
	meson install -C build --no-rebuild --tags runtime,devel,man,doc

# Releases are made of the newest commit; what they hold is in build/release.
RELEASE = build/release

dist: all ## Write the source of the newest commit as a tarball, and its SBOM, to build/release
	@mkdir -p $(RELEASE)
	@tarball=$$(packaging/dist $(RELEASE)) && packaging/sbom $$tarball build/berth >$${tarball%.tar.gz}.spdx.json \
		&& ls -l $$tarball $${tarball%.tar.gz}.spdx.json

deb: | deps-dev ## Build Debian packages of the newest commit, and check them with lintian
	@packaging/deb $(RELEASE)

image: ## Write an OCI image, without a container runtime (IMAGE=name:tag, PLUGINS="a.so")
	@IMAGE='$(IMAGE)' packaging/image/build $(RELEASE) $(PLUGINS)

clean: ## Remove everything that was built
	rm -rf build build-asan build-tsan build-fuzz
