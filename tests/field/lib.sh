# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# shellcheck shell=bash
# Sourced by the scripts of this folder: a program from its Debian source package, built plain and by `railbird cc`, run
# under the same load, compared. A script names the program and defines two functions:
#
#   program=NAME                 the source package
#   known='FUNCTION|FUNCTION'    functions whose own accesses were read in the source and are races of the program's; a
#                                regular expression; empty: none. The file judged/PROGRAM says it of pairs instead: on each
#                                line two regular expressions of functions (in either order) and the reason, between tabs;
#                                &NAME as the first of them is the global variable that is raced for, and in `TOP<CALLER`
#                                TOP is the function and CALLER one of those that called it
#   input=MEGABYTES              if wanted: that much text, as the file `in` of the load
#   plant='FILE|PATTERN'         where FIELD_PLANT puts a race: before PATTERN's first match, in code that several threads run
#   build                        in a copy of the source, with $CC and $CXX (one word each for CMake: $CC1, $CXX1)
#   load                         in an empty folder, $tree is what was built; stdout and status must be the same both times
#
# and ends with `field`. What must hold: both builds and loads succeed, print the same, and every report has an access in a
# known function, or a pair that was judged. Any other report fails: it is a false report, or a race nobody has looked at.
# A load says by `measured COMMAND...` which of its processes are the program: their CPU time alone is compared then.
# Status 77: the source or a package it needs cannot be had here.
#
#   RAILBIRD        the program (default: build/bin/railbird of this tree)
#   FIELD_CACHE     sources and builds, kept (default: ~/.cache/railbird-field)
#   FIELD_OPTIONS   more of RAILBIRD_OPTIONS, as sampler=adaptive (default: sampler=all, every access)
#   FIELD_TSAN=1    also built and run with the compiler's own ThreadSanitizer; its distinct reports
#                   are counted, and compared with ours (pairs.py, out/PROGRAM/pairs); nothing fails by them
#   FIELD_ROUNDS=N  N rounds, in each of which these take turns: plain, Railbird with its default sampler, with every access,
#                   and TSan; reports of all rounds are judged, output is compared, CPU times are medians
#   FIELD_RECALL=FOLDER  with FIELD_ROUNDS=N: N runs with FIELD_OPTIONS and N/10 and two more with every access take turns; the
#                   folder gets WAY-N.reports, .stats and .looks of each run; nothing is judged (bench/recall.py)
#   FIELD_RESULTS   a file: a line of tab-separated values is added to it (run.sh makes the table)
#   FIELD_STATS     a file: the runtime's counters are added to it, an object a process (counters.sh makes the table)
#   FIELD_REUSE=1   the plain build is not run again if it was before
#   FIELD_PLANT=1   a control, instead of all that: a counter without a lock is put into the program, which must be reported, or
#                   the silence of the run without it says nothing
#   FIELD_FULL=1    the whole load where the script has a longer one
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
script=$(realpath "$0")
export LC_ALL=C.UTF-8
RAILBIRD=$(realpath "${RAILBIRD:-$here/../../build/bin/railbird}")
cache=${FIELD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/railbird-field}
load_name='' known='' input='' program='' plant='' tree='' variant=''
jobs=$(nproc)
export jobs

skip() {
  echo "$program: skipped: $*"
  exit 77
}

fail() {
  echo "$program: FAIL: $*"
  failed=1
}

# missing PACKAGE...: those that are not installed
missing() {
  for package; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok' || echo "$package"
  done
}

