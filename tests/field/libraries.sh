#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# field/libraries.sh [NAME...]: programs that hand objects over between threads through a library as Debian ships it, without
# instrumentation. libraries/ has one program a file; all by default. No program has a race by its library's documentation, so
# each report is false. With the argument `race` a program has one, in its own code (libraries/planted.h).
#
# The comment that opens a program names `Packages:` (the first is the library), `Flags:` for the compiler, and maybe `Known:`,
# a regular expression of functions whose own accesses are a race of the library's inline code, and the reason after ` -- `.
#
# What must hold: no report by the default sampler nor with every access, output and status as the plain build's, and the race
# beside the library's calls found in each run. The race between calls is counted, and may be missed.
# Programs are built plain and by `railbird cc`. A program whose packages cannot be had is left out.
#
#   RAILBIRD        the program (default: build/bin/railbird of this tree)
#   FIELD_CACHE     builds and reports, kept (default: ~/.cache/railbird-field)
#   FIELD_RUNS=N    runs of each kind (default: 10)
#   FIELD_TSAN=1    also built and run with the compiler's own ThreadSanitizer; nothing fails by it
#   FIELD_TABLE     a file: the table is written there as well, as a page
source "$(dirname "$0")/lib.sh"
runs=${FIELD_RUNS:-10}
program=libraries
folder=$here/libraries
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
failed=0

# said_of NAME WORD: what the comment of a program says after `WORD:`
said_of() { sed -n "s|^// $2: *||p" "$(source_of "$1")"; }

source_of() { find "$folder" -name "$1.c" -o -name "$1.cc"; }

# install: as many of the packages as can be had, those of all programs at once
install() {
  local wanted
  mapfile -t wanted < <(for name; do said_of "$name" Packages; done | tr ' ' '\n' | sort -u)
  mapfile -t wanted < <(missing "${wanted[@]}")
  [ ${#wanted[@]} != 0 ] && [ "$(id -u)" = 0 ] || return 0
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >/dev/null 2>&1 || true
  apt-get install -y -qq --no-install-recommends "${wanted[@]}" >/dev/null 2>&1 ||
    for package in "${wanted[@]}"; do apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 || true; done
}

# make_variant NAME VARIANT COMPILER...: the executable, unless it is newer than what it is made of
make_variant() {
  local name=$1 variant=$2 file flags parts
  file=$(source_of "$name")
  eval "flags=($(said_of "$name" Flags))"
  shift 2
  mapfile -t parts < <(sed -n "s|^#include \"\(.*\)\"|$folder/\1|p" "$file")
  parts+=("$file" "$folder/planted.h" "$(dirname "$RAILBIRD")/../lib")
  [ -z "$(find "${parts[@]}" -type f -newer "$out/$variant" 2>&1)" ] && return
  "$@" -g -O2 "$file" -o "$out/$variant" -pthread "${flags[@]}" >"$out/$variant.log" 2>&1 || fail "$name does not build ($variant): $out/$variant.log"
}

compiler_of() {
  case $1 in
  *.cc) echo "$2" ;;
  *) echo "$3" ;;
  esac
}

# run_once WAY N EXECUTABLE ARGUMENT...: a run, its output and status beside its reports
run_once() {
  local to=$out/$1.$2 status=0
  shift 2
  (
    cd "$out"
    RAILBIRD_OPTIONS="exitcode=0 max_reports=0 report=json:$to.json $options" TSAN_OPTIONS="exitcode=0 log_path=$to.tsan" LC_ALL=C.UTF-8 \
      exec timeout -k 5 30 "$@"
  ) >"$to.out" 2>"$to.err" </dev/null || status=$? # a crash is this line of the output
  echo "status $status" >>"$to.out"
}

run_all() {
  local n variant=$out/railbird
  for ((n = 1; n <= runs; n++)); do
    options='' run_once plain "$n" "$out/plain"
    options='' run_once default "$n" "$variant"
    options=sampler=all run_once all "$n" "$variant"
    options=sampler=all run_once race "$n" "$variant" race
    [ "${FIELD_TSAN:-0}" != 1 ] || options='' run_once tsan "$n" setarch -R "$out/tsan"
  done
}

