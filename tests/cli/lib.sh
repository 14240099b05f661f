# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
# Sourced by the scripts of this folder: a working folder that goes at the end, and checks that count failures.
# $RAILBIRD is the program, `command` (an array) what comes first on its command line.
export LC_ALL=C.UTF-8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit
failures=0
command=()

fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}

# run STATUS ARGUMENTS...: out and err hold what was printed; nothing may take more than twenty seconds of CPU time. The
# clock ends only what hangs: others may use the machine.
run() {
  local want=$1 got=0
  shift
  (ulimit -S -t 20 && exec timeout 300 "$RAILBIRD" "${command[@]}" "$@") >out 2>err || got=$?
  [ "$got" = "$want" ] || fail "${command[*]} $*: status $got instead of $want: $(head -c 300 err)"
}

# refused PATTERN ARGUMENTS...: status 2, nothing on stdout, one line on stderr that matches
refused() {
  local pattern=$1
  shift
  run 2 "$@"
  [ ! -s out ] || fail "${command[*]} $*: wrote on stdout although refused"
  [ "$(wc -l <err)" = 1 ] || fail "${command[*]} $*: $(wc -l <err) lines on stderr instead of one"
  grep -q -- "$pattern" err || fail "${command[*]} $*: '$(cat err)' does not say '$pattern'"
}

expect() { # WHAT GOT WANTED
  [ "$2" = "$3" ] || fail "$1: '$2' instead of '$3'"
}

# field NAME: of the JSON object in out
field() { sed -n "s/.*\"$1\":\(\"[^\"]*\"\|[^,}]*\)[,}].*/\1/p" out; }

# The last line of a script: what was tested.
finish() {
  if [ "$failures" != 0 ]; then
    echo "$failures failures"
    exit 1
  fi
  echo "$1: all as expected"
}
