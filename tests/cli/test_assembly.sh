#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Which asm statements get which hooks (docs/explanation/inline-assembly.md), that both copies of a function have them, and the
# note about them.
set -euo pipefail
# shellcheck source=lib.sh
source "$RB_TEST_DATA/cli/lib.sh"
if ! ls "$(dirname "$RAILBIRD")"/../lib/railbird/gcc-"$(gcc -dumpfullversion)"/bodies.so >/dev/null 2>&1; then
  echo "skipped: no plugin for this gcc"
  exit 0
fi
export RAILBIRD_CC=gcc RAILBIRD_CXX=g++

# A line: the hooks (releases, acquires, fences) of a function, and its body. f, g: words of memory; p: a pointer to words;
# v: a number; n: an address as a number.
cat >table <<'END'
1 1 0 __asm__ volatile("lock xaddq %0, %1" : "+r"(v), "+m"(f) : : "memory");
1 1 0 __asm__ volatile("lock; incq %0" : "+m"(*p));
1 1 0 __asm__ volatile("LOCK incq %0" : "=m"(*p) : "m"(*p));
1 1 0 __asm__ volatile("lock incq %0" : : "m"(f) : "memory");
1 1 0 __asm__ volatile("xchgq %0, %1" : "+r"(v), "+m"(p[v]));
1 1 0 __asm__ volatile("incq %0" : "+m"(f));
1 0 0 __asm__ volatile("movq %1, %0" : "=m"(f) : "r"(v) : "memory");
1 0 0 __asm__ volatile("movq %1, %0" : "=m"(f) : "r"(v));
0 1 0 __asm__ volatile("movq %1, %0" : "=r"(v) : "m"(f) : "memory"); use(v);
0 1 0 __asm__ volatile("1: # a comment; lock\n\tmovq %1, %0" : "=r"(v) : "m"(f)); use(v);
1 1 0 __asm__ volatile("movq %1, %0" : : "m"(f), "r"(v) : "memory");
0 1 0 __asm__ volatile("cmpq %1, %0" : : "m"(f), "r"(v) : "cc");
1 1 0 __asm__ volatile("lock cmpxchgq %2, %1" : "+a"(v), "+m"(p[1]) : "r"(v + 1) : "memory");
2 2 0 __asm__ volatile("lock; incq %0; incq %1" : "+m"(f), "+m"(g));
1 1 0 __asm__ volatile("lock; incq (%0)" : : "r"(p) : "cc");
1 1 0 __asm__ volatile("lock; incq 8(%0)" : : "r"(n) : "cc");
2 2 0 __asm__ volatile("lock; incq (%0,%1,8)" : : "r"(p), "r"(v) : "cc");
1 1 0 __asm__ volatile("lock; incq %a0" : : "r"(p) : "cc");
1 1 0 __asm__ volatile("movq $0, (%0)" : : "r"(p) : "memory");
1 1 0 __asm__ volatile("rep stosb" : "+D"(p), "+c"(v) : "a"(0) : "memory");
1 1 0 __asm__ volatile("rep; syscall" : "+a"(v) : "D"(p) : "rcx", "r11", "memory");
1 1 0 __asm__ volatile("lock incq f(%%rip)" : : : "memory");
1 1 0 __asm__ volatile("lock incq f(%rip)");
1 1 0 __asm__ volatile("xchgq %0, (%%rdi)" : "+r"(v) : "D"(n));
0 0 1 __asm__ volatile("mfence" ::: "memory");
0 0 1 __asm__ volatile("lock; addl $0, 0(%%rsp)" ::: "memory", "cc");
0 0 1 __asm__ volatile("lock; addl $0,-4(%rsp)");
0 0 1 { long own; __asm__ volatile("xchgq %0, %1" : "+r"(v), "=m"(own)); }
0 0 0 __asm__ volatile("" ::: "memory");
0 0 0 __asm__ volatile("# lock %0" : "+m"(f) : : "memory");
0 0 0 __asm__ volatile("" : "+r"(p));
0 0 0 __asm__ volatile("pause" ::: "memory");
0 0 0 __asm__ volatile("rep; nop" ::: "memory");
0 0 0 __asm__ volatile("xchgl %%ebx, %k0; cpuid; xchgl %%ebx, %k0" : "+r"(v) : : "eax", "ecx", "edx");
0 0 0 __asm__ volatile("rdtsc" : "=a"(v) : : "rdx"); use(v);
0 0 0 __asm__ volatile("bswap %0" : "+r"(v)); use(v);
0 0 0 __asm__ volatile("syscall" : "+a"(v) : "D"(n) : "rcx", "r11", "memory");
0 0 0 __asm__ volatile("movq %1, %0" : "=r"(v) : "r"(p)); use(v);
0 0 0 { long own; __asm__ volatile("fnstcw %0" : "=m"(own)); use(own); }
1 0 0 *(volatile long *)p = v;
0 1 0 v = *(volatile long *)p; use(v);
0 0 0 { volatile long own = v; use(own); }
END
{
  echo 'long f, g; void use(long); _Static_assert(sizeof(long) == 8, "");'
  n=0
  while read -r _ _ _ body; do
    n=$((n + 1))
    printf 'void case_%d(long *p, long v, unsigned long n)\n{\n    (void)p, (void)v, (void)n;\n    %s\n}\n' "$n" "$body"
  done <table
} >table.c
for level in -O0 -O2; do
  "$RAILBIRD" cc $level -S table.c -o table.s 2>err
  n=0
  while read -r releases acquires fences body; do
    n=$((n + 1))
    got=$(awk -v name="case_$n:" '
      $1 == name { inside = 1 }
      /\.cfi_endproc/ { inside = 0 }
      inside && /call.*asm_release/ { r++ }
      inside && /call.*asm_acquire/ { a++ }
      inside && /call.*asm_fence/ { f++ }
      END { print r + 0, a + 0, f + 0 }' table.s)
    [[ $level$body != -O0*%a0* ]] || continue # an operand in memory there
    expect "$level $body" "$got" "$releases $acquires $fences"
  done <table
  [ "$n" = 42 ] || fail "$n cases"
done

# All ways out of a statement that jumps.
cat >jump.c <<'END'
int f;
int jump(void)
{
    __asm__ goto("lock; btsl $0, %0\n\tjc %l2" : "+m"(f) : : "memory", "cc" : busy);
    return 1;
busy:
    return 2;
}
END
for level in -O0 -O2; do
  "$RAILBIRD" cc $level -S jump.c -o jump.s 2>err
  expect "$level, releases before a jump" "$(grep -c 'call.*asm_release' jump.s)" 1
  expect "$level, acquires after a jump" "$(grep -c 'call.*asm_acquire' jump.s)" 2
done

# Variables in registers by name.
for level in -O0 -O1 -Og -O2 -O3 '-O2 -fPIC -mno-red-zone'; do
  # shellcheck disable=SC2086 # several options
  "$RAILBIRD" cc $level -g -Wall -Wextra "$RB_TEST_DATA/bodies/asm_registers.c" -o registers 2>err
  grep -q 'registers.c: 3 asm statements treated as atomics' err || fail "$level, registers by name: $(cat err)"
  for sampler in all adaptive; do
    expect "$level, registers by name, $sampler" "$(RAILBIRD_OPTIONS=sampler=$sampler ./registers 2>&1)" right
  done
done

# Both copies of a function have the hooks.
cat >copies.c <<'END'
long f, a[8];
void copies(void)
{
    for (int i = 0; i < 4; i++)
        a[i] += a[i + 4] ^ a[i + 1];
    __asm__ volatile("lock; incq %0" : "+m"(f) : : "memory");
    a[5] += a[7] + a[2];
    a[6] += a[3];
}
END
"$RAILBIRD" cc -O2 -S copies.c 2>err
grep -q 'call.*__railbird_gate' copies.s || fail "the function has one copy"
expect "hooks in two copies" "$(grep -c 'call.*asm_release' copies.s) $(grep -c 'call.*asm_acquire' copies.s)" "2 2"

# The note: one line a unit, no word that build systems look for, and silence on request.
expect "note" "$(cat err)" "railbird: copies.c: 1 asm statement treated as atomics"
"$RAILBIRD" cc -Werror -c table.c 2>err || fail "-Werror: status $?"
expect "note of many" "$(cat err)" "railbird: table.c: 28 asm statements and 2 volatile accesses treated as atomics"
echo 'static void f(int *p) { __asm__("lock; incl %0" : "+m"(*p)); } void g(int *p, int *q) { f(p); f(q); }' >twice.cpp
"$RAILBIRD" c++ -O2 -c twice.cpp 2>err
expect "one statement in two places" "$(cat err)" "railbird: twice.cpp: 1 asm statement treated as atomics"
silent() { # WHAT COMMAND...
  local what=$1
  shift
  "$@" 2>err || fail "$what: status $?"
  [ ! -s err ] || fail "$what: $(cat err)"
}
echo 'volatile long f; static inline void t(int *p) { __asm__("xchg %0, %1" : "+m"(*p), "+r"(f)); } void g(void) { f = 1; }' >unused.c
"$RAILBIRD" cc -O2 -S unused.c 2>err
expect "a volatile access beside a lock that nobody takes" "$(grep -c 'call.*asm_release' unused.s)" 1
sed -i '1s/static inline/__attribute__((no_sanitize("thread"))) &/' unused.c
"$RAILBIRD" cc -O2 -S unused.c 2>err
expect "a volatile access beside a lock without instrumentation" "$(grep -c 'call.*asm_release' unused.s)" 0
cp copies.c conftest.c
silent "-w" "$RAILBIRD" cc -w -c copies.c
silent "RAILBIRD_NOTES" env RAILBIRD_NOTES=none "$RAILBIRD" cc -c copies.c
silent "a configure script" "$RAILBIRD" cc -c conftest.c
silent "-E" "$RAILBIRD" cc -E copies.c -o copies.i
silent "without instrumentation" "$RAILBIRD" cc -fno-sanitize=thread -c copies.c
echo 'volatile long f; void g(void) { f++; __asm__ volatile("" ::: "memory"); f++; }' >none.c
silent "nothing to note" "$RAILBIRD" cc -O2 -c none.c
# Without the plugin: a note where instructions have no hooks.
cat >lock.c <<'END'
long f;
void take(void) { while (({ long was = 1; __asm__("xchgq %0, %1" : "+r"(was), "+m"(f)); was; })) continue; }
void drop(void) { __asm__("lock; decq %0" : "+m"(f)); }
long add(void) { return __atomic_fetch_add(&f, 1, __ATOMIC_SEQ_CST) + __sync_lock_test_and_set(&f, 1); }
END
echo 'long f; long g(void) { return __atomic_fetch_add(&f, 1, __ATOMIC_SEQ_CST) + __sync_lock_test_and_set(&f, 1); }' >hooked.c
unseen() { # WHAT COMMAND...
  "${@:2}" -O1 -c lock.c 2>err || fail "$1: status $?"
  expect "$1" "$(cat err)" "railbird: lock.c: 2 atomic instructions without hooks (inline assembly): order by them is not seen"
  "${@:2}" -O1 lock.c -c -o other.o 2>err
  expect "$1, -o" "$(wc -l <err)" 1
  silent "$1, atomics with hooks" "${@:2}" -O1 -c hooked.c
  silent "$1, -w" "${@:2}" -w -c lock.c
  silent "$1, RAILBIRD_NOTES" env RAILBIRD_NOTES=none "${@:2}" -c lock.c
  echo 'no C' >wrong.c
  ! "${@:2}" -c wrong.c 2>err || fail "$1: a wrong file compiles"
  ! grep -q '^railbird' err || fail "$1: $(cat err)"
}
unseen "one copy" env RAILBIRD_BODIES=one "$RAILBIRD" cc
if command -v clang >/dev/null; then unseen clang env RAILBIRD_CC=clang "$RAILBIRD" cc; fi
got=0
RAILBIRD_CC=/no/such/gcc "$RAILBIRD" cc -c lock.c 2>err || got=$?
expect "no compiler" "$got $(wc -l <err)" "2 1"
finish "inline assembly"
