#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Everything at once for a few seconds, with call sites switched without a pause and under each engine; the long tier does it for ten
# minutes and two minutes each.
set -euo pipefail
if [ ! -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ]; then
  echo "skipped: no runtime in this build"
  exit 0
fi
"$RB_TEST_DATA/stress/toggle.sh" 4 24
exec "$RB_TEST_DATA/stress/run.sh" 4 24 so st fasttrack
