#!/usr/bin/env bash
# The allowed dependencies between folders, and the size of files, as CONTRIBUTING.md states them.
set -euo pipefail
src=$RB_TEST_DATA/../src
# A row is for a folder, or for one file of it (its .c and .h) that lies lower than the rest; includes are named by
# folder, or one by one.
declare -A may=(
  [base]="base"
  [clock]="base clock"
  [sample]="base sample"
  [trace]="base trace"
  [engine]="base clock engine"
  [hwbp/breakpoints]="base hwbp/breakpoints.h"
  [rt]="base clock sample trace engine hwbp/breakpoints.h rt"
  [hwbp]="base clock sample trace engine rt hwbp"
  [predict]="base clock trace engine predict"
  [lab]="base clock sample trace engine predict lab"
  [report]="base report"
  [selftest]="selftest"
  [inject]="base trace lab inject"
  [cli]="base clock sample trace engine predict lab report hwbp inject cli"
)

allowed() { # ROW INCLUDED
  local other
  for other in ${may[$1]}; do
    [ "$other" = "${2%%/*}" ] || [ "$other" = "$2" ] && return 0
  done
  [ "${2%%/*}" = railbird ]
}

check_tree() { # ROOT: prints violations
  local file folder row include lines
  for file in "$1"/*/*.[ch] "$1"/*/*.def; do
    [ -e "$file" ] || continue
    folder=$(basename "$(dirname "$file")")
    if [ -z "${may[$folder]:-}" ]; then
      echo "$file: folder '$folder' is not in the table of layers"
      continue
    fi
    row=$folder/$(basename "${file%.*}")
    [ -n "${may[$row]:-}" ] || row=$folder
    while read -r include; do
      allowed "$row" "$include" || echo "$file: $row may not include $include"
    done < <(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$file")
    lines=$(wc -l <"$file")
    [ "$lines" -le 800 ] || echo "$file: $lines lines; above 800 it is two files"
  done
}

# The checker first: it must see a planted violation.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
mkdir -p "$planted/clock" "$planted/hwbp" "$planted/rt"
echo '#include "lab/replay.h"' >"$planted/clock/planted.c"
echo '#include "rt/rt.h"' | tee "$planted/hwbp/breakpoints.c" >"$planted/hwbp/agent.c"
echo '#include "hwbp/agent.h"' >"$planted/rt/planted.c"
expected="clock may not include lab/replay.h
hwbp/breakpoints may not include rt/rt.h
rt may not include hwbp/agent.h"
[ "$(check_tree "$planted" | sed 's/^[^:]*: //' | sort)" = "$expected" ] || {
  echo "the layering check does not see planted violations"
  exit 1
}

violations=$(check_tree "$src")
if [ -n "$violations" ]; then
  echo "$violations"
  exit 1
fi
echo "layering: $(ls "$src"/*/*.[ch] | wc -l) files, no violation"
