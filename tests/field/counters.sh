#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# field/counters.sh [NAME...]: what synchronisation costs the engine on real programs. The loads of this folder under several
# sampling rates, the runtime's own counters of each, as a Markdown table. Summed over all processes of a load.
#
#   skipped         the share of acquires that a few comparisons found to have nothing new
#   walked          clock entries looked at for each acquire that was not skipped, of how many there are
#   an acquire      the same entries, over all acquires
#
# FIELD_SAMPLERS (default: random:0.003 random:0.03 random:0.1 all), and the variables of lib.sh.
set -euo pipefail
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")"
read -ra samplers <<<"${FIELD_SAMPLERS:-random:0.003 random:0.03 random:0.1 all}"
[ $# != 0 ] || set -- memcached redis pigz zstd lbzip2 pbzip2 sqlite leveldb
stats=$(mktemp)
trap 'rm -f "$stats"' EXIT
failed=0
echo '| program | sampler | accesses | sampled | acquires | skipped | releases skipped | deep copies | walked | an acquire | CPU s |'
echo '|---|---|---|---|---|---|---|---|---|---|---|'
for name; do
  for sampler in "${samplers[@]}"; do
    status=0
    : >"$stats"
    said=$(FIELD_REUSE=1 FIELD_STATS=$stats FIELD_OPTIONS="sampler=$sampler" timeout 1800 bash "./$name.sh") || status=$?
    [ "$status" != 77 ] || break
    [ "$status" = 0 ] || failed=1
    [ "$status" = 0 ] || echo "$said" >&2
    python3 - "$stats" "$name" "$sampler" "$(sed -n 's/.*Railbird \([0-9.]*\) s (CPU).*/\1/p' <<<"$said")" <<'PYTHON'
import json, sys

path, name, sampler, seconds = sys.argv[1:]
stats = [json.loads(line) for line in open(path)]
total = lambda key: sum(s[key] for s in stats)
share = lambda part, whole: "%.1f %%" % (100 * part / whole) if whole else "-"
each = lambda part, whole: "%.2f" % (part / whole) if whole else "-"
acquires = total("acquires")
walks = acquires - total("acquires_skipped")
print("|", " | ".join((
    name, sampler, "{:,}".format(total("accesses")), share(total("sampled"), total("accesses")),
    "{:,}".format(acquires), share(total("acquires_skipped"), acquires),
    share(total("releases_skipped"), total("releases")), "{:,}".format(total("deep_copies")),
    each(total("entries_traversed"), walks) + " of " + each(total("entries_total"), walks),
    each(total("entries_traversed"), acquires), seconds or "?")), "|", flush=True)
PYTHON
  done
done
exit "$failed"
