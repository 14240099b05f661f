#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The manual, the completion and the help speak of the same options, engines and samplers.
set -euo pipefail
root=$RB_TEST_DATA/..
missing=0
need() { # WORD FILE
  grep -qF -- "$1" <(sed 's/\\-/-/g' "$2") || { echo "$2 does not mention $1"; missing=1; }
}
for command in trace analyze compare; do
  for word in $("$RAILBIRD" "$command" -h | grep -oE -- '--[a-z]+' | sort -u); do
    need "$word" "$root/man/railbird.1"
    need "$word" "$root/completion/railbird.bash"
  done
done
for word in $("$RAILBIRD" analyze -h | awk '/^ {19}[a-z]/ {sub(/:.*/, "", $1); print $1}'); do
  need "$word" "$root/man/railbird.1"
  need "$word" "$root/completion/railbird.bash"
done
for word in all literace so fasttrack rpt; do # the lists above are not empty
  "$RAILBIRD" analyze -h | grep -qE "^ {19}$word" || { echo "analyze -h does not list $word"; missing=1; }
done
for command in run watch record report doctor inject eval; do # with pages of their own
  for word in $("$RAILBIRD" "$command" -h | grep -oE -- '--[a-z]+(-[a-z]+)*' | sort -u); do
    need "$word" "$root/man/railbird-$command.1"
    need "$word" "$root/completion/railbird.bash"
  done
done
keys=$("$RAILBIRD" run -h | sed -n '/^Options of the runtime/,$s/^  \([a-z_]*\) .*/\1/p')
[ "$(wc -w <<<"$keys")" -ge 14 ] || { echo "run -h lists only: $keys"; missing=1; }
for word in $keys; do
  need "$word=" "$root/man/railbird-run.1"
  need "$word=" "$root/completion/railbird.bash"
done
for word in RAILBIRD_CC RAILBIRD_CXX railbird-cc; do
  need "$word" "$root/man/railbird-cc.1"
done
for page in "$root"/man/*.1; do # every page is installed and referred to
  [ "${page##*/}" = railbird.1 ] || need "$(basename "$page" .1)" "$root/man/railbird.1"
done
source "$root/completion/railbird.bash"
COMP_WORDS=(railbird an) COMP_CWORD=1
compopt() { :; }
completes() { # WORDS...: of the last of them
  COMP_WORDS=(railbird "$@") COMP_CWORD=$#
  _railbird
  echo "${COMPREPLY[*]}"
}
for command in $("$RAILBIRD" -h | sed -n 's/^  \([a-z+]*\) .*/\1/p'); do
  [ "$(completes "$command")" = "$command" ] || { echo "completion of '$command' gives '$(completes "$command")'"; missing=1; }
done
[ "$(completes run -o exi)" = exitcode= ] || { echo "completion of run -o exi gives '$(completes run -o exi)'"; missing=1; }
[ "$(completes run --se)" = --self-test ] || { echo "completion of run --se gives '$(completes run --se)'"; missing=1; }
[ "$(completes run ./program --js)" = "" ] || { echo "completion of a program's own options"; missing=1; }
COMP_WORDS=(railbird an) COMP_CWORD=1
_railbird
[ "${COMPREPLY[*]}" = analyze ] || { echo "completion of 'an' gives '${COMPREPLY[*]}'"; missing=1; }
exit "$missing"
