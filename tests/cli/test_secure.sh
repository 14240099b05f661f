#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A program with rights that its caller lacks takes nothing from the caller's environment: it writes, reads and runs
# nothing else than the program built without us, and ends the same. Set-user-ID, set-group-ID and file capabilities.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD RAILBIRD_CC RAILBIRD_CXX
lib=$(realpath "$(dirname "$RAILBIRD")/../lib")
skip() {
  echo "skipped: $*"
  exit 77
}
[ -e "$lib/librailbird_rt.a" ] || skip "no runtime in this build"
[ "$(id -u)" = 0 ] || skip "only root can make programs with other rights"
user=65534
setpriv --reuid=$user --regid=$user --clear-groups true 2>/dev/null || skip "this user cannot become another"
source=$RB_TEST_DATA/start/race.c

# --- the programs
gcc -O1 -g "$source" -o plain -pthread
builds=(ours shared)
"$RAILBIRD" cc -O1 -g "$source" -o ours -pthread
gcc -O1 -g -fsanitize=thread -c "$source" -o race.o
gcc race.o -o shared -L"$lib" -lrailbird_rt -Wl,-rpath,"$lib" -pthread
if "$RAILBIRD" cc -O1 -g -static "$source" -o static -pthread 2>/dev/null; then builds+=(static); fi
cp ours caller # with no rights of its own
gcc -O1 -D_GNU_SOURCE "$RB_TEST_DATA/start/calls.c" -o calls
chmod 755 .
mkdir -m 700 private
mkdir -m 777 public
echo 'secretword of root' >private/secret
cat >evil.sh <<'SH'
#!/bin/bash -p
echo ran >>"$(dirname "$0")/public/ran"
SH
echo '__attribute__((constructor)) static void f(void) { char *volatile p = 0; *p = 1; }' |
  gcc -shared -fPIC -x c - -o evil.so
chmod 755 evil.sh evil.so
for name in plain "${builds[@]}"; do chmod 4755 "$name"; done

# of NAME VARIABLE=VALUE...: the program as the other user, with these variables alone; out, err and status
of() {
  local name=$1
  shift
  status=0
  setpriv --reuid=$user --regid=$user --clear-groups env -i "$@" "$work/$name" >out 2>err </dev/null || status=$?
} 2>/dev/null # the shell's words about a signal
of plain
grep -qx "user $user 0" out || skip "set-user-ID is not honoured here: $(cat out err)"

long=$(printf 'x%.0s' {1..100000})
hostile=(
  "RAILBIRD_TOOL=$work/evil.sh"
  "RAILBIRD_TOOL=$work/evil.sh RAILBIRD_OPTIONS=sampler=all"
  "RAILBIRD_OPTIONS=sampler=all:report=json:DIR/report"
  "RAILBIRD_OPTIONS=sampler=all:report=text,json:DIR/report"
  "RAILBIRD_OPTIONS=sampler=all:log_path=DIR/log"
  "RAILBIRD_OPTIONS=record=DIR/record"
  "RAILBIRD_OPTIONS=stats=json:DIR/stats"
  "RAILBIRD_OPTIONS=stats=1:sampler=all"
  "RAILBIRD_OPTIONS=sampler=all:suppressions=$work/private/secret"
  "RAILBIRD_OPTIONS=sampler=all:exitcode=7:halt_on_error=1"
  "RAILBIRD_OPTIONS=sampler=all:watch=1"
  "RAILBIRD_OPTIONS=strict=1:sampel=all"
  "RAILBIRD_OPTIONS=$long"
  "RAILBIRD_OPTIONS=memory=1M:stack_depth=256"
  "TSAN_OPTIONS=log_path=DIR/log:exitcode=7"
  "TSAN_OPTIONS=suppressions=$work/private/secret:halt_on_error=1"
  "TSAN_OPTIONS=external_symbolizer_path=$work/evil.sh"
  "LD_PRELOAD=$work/evil.so RAILBIRD_OPTIONS=sampler=all"
  "LD_PRELOAD=$lib/librailbird_watch.so RAILBIRD_WATCH=mode=both XDG_CACHE_HOME=DIR HOME=DIR"
  "LD_LIBRARY_PATH=$work OMP_TOOL_LIBRARIES=$work/evil.so GCONV_PATH=$work TMPDIR=DIR PATH=$work"
)

