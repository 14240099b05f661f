#!/usr/bin/env bash
# The allowed dependencies between folders, and the size of files, as CONTRIBUTING.md states them.
set -euo pipefail
src=$RB_TEST_DATA/../src
declare -A may=(
  [base]="base"
  [clock]="base clock"
  [sample]="base sample"
  [trace]="base trace"
  [engine]="base clock engine"
  [rt]="base clock sample trace engine rt"
  [lab]="base clock sample trace engine lab"
  [report]="base report"
  [selftest]="selftest"
  [cli]="base clock sample trace engine lab report cli"
)

allowed() { # FOLDER INCLUDED
  local folder
  for folder in ${may[$1]}; do
    [ "$folder" = "${2%%/*}" ] && return 0
  done
  [ "${2%%/*}" = railbird ]
}

check_tree() { # ROOT: prints violations
  local file folder include lines
  for file in "$1"/*/*.[ch] "$1"/*/*.def; do
    [ -e "$file" ] || continue
    folder=$(basename "$(dirname "$file")")
    if [ -z "${may[$folder]:-}" ]; then
      echo "$file: folder '$folder' is not in the table of layers"
      continue
    fi
    while read -r include; do
      allowed "$folder" "$include" || echo "$file: $folder may not include $include"
    done < <(sed -n 's/^#include "\([^"]*\)".*/\1/p' "$file")
    lines=$(wc -l <"$file")
    [ "$lines" -le 800 ] || echo "$file: $lines lines; above 800 it is two files"
  done
}

# The checker first: it must see a planted violation.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
mkdir -p "$planted/clock"
echo '#include "lab/replay.h"' >"$planted/clock/planted.c"
check_tree "$planted" | grep -q 'clock may not include lab/replay.h' || {
  echo "the layering check does not see a planted violation"
  exit 1
}

violations=$(check_tree "$src")
if [ -n "$violations" ]; then
  echo "$violations"
  exit 1
fi
echo "layering: $(ls "$src"/*/*.[ch] | wc -l) files, no violation"
