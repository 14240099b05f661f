#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The process that delivers reports: the program does not wait for it, does not see it, and may end in any way; what is written where
# files and tools fail; how many reports are shown, and one cause once.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD RAILBIRD_CC RAILBIRD_CXX
if [ ! -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ]; then
  echo "skipped: there is no lib/librailbird_rt.a next to $(dirname "$RAILBIRD")"
  exit 0
fi
ulimit -c 0

# as STATUS OPTIONS COMMAND...: out and err hold what was printed, by the program and by its reporter, which ends after it
as() {
  local want=$1 options=$2 got
  shift 2
  { RAILBIRD_OPTIONS=$options timeout 60 "$@" >out </dev/null && echo 0 >ended || echo $? >ended; } 2>&1 | cat >err
  got=$(cat ended)
  [ "$got" = "$want" ] || fail "$options $*: status $got instead of $want: $(head -c 300 err)"
} 2>/dev/null # the shell's words about a signal
reports() { grep -c 'WARNING: Railbird: data race' err || true; }
# until_it SECONDS COMMAND...: waits until it succeeds
until_it() {
  local end=$((SECONDS + $1))
  until "${@:2}"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.05
  done
}

cat >ends.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static int shared, other, signals;
static void *work(void *p) { shared++; return p; }
static void *more(void *p) { other++; return p; }
static void on_child(int number) { (void)number; __atomic_fetch_add(&signals, 1, __ATOMIC_SEQ_CST); }
static void race(void *(*f)(void *)) {
  pthread_t a, b;
  pthread_create(&a, 0, f, 0);
  pthread_create(&b, 0, f, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
}
static int has_children(void) {
  char path[64], text[4096];
  snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
  FILE *f = fopen(path, "r");
  if (!f) return 0;
  size_t n = fread(text, 1, sizeof(text), f);
  fclose(f);
  return n > 0;
}
static int descriptors(void) {
  int n = 0;
  for (int i = 3; i < 100; i++) n += fcntl_is_open(i);
  return n;
}
int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  const int before = descriptors();
  signal(SIGCHLD, on_child);
  if (!strcmp(how, "subreaper")) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  race(work);
  if (!strcmp(how, "segv")) *(volatile int *)8 = 1;
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(how, "term")) raise(SIGTERM);
  if (!strcmp(how, "syscall")) syscall(SYS_exit_group, 7);
  if (!strcmp(how, "exec")) execl("/bin/true", "true", (char *)0);
  if (!strcmp(how, "fork")) {
    if (fork() == 0) { race(more); _exit(0); }
    wait(0);
  }
  if (!strcmp(how, "clean")) printf("children %d descriptors %d signals %d\n", has_children(), descriptors() - before, signals);
  if (!strcmp(how, "subreaper")) { const int r = waitpid(-1, 0, WNOHANG); printf("wait %d %d signals %d\n", r, errno == ECHILD, signals); }
  if (!strcmp(how, "all-kinds")) { const int r = waitpid(-1, 0, __WALL); printf("wait %d %d\n", r, errno == ECHILD); }
  if (!strcmp(how, "stays")) { puts("ready"); fflush(stdout); for (;;) pause(); }
  if (!strcmp(how, "twice")) { puts("ready"); fflush(stdout); getchar(); race(more); }
  return 0;
}
C
sed -i 's/fcntl_is_open(i)/(fcntl(i, F_GETFD) >= 0)/; s/#include <errno.h>/#include <errno.h>\n#include <fcntl.h>/' ends.c
"$RAILBIRD" cc -g ends.c -o ends

# --- however the program ends, and at once after the race, the report is there, once
for how in '66 return' '139 segv' '134 abort' '137 kill' '143 term' '7 syscall' '0 exec'; do
  as "${how% *}" sampler=all ./ends "${how#* }"
  expect "reports, ${how#* }" "$(reports)" 1
  rm -f r.json
  as "${how% *}" sampler=all:report=json:r.json ./ends "${how#* }"
  expect "lines, ${how#* }" "$(grep -c '"function"' r.json)" 1
