#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# exit waits for other threads as atexit_sleep_ms says, and not longer than they live.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
[ -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ] || { echo "skipped: no runtime in this build"; exit 0; }
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD
"$RAILBIRD" cc -O1 -g "$RB_TEST_DATA/start/exits.c" -o exits -pthread

# ends STATUS WITHIN HOW: WITHIN seconds, and says what main says
ends() {
  local want=$1 within=$2 how=$3 status=0 start=$SECONDS
  timeout "$within" ./exits "$how" >out 2>err || status=$?
  expect "$how, ${RAILBIRD_OPTIONS:-} ${TSAN_OPTIONS:-}: status after $((SECONDS - start)) s" $status "$want"
  expect "$how: output" "$(cat out)" "main ends"
}

long=600000 # ten minutes: nobody waits so long here
export RAILBIRD_OPTIONS
RAILBIRD_OPTIONS=sampler=all:atexit_sleep_ms=$long ends 66 60 begin
expect "begin: reports" "$(grep -c 'WARNING: Railbird: data race' err)" 1
RAILBIRD_OPTIONS=sampler=all TSAN_OPTIONS=atexit_sleep_ms=$long ends 66 60 begin
RAILBIRD_OPTIONS=atexit_sleep_ms=$long ends 0 60 alone
RAILBIRD_OPTIONS=sampler=all:atexit_sleep_ms=$long ends 0 60 alone
# Whether the race is met then is up to the machine.
RAILBIRD_OPTIONS=exitcode=0:sampler=all:atexit_sleep_ms=$long ends 0 60 _exit
RAILBIRD_OPTIONS=exitcode=0:sampler=all:atexit_sleep_ms=0 ends 0 60 stay
RAILBIRD_OPTIONS=exitcode=0:sampler=adaptive ends 0 60 stay
# Threads that stay: as long as was said, and no longer.
start=$(date +%s%N)
RAILBIRD_OPTIONS=sampler=all:atexit_sleep_ms=3000:report=none:exitcode=0 ends 0 60 stay
[ $((($(date +%s%N) - start) / 1000000)) -ge 3000 ] || fail "stay: exit did not wait for 3 seconds"
start=$(date +%s%N)
RAILBIRD_OPTIONS=sampler=all:report=none:exitcode=0 ends 0 60 stay
[ $((($(date +%s%N) - start) / 1000000)) -ge 200 ] || fail "stay: exit did not wait for 200 ms with sampler=all"

# No file may grow (ulimit -f): nothing is written to one, and no signal ends the program.
for options in stats=json:limited report=json:limited log_path=limited stats=1; do
  status=0
  (
    ulimit -f 0
    RAILBIRD_OPTIONS=sampler=all:atexit_sleep_ms=$long:$options timeout 60 ./exits begin 2>&1 | cat | tail -n 1 >/dev/null
    exit "${PIPESTATUS[0]}"
  ) || status=$?
  expect "no room in files, $options: status" $status 66
done
finish exit
