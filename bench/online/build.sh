#!/usr/bin/env bash
# build.sh PROGRAM VARIANT: a program of tests/field, fetched and built by the functions there, for bench/online/run.py. Says
# the folder it was built in. VARIANT is plain, railbird, one (the same without second bodies), nop (RAILBIRD names an installation whose runtime is empty),
# gcc-tsan or clang-tsan. Status 77: the source or a package it needs cannot be had; the last line says which.
#
# What differs from the field's builds: everything is at -O2, without assertions, and only what is measured is built; so these have
# folders of their own.
# shellcheck disable=SC2034,SC2153,SC2154 # what lib.sh reads and sets
set -euo pipefail
online=$(dirname "$(realpath "$0")")
field=$online/../../tests/field/$1.sh
want=$2

if [ -z "${ONLINE_INNER:-}" ]; then # the field's scripts find their folder by $0
  ONLINE_INNER=1 ONLINE=$online exec bash -c "source '$online/build.sh'" "$field" "$1" "$want"
fi
unset ONLINE_INNER
online=$ONLINE
# shellcheck source=/dev/null
source <(grep -v '^field$' "$0")
failed=0

less() { # of what the script builds
  eval "$(declare -f build | sed "$@")"
}
case $program in
libzstd) less 's/ && make .*zstreamtest//' ;;
memcached) less 's/memcached-debug sizes timedrun/memcached/' ;;
sqlite3) less 's/-O1/-O2/g; s/for n in 3 4 5/for n in/' ;;
esac

case $want in
plain) CC=gcc ;;
railbird | one | nop) CC="$RAILBIRD cc" ;;
gcc-tsan) CC='gcc -fsanitize=thread' ;;
clang-tsan) CC='clang -fsanitize=thread -Wno-error' ;;
*) echo "no variant $want" >&2 && exit 2 ;;
esac
CXX=false CC1=false CXX1=false INSTRUMENT='' # programs in C, none of them by CMake
export RAILBIRD_CC=gcc

fetch
tree=$cache/build/$program-online-$want
case $want in
railbird | one | nop) refresh ;;
esac
compile "online-$want" || exit 1
if [ "$program" = sqlite3 ] && ! { [ "$tree/online" -nt "$online/sqlite.c" ] && [ "$tree/online" -nt "$tree/field.o" ]; }; then
  $CC -O2 -g -I"$tree" "$online/sqlite.c" "$tree/field.o" -o "$tree/online" -lm -lpthread -ldl
fi
echo "$(cat "$source_folder/.done") $tree"