done
as 66 sampler=all ./ends fork # a child has a reporter of its own
expect "reports of parent and child" "$(reports) $(grep -o 'pid=[0-9]*' err | sort -u | wc -l)" "2 2"
as 66 sampler=all:halt_on_error=1 ./ends stays
expect "reports, halt_on_error" "$(reports)" 1
# railbird run waits for it
{ "$RAILBIRD" run --json -o sampler=all ./ends kill >out 2>err || true; } 2>/dev/null
expect "races in the object of a killed program" "$(grep -o '"evidence"' out | wc -l)" 1

# --- the program sees nothing of it
as 66 sampler=all ./ends clean
expect "a program after a race" "$(cat out)" "children 0 descriptors 0 signals 0"
as 66 sampler=all ./ends subreaper
expect "a subreaper after a race" "$(cat out)" "wait -1 1 signals 0"
as 66 sampler=all ./ends all-kinds
expect "a wait for children of all kinds" "$(cat out)" "wait -1 1"
if unshare -pf --mount-proc true 2>/dev/null; then # as process 1
  as 66 sampler=all unshare -pf --mount-proc ./ends all-kinds
  expect "process 1" "$(cat out) $(reports)" "wait -1 1 1"
fi

# --- it ends when it is idle, though the program lives; then another comes. No signal but KILL ends it before
reporter_of() { # PID
  { grep -slaP -- "--live\x00--ring\x00$1\x00" /proc/[0-9]*/cmdline || true; } | cut -d/ -f3 | grep .
}
no_reporter_of() { ! reporter_of "$1" >/dev/null; }
mkfifo input
RAILBIRD_OPTIONS=sampler=all ./ends twice <input >ready 2>err &
program=$!
exec 8>input
until_it 30 test -s ready || fail "the program does not get ready"
until_it 30 reporter_of $program >reporter || fail "no reporter while the program lives"
first=$(cat reporter)
if [ -n "$first" ]; then
  kill -INT "$first"
  kill -TERM "$first"
  until_it 30 grep -q SUMMARY err || fail "the report waits for the program's end"
  expect "the reporter after what is meant for the program" "$(reporter_of $program)" "$first"
  expect "its name" "$(cat "/proc/$first/comm")" railbird-report
  expect "its descriptors" "$(find "/proc/$first/fd" -mindepth 1 -printf '%f\n' | sort -n | head -4 | xargs)" "0 1 2 3"
  expect "descriptors of the program in it" "$(find "/proc/$first/fd" -mindepth 1 -printf '%l\n' | grep -c "$work/\(input\|ready\)" || true)" 0
fi
until_it 60 no_reporter_of $program || fail "the reporter does not end when it is idle"
expect "children of the program" "$(cat /proc/$program/task/$program/children)" ""
echo >&8
exec 8>&-
got=0
wait $program || got=$?
expect "status and reports after a second reporter" "$got $(reports)" "66 2"

# --- a killed program leaves nothing behind, also where nobody reads
mkfifo unread
exec 9<>unread
RAILBIRD_OPTIONS=sampler=all:report=text,json:unread ./ends stays >ready2 2>err &
program=$!
until_it 30 test -s ready2 || fail "a FIFO that nobody empties holds the program up"
{ kill -KILL $program; wait $program || true; } 2>/dev/null
until_it 30 no_reporter_of $program || fail "the reporter outlives its program"
exec 9>&-
python3 - ./ends <<'PY' || fail "a full pipe for standard error"
import fcntl, os, subprocess, sys, time
read, write = os.pipe()
fcntl.fcntl(write, 1031, 4096)
os.write(write, b"x" * 4096)  # nobody reads: the report cannot be written
p = subprocess.Popen([sys.argv[1], "kill"], stdout=subprocess.DEVNULL, stderr=write, env={**os.environ, "RAILBIRD_OPTIONS": "sampler=all"})
p.wait()
def left():
    for d in os.listdir("/proc"):
        try:
            if d.isdigit() and f"--ring\0{p.pid}\0" in open(f"/proc/{d}/cmdline").read():
                return True
        except OSError:
            pass
    return False
for _ in range(1200):
    if not left():
        sys.exit(0)
    time.sleep(0.05)
sys.exit(1)
PY

# --- a file that is a FIFO without a reader holds nothing up, and the text is there
mkfifo nobody
as 66 sampler=all:report=text,json:nobody ./ends
expect "reports, FIFO" "$(reports)" 1
as 66 sampler=all:report=json:nobody ./ends
expect "reports instead of the FIFO" "$(reports) $(grep -c 'nobody: cannot write' err)" "1 1"
# --- a file that cannot be written: a line, and the text also where none was asked for
as 66 sampler=all:report=json:/nonexistent/r.json ./ends
expect "reports instead of the file" "$(reports) $(grep -c '/nonexistent/r.json: cannot write' err)" "1 1"

