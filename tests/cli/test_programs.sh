#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The programs of tests/programs, in pairs: X_race must be reported, by the two lines marked in its source, X_norace
# must not. Built by `railbird cc` and `railbird c++`, run with every access sampled, X_norace also with some of them,
# judged by programs/judge.py.
#   test_programs.sh [-k PATTERN] [-c COMPILER]... [-l LEVEL]... [-n RUNS] [-s N/SHARDS] [-j JOBS] [-v]
#   -k  only programs whose path contains PATTERN (a shell pattern)   -c  gcc, clang, clang-19; default gcc and clang
#   -l  O0, O1, O2; default O1, and abi/ also at O0 (gcc) and O2 (clang)   -n  runs of each; default $RB_TEST_RUNS or 3
#   -s  only every SHARDS-th of them, from the N-th on   -j  as many at once; default: a processor each
#   -v  keeps the working folder and says where it is
# RB_DETECTOR=tsan uses the compilers' own ThreadSanitizer instead: that tests the programs, not Railbird.
# A program may ask for more in the comment it opens with:
#   build: FLAGS      plugin: FILE.c (a library of its own, PLUGINS "/FILE.so")      compilers: NAMES (only these)
set -euo pipefail
self=$(realpath "${BASH_SOURCE[0]}")
here=$(dirname "$self")
programs=$(realpath "$here/../programs")
export LC_ALL=C.UTF-8

cxx_of() {
  case $1 in
  gcc*) echo "g++${1#gcc}" ;;
  clang*) echo "clang++${1#clang}" ;;
  esac
}

# asked KEY FILE: `words` is what stands behind "KEY:" in the opening comment
asked() {
  local line
  words=
  while read -r line && [ "${line#\#}" = "$line" ]; do
    case $line in
    "* $1: "* | "! $1: "*) words+="${line#?" $1: "} " ;;
    esac
  done <"$2"
}

# build COMPILER ARGUMENTS...: C, C++ or Fortran by what the last argument ends with
build() {
  local compiler=$1 driver=cc source=${*: -1}
  shift
  if [ "${source##*.}" = cpp ]; then
    compiler=$(cxx_of "$compiler")
    driver=c++
  elif [ "${source##*.}" = f90 ]; then
    compiler=gfortran
  fi
  if [ "$RB_DETECTOR" = tsan ]; then
    # What railbird cc adds for the same reason: calls the compiler would replace after instrumentation.
    "$compiler" -fsanitize=thread -fno-builtin-memcpy -fno-builtin-memset -fno-builtin-memmove -Wno-tsan \
      -Wno-unknown-warning-option "$@"
  else
    RAILBIRD_CC=$compiler RAILBIRD_CXX=$compiler "$RAILBIRD" $driver "$@"
  fi
}

# job PROGRAM COMPILER LEVEL: builds and runs; leaves what judge.py wants
job() {
  local program=$1 compiler=$2 level=$3 folder=$RB_WORK/${1//\//.}.$2.$3 plugin plugins flags openmp=() status n words run sampler
  local partly=(random:0.5 random:0.1 adaptive static:0.5) # where edges that are not followed would be seen
  mkdir "$folder"
  printf '%s\n' "$@" >"$folder/job"
  echo "$programs/$program" >"$folder/sources"
  asked build "$programs/$program"
  flags=$words
  asked plugin "$programs/$program"
  plugins=$words
  case $program in
  openmp/*)
    read -ra openmp <"$RB_WORK/openmp.$compiler"
    TSAN_OPTIONS+=:ignore_noninstrumented_modules=1
    ;;
  esac
  status=0
  {
    for plugin in $plugins; do
      plugin=${program%/*}/$plugin
      echo "$programs/$plugin" >>"$folder/sources"
      build "$compiler" "-$level" -g -shared -fPIC -o "$folder/$(basename "$plugin" .c).so" "$programs/$plugin" ||
        status=$?
    done
    # shellcheck disable=SC2086 # several words
    build "$compiler" "-$level" -g "${openmp[@]}" "-DPLUGINS=\"$folder\"" $flags -o "$folder/program" \
      "$programs/$program" || status=$?
    echo "$status"
  } >"$folder/build" 2>&1
  [ "$status" = 0 ] || return 0
  for ((n = 1; n <= RB_TEST_RUNS; n++)); do
    for sampler in all $([[ $program != *_norace.* || $RB_DETECTOR = tsan ]] || echo "${partly[(n - 1) % 4]}"); do
      status=0
      run=$n.$sampler
      (cd "$folder" && RAILBIRD_OPTIONS=sampler=$sampler:verbose=1 timeout 300 ./program >"out.$run" 2>"err.$run" </dev/null) \
        2>>"$folder/shell" || status=$?
      echo "$status" >"$folder/status.$run"
    done
  done
  rm -f "$folder"/program "$folder"/*.so
}

if [ "${1:-}" = --job ]; then
  shift
  job "$@"
  exit
fi

pattern='' keep='' compilers=() levels=() shard=1 shards=1 jobs=$(nproc)
while getopts k:c:l:n:s:j:v option; do
  case $option in
  k) pattern=$OPTARG ;;
  c) compilers+=("$OPTARG") ;;
  l) levels+=("${OPTARG#-}") ;;
  n) RB_TEST_RUNS=$OPTARG ;;
  s) shard=${OPTARG%/*} shards=${OPTARG#*/} ;;
  j) jobs=$OPTARG ;;
  v) keep=1 ;;
  *) exit 2 ;;
  esac
