# Two words to know: `make demo` and `make test`. Both install what is missing (Debian packages, by name),
# build, and run.
#   make            builds into build/          make bench      the tables of docs/explanation/performance.md (an hour)
#   make demo       a first look                make install    PREFIX=/usr/local
#   make test       all tests, ten minutes      make test-long  fuzzing and the long tier
#   make lint       clang-tidy and shellcheck
#   make check      what takes a minute and a half: unit tests, rooms, pairs of programs
# The plugin for gcc (docs/explanation/copies.md) needs the headers of the gcc that is there; the tests need gfortran, musl, and with clang
# its headers for programs that talk to a sanitizer.
PACKAGES = build-essential cmake pkg-config python3 clang lld libomp-dev gfortran libjansson-dev libdw-dev libiberty-dev libzydis-dev libz3-dev libcmocka-dev musl-tools
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
BUILD ?= build

# Builds a configured folder; says so, and shows the compiler's words only if it fails.
compile = echo "building $(1)/"; cmake --build $(1) -j $(JOBS) >$(1)/build.log 2>&1 || { cat $(1)/build.log; exit 1; }

.PHONY: all build demo check lint test test-long bench bench-online install deps clean format
all: build

# Asks nothing as root, uses sudo otherwise, and does nothing when all is there.
deps:
	@$(call need,$(PACKAGES))
	@$(call need,gcc-$$(gcc -dumpversion | cut -d. -f1)-plugin-dev libclang-rt-$$(clang -dumpversion | cut -d. -f1)-dev)

need = missing=; for p in $(1); do \
  dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'install ok' || missing="$$missing $$p"; \
done; \
if [ -n "$$missing" ]; then \
  echo "installing:$$missing"; \
  if [ "$$(id -u)" = 0 ]; then run=env; else run="sudo env"; fi; \
  $$run apt-get update -qq && \
  $$run DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
fi

build: deps
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@$(call compile,$(BUILD))

demo: build
	@examples/demo.sh $(BUILD)/bin/railbird

# RB_TEST_TRACES: random traces of a property test; `make test` takes more.
check: build
	@RB_TEST_TRACES=1000 ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) -L check

# The tidy compiler is clang, so it goes by the commands of a build with clang.
lint:
	@$(call need,$(PACKAGES) clang-tidy shellcheck)
	@cmake -S . -B build-clang -DCMAKE_C_COMPILER=clang >/dev/null
	@echo "clang-tidy and shellcheck"
	@find src -name '*.c' | grep -v '/selftest/\|/shims/\|/nop\.c' | xargs -P $(JOBS) -n 8 clang-tidy -p build-clang --quiet 2>build-clang/tidy.log || \
	  { cat build-clang/tidy.log; exit 1; }
	@find tests examples bench packaging src -name '*.sh' | xargs shellcheck -x -S warning

# gcc, clang, and our own code under AddressSanitizer and UndefinedBehaviorSanitizer. What builds programs with several
# compilers itself is done once, what takes longest is not repeated with clang, and bad input is for the sanitizers.
ONCE = test_programs|test_cc|test_examples|test_doctor|test_atomic_forms|test_watch_agent
test: build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) -LE only -E test_bad_input
	@$(MAKE) --no-print-directory lint
	@$(call compile,build-clang)
	@ctest --test-dir build-clang --output-on-failure -j $(JOBS) -LE only -E '$(ONCE)|test_eval|test_stress|test_sampling|test_bad_input|test_record|test_report.sh'
	@cmake -S . -B build-asan -DRB_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
	@$(call compile,build-asan)
	@RB_TEST_TRACES=1000 ctest --test-dir build-asan --output-on-failure -j $(JOBS) -LE only -E '$(ONCE)'

# Fuzzes each reader for FUZZ_SECONDS, the property tests over many more traces, every program pair 20 times with three
# compilers, two minutes of stress under each engine and sampler, an hour of attacks, and demo and test three times on a new
# machine, the last time with four busy loops beside. Many hours.
FUZZ_SECONDS ?= 60
test-long: test
	@cmake -S . -B build-fuzz -DCMAKE_C_COMPILER=clang -DRB_FUZZ=ON -DRB_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo >/dev/null
	@$(call compile,build-fuzz)
	@for reader in rbt std; do \
	  mkdir -p build-fuzz/corpus/$$reader; \
	  build-fuzz/bin/fuzz_$$reader -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
	    build-fuzz/corpus/$$reader tests/fuzz/corpus/$$reader 2>&1 | tail -n 8 || exit 1; \
	done
	@RB_TEST_TRACES=50000 $(BUILD)/bin/test_equivalence
	@for t in shb wcp syncp inject; do RB_TEST_TRACES=100000 $(BUILD)/bin/test_$$t && RB_TEST_TRACES=100000 build-clang/bin/test_$$t || exit 1; done
	@$(call need,clang-19 libclang-rt-19-dev)
	@RAILBIRD=$(BUILD)/bin/railbird tests/cli/test_programs.sh -c gcc -c clang -c clang-19 -n 20
	@RAILBIRD=$(BUILD)/bin/railbird tests/stress/toggle.sh 600 64
	@RAILBIRD=$(BUILD)/bin/railbird tests/stress/run.sh 120 64
	@RAILBIRD=$(BUILD)/bin/railbird tests/watch/stress_watch.sh 200 64
	@RAILBIRD=$(realpath $(BUILD))/bin/railbird tests/attack/run.sh --minutes 60
	@$(call need,debootstrap)
	@tests/fresh.sh -n 3 -B 4
	@for t in memory threads mmap; do RAILBIRD=$(realpath $(BUILD))/bin/railbird tests/limits/$$t.sh long || exit 1; done

bench: build
	@python3 bench/lab.py $(BUILD)/bin/railbird
	@python3 bench/run.py $(BUILD)
	@python3 bench/operations.py $(BUILD)
	@python3 bench/steps/run.py $(BUILD)
	@python3 bench/inject.py $(BUILD)/bin/railbird

# What run costs on programs people use, beside other tools, and whether what is promised about it holds (an hour or two).
bench-online: build
	@python3 bench/online/run.py $(BUILD)

install: build
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	rm -rf build build-clang build-asan build-fuzz

format:
	clang-format -i $$(git ls-files '*.c' '*.h')
