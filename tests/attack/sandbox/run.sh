#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program that allows itself few system calls, or ends at one, lives on with the runtime wherever it does without.
#   run.sh [RUNS]    runs of the case with an allow-list, for each sampler (1)
set -euo pipefail
here=$(dirname "$(realpath "$0")")
. "$here/../../cli/lib.sh"
[ -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ] || { echo "skipped: no runtime in this build"; exit 0; }
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD
runs=${1:-1}

# number NAME: of a system call
number() { printf '#include <sys/syscall.h>\nSYS_%s\n' "$1" | gcc -E -P - | tail -n 1; }
gcc -O1 -g -pthread "$here/sandbox.c" -o plain
"$RAILBIRD" cc -O1 -g -pthread "$here/sandbox.c" -o ours
status=0
./plain deny "$(number getpid)" early clean >wanted || status=$?
[ $status != 77 ] || { echo "skipped: no seccomp here"; exit 77; }

# compare NAME SAMPLER ARGUMENTS...: with the plain build. A race is found with `all`, and may be with others.
compare() {
  local name=$1 sampler=$2 status=0 own=0
  shift 2
  rm -f recording
  { timeout 60 ./plain "$@" >wanted 2>/dev/null || own=$?; } 2>/dev/null
  [ $own = 0 ] || return 0 # it does not live itself
  { RAILBIRD_OPTIONS=sampler=$sampler timeout 60 ./ours "$@" >out 2>err || status=$?; } 2>/dev/null
  cmp -s wanted out || fail "$name, $sampler, $*: status $status, output $(cat out)"
  case $4:$sampler in
  race:all)
    expect "$name, $sampler, $*: status" $status 66
    grep -q 'WARNING: Railbird: data race' err || fail "$name, $sampler, $*: no report: $(head -c 300 err)"
    ;;
  race:*) [ $status = 0 ] || [ $status = 66 ] || fail "$name, $sampler, $*: status $status: $(head -c 300 err)" ;;
  *)
    expect "$name, $sampler, $*: status" $status 0
    [ ! -s err ] || fail "$name, $sampler, $*: $(head -c 300 err)"
    ;;
  esac
}

allowed=
for name in read write futex exit exit_group mmap munmap mprotect madvise brk rt_sigprocmask rt_sigreturn clock_gettime rseq \
  set_robust_list; do
  allowed+=$(number $name),
done
for sampler in none adaptive all; do
  for ((i = 0; i < runs; i++)); do
    for races in clean race; do
      compare "allow-list" $sampler allow "$allowed" late $races
      compare "allow-list with clone" $sampler allow "$allowed$(number clone3),$(number clone),$(number set_tid_address)" early $races
    done
  done
  SANDBOX_BY_PRCTL=1 compare "allow-list by prctl" $sampler allow "$allowed$(number clone3),$(number clone)" early clean
done

for sampler in literace pacer:0.05 rpt:0.1,0.1 all:record=recording; do
  for races in clean race; do
    compare "allow-list" $sampler allow "$allowed" late $races
  done
done

# One at a time: all that the runtime calls at other times, or its report process.
for name in getpid gettid getppid nanosleep clock_nanosleep clone clone3 fork vfork memfd_create wait4 getrusage sched_yield fstat \
  newfstatat openat open close dup3 fcntl lseek execve prctl rt_sigaction rt_tgsigqueueinfo sigaltstack process_vm_readv uname \
  access readlink getcwd mprotect mmap munmap madvise prlimit64 getrlimit perf_event_open ioctl poll socket socketpair \
  clock_gettime gettimeofday tgkill kill sched_getaffinity shmctl pipe2 sendmsg recvmsg eventfd2; do
  for when in early late; do
    for sampler in none adaptive all; do
      for races in clean race; do
        compare "without $name" $sampler deny "$(number $name)" $when $races
      done
    done
  done
done
[ "$runs" = 1 ] || echo "allow-list: $runs runs with each of none adaptive all"
finish sandbox
