#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# railbird doctor: every check has its line, the status follows `run`, and what is broken is said to be.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
command=(doctor)
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD RAILBIRD_CC RAILBIRD_CXX
lib=$(realpath "$(dirname "$RAILBIRD")/../lib")
checks="machine libc gcc clang runtime.files preloading building self-test debug.info text.pages breakpoints ptrace ASLR
  limits OpenMP"

run 0 -h
refused '--colour' --colour
refused 'takes no arguments' everything

# doctor STATUS ARGUMENTS...: like run, with more time: it compiles
doctor() {
  local want=$1 got=0
  shift
  timeout 300 env PATH="${path:-$PATH}" "$RAILBIRD" doctor "$@" >out 2>err || got=$?
  expect "status of doctor $*" "$got" "$want"
  [ ! -s err ] || fail "doctor $* wrote on stderr: $(head -c 300 err)"
}
# a check's status
status_of() { sed -n "s/^\([a-z]*\) *$1 .*/\1/p" out; }

works=0
[ -e "$lib/librailbird_rt.a" ] || works=1 # built with sanitizers: there is no runtime
doctor $works
for check in $checks; do
  expect "lines of $check" "$(grep -cE "^(ok|warn|fail) +$check " out)" 1
done
expect "what to change" "$(grep -cE '^ +->' out)" "$(grep -cE '^(warn|fail)' out)"
expect "its last line" "$(tail -1 out)" "'railbird run' $([ $works = 0 ] && echo works || echo does not work) here."
doctor $works --json
python3 - out "$works" $checks <<'PY' || fail "the JSON object: $(head -c 300 out)"
import json, sys
lines = open(sys.argv[1]).read().splitlines()
assert len(lines) == 1
o = json.loads(lines[0])
assert o["run"] is (sys.argv[2] == "0")
assert [c["name"].replace(" ", ".") for c in o["checks"]] == sys.argv[3:], o
for c in o["checks"]:
    assert c["status"] in ("ok", "warn", "fail") and c["text"]
    assert c["status"] == "ok" or c["change"], c
PY

# --- faults it must see: the checks themselves are tested
if [ $works = 0 ]; then
  doctor 0
  for needed in preloading building self-test; do
    expect "$needed" "$(status_of "$needed")" ok
  done
  mkdir -p copy/bin copy/libexec
  cp "$RAILBIRD" copy/bin/railbird
  cp -r "$lib" copy/lib
  cp -r "$(dirname "$RAILBIRD")/../libexec/railbird" copy/libexec/railbird
  built=$RAILBIRD RAILBIRD=$work/copy/bin/railbird
  doctor 0
  mv copy/lib/librailbird_rt.a gone
  doctor 1
  expect "runtime files without the archive" "$(status_of 'runtime files')" fail
  grep -q 'missing: .*copy/lib/librailbird_rt.a' out || fail "the missing file is not named"
  expect "building without the archive" "$(status_of building)" fail
  mv gone copy/lib/librailbird_rt.a
  echo 'not a library' >copy/lib/librailbird_rt.so
  doctor 1
  expect "preloading of what is no library" "$(status_of preloading)" fail
  cp "$lib/librailbird_rt.so" copy/lib/
  cp copy/libexec/railbird/locked copy/libexec/railbird/unlocked
  doctor 1
  expect "the self-test without a race" "$(status_of self-test)" fail
  cp "$(dirname "$built")/../libexec/railbird/unlocked" copy/libexec/railbird/unlocked
  doctor 0
fi
mkdir tools
ln -s "$(type -P sh)" tools/
path=$work/tools doctor $works
expect "gcc where there is none" "$(status_of gcc)" warn
printf '#!/bin/sh\n[ "$1" = --version ] && echo "gcc (Broken) 1" && exit\necho "cannot do that" >&2\nexit 1\n' >tools/gcc
chmod +x tools/gcc
path=$work/tools doctor $works
grep -q '^warn *gcc .*does not compile: cannot do that' out || fail "a broken gcc: $(grep gcc out)"
TMPDIR=/nonexistent doctor $works
expect "gcc without temporary files" "$(status_of gcc)" warn
if [ $works = 0 ]; then # AddressSanitizer wants terabytes
  (ulimit -v 200000 && timeout 300 "$RAILBIRD" doctor >out 2>err) || true
  expect "a small address space" "$(status_of limits)" warn
fi
finish doctor
