#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# field/run.sh [NAME...]: real programs from Debian source packages under Railbird, one script of this folder each; all by
# default, but libraries.sh. Not part of `make test`: sources are fetched (deb-src entries in apt's lists), and each takes
# minutes. See lib.sh for what is compared and for the variables, docs/explanation/field-notes.md for what was found.
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")"
results=$(mktemp)
trap 'rm -f "$results"' EXIT
failed=0
if [ $# = 0 ]; then
  mapfile -t all < <(find . -name '*.sh' ! -name lib.sh ! -name run.sh ! -name counters.sh ! -name libraries.sh -printf '%f\n' | sort)
  set -- "${all[@]%.sh}"
fi
for name; do
  status=0
  FIELD_RESULTS=$results timeout 1800 bash "./$name.sh" || status=$?
  [ "$status" = 0 ] || [ "$status" = 77 ] || failed=1
done
printf '\n| program | load | plain CPU s | Railbird CPU s | accesses | reports | distinct | TSan CPU s | TSan distinct |\n'
printf '|---|---|---|---|---|---|---|---|---|\n'
while IFS=$'\t' read -r program version load plain railbird accesses count ids tsan_time tsan; do
  printf "| %s %s | %s | %s | %s | %'d | %s | %s | %s | %s |\n" \
    "$program" "$version" "$load" "$plain" "$railbird" "$accesses" "$count" "$ids" "$tsan_time" "$tsan"
done <"$results"
exit "$failed"