done
export RB_TEST_RUNS=${RB_TEST_RUNS:-3} RB_DETECTOR=${RB_DETECTOR:-railbird}
if [ "$RB_DETECTOR" != tsan ]; then
  RAILBIRD=$(realpath "${RAILBIRD:-$here/../../build/bin/railbird}")
  export RAILBIRD
  if [ ! -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ]; then
    echo "skipped: there is no lib/librailbird_rt.a next to $(dirname "$RAILBIRD")"
    exit 0
  fi
fi
export TSAN_OPTIONS="atexit_sleep_ms=0:report_thread_leaks=0:report_signal_unsafe=0"
python3 "$programs/judge.py" --self-test
RB_WORK=$(mktemp -d)
export RB_WORK
if [ -n "$keep" ]; then
  echo "working in $RB_WORK"
else
  trap 'rm -rf "$RB_WORK"' EXIT
fi

# A compiler that is not there is left out, and so is OpenMP where its library is not. A clang may find the library of
# another one beside it, older than what it calls: at the end of dynamic loops since clang 19.
cat >"$RB_WORK/omp.c" <<'END'
#include <omp.h>
int main(void)
{
    int sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
    for (int i = 0; i < 10; i++)
        sum += i;
    return omp_get_max_threads() < 1 || sum != 45;
}
END
usable=()
for compiler in "${compilers[@]:-gcc}" $([ ${#compilers[@]} != 0 ] || echo clang); do
  if ! command -v "$compiler" >/dev/null || ! command -v "$(cxx_of "$compiler")" >/dev/null; then
    echo "skipped: $compiler, which is not installed"
    continue
  fi
  usable+=("$compiler")
  if [ -e "$(dirname "${RAILBIRD:-}")/../lib/railbird/gcc-$("$compiler" -dumpfullversion 2>/dev/null)/bodies.so" ]; then
    touch "$RB_WORK/plugin.$compiler"
  else
    echo "skipped: assembly/ with $compiler, which has no plugin of ours"
  fi
  for root in '' /usr/lib/llvm-*; do
    header=$(find ${root:+"$root/lib"} /dev/null -name omp.h -print -quit 2>/dev/null)
    flags="-fopenmp${header:+ -idirafter $(dirname "$header") -L$root/lib}"
    # shellcheck disable=SC2086 # several words
    if "$compiler" $flags "$RB_WORK/omp.c" -o "$RB_WORK/omp" 2>/dev/null && "$RB_WORK/omp"; then
      echo "$flags" >"$RB_WORK/openmp.$compiler"
      break
    fi
  done
  [ -e "$RB_WORK/openmp.$compiler" ] ||
    echo "skipped: openmp/ with $compiler, whose OpenMP library is not installed"
done
# LLVM's OpenMP library tells a detector of its synchronisation through this tool.
tool=$(find /usr/lib/llvm-*/lib -maxdepth 1 -name libarcher.so 2>/dev/null | sort -V | tail -1)
[ -z "$tool" ] || export OMP_TOOL_LIBRARIES=$tool

fortran=$(command -v gfortran) || echo "skipped: openmp/*.f90, for gfortran is not installed"

# Every program has its twin.
cd "$programs"
malformed=0
for program in $(find . -name '*_race.[cf]*' -o -name '*_norace.[cf]*' | sed 's|^\./||' | sort); do
  case $program in
  *_norace.*) twin=${program/_norace./_race.} ;;
  *) twin=${program/_race./_norace.} ;;
  esac
  [ -e "$twin" ] || {
    echo "FAIL $program has no twin $twin"
    malformed=1
  }
  case $program in
  *$pattern*) ;;
  *) continue ;;
  esac
  [[ $program != *.f90 || -n $fortran ]] || continue
  asked compilers "$program"
  for compiler in "${usable[@]}"; do
    [[ -z $words || " $words" = *" $compiler "* ]] || continue
    [[ $program != openmp/* || -e $RB_WORK/openmp.$compiler ]] || continue
    [[ $program != assembly/* || -e $RB_WORK/plugin.$compiler ]] || continue
    if [ ${#levels[@]} != 0 ]; then
      some=("${levels[@]}")
    else
      some=(O1)
      case $compiler:$program in
      gcc:abi/*) some+=(O0) ;;
      clang*:abi/*) some+=(O2) ;;
      esac
    fi
    for level in "${some[@]}"; do
      echo "$program $compiler $level"
    done
  done
done >"$RB_WORK/jobs"
grep FAIL "$RB_WORK/jobs" || true
sed -i '/^FAIL/d' "$RB_WORK/jobs"
awk -v shard="$shard" -v shards="$shards" '(NR - shard) % shards == 0' "$RB_WORK/jobs" >"$RB_WORK/mine"
# A formatter that joins lines must not take a request with it.
if grep -rnE '^ \* .+ (build|plugin|compilers): ' --include='*.c' --include='*.cpp' .; then
  echo "FAIL a request must have a line of its own"
  malformed=1
fi

xargs -a "$RB_WORK/mine" -P "$jobs" -L1 bash "$self" --job
python3 "$programs/judge.py" "$RB_WORK" && [ "$malformed" = 0 ]
