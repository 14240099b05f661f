#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# memory.sh [long]: what the runtime takes stays under memory= and the stated amount a thread (docs/explanation/runtime.md, section 11), as
# the kernel counts it: the process's size and resident memory while all threads are alive, less those of the same program built
# without the runtime; and `memory_used` of the statistics is that.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
. "$here/../cli/lib.sh"
[ -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ] || { echo "skipped: no runtime in this build"; exit 0; }
unset RAILBIRD_OPTIONS TSAN_OPTIONS LD_PRELOAD
gcc -O1 -g "$here/many.c" -o plain -pthread
"$RAILBIRD" cc -O1 -g "$here/many.c" -o ours -pthread
sizes=(8M 64M) threads=(10 300) policies=(engine=so engine=st engine=su engine=fasttrack sampler=literace)
[ "${1:-}" != long ] || threads=(10 1000 4096)

value() { sed -n "s/^$1 //p" "$2"; } # KiB
declare -A entry=([engine=so]=32 [engine=su]=48 [engine=st]=16 [engine=fasttrack]=16 [sampler=literace]=32)

# The stated amounts, in KiB: memory= once more by an eighth for literace, 16 MiB of address space of which 4 MiB are used, and
# for each of n threads 16 KiB and `entry` bytes for each of the n.
bound() { # POLICY MEMORY THREADS FIXED
  local memory=$((${2%M} * 1024))
  [ "$1" != sampler=literace ] || memory=$((memory * 9 / 8))
  echo $((memory + $4 + $3 * 16 + $3 * $3 * ${entry[$1]} / 1024))
}
printf '%-18s %6s %8s %10s %10s %10s %10s %10s\n' policy memory threads rss_KiB bound_KiB vsz_KiB used_KiB lost
for n in "${threads[@]}"; do
  ./plain live "$n" >plain.out
  for memory in "${sizes[@]}"; do
    for policy in "${policies[@]}"; do
      what="$policy memory=$memory, $n threads"
      rm -f stats
      RAILBIRD_OPTIONS=$policy:memory=$memory:stats=json:stats timeout 300 ./ours live "$n" >ours.out || fail "$what: status $?"
      if [ ! -s stats ]; then # it says why on stderr
        fail "$what: no statistics"
        continue
      fi
      expect "$what: threads" "$(value made ours.out)" "$n"
      expect "$what: the sum under locks" "$(value sum ours.out)" "$(value sum plain.out)"
      rss=$(($(value VmRSS ours.out) - $(value VmRSS plain.out)))
      vsz=$(($(value VmSize ours.out) - $(value VmSize plain.out)))
      used=$(($(sed 's/.*"memory_used":\([0-9]*\).*/\1/' stats) / 1024))
      lost=$(sed 's/.*"lost_edges":\([0-9]*\).*/\1/' stats)
      printf '%-18s %6s %8d %10d %10d %10d %10d %10d\n' "$policy" "$memory" "$n" "$rss" \
        "$(bound "$policy" "$memory" "$n" 4096)" "$vsz" "$used" "$lost"
      [ "$rss" -le "$(bound "$policy" "$memory" "$n" 4096)" ] || fail "$what: $rss KiB resident"
      # Used at the end; the code and data of the runtime are not among it.
      [ "$used" -ge $((rss - 4096)) ] || fail "$what: memory_used says $used KiB, resident are $rss"
      [ "$vsz" -le "$(bound "$policy" "$memory" "$n" 16384)" ] || fail "$what: $vsz KiB of address space"
    done
  done
done
finish memory