# needs PACKAGE...: Debian packages that must be installed; they are, if that takes no password
needs() {
  local wanted
  mapfile -t wanted < <(missing "$@")
  [ ${#wanted[@]} = 0 ] && return
  if [ "$(id -u)" = 0 ]; then
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${wanted[@]}"; } >/dev/null 2>&1 || true
    mapfile -t wanted < <(missing "$@")
  fi
  [ ${#wanted[@]} = 0 ] || skip "needs the packages ${wanted[*]}"
}

# apt-get or apt-cache with this machine's archives as archives of sources, which few machines have among their own; kept in
# our folder. sources RELEASE get|cache WORD...: RELEASE is `own`, or the one that is asked instead, as `testing`
sources() {
  local release=$1 tool=apt-$2 apt=$cache/apt entry instead=''
  shift 2
  if [ "$release" != own ]; then
    apt=$cache/apt-$release
    instead="s/^Suites:.*/Suites: $release/; s/^(deb-src +(\\[[^]]*\\] +)?[^ ]+ +)[^ ]+/\\1$release/"
  fi
  local with=(-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$apt/sources" -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt"
    -o APT::Sandbox::User=root)
  if [ ! -e "$apt/.done" ]; then
    mkdir -p "$apt/sources" "$apt/lists/partial" "$apt/archives/partial"
    for entry in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
      [ -e "$entry" ] && sed -E "s/^Types:.*/Types: deb-src/; /^deb-src /d; s/^deb /deb-src /; $instead" "$entry" >"$apt/sources/${entry##*/}"
    done
    [ ! -e "$apt/sources/sources.list" ] || mv "$apt/sources/sources.list" "$apt/sources/main.list"
    apt-get "${with[@]}" -qq update && touch "$apt/.done"
  fi
  "$tool" "${with[@]}" "$@"
}

# download: the source of this machine's release, the newest version that can be had; if its archive has only what says that
# there is one, of those releases that follow.
download() {
  local release version versions
  for release in own stable testing; do
    mapfile -t versions < <(sources "$release" cache showsrc --only-source "$program" | sed -n 's/^Version: //p' | sort -rVu)
    for version in "${versions[@]}"; do
      rm -f "$program"_*
      sources "$release" get source --download-only -q "$program=$version" && return
    done
    for version in "${versions[@]}"; do
      rm -f "$program"_*
      sources "$release" get source --download-only --tar-only -q "$program=$version" && return
    done
  done
}

# The source, patched as Debian patches it; without its patches where only the upstream archive can be had.
fetch() {
  source_folder=$cache/source/$program
  [ -e "$source_folder/.done" ] && return
  mkdir -p "$cache/download" "$cache/source"
  rm -rf "$source_folder"
  (
    cd "$cache/download"
    download >"$program.log" 2>&1 || true
  )
  local dsc archive
  dsc=$(find "$cache/download" -name "${program}_*.dsc" | sort -V | tail -1)
  [ -n "$dsc" ] || skip "apt-get source $program gives nothing: $cache/download/$program.log"
  if ! dpkg-source --no-check -x "$dsc" "$source_folder" >"$cache/download/$program.log" 2>&1; then
    archive=$(find "$cache/download" -name "${program}_*.orig.tar.*" ! -name '*.asc' | sort -V | tail -1)
    [ -n "$archive" ] || skip "the archive of $program could not be fetched"
    mkdir -p "$source_folder"
    tar xf "$archive" -C "$source_folder" --strip-components=1
  fi
  basename "$dsc" .dsc | cut -d_ -f2 >"$source_folder/.done"
}

# What was built in $tree is built anew if the runtime, or the plugin for gcc, has been since
refresh() {
  local part lib
  lib=$(dirname "$RAILBIRD")/../lib
  for part in "$lib/librailbird_rt.a" "$lib"/railbird/gcc-*/bodies.so; do
    if [ "$part" -nt "$tree/.done" ]; then rm -f "$tree/.done"; fi
  done
}

# tree_of WAY: what is built for a way of running: `default` and `railbird` differ in options alone
tree_of() { echo "$cache/build/$program-${1/#default/railbird}"; }

# compile VARIANT
compile() {
  variant=$1
  tree=$cache/build/$program-$variant
  [[ $variant = railbird || $variant = planted ]] && refresh
  [ -e "$tree/.done" ] && return
  rm -rf "$tree"
  mkdir -p "$cache/build"
  cp -a "$source_folder" "$tree"
  rm -f "$tree/.done"
  case $variant in
  plain) CC=gcc CXX=g++ CC1=gcc CXX1=g++ INSTRUMENT='' ;;
  railbird | planted) CC="$RAILBIRD cc" CXX="$RAILBIRD c++" CC1=$RAILBIRD-cc CXX1=$RAILBIRD-c++ INSTRUMENT='' ;;
  tsan) CC='gcc -fsanitize=thread' CXX='g++ -fsanitize=thread' CC1=gcc CXX1=g++ INSTRUMENT=-fsanitize=thread ;;
  esac
  if [ "$variant" = planted ]; then
    sed -i "0,/${plant#*|}/s//field_planted++; &/; 1i long field_planted;" "$tree/${plant%%|*}"
    grep -q 'field_planted++' "$tree/${plant%%|*}" || { fail "nowhere to plant a race: $plant" && return 1; }
  fi
  # What autotools would make again if files were a second apart stays as the archive has it.
  if ! (
    cd "$tree"
    export CC CXX CC1 CXX1 INSTRUMENT AUTOCONF=: AUTOMAKE=: ACLOCAL=: AUTOHEADER=: AUTOM4TE=: MAKEINFO=:
    export RAILBIRD_OPTIONS=sampler=none TSAN_OPTIONS=report_bugs=0 # programs that run while building
    build
  ) >"$tree.log" 2>&1; then
    tail -5 "$tree.log"
    fail "does not build ($variant): $tree.log"
    return 1
  fi
  touch "$tree/.done"
}

# once WAY: runs the load, in a process of its own; says the seconds of CPU time, of the program where the load says which
# processes are it, else of programs and clients together
once() {
  variant=$1 tree=$(tree_of "$1")
  local status=0 start=$SECONDS options=${FIELD_OPTIONS:-sampler=all}
  [ "$variant" != default ] || options=sampler=adaptive
  rm -rf "${out:?}/$variant"
  mkdir -p "$out/$variant/work"
  export RAILBIRD_OPTIONS="exitcode=0 report=json:$out/$variant/reports stats=json:$out/$variant/stats $options"
  export TSAN_OPTIONS="exitcode=0 log_path=$out/$variant/tsan"
  [ -z "$input" ] || ln -s "$(text "$input")" "$out/$variant/work/in"
  (cd "$out/$variant/work" && FIELD_LOAD=$variant exec python3 "$here/spent.py" ../spent bash "$script" >../stdout 2>../stderr) ||
    status=$?
  echo "$status" >"$out/$variant/status"
  echo "$((SECONDS - start))" >"$out/$variant/elapsed"
  if [ -e "$out/$variant/own" ]; then
    awk '{ sum += $1 } END { printf "%.2f\n", sum }' "$out/$variant/own"
  else
    cat "$out/$variant/spent"
  fi
}

# measured COMMAND...: part of a load: COMMAND is the program; its CPU time is told apart from that of clients. Signals are for
# COMMAND, which is another process: program_of PID, of what runs in the background.
measured() {
  local status=0 file
  file=$(mktemp ../own.XXXXXX)
  python3 "$here/spent.py" "$file" "$@" || status=$?
  cat "$file" >>../own
  rm -f "$file"
  return $status
}
program_of() {
  local child
  read -r child _ </proc/"$1"/task/"$1"/children # the shell of the background
  read -r child _ </proc/"$child"/task/"$child"/children # the first: a reporter may be there as well
  echo "$child"
}

# listening PORT: waits until somebody does
listening() {
  for _ in $(seq 300); do
    (: >"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
    sleep 0.1
  done
  return 1
}

# text MEGABYTES: a file of the same words each time, that compress as text does
text() {
  local file=$cache/text-$1
  echo "$file"
  [ -e "$file" ] && return
  awk -v bytes="$1"000000 'BEGIN {
    seed = 7
    for (i = 0; i < 4096; i++) {
      word = ""
      do {
        seed = (seed * 1103515245 + 12345) % 2147483648
        word = word sprintf("%c", 97 + int(seed / 65536) % 26)
      } while (int(seed / 1024) % 6)
      words[i] = word
    }
    while (bytes > 0) {
      line = ""
      for (i = 0; i < 20; i++) {
        seed = (seed * 1103515245 + 12345) % 2147483648
        line = line words[int(seed / 65536) % 4096] " "
      }
      print line
      bytes -= length(line) + 1
    }
  }' >"$file.new"
  mv "$file.new" "$file"
}

# Sums of the counters, and the reports: how many, which, and those without a known place.
summarize() {
  python3 - "$1" "$known" "$here/judged/$program" <<'PYTHON'
import json, os, re, sys

folder, known, judged = sys.argv[1:]
causes = []
if os.path.exists(judged):
    for line in open(judged):
        if line.strip() and not line.startswith("#"):
            first, second, reason = line.rstrip("\n").split("\t")
            assert reason.strip(), line
            causes.append((first, second))

def fits(pattern, access):
    top_pattern, _, caller = pattern.partition("<")
    return re.fullmatch(top_pattern, top(access).get("function", "?")) and (
        not caller or any(re.fullmatch(caller, f["function"]) for f in frames(access)))

def is_judged(accesses, variable):
    for x, y in causes:
        for a, b in (accesses, accesses[::-1]):
            if fits(y, b) and (re.fullmatch(x[1:], variable) if x[0] == "&" else fits(x, a)):
                return True
    return False

def lines(name):
    path = os.path.join(folder, name)
    return [json.loads(line) for line in open(path)] if os.path.exists(path) else []

stats = lines("stats")
total = lambda key: sum(s[key] for s in stats)
reports = {}
count = 0
for report in lines("reports"):
    count += 1
    reports.setdefault(report["id"], report)

def frames(access):
    return [f for f in access["stack"] if f.get("function")]

def top(access):
    return next((f for f in frames(access) if f.get("file")), None) or (frames(access) or [{}])[0]

def place(access):
    f = top(access)
    return "%s %s:%s" % (f.get("function", "?"), os.path.basename(f.get("file", "?")), f.get("line", "?"))

new = []
with open(os.path.join(folder, "places"), "w") as out:
    for key, report in sorted(reports.items()):
        places = [a["op"] + " " + place(a) for a in report["accesses"]]
        where = report.get("location") or {}
        print(key, where.get("name") or where.get("kind", "?"), " | ".join(places), sep="\t", file=out)
        names = [top(a).get("function", "?") for a in report["accesses"]]
        if not (known and any(re.fullmatch(known, n) for n in names)) and not is_judged(report["accesses"], where.get("name") or ""):
            new.append("%s  %s" % (key, " | ".join(places)))
print(total("accesses"), count, len(reports), total("lost_edges"))
print("\n".join(new))
PYTHON
}

# The control: the load of a program with a race in it. What it prints is not looked at.
planted() {
  compile planted || exit 1
  once planted >/dev/null
  if grep -qs '"name": *"field_planted"' "$out/planted/reports"; then
    echo "$program $version: the planted race was found: ok"
  else
    fail "the planted race was not found: $out/planted/reports"
  fi
  exit "$failed"
}

# same WAY: the load ended well, and printed what the plain build prints
same() {
  [ "$(cat "$out/$1/status")" = 0 ] || fail "the load ends with $(cat "$out/$1/status") ($1): $out/$1/stderr"
  cmp -s "$out/plain/stdout" "$out/$1/stdout" || fail "prints something else: $out/{plain,$1}/stdout"
}

# judge WAY: reads the reports of the last run; sets accesses, count, ids and lost, and fails for those that nobody has judged
judge() {
  local summary new
  summary=$(summarize "$out/$1")
  read -r accesses count ids lost <<<"$(head -1 <<<"$summary")"
  new=$(tail -n +2 <<<"$summary")
  [ "$accesses" -gt 0 ] || fail "no access was seen ($1)"
  [ -z "$new" ] || fail "reports of places nobody has judged ($1):"$'\n'"$new"
}

median() { sort -n | awk '{ x[NR] = $1 } END { printf "%.2f\n", (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }'; }

# rounds N: see FIELD_ROUNDS
rounds() {
  local ways=(plain default railbird) way n line
  compile tsan && ways+=(tsan)
  rm -f "$out".times.* "$out".reports.*
  for ((n = 1; n <= $1; n++)); do
    for way in "${ways[@]}"; do
      once "$way" >>"$out.times.$way"
      case $way in
      plain) grep -q . "$out/plain/stdout" || fail "the load prints nothing, so nothing was compared" ;;
      tsan)
        python3 "$here/pairs.py" "$out" >"$out/pairs"
        head -1 "$out/pairs" | awk '{ print $1 + $3 + $4 }' >>"$out.reports.tsan"
        ;;
      *)
        same "$way"
        judge "$way"
        echo "$ids" >>"$out.reports.$way"
        ;;
      esac
    done
  done
  line="$program $version: $name: CPU s, median of $1: plain $(median <"$out.times.plain")"
  for way in "${ways[@]:1}"; do
    line+=", ${way/#railbird/every access} $(median <"$out.times.$way") ($(tr '\n' ' ' <"$out.reports.$way" | sed 's/ $//') distinct)"
  done
  echo "$line: $([ "$failed" = 0 ] && echo ok || echo FAILED)"
  exit "$failed"
}

