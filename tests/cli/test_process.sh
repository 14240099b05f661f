#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The runtime in a process: options that are there before libc is, what it counts and for whom, names of libraries, and
# which signals `railbird run` passes on.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
command=(run)
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD RAILBIRD_CC RAILBIRD_CXX
if [ ! -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ]; then
  echo "skipped: there is no lib/librailbird_rt.a next to $(dirname "$RAILBIRD")"
  exit 0
fi
reports() { grep -c 'WARNING: Railbird: data race' err || true; }

cat >racy.c <<'C'
#include <pthread.h>
int shared;
static void *work(void *p) { shared++; return p; }
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
C

# --- gcc has the runtime started before libc's own start, when there is no `environ` yet
if gcc -g -fsanitize=thread racy.c -o by_gcc 2>/dev/null; then
  run 3 -o exitcode=3 ./by_gcc
  [ "$(reports)" -ge 1 ] || fail "by_gcc: no report"
  TSAN_OPTIONS=exitcode=4 run 4 ./by_gcc
  run 0 -o sampler=none ./by_gcc
  expect "reports without sampling" "$(reports)" 0
  env -i "$RAILBIRD" run -o exitcode=5 ./by_gcc 2>err && fail "status 0 with an empty environment" || expect "status" $? 5
  command=(record)
  run 66 -o by_gcc.rbt ./by_gcc
  command=(run)
  "$RAILBIRD" trace check by_gcc.rbt >out 2>&1 || fail "by_gcc.rbt: $(cat out)"
  "$RAILBIRD" analyze by_gcc.rbt --json >out || true
  [ "$(field warnings)" -ge 1 ] || fail "the recording of by_gcc holds no race: $(cat out)"
fi
"$RAILBIRD" cc -g racy.c -o racy
# record= alone: a raw recording, to be merged later
run 66 -o record="$work/alone.raw" ./racy
"$RAILBIRD" record -o alone.rbt --merge alone.raw 2>err || fail "merging what record= wrote: $(cat err)"
"$RAILBIRD" trace check alone.rbt >out 2>&1 || fail "alone.rbt: $(cat out)"

# --- what the runtime does for itself is no access of the program's
echo 'int main(void) { return 0; }' >nothing.c
seen() { sed -n 's/^ *\([0-9]*\) accesses seen$/\1/p' err; }
for compiler in gcc clang clang-19; do
  command -v $compiler >/dev/null || continue
  RAILBIRD_CC=$compiler "$RAILBIRD" cc -O1 nothing.c -o nothing
  for sampler in all none random:0.5 static:0.5 literace; do
    run 0 -o sampler=$sampler:stats=1 ./nothing
    expect "accesses of a program without any ($compiler, $sampler)" "$(seen)" 0
  done
done
if gcc -fsanitize=thread nothing.c -o nothing 2>/dev/null; then
  run 0 -o stats=1 ./nothing
  expect "accesses of a program without any, with the shared runtime" "$(seen)" 0
fi

# --- statistics are printed wherever reports go
for where in text none json:"$work/r.json" text,json:"$work/r.json"; do
  run 66 -o stats=1 -o report="$where" ./racy
  expect "statistics with report=$where" "$(grep -c 'accesses seen' err)" 1
done
RAILBIRD_OPTIONS=stats=1:report=none:log_path=$work/log ./racy 2>err || true
expect "statistics in the log" "$(cat log.* | grep -c 'accesses seen')" 1
[ ! -s err ] || fail "log_path: something on standard error: $(cat err)"

# --- one for each process that counted something
cat >forks.c <<'C'
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int touched[100];
int main(int argc, char **argv) {
  const char how = argc > 1 ? argv[1][0] : 0;
  const pid_t child = fork();
  if (child == 0) {
    if (how == 'e')
      execl("/bin/true", "true", (char *)0);
    if (how == 't')
      for (int i = 0; i < 100; i++)
        touched[i] = i;
    _exit(0);
  }
  printf("%d\n", (int)child);
  return waitpid(child, 0, 0) != child;
}
C
"$RAILBIRD" cc -O1 forks.c -o forks
for how in exec nothing touches; do
  run 0 -o sampler=all:stats=1 ./forks $how
  expect "statistics of the parent ($how)" "$(grep -c '^Railbird: engine so, sampler all$' err)" 1
  expect "of the child ($how)" "$(grep -c "^Railbird: engine so, sampler all, child process $(cat out)\$" err || true)" \
    "$([ $how != touches ] || echo 1)$([ $how = touches ] || echo 0)"
