#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# railbird record: what it says and how it ends, that its traces are well-formed and hold the races that were found
# while the program ran, and no others; that a killed program leaves all but the last event of each thread.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
command=(record)
if [ ! -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ]; then
  echo "skipped: there is no lib/librailbird_rt.a next to $(dirname "$RAILBIRD")"
  exit 0
fi
programs=$(realpath "$RB_TEST_DATA/programs")
tool() { timeout 300 "$RAILBIRD" "$@"; }

# build NAME [FLAGS...] <SOURCE
build() {
  cat >"$1.c"
  tool cc -O1 -g "${@:2}" "$1.c" -o "$1" -lpthread || fail "cannot build $1"
}

# clean TRACE: well-formed, without --lenient
clean() { tool trace check "$1" >check.out 2>&1 || fail "$1: $(cat check.out)"; }

warnings() { tool analyze "$1" --json | sed -n 's/.*"warnings":\([0-9]*\).*/\1/p'; }

# events WORD TRACE: how many
events() { tool trace info "$2" | awk -v w="$1" '$1 == w {print $2}'; }

# ---- what is refused, before anything runs
echo 'int main(void) { return 7; }' | build seven
refused 'where is the trace to go'
refused 'which program' -o t.rbt
refused 'needs a value' -o
refused "sampler 'bogus' is not known" -o t.rbt --sampler bogus ./seven
refused 'cannot run' -o t.rbt ./nowhere
refused 'the program itself' -o seven ./seven
refused 'cannot create' -o nowhere/t.rbt ./seven
refused 'not a regular file' -o . ./seven
refused 'and no program' -o t.rbt --merge u.raw ./seven
refused 'cannot open' -o t.rbt --merge nowhere.raw
refused 'not a regular file' -o t.rbt --merge /dev/null
head -c 100 /dev/zero >zeros
refused 'too short' -o t.rbt --merge zeros
head -c 8192 /dev/zero >zeros
refused 'not a raw recording' -o t.rbt --merge zeros
touch t.rbt.raw
refused 'is there from an earlier recording' -o t.rbt ./seven
rm t.rbt.raw
expect "traces after refusals" "$(ls ./*.rbt* 2>/dev/null)" ""

# ---- the program's status is passed on
run 7 -o seven.rbt -- ./seven
clean seven.rbt
[ ! -e seven.rbt.raw ] || fail "the raw recording is still there"
printf '#!/bin/sh\n./seven; exit 3\n' >script
chmod +x script
run 3 -o script.rbt ./script
clean script.rbt
command -v true >/dev/null
refused 'left nothing behind' -o plain.rbt "$(command -v true)"
printf '#!/bin/sh\nkill -9 $$\n' >dies
chmod +x dies
refused 'ended by signal 9 before it left anything' -o plain.rbt ./dies
[ ! -e plain.rbt ] && [ ! -e plain.rbt.raw ] || fail "something is there of a program without a runtime"

