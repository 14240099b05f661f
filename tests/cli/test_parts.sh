#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The table of the runtime's parts (src/run/life/parts.def): nothing is forgotten in a child of fork, and the compiler checks the
# order. Both checkers come first: each must reject a planted error.
set -euo pipefail
tests=${RB_TEST_DATA:-$(realpath "$(dirname "$0")/..")}
src=$tests/../src
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
mkdir -p "$planted/run/life" "$planted/run/sync"

cat >"$planted/run/sync/thing.c" <<'C'
void rb_thing_reset_after_fork(void)
{
    pthread_atfork(NULL, NULL, NULL);
}
C
cat >"$planted/run/life/parts.def" <<'C'
// The table stays.
RB_PART(heap, rb_heap_init(start->memory / 16), 0, 0)
// It is made.
RB_PART(thing, rb_thing_init(start->memory), 0, 0)
C
found=$(python3 "$tests/parts.py" "$planted" | wc -l)
[ "$found" = 3 ] || {
  echo "the checker sees $found of 3 planted errors"
  python3 "$tests/parts.py" "$planted"
  exit 1
}
missed=$(python3 "$tests/parts.py" "$src")
if [ -n "$missed" ]; then
  echo "$missed"
  exit 1
fi

# compiles FOLDER: parts.c with the table of that folder
compiles() {
  cc -std=gnu17 -fsyntax-only -DRB_ONLINE -Dsyscall=rb_raw_syscall -I "$1" -I "$src" -I "$src/../include" \
    "$src/run/life/parts.c" 2>"$planted/err"
}
compiles "$src" || {
  cat "$planted/err"
  exit 1
}
checked=0
while IFS=' ' read -r part earlier; do
  # The row of the part, before that of the earlier one.
  awk -v part="$part" -v earlier="$earlier" '
    NR == FNR { if ($0 ~ "^RB_PART(_ALWAYS)?\\(" part ",") row = $0; next }
    $0 ~ "^RB_PART(_ALWAYS)?\\(" earlier "," { print row }
    $0 != row' "$src/run/life/parts.def" "$src/run/life/parts.def" >"$planted/run/life/parts.def"
  if compiles "$planted" || ! grep -q 'static assertion' "$planted/err"; then
    echo "$part before $earlier: the compiler does not refuse"
    cat "$planted/err"
    exit 1
  fi
  checked=$((checked + 1))
done < <(sed -n 's/^RB_AFTER(\([a-z_]*\), \([a-z_]*\),.*/\1 \2/p' "$src/run/life/parts.def")
[ "$checked" -gt 5 ] || {
  echo "only $checked conditions"
  exit 1
}
echo "parts: $(grep -c '^RB_PART' "$src/run/life/parts.def") rows, $checked conditions"
