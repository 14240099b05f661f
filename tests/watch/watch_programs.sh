#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# How often `railbird watch` finds the race of each program of programs/, and that it confirms none in its twin.
#   watch_programs.sh [--seconds S] [--until S] [--runs N] [--modes "clock collide both"] [--builds "gcc clang ..."] [PROGRAM...]
# A table: of N runs of S seconds, how many confirmed the race / had it as a candidate. Status 1 if a twin's run
# confirmed one, crashed or printed something else than without. With --until a racing program runs until its race is
# confirmed, for at most S seconds; S seconds more cost nothing where it is, and others may use the machine.
# Builds: gcc gcc-nopie gcc-pointer clang clang-nopie clang-pointer. $RAILBIRD is the program.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
seconds=10 until='' runs=1 modes="clock collide both" builds="gcc clang"
options=(--budget 20%)
while [ $# -gt 0 ]; do
  case $1 in
  --seconds) seconds=$2 && shift 2 ;;
  --until) until=$2 && shift 2 ;;
  --runs) runs=$2 && shift 2 ;;
  --modes) modes=$2 && shift 2 ;;
  --builds) builds=$2 && shift 2 ;;
  --watch) read -ra options <<<"$2" && shift 2 ;;
  *) break ;;
  esac
done
programs=("$@")
[ ${#programs[@]} -gt 0 ] || mapfile -t programs < <(cd "$here/programs" && ls -- *.c *.cpp)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME=$work/cache
unset RAILBIRD_OPTIONS RAILBIRD_WATCH TSAN_OPTIONS
wrong=0

build() { # HOW SOURCE RACE OUT
  local compiler=gcc flags=(-O2 -g)
  case $1 in clang*) compiler=clang ;; esac
  case $2 in *.cpp) [ $compiler = gcc ] && compiler=g++ || compiler=clang++ ;; esac
  case $1 in
  *-nopie) flags+=(-no-pie -fno-pie) ;;
  *-pointer) flags+=(-fno-omit-frame-pointer) ;;
  esac
  $compiler "${flags[@]}" -DRACE=$3 "$here/programs/$2" -o "$4" -lpthread
}

# one MODE PROGRAM SECONDS [OPTION...]: sets found to confirmed, candidate, nothing or wrong
one() {
  local mode=$1 program=$2 length=$3 status=0 n
  shift 3
  rm -f "$work/stats"
  timeout $((${length%.*} + 300)) "$RAILBIRD" watch --mode "$mode" "${options[@]}" "$@" -o report=none -o "stats=json:$work/stats" \
    -- "$program" "$length" >"$work/out" 2>"$work/err" || status=$?
  n=$(sed -n 's/.*"candidates":\([0-9]*\).*/\1/p' "$work/stats" 2>/dev/null || true)
  case $status:$(cat "$work/out") in
  66:done) found=confirmed ;;
  66:) [[ $* = *halt_on_error=1* ]] && found=confirmed || found="wrong (no output)" ;;
  0:done) found=nothing && [ "${n:-0}" = 0 ] || found=candidate ;;
  *) found="wrong (status $status: $(head -c 200 "$work/err"))" ;;
  esac
}

printf '%-16s %-12s' program build
for mode in $modes; do printf ' %14s' "$mode"; done
printf ' %10s\n' "twin"
for program in "${programs[@]}"; do
  for how in $builds; do
    build "$how" "$program" 1 "$work/race"
    build "$how" "$program" 0 "$work/norace"
    printf '%-16s %-12s' "${program%.*}" "$how"
    twins=0
    for mode in $modes; do
      confirmed=0 candidates=0
      for ((i = 0; i < runs; i++)); do
        if [ -n "$until" ]; then
          one "$mode" "$work/race" "$until" -o halt_on_error=1
        else
          one "$mode" "$work/race" "$seconds"
        fi
        case $found in
        confirmed) confirmed=$((confirmed + 1)) ;;
        candidate) candidates=$((candidates + 1)) ;;
        wrong*) wrong=$((wrong + 1)) && echo " $found" ;;
        esac
        one "$mode" "$work/norace" "$seconds"
        case $found in
        candidate) twins=$((twins + 1)) ;;
        confirmed | wrong*) wrong=$((wrong + 1)) && echo " TWIN: $found" ;;
        esac
      done
      printf ' %14s' "$confirmed+$candidates/$runs"
    done
    printf ' %10s\n' "0+$twins"
  done
done
[ "$wrong" = 0 ] || { echo "$wrong runs went wrong" && exit 1; }