# ---- a trace holds what happened: events of one thread in its order, by the program's own count
build counts <<'C'
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int a;
static sem_t s;
static int x;
static void *work(void *p)
{
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&m);
        x++;
        pthread_mutex_unlock(&m);
        pthread_rwlock_rdlock(&l);
        pthread_rwlock_unlock(&l);
        atomic_fetch_add(&a, 1);
        atomic_store_explicit(&a, 1, memory_order_release);
        (void)atomic_load_explicit(&a, memory_order_acquire);
    }
    sem_post(&s);
    return p;
}
int main(void)
{
    pthread_t t[3];
    sem_init(&s, 0, 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        sem_wait(&s);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
C
run 0 -o counts.rbt ./counts
[ ! -s err ] || fail "counts: $(cat err)"
clean counts.rbt
for pair in acq:300 rel:300 racq:300 rrel:300 rmw:300 store:300 load:300 post:3 wait:3 fork:3 join:3; do
  expect "counts: ${pair%:*}" "$(events "${pair%:*}" counts.rbt)" "${pair#*:}"
done
expect "counts: warnings" "$(warnings counts.rbt)" 0
tool trace export counts.rbt >counts.std 2>/dev/null
grep -q '^T0|fork(T1)|' counts.std || fail "threads are not called as they are"
grep -q '|acq(m)|' counts.std || fail "the mutex is not called m"
tool trace cat counts.rbt >counts.txt
grep -q 'w(x).*work counts.c:[0-9]* (counts+0x' counts.txt || fail "the place of x++ is not named"
grep -q 'enter(work' counts.txt || fail "no function events"
run 0 -o counts.rbt --no-functions --sampler none ./counts
expect "no functions" "$(events enter counts.rbt)" ""
tool trace info counts.rbt | grep -q ' 0 of them accesses' || fail "sampler none recorded accesses"
run 0 -o counts.rbt --sampler random:0.3 ./counts
clean counts.rbt
expect "synchronisation is not sampled" "$(events acq counts.rbt)" 300

# ---- online equals offline, for programs of tests/programs: the pairs reported are in the trace, and of programs
# without a race there is none
offline() { # of races.csv: "module+offset module+offset", sorted in each line
  python3 -c '
import csv, re, sys
for row in csv.reader(open("races.csv")):
    print(*sorted(re.search(r"(\S+\+0x[0-9a-f]+?)\)?$", place)[1].lstrip("(") for place in row[7:9]))' | sort -u
}
online() { # of races.json
  python3 -c '
import json, os
for line in open("races.json"):
    print(*sorted(os.path.basename(a["stack"][0]["module"]) + "+" + a["stack"][0]["offset"] for a in json.loads(line)["accesses"]))' | sort -u
}
for name in abi/overlap abi/adjacent abi/mem_large annotations/benign annotations/fiber annotations/fiber_threads \
  atomics/fence atomics/fence_rmw atomics/initialised atomics/plain_read atomics/plain_write atomics/replaced_relaxed \
  atomics/spin_lock io/close io/pipe locks/barrier_rounds locks/in_heap locks/mutex_robust locks/rwlock_readers locks/semaphore \
  memory/free memory/reuse_thread memory/stack_reuse threads/detach threads/many threads/once; do
  for kind in race norace; do
    source=$programs/${name}_$kind.c
    [ -e "$source" ] || { fail "$source is not there"; continue; }
    tool cc -O1 -g "$source" -o program -lpthread || { fail "cannot build $source"; continue; }
    rm -f races.json races.csv t.rbt
    touch races.json
    status=0
    RAILBIRD_OPTIONS=report=json:races.json timeout 300 "$RAILBIRD" record -o t.rbt ./program >out 2>err || status=$?
    [ -e t.rbt ] || { fail "${name}_$kind: no trace (status $status): $(cat err)"; continue; }
    clean t.rbt
    tool analyze t.rbt --races races.csv >out || true
    if [ $kind = norace ]; then
      expect "${name}_norace: races in the trace" "$(offline | head -3)" ""
    else
      [ -s races.json ] || fail "${name}_race: nothing was reported while it ran"
      expect "${name}_race: reported, but not in the trace" "$(comm -23 <(online) <(offline))" ""
    fi
  done
done

# ---- accesses that fault: those whose handler jumps away never happened, those whose handler returns did
build faults <<'END'
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *page;
static int comes_back;
static __thread sigjmp_buf before;

static void on_fault(int number)
{
    (void)number;
    if (comes_back)
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
    else
        siglongjmp(before, 1);
}

static void *body(void *unused)
{
    char block[64] = "";

    for (volatile int i = 0; i < 300; i++)
        if (!sigsetjmp(before, 1)) {
            if (i % 3 == 0)
                *(volatile int *)(page + 8) = 1;
            else if (i % 3 == 1)
                memcpy(page, block, sizeof(block));
            else
                memcpy(block, page, sizeof(block));
        }
    return unused;
}

int main(int count, char **words)
{
    struct sigaction action = {.sa_handler = on_fault};
    pthread_t threads[2];

    comes_back = count > 1;
    (void)words;
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, body, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}
END
run 0 -o faults.rbt --sampler all ./faults
clean faults.rbt
expect "warnings about accesses that faulted" "$(warnings faults.rbt)" 0
RAILBIRD_OPTIONS=exitcode=0 run 0 -o done.rbt --sampler all ./faults again
clean done.rbt
[ "$(warnings done.rbt)" -gt 0 ] || fail "accesses that were done again after their fault are not in the trace"

# ---- killed: all but the last event of each thread is there, and nothing that did not happen
build endless <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static pthread_mutex_t own[4], all = PTHREAD_MUTEX_INITIALIZER;
static int shared;
static _Atomic(int *) mail[4];
static volatile unsigned long *progress; // in a file: how often each thread has had its own mutex
static void *brief(void *p)
{
    pthread_mutex_lock(&all);
    shared++;
    pthread_mutex_unlock(&all);
    return p;
}
static void *work(void *p)
{
    const long me = (long)p;
    for (unsigned long i = 1;; i++) {
        pthread_mutex_lock(&own[me]);
        pthread_mutex_unlock(&own[me]);
        progress[8 * me] = i;
        pthread_mutex_lock(&all);
        shared++;
        pthread_mutex_unlock(&all);
        int *m = malloc(16);
        m[i % 4] = 1;
        m = atomic_exchange(&mail[(me + 1) % 4], m);
        if (m) {
            m[0] = 2;
            free(m);
        }
        if (i % 100 == 0) {
            pthread_t t;
            pthread_create(&t, NULL, brief, NULL);
            pthread_join(t, NULL);
        }
    }
    return p;
}
int main(int argc, char **argv)
{
    const int fd = open(argv[argc - 1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    pthread_t t;
    if (ftruncate(fd, 4096))
        return 1;
    progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (long i = 0; i < 4; i++)
        pthread_mutex_init(&own[i], NULL);
    for (long i = 0; i < 4; i++)
        pthread_create(&t, NULL, work, (void *)i);
    for (;;)
        pause();
}
C
complete() { # TRACE: against the file `progress`
  clean "$1"
  expect "$1: warnings" "$(warnings "$1")" 0
  tool trace export "$1" 2>/dev/null >endless.std
  python3 - <<'P' || fail "$1: not everything that happened is there"
import re, struct
done = struct.unpack_from("<32Q", open("progress", "rb").read())[::8]
seen = [0] * 4
for line in open("endless.std"):
    m = re.match(r"T\d+\|acq\(own(?:\+(\d+))?(?:#\d+)?\)", line)
    if m:
        seen[int(m[1] or 0) // 40] += 1
good = all(d <= s <= d + 1 for d, s in zip(done, seen)) and min(done) > 0
if not good:
    print("done", done, "in the trace", seen)
raise SystemExit(not good)
P
}
recorded() { od -An -tu4 -j16 -N4 "$1" | tr -d ' '; } # the process that a raw recording is of
started() { # waits until every thread has done something
  local i
  for ((i = 0; i < 10000; i++)); do
    python3 -c '
import struct
raise SystemExit(min(struct.unpack_from("<32Q", open("progress", "rb").read())[::8]) < 50)' 2>/dev/null && return
    sleep 0.02
  done
  fail "the endless program did not start"
}
for round in 1 2 3 4; do
  rm -f progress endless.rbt
  status=0
  "$RAILBIRD" record -o endless.rbt ./endless progress >out 2>err &
  recorder=$!
  started
  sleep "0.0$((RANDOM % 100))"
  kill -KILL "$(recorded endless.rbt.raw)"
  wait $recorder || status=$?
  expect "killed: status" $status 137
  grep -q 'was killed or became another: of each of its [0-9]* threads' err || fail "killed: '$(cat err)'"
  complete endless.rbt
done 2>/dev/null

# ---- the recorder killed as well: the raw recording is there, and --merge makes the trace
rm -f progress endless.rbt
"$RAILBIRD" record -o endless.rbt ./endless progress >out 2>err &
recorder=$!
started
refused 'is still writing it' -o early.rbt --merge endless.rbt.raw
program=$(recorded endless.rbt.raw)
{
  kill -KILL $recorder
  wait $recorder || true
} 2>/dev/null
for ((i = 0; i < 4000; i++)); do # the program follows
  kill -0 "$program" 2>/dev/null || break
  sleep 0.05
done
[ ! -e endless.rbt ] || fail "a trace that nobody made"
refused 'is there from an earlier recording' -o endless.rbt ./seven
run 0 -o endless.rbt --merge endless.rbt.raw
complete endless.rbt
[ -e endless.rbt.raw ] || fail "--merge removed what it was given"
rm endless.rbt.raw

# ---- no more room: the program goes on, the trace has the beginning, and that is said
build writer <<'C'
int x[64];
int main(void)
{
    for (volatile int i = 0; i < 200000; i++)
        x[i % 64] = i;
    return 5;
}
C
(
  failures=0
  ulimit -f 400 # blocks of 1024 bytes
  run 5 -o full.rbt ./writer
  [ "$failures" = 0 ]
) || fail "a recording without room changed the program"
grep -q 'ended before the program did (File too large)' err || fail "no room: '$(cat err)'"
clean full.rbt

# ---- other processes are counted
build forks <<'C'
#include <sys/wait.h>
#include <unistd.h>
int x;
int main(void)
{
    for (int i = 0; i < 3; i++)
        if (fork() == 0) {
            x = i;
            _exit(0);
        }
    while (wait(0) > 0)
        ;
    return 0;
}
C
run 0 -o forks.rbt ./forks
grep -q '3 more processes' err || fail "forks: '$(cat err)'"
clean forks.rbt

# ---- very many threads: beyond 1024 they go on under numbers of those that their creator joined
build many <<'C'
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x, y;
static void *work(void *p)
{
    pthread_mutex_lock(&m);
    x++;
    pthread_mutex_unlock(&m);
    y++; // races with the other thread of its pair
    return p;
}
int main(void)
{
    for (int i = 0; i < 700; i++) {
        pthread_t a, b;
        pthread_create(&a, NULL, work, NULL);
        pthread_create(&b, NULL, work, NULL);
        pthread_join(a, NULL);
        pthread_join(b, NULL);
    }
    return 0;
}
C
run 66 -o many.rbt ./many
clean many.rbt
expect "forks" "$(events fork many.rbt)" 1400
threads=$(tool trace info many.rbt | sed -n 's/^threads \([0-9]*\),.*/\1/p')
[ "$threads" -ge 1024 ] && [ "$threads" -le 1030 ] || fail "many: $threads threads in the trace"
tool analyze many.rbt --races races.csv >out || true
expect "many: racy variables" "$(cut -d, -f3 races.csv | sort -u)" y
finish "recording"
