#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Input that is damaged, hostile or not a trace, and output that cannot be written: one line, status 2 (1 where the
# machine is to blame), no crash, no hang, no file of half a result, memory in proportion to the file.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
damage=$RB_TEST_DATA/cli/damage.py
data=$RB_TEST_DATA/traces
sanitized=$(grep -c __asan_init "$RAILBIRD" || true)
[ "$sanitized" != 0 ] || ulimit -v 2000000
[ "$sanitized" = 0 ] && many=240 || many=60

# bad FILE PATTERN ARGUMENTS...: status 2 and one line that names the file and says the pattern
bad() {
  local file=$1 pattern=$2
  shift 2
  refused "$pattern" "$@"
  grep -qF -- "$file" err || fail "$*: '$(cat err)' does not name $file"
}

# everywhere FILE PATTERN: every command that reads traces refuses it so
everywhere() {
  local file=$1 pattern=$2
  bad "$file" "$pattern" analyze "$file"
  bad "$file" "$pattern" analyze "$file" --json --sampler rpt:0.1,0.1
  bad "$file" "$pattern" compare "$file" --runs 1 --engines so --samplers all
  bad "$file" "$pattern" trace info "$file"
  bad "$file" "$pattern" trace cat "$file"
  bad "$file" "$pattern" trace check "$file"
  bad "$file" "$pattern" trace export "$file" -o out.std
  [ ! -e out.std ] || fail "export of $file left a file"
}

