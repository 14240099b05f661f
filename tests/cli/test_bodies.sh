#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Functions with two bodies (docs/explanation/copies.md): what programs compute does not depend on their gates, hooks leave registers alone, gates are
# closed by the samplers that may and by no other, and a race is found whichever body it is in.
set -euo pipefail
# shellcheck source=lib.sh
source "$RB_TEST_DATA/cli/lib.sh"
here=$RB_TEST_DATA/bodies
[ -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ] || finish "two bodies, without a runtime (as sanitizers build it)"
[ -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ] || exit 0
if ! ls "$(dirname "$RAILBIRD")"/../lib/railbird/gcc-"$(gcc -dumpfullversion)"/bodies.so >/dev/null 2>&1; then
  fail "no plugin for this gcc: gcc-$(gcc -dumpversion)-plugin-dev has the headers that it is built with"
  finish "two bodies"
fi
export RAILBIRD_CC=gcc RAILBIRD_CXX=g++
has() { grep -E -- "$1" >/dev/null; } # reads to the end

# The same results whatever the gates do, every access taken or none.
for level in -O1 -O2 -O3 '-O2 -mavx2'; do
  # shellcheck disable=SC2086 # several options
  {
    gcc $level -Wall -Werror "$here/compute.c" -o plain -lpthread
    "$RAILBIRD" cc $level -Wall -Werror "$here/compute.c" -o compute
    g++ $level -Wall -Werror "$here/exceptions.cc" -o plain++ -lpthread
    "$RAILBIRD" c++ $level -Wall -Werror "$here/exceptions.cc" -o exceptions
  }
  [[ $level != *avx2* ]] || grep -q avx2 /proc/cpuinfo || continue
  expected=$(./plain 100 2>/dev/null) expected_cc=$(./plain++ 2>/dev/null)
  for sampler in all random:0.1 adaptive none; do
    expect "compute $level, $sampler" "$(RAILBIRD_OPTIONS=sampler=$sampler ./compute 100 2>err)" "$expected"
    [ "$(sed -n 's/ gates$//p' err)" -ge 6 ] || fail "compute $level: no gates: $(cat err)"
    expect "exceptions $level, $sampler" "$(RAILBIRD_OPTIONS=sampler=$sampler ./exceptions 2>err)" "$expected_cc"
    [ "$(sed -n 's/ gates$//p' err)" -ge 2 ] || fail "exceptions $level: no gates: $(cat err)"
  done
done

# Hooks.
gcc -O2 -Wall -Werror -c "$here/registers.c"
"$RAILBIRD" cc registers.o -o registers
for sampler in all none adaptive; do
  expect "registers, $sampler" "$(RAILBIRD_OPTIONS=sampler=$sampler ./registers)" '10000 calls, 0 wrong'
done

# A small copy of memory is a call in the instrumented copy alone.
cat >copy.c <<'END'
struct block { long words[4]; };
long sums[8];
void copy(struct block *to, struct block *from)
{
    for (int i = 0; i < 4; i++)
        sums[i] += sums[i + 4] ^ sums[i + 1];
    __builtin_memcpy(to, from, sizeof(*to));
    sums[5] += sums[7] + sums[2];
}
END
"$RAILBIRD" cc -O2 -S copy.c
expect "calls of memcpy in two copies" "$(grep -c 'call.*__railbird_gate' copy.s) $(grep -c 'call.*memcpy' copy.s)" "1 1"

# Who closes gates. A loop over a shared table that a function does a million times.
cat >hot.c <<'END'
#include <pthread.h>
#include <stdio.h>
static long table[256];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) static long turn(long *t, long i) { t[i % 256] += t[(i + 1) % 256] + 1; t[(i + 7) % 256] ^= i; return t[i % 250]; }
static void *work(void *number)
{
    long own[256] = {(long)number}, sum = 0;
    for (long i = 0; i < 1000000; i++)
        sum += turn(own, i);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 256; i++)
        table[i] += own[i];
    pthread_mutex_unlock(&lock);
    return (void *)sum;
}
int main(void)
{
    pthread_t t[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("%ld\n", table[3]);
}
END
gcc -O2 hot.c -o plain -lpthread
"$RAILBIRD" cc -O2 hot.c -o hot
expected=$(./plain)
stat() { sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" stats; }
for sampler in none adaptive all literace random:0.01; do
  rm -f stats
  expect "hot, $sampler" "$(RAILBIRD_OPTIONS="sampler=$sampler stats=json:stats" ./hot)" "$expected"
  case $sampler in
  none) [ "$(stat gates)" -ge 2 ] && [ "$(stat gates_open)" -eq 0 ] || fail "none: $(stat gates) gates, $(stat gates_open) open" ;;
  adaptive) [ "$(stat gates)" -ge 2 ] && [ "$(stat accesses)" -lt 2000000 ] || fail "adaptive: $(stat gates) gates, $(stat accesses) accesses seen" ;;
  *) [ "$(stat gates)" -eq 0 ] || fail "$sampler: gates are used" ;;
  esac
  [ "$sampler" != all ] || [ "$(stat accesses)" -ge 10000000 ] || fail "all: $(stat accesses) accesses seen"
done

# A gate after each call that waits, and none after others.
for call in 'pthread_cond_wait(c, m)' 'pthread_mutex_unlock(m)'; do
  cat >waits.c <<END
#include <pthread.h>
long waits(long *p, pthread_cond_t *c, pthread_mutex_t *m) { p[0] = p[1] + p[2]; $call; p[3] = p[4]; return p[5]; }
END
  "$RAILBIRD" cc -O2 -S waits.c -o waits.s
  gates=$(grep -c '^railbird_gate.*:$' waits.s || true)
  expect "gates around ${call%(*}" "$gates" "$([ "${call%(*}" = pthread_cond_wait ] && echo 2 || echo 1)"
done

# A gate at the end of each round of a loop that is left whole, unless it is soon over; the loop without hooks has none: one reads the gate.
for rounds in n 60; do
  echo "void add(int n, long *p, const long *q) { (void)n; for (int i = 0; i < $rounds; i++) p[i] += q[i] * q[i + 1]; }" >rounds.c
  "$RAILBIRD" cc -O2 -S rounds.c -o rounds.s
  gates=$(grep -c '^railbird_gate.*:$' rounds.s || true) reads=$(grep -c 'cmpb.*railbird_gate' rounds.s || true)
  expect "gates of a function with $rounds rounds, and where they are read" "$gates $reads" "$([ $rounds = n ] && echo 2 2 || echo 1 1)"
done

# Without the plugin: no gates, TSan's names, and the two go together in one program.
RAILBIRD_BODIES=one "$RAILBIRD" cc -O2 -c hot.c -o one.o
nm one.o | has 'U __tsan_read8' || fail "RAILBIRD_BODIES=one: other hooks"
! nm one.o | has __railbird || fail "RAILBIRD_BODIES=one: hooks of the plugin"
"$RAILBIRD" cc -O2 -flto -c hot.c -o lto.o
"$RAILBIRD" cc -O2 -flto lto.o -o lto
expect "-flto" "$(./lto)" "$expected"
"$RAILBIRD" cc -O2 -m64 -shared -fPIC "$here/compute.c" -Dmain=other_main -o libcompute.so
"$RAILBIRD" cc one.o -L. -Wl,-rpath,. -Wl,--no-as-needed -lcompute -o mixed
expect "mixed" "$(./mixed)" "$expected"
"$RAILBIRD" cc -O2 -static hot.c -o static
expect "static" "$(./static)" "$expected"
finish "two bodies"