# --- no tool, or one that does nothing: addresses, and the raw record in the file
for tool in /nonexistent /bin/true /bin/false; do
  rm -f r.json
  RAILBIRD_TOOL=$tool as 66 sampler=all:report=text,json:r.json ./ends
  expect "reports, RAILBIRD_TOOL=$tool" "$(reports) $(grep -c '(.*/ends+0x' err | grep -v '^0') $(wc -l <r.json)" "1 2 1"
  RAILBIRD_TOOL=$tool as 137 sampler=all ./ends kill # lost at most, but nothing hangs
done
cat >dies.sh <<SH
#!/bin/sh
kill -SEGV \$\$
SH
chmod +x dies.sh
RAILBIRD_TOOL=$work/dies.sh as 66 sampler=all ./ends
expect "reports, a tool that crashes" "$(reports)" 1

# --- a filter of system calls that refuses to duplicate descriptors: never "suppressed"
cat >refuses.c <<'C'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_dup, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_dup2, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_dup3, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)};
  struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
  (void)argc;
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 77;
  execv(argv[1], argv + 1);
  return 77;
}
C
gcc refuses.c -o refuses 2>/dev/null || clang refuses.c -o refuses
as 66 sampler=all:stats=1 ./refuses ./ends
expect "reports without dup3" "$(reports) $(sed -n 's/^ *\([0-9]*\) races suppressed$/\1/p' err)" "1 0"