# judge_runs NAME: a row of the table; the reports of all runs, each pair once, into the file `reports`
judge_runs() {
  python3 - "$out" "$runs" "$(said_of "$1" Known)" <<'PYTHON'
import collections, glob, json, os, re, sys

out, runs, known = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(" -- ")[0]

def read(name):
    path = os.path.join(out, name)
    return open(path, errors="replace").read() if os.path.exists(path) else ""

def place(access):
    frames = [f for f in access["stack"] if f.get("function")]
    return next((f for f in frames if f.get("file")), (frames or [{}])[0])

def variable(report):
    return (report.get("location") or {}).get("name") or ""

pairs = collections.Counter()
runs_with = collections.Counter()
for way in ("default", "all", "race"):
    for n in range(1, runs + 1):
        reports = [json.loads(line) for line in read(f"{way}.{n}.json").splitlines()]
        found = {variable(r) for r in reports if variable(r).startswith("racy_")}
        runs_with.update(way + " " + name for name in found)
        others = [r for r in reports if not variable(r).startswith("racy_")]
        others = [r for r in others if not (known and any(re.fullmatch(known, place(a).get("function", "?")) for a in r["accesses"]))]
        runs_with[way] += bool(others)
        for r in others:
            pairs[" | ".join("%s %s %s:%s" % (a["op"], place(a).get("function", "?")[:60], os.path.basename(place(a).get("file", "?")),
                                               place(a).get("line", "?")) for a in r["accesses"])] += 1
with open(os.path.join(out, "reports"), "w") as file:
    file.writelines("%6d  %s\n" % (n, pair) for pair, n in pairs.most_common())
as_plain = all(read(f"{way}.{n}.out") == read("plain.1.out") != "" for way in ("plain", "default", "all") for n in range(1, runs + 1))
ended = all(read(f"race.{n}.out").endswith("status 0\n") for n in range(1, runs + 1)) and read("plain.1.out").endswith("status 0\n")
tsan = sum(any("WARNING" in open(f, errors="replace").read() for f in glob.glob(f"{out}/tsan.{n}.tsan*")) for n in range(1, runs + 1))
if any(read(f"tsan.{n}.out") != read("plain.1.out") for n in range(1, runs + 1)):
    tsan = "fails" if read("tsan.1.out") else "-"
print(runs_with["default"], runs_with["all"], tsan, runs_with["race racy_beside"],
      runs_with["race racy_between"], "yes" if as_plain and ended else "no", len(pairs))
PYTHON
}

# test_library NAME: adds a row to the table
test_library() {
  local name=$1 file package version default all tsan beside between as_plain pairs before=$failed
  file=$(source_of "$name")
  [ -n "$file" ] || skip "there is no program $name"
  read -r package _ <<<"$(said_of "$name" Packages)"
  # shellcheck disable=SC2046
  if [ -n "$(missing $(said_of "$name" Packages))" ]; then
    echo "$name: skipped: needs the packages $(said_of "$name" Packages)"
    return
  fi
  version=$(dpkg-query -W -f='${Version}' "$package")
  out=$cache/out/libraries/$name
  mkdir -p "$out"
  rm -f "$out"/*.[0-9]*
  make_variant "$name" plain "$(compiler_of "$file" g++ gcc)"
  make_variant "$name" railbird "$RAILBIRD" "$(compiler_of "$file" c++ cc)"
  [ "${FIELD_TSAN:-0}" != 1 ] || make_variant "$name" tsan "$(compiler_of "$file" g++ gcc)" -fsanitize=thread
  [ "$failed" = "$before" ] || return 0
  run_all
  read -r default all tsan beside between as_plain pairs <<<"$(judge_runs "$name")"
  [ "$default$all" = 00 ] || fail "$name: $pairs false reports: $out/reports"
  [ "$beside" = "$runs" ] || fail "$name: the race beside the library was found in $beside of $runs runs"
  [ "$as_plain" = yes ] || fail "$name: output or status is not as plain: $out/*.out"
  echo "| $name | ${package%-dev}_$version | $default | $all | $tsan | $beside | $between |" >>"$rows"
}

table() {
  # shellcheck disable=SC2016
  echo '| program | package | default | `all` | TSan | beside | between |'
  echo '|---|---|---:|---:|---:|---:|---:|'
  cat "$rows"
}

page() {
  echo '# Programs on libraries that nobody instrumented'
  echo
  echo "Written by \`FIELD_TABLE=FILE tests/field/libraries.sh\`; $(date -u +%F), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), $(nproc) cores,"
  echo "Debian $(cat /etc/debian_version), gcc $(gcc -dumpfullversion). Of $runs runs each: those with a false report by the default sampler, with every access"
  echo "(\`all\`) and by gcc's TSan, and those with every access that found the planted race beside and between calls of the library."
  echo
  table
  echo
  echo "Of $(wc -l <"$rows") programs $(awk -F'|' '$4 + $5 == 0' "$rows" | wc -l) have no false report."
}

[ -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ] || skip "there is no lib/librailbird_rt.a next to $(dirname "$RAILBIRD")"
if [ $# = 0 ]; then
  mapfile -t all_names < <(find "$folder" -name '*.c' -printf '%f\n' -o -name '*.cc' -printf '%f\n' | sort)
  set -- "${all_names[@]%.c*}"
fi
install "$@"
for name; do test_library "$name"; done
table
[ -z "${FIELD_TABLE:-}" ] || page >"$FIELD_TABLE"
exit "$failed"