# --- the checker first: the same variables, to a program that may obey them
seen=0
for words in "${hostile[@]}"; do
  read -ra words <<<"${words//DIR/$work/public}"
  of caller "${words[@]}"
  if [ -n "$(ls -A public)" ] || [ $status != 66 ] || grep -q 'secretword\|sampler=\|Permission' err; then seen=$((seen + 1)); fi
  rm -rf public/* public/.??*
done
[ $seen -ge 10 ] || fail "only $seen of ${#hostile[@]} environments have an effect where they may"

# obeys NAME WHAT: NAME is to ignore every hostile environment
obeys_nothing() {
  local name=$1 what=$2 words
  of "$name"
  cp out wanted
  cp err wanted.err
  expect "$name, $what: status" $status 0
  expect "$name, $what: lines of ours" "$(wc -l <err)" "$([ "$name" = plain ] && echo 0 || echo 1)"
  for words in "${hostile[@]}"; do
    read -ra words <<<"${words//DIR/$work/private}"
    of "$name" "${words[@]}"
    expect "$name, $what: status with ${words[*]:0:200}" $status 0
    cmp -s wanted out || fail "$name, $what: output with ${words[*]:0:200}: $(head -c 300 out)"
    cmp -s <(grep -v '^ERROR: ld.so:' err) wanted.err ||
      fail "$name, $what: standard error with ${words[*]:0:200}: $(head -c 300 err)"
    expect "$name, $what: files with ${words[*]:0:200}" "$(ls -A private public | tr '\n' ' ')" "private: secret  public: "
    expect "$name, $what: the secret" "$(cat private/secret)" 'secretword of root'
    rm -rf public/* private/[!s]*
  done
}
for name in plain "${builds[@]}"; do obeys_nothing "$name" set-user-ID; done
for name in ours static; do
  [ -e $name ] || continue
  chmod 2755 $name
  obeys_nothing $name set-group-ID
  chmod 755 $name
  # cap_dac_override, permitted and effective: struct vfs_cap_data of version 2
  if python3 -c 'import os, struct, sys
os.setxattr(sys.argv[1], "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 1, 0, 0, 0))' $name 2>/dev/null; then
    obeys_nothing $name capabilities
    python3 -c 'import os, sys; os.removexattr(sys.argv[1], "security.capability")' $name
  fi
  chmod 4755 $name
done

# --- the calls of the kernel that name a file or start a program are those of the plain program
calls_of() { env -i "${@:2}" ./calls $user "$work/$1" 2>/dev/null; }
calls_of plain >calls.out
if grep -qx "user $user 0" calls.out; then
  grep -v "^execve\|^user\|^done" calls.out | sort -u >wanted
  for words in "${hostile[@]:0:17}"; do
    read -ra words <<<"${words//DIR/$work/private}"
    calls_of ours "${words[@]}" >calls.out
    grep -v "^execve $work/ours\|^user\|^done" calls.out | sort -u | comm -13 wanted - >more
    [ ! -s more ] || fail "calls with ${words[*]:0:200}: $(head -c 500 more)"
  done
fi

# --- the commands say it in a line
as_user() { setpriv --reuid=$user --regid=$user --clear-groups env HOME=/nonexistent "$RAILBIRD" "$@" >out 2>err </dev/null; }
if as_user --version >/dev/null 2>&1; then
  as_user run -o sampler=all "$work/ours" && status=0 || status=$?
  expect "run: status" $status 0
  expect "run: lines" "$(grep -c 'rights of its own.*cannot be looked into' err)" 1
  for words in watch "record -o public/t.rbt"; do
    # shellcheck disable=SC2086
    as_user $words "$work/ours" && status=0 || status=$?
    expect "$words: status" $status 2
    expect "$words: lines" "$(grep -c 'rights of its own.*cannot be looked into' err)" 1
    expect "$words: lines in all" "$(wc -l <err)" 1
  done
fi
finish secure