# --- behind a filter that kills at what reports take: with names, by the reporter that was made before
cat >confined.c <<'C'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static int shared, go;
static void *work(void *p) {
  while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
    ;
  shared++;
  return p;
}
int main(void) {
  static const int allowed[] = {SYS_read, SYS_write, SYS_futex, SYS_exit, SYS_exit_group, SYS_mmap, SYS_munmap, SYS_mprotect,
                                SYS_madvise, SYS_brk, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rseq, SYS_set_robust_list};
  enum { N = sizeof(allowed) / sizeof(*allowed) };
  struct sock_filter code[N + 3];
  struct sock_fprog program = {N + 3, code};
  pthread_t a, b;
  code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < N; i++)
    code[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], N - i, 0);
  code[N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  code[N + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  pthread_create(&a, 0, work, 0);
  pthread_create(&b, 0, work, 0);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
    return 77;
  __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
C
"$RAILBIRD" cc -g confined.c -o confined
rm -f r.json
as 66 sampler=all:report=text,json:r.json ./confined
expect "reports behind a filter, with names" "$(reports) $(grep -c '#0 work .*confined.c:' err) $(grep -c '"function":"work"' r.json)" "1 2 1"

# --- suppressed, and nothing read: statuses of the tool
: >nothing
got=0
"$RAILBIRD" report --live <nothing || got=$?
expect "status of the tool without a record" $got 4
echo 'race:^work$' >work.supp
as 0 sampler=all:suppressions=work.supp ./ends
expect "reports, suppressed" "$(reports)" 0

# --- a disk that was full for a moment leaves whole lines
mkdir full
if mount -t tmpfs -o size=64k tmpfs full 2>/dev/null; then
  dd if=/dev/zero of=full/fill bs=4096 count=15 2>/dev/null
  for _ in 1 2 3 4 5 6; do as 66 sampler=all:report=json:full/r.json ./ends; done
  rm full/fill
  for _ in 1 2 3; do as 66 sampler=all:report=json:full/r.json ./ends; done
  cp full/r.json full.json
  umount full
  got=0
  "$RAILBIRD" report full.json >out 2>err || got=$?
  expect "status and notes after a full disk" "$got $(wc -c <err)" "66 0"
  [ "$(wc -l <full.json)" -ge 3 ] || fail "lines after a full disk: $(wc -l <full.json)"
else
  echo "skipped: no tmpfs may be mounted here"
fi
printf '{"half' >half.json # left by somebody else
as 66 sampler=all:report=json:half.json ./ends
expect "lines behind half a line" "$(wc -l <half.json) $(tail -n 1 half.json | grep -c '"function"')" "2 1"

# --- a clean run leaves an empty file, in the folder where it started
cat >clean.c <<'C'
#include <unistd.h>
int main(void) { return chdir("/"); }
C
"$RAILBIRD" cc clean.c -o clean
as 0 report=json:clean.json ./clean
"$RAILBIRD" report clean.json >out || fail "the report of a clean run: status $?"
grep -q '0 races in 0 records' out || fail "the report of a clean run: $(cat out)"

# --- options
as 2 samplr=all:strict=1 ./clean
expect "lines of strict=1" "$(grep -c "'samplr' is not an option" err) $(wc -l <err)" "1 1"
as 2 strict=1:sampler=quixotic ./clean
as 0 samplr=all ./clean
as 2 samplr=all "$RAILBIRD" run ./clean
grep -q "RAILBIRD_OPTIONS: 'samplr' is not an option" err || fail "railbird run passes a misspelt option on: $(cat err)"
as 0 sampler=all:report_bugs=0 ./ends
expect "reports, report_bugs=0" "$(reports)" 0
as 66 sampler=all ./ends
expect "build-ids" "$(grep -c BuildId err || true)" 0
as 66 sampler=all:verbose=1 ./ends
[ "$(grep -c BuildId err)" -ge 2 ] || fail "no build-ids with verbose=1"

# --- many races: in order, one cause once, at most so many
python3 - >many.c <<'PY'
n = 30
print("#include <pthread.h>\n#include <string.h>\nstruct { int member[8]; } all;")
for i in range(n):
    print(f"static int v{i};\n__attribute__((noinline)) static void f{i}(void) {{ v{i}++; }}")
print("__attribute__((noinline)) static void set(void) {")
for i in range(8):
    print(f"  all.member[{i}] = {i};")
print("}\nstatic void *work(void *p) {")
for i in range(n):
    print(f"  f{i}();")
print("  set();\n  return p;\n}")
print("int main(void) { pthread_t a, b; pthread_create(&a, 0, work, 0); pthread_create(&b, 0, work, 0); pthread_join(a, 0); pthread_join(b, 0); return 0; }")
PY
"$RAILBIRD" cc -g -O1 many.c -o many
rm -f many.json
as 66 sampler=all:report=text,json:many.json ./many
expect "causes" "$(reports)" 31
expect "races of one cause" "$(grep -c 'and [0-9]* more places of the same data and functions$' err)" 1
python3 - many.json err <<'PY' || fail "the order of reports, or their causes"
import json, re, sys
races = [json.loads(line) for line in open(sys.argv[1])]
shown = re.findall(r"^  id ([0-9a-f]{16}),", open(sys.argv[2]).read(), re.M)
ids = [r["id"] for r in races]
assert [i for i in ids if i in shown] == shown, "order"
times = [r["time"] for r in races]
assert times == sorted(times)
causes = {}
for r in races:
    causes.setdefault(r["cause"], []).append(r)
assert len(causes) == len(shown) == 31, (len(causes), len(shown))
group = [c for c in causes.values() if c[0]["location"].get("name") == "all"]
assert len(group) == 1 and len(group[0]) >= 7, [len(g) for g in group]
PY
"$RAILBIRD" report many.json >out || true
expect "races of the report" "$(grep -c '^WARNING' out)" 31
grep -q '^Railbird: [0-9]* races of 31 causes in' out || fail "the report's last line: $(tail -n 1 out)"
"$RAILBIRD" report many.json --verbose >out || true
expect "races of the verbose report" "$(grep -c '^WARNING' out)" "$(wc -l <many.json)"
rm -f few.json
as 66 sampler=all:max_reports=7:report=text,json:few.json ./many
expect "reports, max_reports=7" "$(reports) $(wc -l <few.json)" "7 7"
expect "the rest" "$(grep -c '^Railbird: [0-9]* more races were found and are not shown (max_reports=7)$' err)" 1
as 66 sampler=all:max_reports=0:verbose=1 ./many
[ "$(reports)" -gt 31 ] || fail "max_reports=0:verbose=1 shows $(reports) races"
echo 'race:^f' >most.supp # what is suppressed counts for nothing
as 66 sampler=all:max_reports=1:suppressions=most.supp ./many
expect "reports, all but one suppressed" "$(reports) $(grep -c 'not shown' err || true)" "1 0"
finish reporter
