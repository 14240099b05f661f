# Two words to know: `make demo` and `make test`. Both install what is missing (Debian packages, by name),
# build, and run.
#   make          build into build/            make bench     the tables of docs/performance.md
#   make demo     a first look                 make install PREFIX=/usr/local
#   make test     all tests, ~minutes          make test-long fuzzing and the long tier
PACKAGES = build-essential cmake pkg-config clang libjansson-dev libcmocka-dev python3-minimal
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
BUILD ?= build

.PHONY: all demo test test-long bench install deps clean format
all: $(BUILD)/bin/railbird

# Asks nothing as root; else uses sudo; does nothing when all is there.
deps:
	@missing=; for p in $(PACKAGES); do \
	  dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'install ok' || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then \
	  echo "installing:$$missing"; \
	  if [ $$(id -u) = 0 ]; then run=; else run=sudo; fi; \
	  $$run apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$run apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	fi

$(BUILD)/bin/railbird: deps
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

install: all
	cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	rm -rf build build-*

format:
	clang-format -i $$(git ls-files '*.c' '*.h')
