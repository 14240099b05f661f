#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# railbird code-table from outside: files of every kind, the cache, what is left out, bad input; and every row against
# objdump's reading of the same code, where that is there.
. "$RB_TEST_DATA/cli/lib.sh"
export XDG_CACHE_HOME=$work/cache
command=(code-table)

cat >program.c <<'END'
#include <stdio.h>
int shared[64]; static const int table[] = {3, 1, 4, 1, 5, 9, 2, 6};
__attribute__((noinline)) int work_on(int *p, int n) { int s = 0; for (int i = 0; i < n; i++) { p[i] += table[i & 7]; s += shared[i & 63]; } return s; }
int main(int argc, char **argv) { (void)argv; int local[8] = {argc}; printf("%d\n", work_on(local, 8)); return 0; }
END
gcc -O2 -o pie program.c
gcc -O2 -no-pie -o fixed program.c
gcc -O2 -static -o static program.c
gcc -O2 -shared -fPIC -o library.so program.c
gcc -O0 -o slow program.c
cp pie stripped && strip stripped
cp pie bare && strip bare && objcopy --strip-section-headers bare 2>/dev/null || cp stripped bare
gcc -O2 -Wl,--build-id=none -o nameless program.c
gcc -O2 -Wl,--build-id=0x"$(printf '%064d' 7)" -o long_name program.c

