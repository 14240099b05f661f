#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# threads.sh [long]: threads without end (20,000 one after the other, long: a million) and at once (1,024, long: 4,096); little
# address space; each kind of executable, with and without address randomisation.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
. "$here/../cli/lib.sh"
lib=$(dirname "$RAILBIRD")/../lib
[ -e "$lib/librailbird_rt.a" ] || { echo "skipped: no runtime in this build"; exit 0; }
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD
ulimit -c 0
form=${1:-short} life=10000 live=1024 step=12000
[ "$form" != long ] || life=1000000 live=4096 step=1000
gcc -O1 -g "$here/many.c" -o plain -pthread
"$RAILBIRD" cc -O1 -g "$here/many.c" -o ours -pthread
value() { sed -n "s/^$1 //p" "$2"; }
statistic() { sed "s/.*\"$1\":\([0-9]*\).*/\1/" stats; }

# --- a long life: neither slower nor larger
timeout 900 ./plain life $life >plain.out
for engine in so st su fasttrack; do
  [ $engine = so ] || [ $life -le 20000 ] || life=100000
  rm -f stats
  RAILBIRD_OPTIONS=engine=$engine:sampler=all:stats=json:stats timeout 900 ./ours life $life >ours.out 2>err || fail "$engine: status $?"
  [ "$(value made ours.out)" -ge $life ] || fail "$engine: only $(value made ours.out) threads"
  expect "$engine: messages" "$(cat err)" ""
  expect "$engine: lost edges" "$(statistic lost_edges)" 0
  expect "$engine: threads" "$(statistic threads)" $(($(value made ours.out) + 1))
  first=$(value first_us ours.out) last=$(value last_us ours.out)
  mapfile -t rss < <(value VmRSS ours.out)
  mapfile -t size < <(value VmSize ours.out)
  echo "$engine, $(value made ours.out) threads: $(value first_us plain.out) us each alone; $first at first, $last at last;" \
    "resident ${rss[0]} and ${rss[1]} KiB, size ${size[0]} and ${size[1]} KiB"
  # Times are for the long form: in a short one the machine's other work is all they show.
  [ "$form" = short ] || awk "BEGIN { exit !($last <= $first * 1.5) }" || fail "$engine: from $first to $last us a thread"
  [ $((rss[1] - rss[0])) -le 4096 ] || fail "$engine: grew from ${rss[0]} to ${rss[1]} KiB"
  [ $((size[1] - size[0])) -le 4096 ] || fail "$engine: grew from ${size[0]} to ${size[1]} KiB of address space"
done

# --- many at once, nothing lost by the engine that is the default
rm -f stats
./plain live $live >plain.out
RAILBIRD_OPTIONS=sampler=all:stats=json:stats timeout 300 ./ours live $live >ours.out 2>err || fail "$live at once: status $?"
expect "$live at once: made" "$(value made ours.out)" $live
expect "$live at once: sum" "$(value sum ours.out)" "$(value sum plain.out)"
expect "$live at once: lost edges" "$(statistic lost_edges)" 0
expect "$live at once: messages" "$(cat err)" ""

# --- little address space: it works, or says in one line that it does not, and the program works all the same
worked=0 said=0
# Below the first the kernel has no room for the executable itself.
for ((limit = 16000; limit <= 90000; limit += step)); do
  for threads in 2 200; do
    status=0 own=0
    (ulimit -v $limit && timeout 300 ./plain live $threads) >plain.out 2>err || own=$?
    [ $own = 0 ] && [ "$(value made plain.out)" = $threads ] || continue # not even alone
    (ulimit -v $limit && timeout 300 ./ours live $threads) >ours.out 2>err || status=$?
    # What the runtime takes, the program does not get: then it must notice that by what malloc and pthread_create say.
    case $status in
    0) ;;
    126 | 127) grep -q 'error while loading\|annot allocate\|cannot' err || fail "ulimit -v $limit, $threads: $(cat err)"; continue ;;
    *) fail "ulimit -v $limit, $threads threads: status $status: $(head -c 300 err)" ;;
    esac
    [ "$(wc -l <err)" -le 1 ] || fail "ulimit -v $limit, $threads threads: $(head -c 300 err)"
    if [ -s err ]; then
      grep '^Railbird: .*unwatched' err | grep -q memory || fail "ulimit -v $limit, $threads threads: $(cat err)"
      said=$((said + 1))
    else
      worked=$((worked + 1))
    fi
  done
done
echo "ulimit -v: worked $worked times, said that it cannot $said times"
[ $worked -ge 2 ] && [ $said -ge 1 ] || fail "the limits tried are not around the border"

# --- executables, and where they are put
cat >racy.c <<'C'
#include <pthread.h>
static int shared;
static void *work(void *p) { shared++; return p; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  return pthread_join(b, 0);
}
C
sed 's/shared++/__atomic_fetch_add(\&shared, 1, __ATOMIC_RELAXED)/' racy.c >fine.c
for kind in -pie '-no-pie -fno-pie' -static -static-pie; do
  for program in racy fine; do
    # shellcheck disable=SC2086
    if ! "$RAILBIRD" cc -g -O1 $kind $program.c -o $program -pthread 2>err; then
      fail "$kind: $(head -n 1 err)"
      continue
    fi
    for arrangement in '' 'setarch -R' 'setarch -R -L'; do
      if [ -n "$arrangement" ] && ! $arrangement true 2>/dev/null; then continue; fi
      for _ in 1 2 3; do
        status=0
        timeout 300 $arrangement ./$program >out 2>err || status=$?
        expect "$kind $arrangement $program: status" $status "$([ $program = racy ] && echo 66 || echo 0)"
        expect "$kind $arrangement $program: reports" "$(grep -c 'WARNING: Railbird' err || true)" "$([ $program = racy ] && echo 1 || echo 0)"
      done
    done
  done
done
finish threads
