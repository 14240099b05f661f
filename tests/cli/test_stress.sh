#!/usr/bin/env bash
# Everything at once for a few seconds under each engine; the long tier does it for two minutes each.
set -euo pipefail
if [ ! -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ]; then
  echo "skipped: no runtime in this build"
  exit 0
fi
exec "$RB_TEST_DATA/stress/run.sh" 4 24 so st fasttrack