for file in pie fixed static library.so slow stripped bare nameless long_name; do
  run 0 $file
  path=$(cat out)
  [ -s "$path" ] || fail "$file: '$path' is not there"
  case $path in "$XDG_CACHE_HOME"/railbird/code/*.rbc) ;; *) fail "$file: $path is not in the cache" ;; esac
  run 0 $file -o own.rbc --json
  [ "$(field rows)" -gt 10 ] && [ "$(field sites)" -gt 0 ] || fail "$file: $(cat out)"
  # the C library skips over `lock` prefixes in a few places, where there is one thread
  [ $file = static ] || expect "$file: functions left out" "$(field functions_invalid)$(field functions_entered)$(field functions_with_data)" 000
done
run 0 pie --json
expect "a table that is there is used" "$(field made)" false
table=$(sed 's/.*"path":"\([^"]*\)".*/\1/' out)
run 0 stripped --json
expect "stripping changes nothing: the table" "$(sed 's/.*"path":"\([^"]*\)".*/\1/' out)" "$table"
printf X | dd of="$table" bs=1 seek=200 conv=notrunc 2>/dev/null
run 0 pie --json
expect "a damaged one is made anew" "$(field made)" true
find "$XDG_CACHE_HOME"/railbird/code -type f | grep -v '/[0-9a-f]*\.rbc$' && fail "temporary files are left"
run 0 nameless --json
expect "without a build-id: bytes of what stands for it" "$(field build_id | tr -d '"' | tr -d '\n' | wc -c)" 40
cp nameless renamed
run 0 renamed --json
expect "the same contents under another name" "$(field made)" false
run 0 long_name --json
expect "a long build-id is cut" "$(field build_id)" "\"$(printf '%040d' 0)\""
XDG_CACHE_HOME=$work/home/cache refused 'No such file' pie
[ ! -e home ] || fail "a folder above the cache was made"
mkdir home
(unset XDG_CACHE_HOME; HOME=$work/home "$RAILBIRD" code-table pie) | grep -q "^$work/home/.cache/railbird/code/.*rbc$" || fail "not below ~/.cache"

# sites: none on the stack, none in constants
run 0 slow -o own.rbc --rows
awk '$3 ~ /S/ && $5 ~ /\((rsp|rbp)/' out | grep -q . && fail "a frame's variables are sites"
run 0 pie -o own.rbc --rows
grep -q '^[0-9a-f]* [0-9]* rwS[^ ]* 4 ' out || fail "p[i] += is no site"

# what is left out: data among the code, jumps into an instruction, functions without unwinding information
cat >odd.s <<'END'
.text
.globl good, data, jumped, jumper, silent, reader
good: .cfi_startproc
mov (%rdi),%eax
ret
.cfi_endproc
data: .cfi_startproc
mov (%rdi),%eax
ret
.byte 0x06, 0x06
.cfi_endproc
jumped: .cfi_startproc
.byte 0xb8
inner: mov (%rdi),%eax
nop
nop
mov 4(%rdi),%eax
ret
.cfi_endproc
jumper: .cfi_startproc
jmp inner
.cfi_endproc
reader: .cfi_startproc
mov constant(%rip),%eax
ret
constant: .byte 0x8b, 0x47, 0x04, 0x90
.cfi_endproc
addresser: .cfi_startproc
lea pointed+1(%rip),%rax
ret
.cfi_endproc
pointed: .cfi_startproc
mov 12(%rdi),%eax
ret
.cfi_endproc
silent: mov 8(%rdi),%eax
ret
.section .note.GNU-stack,"",@progbits
END
gcc -shared -nostdlib -o odd.so odd.s
run 0 odd.so -o own.rbc --json
expect "functions" "$(field functions)" 7
expect "functions with data" "$(field functions_invalid)" 1
expect "functions that are jumped into, or whose inside is pointed at" "$(field functions_entered)" 2
expect "functions that are read" "$(field functions_with_data)" 1
run 0 odd.so -o own.rbc --rows
expect "rows of what is left" "$(grep -c '(rdi' out)" 1 # that of good

# bad input
command=(code-table)
head -c 1000 pie >cut
head -c 64 /dev/zero >zeros
: >empty
gcc -c -o object.o program.c
refused "nowhere: No such file" nowhere
refused "empty: expected an ELF file" empty
refused "zeros: expected an ELF file" zeros
refused "program.c: expected an ELF file" program.c
refused "object.o: expected an executable or a shared object" object.o
refused "expected a file" "$work"
refused "is the input" pie -o pie
refused "expected one FILE"
refused "expected one FILE" pie fixed
refused "is not an option" pie --nonsense
refused "No such file" pie -o "$work/nowhere/out"
got=0
timeout 300 "$RAILBIRD" code-table cut >out 2>err || got=$?
[ $got -le 2 ] || fail "a cut file: status $got"

# every row begins and ends where objdump has it
if command -v objdump >/dev/null; then
  for file in static "$(command -v bash)" "$RAILBIRD"; do
    "$RAILBIRD" code-table "$file" -o own.rbc --rows | awk '{print $1}' | sort -u >rows
    # fwait is an instruction of its own, which objdump shows as a part of the next one
    objdump -d -w "$file" | sed -n 's/^ *\([0-9a-f]*\):\t\(..\).*/\1 \2/p' | while read -r at byte; do
      echo "$at"
      [ "$byte" != 9b ] || printf '%x\n' $((0x$at + 1))
    done | sort -u >starts
    comm -23 rows starts >wrong
    [ -s rows ] && [ ! -s wrong ] || fail "$file: $(wc -l <wrong) of $(wc -l <rows) rows are where objdump has no instruction: $(head -n 3 wrong | tr '\n' ' ')"
  done
  # so do atomic instructions: all of a library's, with their lengths; %fs is the thread's own memory
  for file in "$(gcc -print-file-name=libstdc++.so.6)" "$(ldd "$RAILBIRD" | sed -n 's/.* => \(.*libdw[^ ]*\) .*/\1/p')"; do
    "$RAILBIRD" code-table --rmw --rows "$file" | awk '{print $1, $2}' | sort >rows
    objdump -d -w "$file" | awk -F'\t' '$3 ~ /^lock |^xchg .*\(/ && $3 !~ /%[fg]s:/ {
      sub(/^ */, "", $1); sub(/:/, "", $1); print $1, split($2, bytes, " ")}' | sort >atomics
    [ -s rows ] && cmp -s rows atomics || fail "$file: atomic instructions are not those of objdump: $(diff rows atomics | head -n 3 | tr '\n' ' ')"
    "$RAILBIRD" code-table --rmw --json "$file" >out
    expect "$file: instructions" "$(field instructions)" "$(wc -l <atomics)"
  done
fi
"$RAILBIRD" code-table --rmw pie library.so >out
expect "tables of two files" "$(grep -c '\.rmw$' out)" 2
refused "exclude each other" --rmw pie -o own.rmw
refused "No such file" --rmw nowhere
finish "code-table"
