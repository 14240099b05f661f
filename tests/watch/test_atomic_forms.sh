#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Does every instruction that a compiler makes of an atomic operation count as one that may be? Compiles atomics.c,
# atomics_other.c and atomics.cc with the compilers that are there; each access of theirs that is not to the stack or to a constant must have
# MOVE or LOCKED in the module's code table. And the other way round: plain accesses in forms that this compiler does not
# use for atomics must not have them. `test_atomic_forms.sh long` for all levels of optimization.
. "$RB_TEST_DATA/cli/lib.sh"
export XDG_CACHE_HOME=$work/cache
levels=(-O0 "-O2 -march=native -fopenmp" -Os)
[ "${1:-}" = long ] && levels=(-O0 -O1 -O2 -O3 -Os "-O0 -march=native" "-O2 -march=native" "-O3 -march=native" "-Os -march=native"
  "-O2 -mcx16" "-O2 -mcx16 -mavx" "-O0 -mcx16 -mavx" "-O0 -fopenmp" "-O2 -fopenmp" "-O3 -march=native -fopenmp")

# Flags are the third word: 'M' or 'L' for moves and locked ones, 's' for the stack, 'b' for branches.
not_classified() { awk '$3 !~ /[MLs]/ && $5 !~ /\(rip,/ {print}'; }

# The checker first: plain code must not pass.
cat >plain.c <<'END'
int a[8]; void f(int *p, double *d) { p[1]++; p[2] <<= 1; if (p[3] == 7) d[0] += d[1]; }
END
modules=0 rows=0
for cc in gcc clang clang-19; do
  command -v $cc >/dev/null || continue
  case $cc in gcc) cxx=g++ ;; clang) cxx=clang++ ;; *) cxx=clang++-19 ;; esac
  $cc -O2 -fPIC -shared -nostdlib -o plain.so plain.c
  run 0 code-table plain.so --rows
  [ -n "$(not_classified <out)" ] || fail "$cc: plain accesses pass for atomic ones: $(cat out)"
  for level in "${levels[@]}"; do
    for source in atomics.c atomics_other.c atomics.cc; do
      compiler=$cc
      [ $source != atomics.cc ] || compiler=$cxx
      # shellcheck disable=SC2086
      $compiler $level -w -fPIC -shared -nostdlib -o atomics.so "$RB_TEST_DATA/watch/$source" || {
        fail "$compiler $level $source: does not compile"
        continue
      }
      run 0 code-table atomics.so --rows
      modules=$((modules + 1)) rows=$((rows + $(wc -l <out)))
      not_classified <out >wrong
      [ ! -s wrong ] || fail "$compiler $level $source: $(wc -l <wrong) accesses of atomics count as plain, the first: $(head -n 1 wrong)"
    done
  done
done
[ $modules -gt 0 ] && [ $rows -gt 1000 ] || fail "nothing was looked at: $modules modules, $rows rows"

# What each compiler does not make of atomics is proof.
proof() { # COMPILER WHAT PATTERN-OF-ROWS: rows that match are there and none has MOVE
  grep -E "$3" out >found || { fail "$1: no row for $2"; return; }
  ! awk '{print $3}' found | grep -q M || fail "$1: $2 counts as possibly atomic: $(head -n 1 found)"
}
cat >proof.c <<'END'
void increment(int *p) { p[5]++; }
void same(int *p, void (*f)(void)) { if (p[6] == 7) f(); }
END
gcc -O2 -fPIC -shared -nostdlib -o proof.so proof.c
run 0 code-table proof.so --rows
proof gcc "a plain increment" ' rw[^ ]* 4 20\(rdi'
proof gcc "a plain comparison" ' r-[^ ]* 4 24\(rdi'
objcopy --remove-section=.comment proof.so unknown.so
run 0 code-table unknown.so -o unknown.rbc --rows # not from the cache: the build-id is the same
awk '$3 !~ /M/' out | grep -q '(rdi' && fail "without .comment a plain increment is proof"
if command -v clang >/dev/null; then
  clang -O2 -fPIC -shared -nostdlib -o proof.so proof.c
  run 0 code-table proof.so --rows
  proof clang "a plain comparison" ' r-[^ ]* 4 24\(rdi'
  grep -E ' rw[^ ]* 4 20\(rdi' out | grep -q M || fail "clang: an increment, which it makes of atomics too, is proof"
fi
finish "$modules modules with atomics, $rows rows, each a move or locked"
