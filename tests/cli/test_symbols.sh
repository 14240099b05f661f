#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Every function that libc, libstdc++, libgomp and libomp export is followed, or tests/handover/symbols.txt says why not;
# and docs/reference/order.md says the same.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
. "$here/lib.sh"
symbols=$here/../handover/symbols.py
runtime=$(dirname "$(realpath "$RAILBIRD")")/../lib/librailbird_rt.so

if [ ! -e "$runtime" ] || ! command -v readelf >/dev/null || ! command -v c++filt >/dev/null; then
  finish "symbols, skipped: no runtime, or no binutils"
  exit 0
fi
python3 "$symbols" --self-test || fail "the script does not find what was planted"
python3 "$symbols" "$runtime" >out || fail "functions in no class"
cat out
python3 "$symbols" --check "$here/../../docs/reference/order.md" || fail "the page is out of date"
finish "symbols"
