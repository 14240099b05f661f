#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What each room may include, as src/ROOMS and src/run/ROOMS say, and the size of files. The checker comes first: it must
# reject a planted violation of each room and rank, in each kind of file.
set -euo pipefail
tests=${RB_TEST_DATA:-$(realpath "$(dirname "$0")/..")}
src=$tests/../src
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT

mapfile -t rooms < <(sed -n 's/^\([a-z]*\):.*/\1/p' "$src/ROOMS")
mapfile -t ranks < <(sed -n 's/^\([a-z]*\):.*/\1/p' "$src/run/ROOMS")
mkdir -p "$planted/run/deep/er"
cp "$src/ROOMS" "$planted"
cp "$src/run/ROOMS" "$planted/run"
expected=0
# plant FILE INCLUDED: one violation more
plant() {
  mkdir -p "$(dirname "$planted/$1")"
  echo "#include \"$2\"" >"$planted/$1"
  expected=$((expected + 1))
}
for room in "${rooms[@]}"; do
  [ "$room" = cmd ] || plant "$room/planted.c" cmd/cli.h
done
plant cmd/planted.c run/core/rt.h
plant run/planted.c cmd/cli.h # of no rank: counted by its room
for i in "${!ranks[@]}"; do
  [ "$i" = 0 ] || plant "run/${ranks[i - 1]}/below/planted.h" "run/${ranks[i]}/planted.h"
done
for kind in S cc def; do
  plant "base/planted.$kind" engine/engine.h
done
plant nowhere/planted.c base/types.h
seq 801 >"$planted/base/long.c"
expected=$((expected + 1))
found=$(python3 "$tests/layering.py" "$planted" | wc -l)
# The two files run/planted.c are one.
[ "$found" = $((expected - 1)) ] || {
  echo "the checker sees $found of $((expected - 1)) planted violations"
  python3 "$tests/layering.py" "$planted"
  exit 1
}

violations=$(python3 "$tests/layering.py" "$src")
if [ -n "$violations" ]; then
  echo "$violations"
  exit 1
fi
echo "layering: $(find "$src" -name '*.[ch]' | wc -l) files, no violation"
