#!/usr/bin/env bash
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
source "$root/completion/railbird.bash"
COMP_WORDS=(railbird an) COMP_CWORD=1
compopt() { :; }
_railbird
[ "${COMPREPLY[*]}" = analyze ] || { echo "completion of 'an' gives '${COMPREPLY[*]}'"; missing=1; }
exit "$missing"