done
expect "accesses of the child alone" "$(seen | head -1)" 100
rm -f s.json
run 0 -o sampler=all -o stats=json:"$work/s.json" ./forks touches
expect "objects" "$(grep -c '"pid":' s.json)" 2
expect "the child's object" "$(grep -c "\"pid\":$(cat out),.*\"accesses\":100," s.json)" 1

# --- a library by a relative name, and a program that goes elsewhere
mkdir -p there/lib
cat >there/lib.c <<'C'
int lib_shared;
void lib_touch(void);
void lib_touch(void) { lib_shared++; }
C
cat >there/loads.c <<'C'
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
void lib_touch(void);
#ifdef LOADED
static void (*touch)(void);
#else
#define touch lib_touch
#endif
static void *work(void *p) { touch(); return p; }
int main(void) {
  pthread_t a, b;
#ifdef LOADED
  void *lib = dlopen("lib/../lib/lib.so", RTLD_NOW);
  if (!lib)
    return 3;
  touch = (void (*)(void))dlsym(lib, "lib_touch");
#endif
  if (chdir("/"))
    return 3;
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
C
(
  cd there
  "$RAILBIRD" cc -g -shared -fPIC lib.c -o lib/lib.so -Wl,--build-id=none
  "$RAILBIRD" cc -g -DLOADED loads.c -o loads
  "$RAILBIRD" cc -g loads.c -o linked -Llib -l:lib.so -Wl,-rpath,lib
)
cd there
for program in loads linked; do
  run 66 ./$program
  grep -q '#0 lib_touch .*/there/lib.c:3' err || fail "$program: $(grep -m1 '#0' err)"
  ! grep -q '<null> <null>' err || fail "$program: $(grep -m1 '<null> <null>' err)"
  grep -q "Location is global 'lib_shared'" err || fail "$program: $(grep Location err)"
  run 66 --json ./$program
  python3 - out "$(realpath lib/lib.so)" <<'PY' || fail "$program: the module's name"
import json, sys
race = json.load(open(sys.argv[1]))["races"][0]
assert race["accesses"][0]["stack"][0]["module"] == sys.argv[2], race["accesses"][0]["stack"][0]
PY
done
cd ..

# --- a signal to all of the group reaches the program once, one to railbird alone as well
cat >counts.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile sig_atomic_t interrupts, terms;
static void count(int number) { number == SIGINT ? interrupts++ : terms++; }
static void put(const char *path, int a, int b) {
  FILE *f = fopen("new", "w");
  fprintf(f, "INT %d TERM %d\n", a, b);
  fclose(f);
  rename("new", path);
}
int main(void) {
  signal(SIGINT, count);
  signal(SIGTERM, count);
  put("ready", 0, 0);
  for (int i = 0; i < 30000 && access("enough", F_OK); i++)
    usleep(10000);
  put("counts", interrupts, terms);
  return 0;
}
C
gcc counts.c -o counts_signals 2>/dev/null || clang counts.c -o counts_signals
timeout 300 python3 "$RB_TEST_DATA/cli/signals.py" "$RAILBIRD" ./counts_signals >out 2>err || fail "signals.py: $(cat err)"
cat >wanted <<'TEXT'
terminal: INT 1 TERM 0
group: INT 0 TERM 1
group twice: INT 0 TERM 2
alone: INT 0 TERM 1
alone twice: INT 0 TERM 2
alone and group: INT 0 TERM 1
group, then alone: INT 0 TERM 2
TEXT
diff wanted out || fail "signals: see above"

# --- blocks in a child of fork: the stacks of its own are known, those of its parent's are not any more
cat >blocks.c <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int *block;
__attribute__((noinline)) int *allocate(void) { return malloc(40); }
static void *work(void *p) { block[1]++; return p; }
int main(int argc, char **argv) {
  (void)argv;
  if (argc > 1)
    block = allocate();
  if (fork() == 0) {
    pthread_t t[2];
    if (argc == 1)
      block = allocate();
    for (int i = 0; i < 2; i++)
      pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < 2; i++)
      pthread_join(t[i], 0);
    return 0;
  }
  wait(0);
  return 0;
}
C
"$RAILBIRD" cc -g -O1 blocks.c -o blocks
run 0 ./blocks
expect "reports of the child" "$(reports)" 1
grep -q 'heap block of size 40 .*allocated by main thread' err || fail "the child's block: $(grep -A2 Location err)"
grep -q '#0 allocate' err || fail "the child's block has no stack: $(grep -A2 Location err)"
run 0 ./blocks parent
expect "reports of the child, the block its parent's" "$(reports)" 1
grep -q 'heap block of size 40' err || fail "the parent's block: $(grep -A2 Location err)"
! grep -q 'allocated by' err || fail "the parent's block has a stack of the child: $(grep -A2 Location err)"
finish process