# recall N FILE: see FIELD_RECALL
recall() {
  local n way part options=${FIELD_OPTIONS:-sampler=adaptive:budget=5%}
  compile railbird || exit 1
  for ((n = 1; n <= $1; n++)); do
    for way in some every; do
      [ $way = some ] || ((n % 10 == 1 || n == 2)) || continue
      FIELD_OPTIONS="$([ $way = some ] && echo "$options" || echo sampler=all) looks=$out/railbird/looks" once railbird >/dev/null
      for part in reports stats looks; do
        [ ! -e "$out/railbird/$part" ] || cp "$out/railbird/$part" "$2/$way-$n.$part"
      done
    done
  done
  exit 0
}

field() {
  if [ -n "${FIELD_LOAD:-}" ]; then
    local status=0
    tree=$(tree_of "$FIELD_LOAD")
    load || status=$?
    exit "$status"
  fi
  local plain_time railbird_time tsan_time=- tsan_reports=- name=$load_name accesses count ids lost
  failed=0
  [ -e "$(dirname "$RAILBIRD")/../lib/librailbird_rt.a" ] || skip "there is no lib/librailbird_rt.a next to $(dirname "$RAILBIRD")"
  fetch
  version=$(cat "$source_folder/.done")
  out=$cache/out/$program
  mkdir -p "$out"
  [ "${FIELD_PLANT:-0}" != 1 ] || planted
  [ -z "${FIELD_RECALL:-}" ] || recall "${FIELD_ROUNDS:-10}" "$FIELD_RECALL"
  compile plain && compile railbird || exit 1
  [ "${FIELD_ROUNDS:-0}" = 0 ] || rounds "$FIELD_ROUNDS"
  if [ "${FIELD_REUSE:-0}" != 1 ] || [ ! -e "$out/plain-time" ]; then
    once plain >"$out.time" && mv "$out.time" "$out/plain-time"
  fi
  plain_time=$(cat "$out/plain-time")
  railbird_time=$(once railbird)
  if [ "${FIELD_TSAN:-0}" = 1 ] && compile tsan; then
    tsan_time=$(once tsan)
    python3 "$here/pairs.py" "$out" >"$out/pairs"
    tsan_reports=$(head -1 "$out/pairs" | awk '{print $1 + $3 + $4}')
  fi
  same plain
  same railbird
  grep -q . "$out/plain/stdout" || fail "the load prints nothing, so nothing was compared"
  judge railbird
  row=("$program" "$version" "$name" "$plain_time" "$railbird_time" "$accesses" "$count" "$ids" "$tsan_time" "$tsan_reports")
  [ -z "${FIELD_STATS:-}" ] || cat "$out/railbird/stats" >>"$FIELD_STATS"
  [ -z "${FIELD_RESULTS:-}" ] || (IFS=$'\t' && echo "${row[*]}" >>"$FIELD_RESULTS")
  echo "$program $version: $name: plain ${plain_time} s, Railbird ${railbird_time} s (CPU), $accesses accesses," \
    "$count reports, $ids distinct, $lost lost edges: $([ "$failed" = 0 ] && echo ok || echo FAILED)"
  exit "$failed"
}