# --- the damaged files of the repository
for file in "$data"/bad/*.rbt "$data"/bad/*.std; do
  pattern=$(cat "$file.expect")
  case $file in
  *.std) bad "$file" "$pattern" trace import "$file" -o out.rbt ;;
  *) bad "$file" "$pattern" trace check "$file" ;;
  esac
  [ ! -e out.rbt ] || fail "import of $file left a file"
done

# --- what is no file
mkdir folder
mkfifo fifo fifo.rbt
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
: >empty
: >empty.rbt
head -c 10000 /dev/zero >zeros
head -c 10000 /dev/zero >zeros.rbt
head -c 100000 /dev/urandom >noise.rbt
everywhere folder 'is a directory'
everywhere fifo 'is not a regular file'
everywhere fifo.rbt 'is a pipe'
everywhere socket 'socket: '
everywhere /dev/null 'is not a regular file'
everywhere missing 'No such file'
everywhere missing.rbt 'No such file'
everywhere empty/below 'Not a directory'
everywhere empty 'no events'
everywhere empty.rbt 'is empty'
everywhere zeros ':1: '
everywhere zeros.rbt 'not a Railbird trace'
everywhere noise.rbt 'not a Railbird trace'
ln -s loop loop
everywhere loop 'symbolic links'
if [ "$(id -u)" != 0 ]; then
  echo 'T1|w(x)|1' >closed
  chmod 0 closed
  everywhere closed 'Permission denied'
fi

# --- text
text() { # PATTERN LINES
  printf "$2" >t.std
  everywhere t.std "$1"
}
text 't.std:2: .*unknown operation' 'T1|w(x)|1\nT1|frob(x)|1\n'
text 't.std:1: .*fields' 'T1|w(x)\n'
text 't.std:1: .*fields' 'T1|w(x)|1|2\n'
text 't.std:2: .*location' 'T1|w(x)|1\nT1|w(x)|3000000000\n'
text 't.std:1: .*no name' 'T1|w()|1\n'
text 't.std:3: rel by T1 of lock l, but no thread' 'T1|acq(l)|1\nT1|rel(l)|1\nT1|rel(l)|1\n'
text 't.std:2: rel by T2 of lock l, but T1 holds' 'T1|acq(l)|1\nT2|rel(l)|1\n'
text 't.std:2: acq by T2 of lock l, but T1 holds' 'T1|acq(l)|1\nT2|acq(l)|1\n'
text 't.std:1: rrel by T1' 'T1|rrel(l)|1\n'
text 't.std:1: .*more than 65536 bytes' 'T1|w(%070000d)|1\n'
text 't.std:2: .*more than 65536 bytes' "T1|w(x)|1\n# %0$((3 << 20))d\n"
text 't.std:2: ' 'T1|w(x)|1\nT1|w(\033[31mx|1\n'
! grep -q $'\033' err || fail "a message with terminal commands"
awk 'BEGIN { for (i = 0; i < 70000; i++) print "t" i "|w(x)|1" }' >threads.std
everywhere threads.std 'threads.std:65536: more than 65535 threads'

# --- damaged .rbt: each flipped bit, each cut, each false claim is found by who reads everything
"$RAILBIRD" trace gen -o gen.rbt --events 3000 --threads 5 --locks 9 --variables 60 --rich 0.3 --race 0.1 --seed 2
"$RAILBIRD" trace export gen.rbt 2>err | sed 's/V\([0-9]*\)/variable \1/; s/^T/t/; s/(T/(t/' >named.std
"$RAILBIRD" trace import named.std -o named.rbt
"$RAILBIRD" trace import "$data/ok/alias.std" -o alias.rbt 2>err
"$RAILBIRD" trace export named.rbt >whole.std 2>err
"$RAILBIRD" analyze named.rbt --races whole.csv >out || true
mkdir flips cuts claims
"$damage" flips named.rbt flips $many 1
"$damage" flips alias.rbt flips $((many / 2)) 2
"$damage" cuts named.rbt cuts $((many / 3)) 3
"$damage" cuts alias.rbt cuts $((many / 3)) 4
"$damage" claims claims
for file in flips/* cuts/* claims/*; do
  bad "$file" . trace check "$file"
done
for file in flips/* cuts/* claims/*; do # who reads less may not notice, but then must be right
  got=0
  timeout 300 "$RAILBIRD" analyze "$file" --races some.csv --sampler random:0.5 >out 2>err || got=$?
  [ $got = 2 ] || [ $got = 66 ] || [ $got = 0 ] || fail "analyze $file: status $got: $(head -c 300 err)"
  [ $got != 2 ] || [ "$(wc -l <err)" = 1 ] || fail "analyze $file: $(wc -l <err) lines"
done

# --- a bad page is an error of its place, in whichever batch it is read ahead
"$RAILBIRD" trace gen -o long.rbt --events 420k --threads 4 --race 0
for page in 0 1 255 256 511 512 513 768 822; do
  "$damage" page long.rbt page.rbt $page flip
  for sampler in all random:0.01 pacer:0.1 literace; do
    bad page.rbt "page $page (offset 0x$(printf %x $((4096 * (page + 1)))), events from $((510 * page)))" \
      analyze page.rbt --sampler $sampler
  done
  bad page.rbt "page $page " trace export page.rbt -o out.std
  [ ! -e out.std ] || fail "a failed export left half a text"
  "$damage" page long.rbt page.rbt $page code
  bad page.rbt "event $((510 * page + 40)) .*code 5" analyze page.rbt
  "$damage" page long.rbt page.rbt $page target
  bad page.rbt "event $((510 * page + 40)): .*target" analyze page.rbt --sampler random:0.01
  bad page.rbt "event $((510 * page + 40)): .*target" analyze page.rbt --engine djit
done

# --- a file that shrinks meanwhile: whole or refused, never a signal
for i in 1 2 3 4 5 6; do
  cp long.rbt shrink.rbt
  got=0
  timeout 300 "$RAILBIRD" compare shrink.rbt --runs 1 --engines so,djit --samplers all,ucp >out 2>err &
  sleep "0.0$i"
  truncate -s $((4096 * 100 * i)) shrink.rbt
  wait $! || got=$?
  [ $got = 0 ] || { [ $got = 2 ] && grep -q 'shrink.rbt' err; } || fail "shrinking: status $got: $(cat err)"
done

# --- nowhere to put the imported form
for tmp in /nonexistent "$work/empty"; do
  TMPDIR=$tmp refused 'TMPDIR' analyze named.std
done
(
  ulimit -f 8
  trap '' XFSZ
  got=0
  "$RAILBIRD" analyze named.std >/dev/null 2>err || got=$?
  [ $got = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q TMPDIR err
) || fail "no room for temporary files: $(cat err)"

# --- output that cannot be
for output in nowhere/x folder; do
  refused "$output" trace import named.std -o $output
  refused "$output" trace gen -o $output --events 1000
  refused "$output" trace export named.rbt -o $output
  refused "$output" analyze named.rbt --races $output
  refused "$output" compare named.rbt --html $output --runs 1
done
refused 'not a regular file' trace import named.std -o fifo
refused 'not a regular file' trace gen -o /dev/full
[ -p fifo ] && [ -c /dev/full ] || fail "an output that is no file was removed"

# full ARGUMENTS...: standard output is full. Status 1, one line that says so.
full() {
  local got=0
  timeout 300 "$RAILBIRD" "$@" >/dev/full 2>err || got=$?
  [ $got = 1 ] || fail "$* >/dev/full: status $got"
  [ "$(grep -c 'No space left' err)" = 1 ] || fail "$* >/dev/full: $(cat err)"
  [ "$(grep -cv 'RAPID does not read\|No space left' err)" = 0 ] || fail "$* >/dev/full: $(cat err)"
}
full analyze named.rbt
full analyze named.rbt --json
full analyze named.rbt --races -
full compare named.rbt --runs 1 --samplers all
full compare named.rbt --runs 1 --samplers all --json
full trace info named.rbt
full trace info named.rbt --json
full trace cat named.rbt
full trace check named.rbt
full trace export named.rbt
run 1 trace export named.rbt -o /dev/full
expect "lines on a full disk" "$(wc -l <err)" 1
run 1 analyze named.rbt --races /dev/full
expect "lines on a full disk" "$(wc -l <err)" 1
grep -q -- '--races /dev/full.*No space left' err || fail "--races /dev/full: $(cat err)"

# --- readers that go: the signal, or one line where it is ignored
for arguments in "trace cat long.rbt" "trace export long.rbt" "analyze gen.rbt --races -"; do
  got=0
  # shellcheck disable=SC2086
  { timeout 300 "$RAILBIRD" $arguments 2>err || echo $? >status; } | head -1 >/dev/null || true
  case $(cat status) in
  141 | 66) ;;
  *) fail "$arguments | head: status $(cat status)" ;;
  esac
  [ "$(grep -cv 'clock\|trace \|analysis\|sampled\|releases\|races\|time\|RAPID' err)" = 0 ] || fail "$arguments | head: $(cat err)"
done
(trap '' PIPE; "$RAILBIRD" trace cat long.rbt 2>err || echo $? >status) | head -1 >/dev/null
expect "status without the signal" "$(cat status)" 1
expect "lines without the signal" "$(wc -l <err)" 1
[ -z "$(find . -name 'railbird-*')" ] || fail "temporary files left"
finish "bad input"
