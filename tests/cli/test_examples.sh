#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The example projects, built the ways their README lines say, from the build folder and from an installation; and what
# an installation holds: pkg-config, the CMake package, manual pages.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
unset RAILBIRD_OPTIONS TSAN_OPTIONS RAILBIRD_CC RAILBIRD_CXX CC CXX CFLAGS LDFLAGS
build=$(realpath "$(dirname "$RAILBIRD")/..")
bin=$build/bin
if [ ! -e "$build/lib/librailbird_rt.a" ]; then # built with sanitizers
  finish "examples, without a runtime: nothing to test"
  exit 0
fi
cp -r "$RB_TEST_DATA/../examples" .

# races PROGRAM LOCATION: exit status 66, and a report that names it
races() {
  local got=0
  timeout 300 "$bin/railbird" run "$1" >out 2>err || got=$?
  expect "$1: status" "$got" 66
  grep -q "WARNING: Railbird: data race" err || fail "$1: no report: $(head -c 300 err)"
  grep -q "$2" err || fail "$1: the report does not name $2: $(head -c 1000 err)"
}
quietly() { # COMMAND...: says what it printed if it fails
  timeout 300 "$@" >log 2>&1 || fail "$*: $(tail -n 5 log)"
}

# --- make, with each compiler
for compiler in gcc clang; do
  command -v $compiler >/dev/null || continue
  rm -f examples/make/counter
  RAILBIRD_CC=$compiler quietly make -C examples/make CC="$bin/railbird cc"
  races examples/make/counter counter.c
done

# --- CMake: the compiler in one word
quietly cmake -S examples/cmake -B one -DCMAKE_CXX_COMPILER="$bin/railbird-c++"
quietly cmake --build one
races one/stock shelf.cpp
quietly cmake -S examples/cmake -B release -DCMAKE_CXX_COMPILER="$bin/railbird-c++" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON
quietly cmake --build release
races release/stock shelf.cpp

# --- autoconf's way of asking: CC with a blank in it, a conftest that is run
printf '#!/bin/sh\necho "int main(void) { return 0; }" >conftest.c\n$CC -o conftest conftest.c -lm && ./conftest && echo works\n' >configure
chmod +x configure
expect "a conftest" "$(CC="$bin/railbird cc" ./configure)" works

# --- Meson
if command -v meson >/dev/null; then
  CC="$bin/railbird cc" quietly meson setup ring examples/meson
  quietly meson compile -C ring
  races ring/ring ring.c
else
  echo "skipped: examples/meson, for meson is not installed"
fi

# --- an installation
quietly cmake --install "$build" --prefix "$work/prefix"
for file in bin/railbird bin/railbird-cc bin/railbird-c++ libexec/railbird/unlocked libexec/railbird/locked; do
  [ -x "prefix/$file" ] || fail "not installed: $file"
done
for page in railbird railbird-cc railbird-run railbird-report railbird-doctor; do
  [ -s "prefix/share/man/man1/$page.1" ] || fail "not installed: the manual of $page"
done
lib=$(dirname "$(find prefix -name librailbird_rt.a)")
for file in librailbird_rt.so railbird_rt.syms railbird/gcc.specs railbird/shims/libtsan.so.2; do
  [ -s "$lib/$file" ] || fail "not installed: $file"
done
bin=$work/prefix/bin
"$bin/railbird" run --self-test >out || fail "the installed self-test: $(cat out)"
"$bin/railbird-cc" -g examples/make/counter.c -o counter -lpthread
races ./counter counter.c
if command -v gcc >/dev/null && gcc -g -fsanitize=thread examples/make/counter.c -o swapped 2>/dev/null; then
  races ./swapped counter.c
fi
export PKG_CONFIG_PATH=$work/$lib/pkgconfig
flags=$(pkg-config --variable=instrument_gcc railbird)
# shellcheck disable=SC2046,SC2086 # several words
gcc -g $flags $(pkg-config --cflags railbird) -c examples/make/counter.c -o counter.o
# shellcheck disable=SC2046,SC2086 # several words
gcc counter.o -o by_hand $(pkg-config --libs railbird)
races ./by_hand counter.c
quietly cmake -S examples/cmake -B package -DINSTRUMENT=ON -DCMAKE_PREFIX_PATH="$work/prefix"
quietly cmake --build package
races package/stock shelf.cpp
quietly cmake -S examples/cmake -B both -DINSTRUMENT=ON -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$bin/railbird-c++"
quietly cmake --build both
races both/stock shelf.cpp
mv prefix moved # it may be put elsewhere as a whole
bin=$work/moved/bin
"$bin/railbird" run --self-test >out || fail "the moved self-test: $(cat out)"
"$bin/railbird" cc -g examples/make/counter.c -o counter
races ./counter counter.c
finish examples
