#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# railbird report: names, lines and inlined functions of programs compiled here; the formats; merging, baseline and
# suppressions; what it refuses; the live mode that the runtime uses.
set -euo pipefail
. "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/lib.sh"
command=(report)
data=$RB_TEST_DATA/reports
raw="python3 $data/raw.py"
unset DEBUGINFOD_URLS

# json FILE EXPRESSION: of the first line, as r
json() { python3 -c 'import json, sys; r = json.loads(open(sys.argv[1]).readline()); print(eval(sys.argv[2]))' "$1" "$2"; }
# line FILE COMMENT: the number of the line that ends with that comment
line() { grep -n "// $2\$" "$data/$1" | cut -d: -f1 | grep . || echo "no-such-comment"; }
# has TEXT...: each is in out
has() {
  local text
  for text; do
    grep -qF -- "$text" out || fail "no '$text' in: $(grep '#' out | head -c 900)"
  done
}
has_not() { ! grep -qF -- "$1" out || fail "'$1' in: $(head -c 600 out)"; }

# --- usage
run 0 -h
for word in --verbose --format -o --baseline --suppressions --debug-path --json text sarif html; do
  grep -q -- "$word" out || fail "-h does not name $word"
done
cp "$data/shop.jsonl" r.jsonl
refused 'which report'
refused '--format xml: not known' r.jsonl --format xml
refused '--format needs a value' r.jsonl --format
refused '-o needs a value' r.jsonl -o
refused '--colour' r.jsonl --colour
refused '-x is not an option' r.jsonl -x
refused '--json=1' r.jsonl --json=1
refused 'no/such: cannot read' no/such
refused "$work: cannot read" "$work"
refused 'share standard output' r.jsonl --json --format sarif
refused 'no/such' r.jsonl -o no/such/file
refused 'a report to be read' r.jsonl -o r.jsonl
cp r.jsonl b.jsonl
refused 'is the baseline' r.jsonl --baseline b.jsonl -o b.jsonl
refused 'no/such: cannot read' r.jsonl --baseline no/such
refused 'no/such: cannot read suppressions' r.jsonl --suppressions no/such
refused 'are for --live' r.jsonl --text -
refused '--live reads standard input' --live r.jsonl
refused '--live reads standard input' --live --format json
cmp -s r.jsonl "$data/shop.jsonl" || fail "a refused command changed its input"

# --- text: the golden report; from standard input; in a file; of a file read twice
run 66 r.jsonl
diff "$data/shop.txt" out >differs || fail "text differs: $(cat differs)"
run 66 - <r.jsonl
diff "$data/shop.txt" out >/dev/null || fail "standard input gives another report"
run 66 r.jsonl -o report.txt
[ ! -s out ] || fail "-o: also on stdout"
diff "$data/shop.txt" report.txt >/dev/null || fail "-o gives another report"
run 66 r.jsonl r.jsonl
has 'Railbird: 5 races in 12 records' 'seen 4 times in 2 processes on till-1, till-2'
: >empty
run 0 empty
has 'Railbird: 0 races in 0 records'
printf '\n  \n' >blank
run 0 blank

# --- bad input names file, line and what was expected
bad() { # PATTERN LINE...
  printf '%s\n' "${@:2}" >bad.jsonl
  refused "$1" bad.jsonl
}
good=$(head -n 1 r.jsonl)
bad 'bad.jsonl:1: accesses: expected an array' '{}'
bad 'bad.jsonl:2: expected a race as a JSON object' '' 'race'
bad 'bad.jsonl:1: column' '{"accesses":'
bad 'accesses\[0\].op: expected one of: read write' "${good/\"write\"/\"wr\"}"
bad 'accesses\[0\].stack\[0\].offset: expected a string like' "${good/0x11a3/11a3}"
bad 'expected a race' $'\x7fELF'
bad 'bad.jsonl:1: column' '{"accesses":[],"accesses":[]}'
head -c 300000 /dev/urandom >bad.jsonl
refused 'bad.jsonl:' bad.jsonl
printf '%s\n%s' "$good" "$good" >end.jsonl # the last line has no end, but is whole
run 66 end.jsonl
[ ! -s err ] || fail "a whole last line: $(cat err)"
has 'in 2 records'
for cut in 1 2 100 700; do # a killed program
  printf '%s\n%s' "$good" "${good:0:$cut}" >cut.jsonl
  run 66 cut.jsonl
  has '1 race in 1 record'
  grep -q '^railbird report: cut.jsonl: the last line is not whole' err || fail "cut at $cut: '$(cat err)'"
done
printf '%s' "${good:0:100}" >cut.jsonl
refused 'cut.jsonl:1: the only line is not whole' cut.jsonl
head -c 9000000 /dev/zero | tr '\0' ' ' >long.jsonl
refused 'long.jsonl:1: expected a race as a JSON object, found a line of more than 8 MiB' long.jsonl

# --- a broken line hides no other line: a note, and the others count
broken() { # NOTE LINE...: two whole lines among them
  printf '%s\n' "${@:2}" >broken.jsonl
  run 66 broken.jsonl
  has 'Railbird: 1 race in 2 records'
  expect "notes" "$(wc -l <err)" 1
  grep -q -- "^railbird report: broken.jsonl:$1" err || fail "a broken line: '$(cat err)' does not say '$1'"
}
broken '2: column 100: .*; passed over$' "$good" "${good:0:100}" "$good"
broken '1: column 700: .*; passed over$' "${good:0:700}" "$good" "$good"
broken "2: accesses: .*; passed over, and 2 more$" "$good" '{}' 'race' '[]' "$good"
run 66 broken.jsonl --json
expect "broken lines" "$(json out 'r["broken"]')" 3
broken '1: expected a race as a JSON object.*; passed over' "${good:300}" "$good" "$good"
sed 's/"thread":2/"thread":-2/' broken.jsonl >none.jsonl
refused 'none.jsonl:1: expected' none.jsonl
printf 'race:^shop\nrace:^add$\n' >all.supp # the status is that of the others
run 0 broken.jsonl --suppressions all.supp
refused 'broken.jsonl:1: expected' r.jsonl --baseline broken.jsonl # a baseline is read strictly

# --- texts of any length are cut, in whole characters; long names of functions are shortened for people
python3 - "$good" >huge.jsonl <<'EOF'
import json, sys
r = json.loads(sys.argv[1])
long = "ä" * 100000
r.update(host=long, sampler=long, program="/" + long, other=[long])
r["threads"][1]["name"] = long
for a in r["accesses"]:
    a["stack"][0].update(function="f<" + "g<" * 200 + "int" + " >" * 200 + ">::h(" + long + ")", file="/" + long + ".c", note=long)
print(json.dumps(r, ensure_ascii=False))
EOF
for format in text json sarif html; do
  run 66 huge.jsonl --format $format
  [ "$(wc -c <out)" -lt 400000 ] || fail "$format: long texts make $(wc -c <out) bytes"
  iconv -f UTF-8 -t UTF-8 out >/dev/null || fail "$format: a long text is cut within a character"
  grep -q 'ä…' out || fail "$format: no ellipsis"
done
python3 - "$good" >template.jsonl <<'EOF'
import json, sys
r = json.loads(sys.argv[1])
r["accesses"][0]["stack"][0]["function"] = "std::vector<" + "std::pair<int, " * 40 + "int" + " >" * 40 + " >::push_back(int)"
print(json.dumps(r))
EOF
run 66 template.jsonl
has '#0 std::vector<std::pair<int, std::pair<int, std::pair<…> > > >::push_back(int) /src'
run 66 template.jsonl --verbose
has "$(python3 -c 'print("std::pair<int, " * 40 + "int")')"
run 66 template.jsonl --format json
has "$(python3 -c 'print("std::pair<int, " * 40 + "int")')"

# --- names of programs compiled here
innermost() { # what a stack through at_innermost of names.c must hold
  has "#0 innermost $data/names.c:$(line names.c innermost):" \
    "#1 middle $data/names.c:$(line names.c 'called from middle'):" \
    "#2 outer $data/names.c:$(line names.c 'called from outer'):" \
    "#3 outer $data/names.c:$(line names.c outer):"
}
compilers=gcc
command -v clang >/dev/null && compilers+=" clang"
for cc in $compilers; do
  for flags in "-pie -fPIE" "-no-pie -fno-pie" "-gdwarf-4" "-gdwarf-5" "-gsplit-dwarf" "-O0" "-g1"; do
    # shellcheck disable=SC2086
    $cc -g -O2 $flags -Wl,--build-id "$data/names.c" -o names
    $raw names table+12 at_innermost,at_outer at_count >names.jsonl
    run 66 names.jsonl
    innermost
    has "#0 count_calls $data/names.c:$(line names.c count):" "Location is global 'table' of size 40 at 0x55" \
      ', 12 bytes into it' "#0 main $data/names.c:" \
      "SUMMARY: Railbird: data race $data/names.c:$(line names.c innermost) in innermost"
    [ "$flags" = -g1 ] || has "defined at $data/names.c:$(line names.c table)"
    has_not BuildId
    run 66 names.jsonl --verbose
    has "(BuildId: "
    run 66 names.jsonl --format json
    expect "$cc $flags: inlined" "$(json out '[f.get("inlined") for f in r["accesses"][0]["stack"]]')" \
      "[True, True, None, None]"
    expect "$cc $flags: offsets" "$(json out 'len({f["offset"] for f in r["accesses"][0]["stack"][:3]})')" 1
  done
done
gcc -g -O2 -shared -fPIC -DLIBRARY "$data/names.c" -o libnames.so
$raw libnames.so hits+4 at_innermost,at_outer at_count >lib.jsonl
run 66 lib.jsonl
innermost
has '(libnames.so+0x' "Location is global 'hits' of size 12"
gcc -g -O2 -flto "$data/names.c" -o lto
$raw lto table at_innermost,at_outer at_count >lto.jsonl
run 66 lto.jsonl
innermost
gcc -g -O2 "$data/names.c" -o names
$raw names "$(nm names | grep -o 'calls\.[0-9]*$')" at_outer at_count >static.jsonl
run 66 static.jsonl
has "Location is global 'calls' of size 4" "names.c:$(line names.c "a function's own")"

for cc in $(sed 's/gcc/g++/; s/clang/clang++/' <<<"$compilers"); do
  for flags in -pie -no-pie; do
    $cc -g -O2 "$flags" "$data/names.cc" -o box
    $raw box _ZN4shop4tillE+8 at_put,at_take,at_lambda at_hidden >box.jsonl
    run 66 box.jsonl
    has "#0 shop::Box<double>::put(double const&) $data/names.cc:$(line names.cc put):" \
      "#1 shop::Box<double>::take() $data/names.cc:$(line names.cc take):" \
      "#2 main $data/names.cc:$(line names.cc takes):" "::operator()(double) const $data/names.cc:" \
      "#0 (anonymous namespace)::hidden(long) $data/names.cc:$(line names.cc hidden):" \
      "Location is global 'shop::till' of size 32" ", 8 bytes into it, defined at $data/names.cc:$(line names.cc 'the till')"
  done
done

# a name that stands for gigabytes stays as it is
bomb=_Z1f1AIiiE1BIS0_S0_E1CIS2_S2_E1DIS4_S4_E1EIS6_S6_E1FIS8_S8_E1GISA_SA_E1HISC_SC_E1IISE_SE_E1JISG_SG_E1KISI_SI_E
bomb+=1LISK_SK_E1MISM_SM_E1NISO_SO_E1OISQ_SQ_E1PISS_SS_E1QISU_SU_E1RISW_SW_E1SISY_SY_E1TIS10_S10_E
printf 'int data;\nvoid evil(void) asm("%s");\nvoid evil(void) { data = 1; }\nint main(void) { evil(); }\n' "$bomb" >bomb.c
gcc -g bomb.c -o bomb
$raw bomb data "$bomb" main >bomb.jsonl
run 66 bomb.jsonl
has "#0 ${bomb:0:150}" "… $work/bomb.c:3"
[ "$(wc -c <out)" -lt 10000 ] || fail "a hostile name makes a report of $(wc -c <out) bytes"

# --- debug files apart: by link, by build-id; none; another build
gcc -g -O2 -Wl,--build-id "$data/names.c" -o whole
$raw whole table at_innermost,at_outer at_count >whole.jsonl
mkdir -p .debug
objcopy --only-keep-debug whole kept.dbg
id=$(readelf -n whole | sed -n 's/.*Build ID: //p')
mkdir -p symbols/.build-id/"${id:0:2}"
cp whole whole.kept
strip --strip-all whole
run 66 whole.jsonl
has '#0 <null> <null> (whole+0x' 'Location is global memory at 0x55' 'SUMMARY: Railbird: data race (whole+0x'
has_not 'build-id differs'
cp kept.dbg symbols/.build-id/"${id:0:2}"/"${id:2}".debug
run 66 whole.jsonl
has_not '#0 innermost'
run 66 whole.jsonl --debug-path symbols
innermost
refused '--debug-path no/such' whole.jsonl --debug-path no/such
objcopy --add-gnu-debuglink=kept.dbg whole
mv kept.dbg .debug/
run 66 whole.jsonl
innermost
has "Location is global 'table' of size 40"
cp whole.kept whole
strip --strip-debug whole # the symbol table stays
$raw whole table outer count_calls >symbols.jsonl
run 66 symbols.jsonl
has '#0 outer <null> (whole+0x' '#0 count_calls <null> (whole+0x' "global 'table' of size 40 at"
sed "s/$id/${id//[0-9]/a}/g" whole.jsonl >other.jsonl
cp whole.kept whole
run 66 other.jsonl
has 'build-id differs)'
has_not innermost
sed "s/, \"build_id\": \"$id\"//g" whole.jsonl >none.jsonl
run 66 none.jsonl
innermost
mv whole gone
run 66 whole.jsonl
has '(module not readable)'
mkfifo whole
run 66 whole.jsonl # does not wait for a writer
has '(module not readable)'
sed "s|$work/whole|[vdso]|g" whole.jsonl >vdso.jsonl
run 66 vdso.jsonl
has '([vdso]+0x'
has_not 'not readable'

# --- JSON: lines that are input again, with the same names and id
$raw names table at_innermost,at_outer at_count >names.jsonl
run 66 names.jsonl --format json -o once.jsonl
rm names
run 66 once.jsonl --format json -o twice.jsonl
cmp -s once.jsonl twice.jsonl || fail "symbolized lines change when they are read again"
expect "names that stay" "$(json twice.jsonl 'r["accesses"][0]["stack"][0]["function"]')" innermost
expect "keys" "$(json once.jsonl '" ".join(list(r)[:8])')" \
  "id source_id cause count first_time last_time pids hosts"
expect "time" "$(json once.jsonl 'r["time"]')" 1763251200.123
run 66 r.jsonl --json
expect "lines of --json" "$(wc -l <out)" 1
expect "counts" "$(json out '[r[k] for k in ("files", "records", "truncated", "suppressed", "distinct", "new")]')" \
  "[1, 6, 0, 0, 5, 5]"
expect "races" "$(json out 'len(r["races"])')" 5
run 66 r.jsonl --json --format html -o page.html
expect "--json beside -o" "$(json out 'r["distinct"]')" 5
grep -q '<h1>5 data races' page.html || fail "-o beside --json"
sed '1s|"host":"till-1"|"control":{"suppressions_text":"race:sell"},"host":"till-1"|' r.jsonl >control.jsonl
run 66 control.jsonl --format json
expect "control" "$(grep -c control out || true)" 0

# --- the id: across runs, places, order of accesses; the same as the document computes
id_of() { run 66 "$@" --format json && json out 'r["id"]'; }
first=$(id_of lib.jsonl)
BIAS=0x7f0000000000 $raw libnames.so hits+4 at_innermost at_count pid=9 'host="x"' 'evidence="clock"' >moved.jsonl
expect "id in another run" "$(id_of moved.jsonl)" "$first"
python3 -c 'import json; r = json.load(open("moved.jsonl")); r["accesses"].reverse(); print(json.dumps(r))' >swapped.jsonl
expect "id of swapped accesses" "$(id_of swapped.jsonl)" "$first"
run 66 lib.jsonl moved.jsonl swapped.jsonl
has 'Railbird: 1 race in 3 records'
run 66 lib.jsonl names.jsonl
has 'Railbird: 2 races in 2 records'
expect "id as documented" "$(python3 - libnames.so lib.jsonl <<'EOF'
import json, sys
r = json.load(open("lib.jsonl"))
tops = [a["stack"][0] for a in r["accesses"]]
mask = (1 << 64) - 1
h = 0xcbf29ce484222325
for byte in " ".join(sorted(t["build_id"] + "+" + t["offset"] for t in tops)).encode():
    h = (h ^ byte) * 0x100000001b3 & mask
h = (h ^ h >> 33) * 0xff51afd7ed558ccd & mask
h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53 & mask
print(f"{h ^ h >> 33:016x}")
EOF
)" "$first"

# --- baseline
run 66 r.jsonl --format json -o base.jsonl
run 0 r.jsonl --baseline base.jsonl
has ', 0 not in the baseline' 'known: in the baseline'
run 0 r.jsonl --baseline r.jsonl
head -n 2 base.jsonl >part.jsonl
run 66 r.jsonl --baseline part.jsonl
expect "new ones" "$(grep -c 'new: not in the baseline' out)" 3
run 66 r.jsonl --baseline part.jsonl --format json
expect "new in JSON" "$(python3 -c 'import json, sys; print([json.loads(l)["new"] for l in sys.stdin])' <out)" \
  "[False, False, True, True, True]"
run 66 r.jsonl --baseline part.jsonl --json
expect "new in --json" "$(json out 'r["new"]')" 3
run 66 r.jsonl --baseline empty
sed 's/.*"id":"\([0-9a-f]*\)".*/{"id":"\1"}/' base.jsonl >ids.jsonl
run 0 r.jsonl --baseline ids.jsonl
echo '{"id":"x"}' >bad.jsonl
refused 'bad.jsonl:1: accesses' r.jsonl --baseline bad.jsonl
# a rebuild with lines and code added above keeps what is known, and shows what is not
gcc -g -O2 "$data/names.c" -o v1
$raw v1 table at_innermost at_count >v1.jsonl
run 66 v1.jsonl --format json -o v1.base
{ sed -n 1,10p "$data/names.c"; printf 'int more(int n);\nint more(int n)\n{\n    return n * 3 + hits[2];\n}\n'; sed -n '11,$p' "$data/names.c"; } >names.c
gcc -g -O2 names.c -o v2
$raw v2 table at_innermost at_count >v2.jsonl
$raw v2 table at_outer at_count >>v2.jsonl
run 66 v2.jsonl --baseline v1.base
has 'more place of the same data and functions' 'names.c:'
expect "the new race of a cause is the one that is shown" "$(grep -c 'new: not in the baseline' out)" 1
run 66 v2.jsonl --baseline v1.base --verbose
expect "known after a rebuild" "$(grep -c 'known: in the baseline' out)" 1
expect "new after a rebuild" "$(grep -c 'new: not in the baseline' out)" 1

# --- suppressions
cat >supp <<'EOF'
# ours
race:shop::sell
race_top:^stop$
thread:main
EOF
run 66 r.jsonl --suppressions supp
has 'Railbird: 2 races in 6 records, 4 records suppressed'
printf 'race:main\n' >supp2
run 0 r.jsonl --suppressions supp --suppressions supp2
has 'Railbird: 0 races in 6 records, 6 records suppressed'
run 0 lib.jsonl --suppressions <(echo 'race:^innermost$') # names that only symbolizing gives
run 0 lib.jsonl --suppressions <(echo 'called_from_lib:libnames.so')
run 0 lib.jsonl --suppressions <(echo 'race:^hits$')
run 66 lib.jsonl --suppressions <(echo 'race_top:^outer$')
printf 'race:a\n\nrice:b\n' >bad.supp
refused "bad.supp:3: 'rice' is not a type" r.jsonl --suppressions bad.supp
refused 'zero bytes' r.jsonl --suppressions /bin/true

# --- SARIF
python3 -c 'import json; r = json.load(open("lib.jsonl")); print(json.dumps(r))' >one.jsonl
run 66 r.jsonl one.jsonl --format sarif --baseline part.jsonl -o r.sarif
python3 "$data/check_sarif.py" r.sarif >out || fail "SARIF: $(cat out)"
python3 "$data/check_sarif.py" --self-test r.sarif >out || fail "the checker of SARIF: $(cat out)"
sarif() { python3 -c 'import json, sys; r = json.load(open("r.sarif"))["runs"][0]; print(eval(sys.argv[1]))' "$1"; }
expect "results" "$(sarif 'len(r["results"])')" 6
expect "states" "$(sarif '[x["baselineState"] for x in r["results"]]')" \
  "['unchanged', 'unchanged', 'new', 'new', 'new', 'new']"
expect "levels" "$(sarif '[x["level"] for x in r["results"]]')" "['error', 'error', 'warning', 'error', 'error', 'error']"
expect "occurrences" "$(sarif 'r["results"][0]["occurrenceCount"]')" 2
expect "fingerprint" "$(sarif 'r["results"][5]["partialFingerprints"]["railbirdRace/v1"]')" "$first"
expect "flows" "$(sarif '[len(t["locations"]) for t in r["results"][0]["codeFlows"][0]["threadFlows"]]')" "[2, 3]"
run 66 r.jsonl --format sarif
expect "no state without a baseline" "$(grep -c baselineState out || true)" 0
run 0 empty --format sarif
cp out r.sarif
python3 "$data/check_sarif.py" r.sarif >out || fail "SARIF without results: $(cat out)"
mkdir -p 'src dir/build' # names relative to the folder we run in, without .. and with what URIs need
cp "$data/names.c" 'src dir/ä.c'
(cd 'src dir/build' && gcc -g -O2 ../ä.c -o ../../relative)
$raw relative table at_outer at_count >relative.jsonl
run 66 relative.jsonl --format sarif -o r.sarif
expect "URI" "$(sarif 'r["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]')" \
  "{'uriBaseId': 'SRCROOT', 'uri': 'src%20dir/%C3%A4.c'}"
python3 "$data/check_sarif.py" r.sarif >out || fail "SARIF: $(cat out)"

# --- HTML: self-contained, escaped, with the source
run 66 lib.jsonl r.jsonl --format html -o page.html
! grep -qE 'https?://|src=|href=|@import|url\(' page.html || fail "the page refers to elsewhere"
grep -q "MARK(at_innermost); // innermost" page.html || fail "no source in the page"
grep -q 'class="hit">' page.html || fail "no line is marked"
expect "races in the page" "$(grep -c '<details class="race"' page.html)" 6
python3 - page.html <<'EOF' >out || fail "HTML: $(cat out)"
import html.parser, sys
class Check(html.parser.HTMLParser):
    void = {"meta", "input", "br"}
    def __init__(self):
        super().__init__()
        self.open, self.bad = [], []
    def handle_starttag(self, tag, attrs):
        if tag not in self.void:
            self.open.append(tag)
    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.bad.append(f"</{tag}> at {self.getpos()}")
c = Check()
c.feed(open(sys.argv[1], encoding="utf-8").read())
print(c.bad, c.open)
sys.exit(bool(c.bad or c.open))
EOF
evil='<script>alert(1)</script>"'"'"'&<b onclick=x>'
python3 - "$evil" <<'EOF' >evil.jsonl
import json, sys
e = sys.argv[1]
r = json.loads(open("r.jsonl").readline())
def walk(x):
    for k, v in (x.items() if isinstance(x, dict) else enumerate(x)):
        if isinstance(v, (dict, list)):
            walk(v)
        elif isinstance(v, str) and k not in ("op", "address", "offset", "kind", "evidence"):
            x[k] = e + v
walk(r)
r["location"] = {"kind": "global", "name": e, "module": e, "offset": "0x1", "file": e, "line": 1}
print(json.dumps(r))
EOF
run 66 evil.jsonl --format html
! grep -qE '<script>alert|<b onclick' out || fail "names reach the page unescaped"
grep -q '&lt;script&gt;alert(1)' out || fail "names are not in the page"
run 66 evil.jsonl --format sarif -o r.sarif
python3 "$data/check_sarif.py" r.sarif >out || fail "SARIF of odd names: $(cat out)"
echo 'top secret' >secret.txt
sed "s|/src/shop/report.cc|$work/secret.txt|; s|\"line\":44|\"line\":1|" r.jsonl >leak.jsonl
run 66 leak.jsonl --format html
! grep -q 'top secret' out || fail "the page shows a file that is not source"
echo 'top secret' >secret.c
ln -s secret.txt link.c
ln -s . folder
sed "s|/src/shop/report.cc|$work/link.c|; s|\"line\":44|\"line\":1|" r.jsonl >link.jsonl
run 66 link.jsonl --format html
! grep -q 'top secret' out || fail "the page shows a file through a symbolic link"
sed "s|/src/shop/report.cc|$work/folder/secret.c|; s|\"line\":44|\"line\":1|" r.jsonl >link.jsonl
run 66 link.jsonl --format html
grep -q 'top secret' out || fail "source below a linked folder is not shown"
printf 'top secret\n\0' >secret.c
run 66 link.jsonl --format html
! grep -q 'top secret' out || fail "the page shows a file that is not text"
printf 'int \xff; // caf\xe9\n' >latin.c
sed "s|/src/shop/report.cc|$work/latin.c|; s|\"line\":44|\"line\":1|" r.jsonl >latin.jsonl
run 66 latin.jsonl --format html
grep -q 'int ?; // caf?' out || fail "source that is not UTF-8"
iconv -f UTF-8 -t UTF-8 out >/dev/null || fail "the page is not UTF-8"

# --- a thousand races: pages and services take only so much; what is left out is said
python3 - "$good" >thousand.jsonl <<'EOF'
import json, sys
r = json.loads(sys.argv[1])
for i in range(1000):
    for k, a in enumerate(r["accesses"]):
        a["stack"] = [{"module": "/usr/lib/libshop.so", "build_id": "ab" * 20, "offset": hex(16 * (i * 64 + k * 32 + d) + 7),
                       "function": f"shop::Basket<std::pair<int, long>>::step_{i}_{k}_{d}(int, char const*)",
                       "file": f"/src/shop/part_{d}.cc", "line": 10 + i, "column": 7} for d in range(30)]
    print(json.dumps(r))
EOF
run 66 thousand.jsonl --format sarif -o r.sarif
[ "$(wc -c <r.sarif)" -lt 10000000 ] || fail "SARIF of a thousand races: $(wc -c <r.sarif) bytes"
[ "$(sarif 'len(r["results"])')" -ge 900 ] || fail "SARIF of a thousand races: $(sarif 'len(r["results"])') results"
left_out=$(sarif '1000 - len(r["results"])')
[ "$left_out" = 0 ] || grep -q "$left_out causes of races are left out" r.sarif || fail "SARIF does not say what is left out"
python3 "$data/check_sarif.py" r.sarif >out || fail "SARIF of a thousand races: $(head -c 300 out)"
run 66 thousand.jsonl --format html -o page.html
[ "$(wc -c <page.html)" -lt 8000000 ] || fail "HTML of a thousand races: $(wc -c <page.html) bytes"
expect "races in the page" "$(grep -c '<details class="race"' page.html)" 1000
grep -q 'The stacks of the last [0-9]* are left out' page.html || fail "the page does not say what is left out"
# one cause: a copy that races with a thousand writes
python3 - >copies.jsonl <<'EOF'
import json
for line in open("thousand.jsonl"):
    r = json.loads(line)
    r["accesses"][0].update(size=22492, stack=[{"module": "/usr/lib/libshop.so", "build_id": "ab" * 20, "offset": "0x7", "function": "copy"}])
    print(json.dumps(r))
EOF
run 66 copies.jsonl
expect "reports of one cause" "$(grep -c '^WARNING' out)" 1
has 'and 999 more places of the same data and functions:' 'Railbird: 1000 races of 1 cause in 1000 records'
run 66 copies.jsonl --format sarif -o r.sarif
expect "results of one cause" "$(sarif 'len(r["results"])') $(sarif 'r["results"][0]["properties"]["morePlaces"]')" "1 999"
run 66 copies.jsonl --format json -o copies.out
expect "records of one cause" "$(wc -l <copies.out) $(grep -o '"cause":"[0-9a-f]*"' copies.out | sort -u | wc -l)" "1000 1"

# --- live: the runtime's symbolizer
live() { # STATUS ARGUMENTS...: reads live.in
  local want=$1 got=0
  shift
  timeout 300 "$RAILBIRD" report --live "$@" <live.in >out 2>err || got=$?
  [ "$got" = "$want" ] || fail "--live $*: status $got instead of $want: $(head -c 300 err)"
  [ ! -s out ] || fail "--live wrote on stdout"
}
cp lib.jsonl live.in
live 0
cp err out && innermost
expect "one report" "$(grep -c '^WARNING: Railbird: data race (pid=123)$' err)" 1
has_not 'Railbird: 1 race'
cat lib.jsonl lib.jsonl >live.in # two lines, two reports: merging is for later
live 0 --text live.txt --json-file live.jsonl
[ ! -s err ] || fail "--text FILE: $(cat err)"
expect "reports in the file" "$(grep -c '^WARNING' live.txt)" 2
expect "lines in the file" "$(wc -l <live.jsonl)" 2
live 0 --text live.txt --json-file live.jsonl
expect "appended" "$(grep -c '^WARNING' live.txt) $(wc -l <live.jsonl)" "4 4"
expect "mode" "$(stat -c %a live.jsonl)" "$(printf '%o' $((0644 & ~0$(umask))))"
expect "id" "$(json live.jsonl 'r["id"]')" "$first"
expect "names" "$(json live.jsonl 'r["accesses"][0]["stack"][2]["function"]')" outer
run 66 live.jsonl
has 'Railbird: 1 race in 4 records'
$raw libnames.so hits at_innermost at_count 'control={"suppressions_text":"race:^middle$\nrice:x"}' >live.in
live 3 --text - --json-file none.json
grep -q "suppressions of the program:2: 'rice' is not a type" err || fail "bad suppressions: $(cat err)"
expect "suppressed reports" "$(grep -c WARNING err || true)" 0
[ ! -e none.json ] || fail "a suppressed race left a file"
$raw libnames.so hits at_innermost at_count 'control={"suppressions_text":"race:nothing"}' >live.in
live 0 --json-file control.out
expect "control in the output" "$(grep -c control control.out || true)" 0
$raw libnames.so hits at_innermost at_count "control={\"suppressions\":\"$work/live.supp\"}" >live.in
live 0
grep -q 'live.supp: cannot read suppressions' err || fail "missing suppressions: $(cat err)"
grep -q WARNING err || fail "the report is lost when suppressions are missing"
echo 'race_top:innermost' >live.supp
live 3
mkdir -p beside # a relative name is tried beside the program, as ThreadSanitizer does
mv live.supp beside/
$raw libnames.so hits at_innermost at_count "program=\"$work/beside/prog\"" >live.in
live 3 --suppressions live.supp
cp lib.jsonl live.in
live 3 --suppressions beside/live.supp
live 0 --suppressions <(echo race:nothing)
live 1 --text - --json-file no/such/file # said, and the report is there
expect "complaints" "$(grep -c 'no/such/file: cannot write' err)" 1
grep -q WARNING err || fail "the report is lost when the file cannot be written"
live 1 --text no/such/file
grep -q WARNING err || fail "the report is lost when its file cannot be written"
if [ -w /dev/full ]; then
  live 1 --text - --json-file /dev/full
  grep -q '/dev/full: cannot write' err || fail "a full disk: $(cat err)"
fi
{ echo '{}'; cat lib.jsonl; } >live.in
live 1
grep -q 'standard input: accesses: expected an array' err || fail "a bad line: $(cat err)"
grep -q WARNING err || fail "a bad line hides the next one"
: >live.in
live 4 --json-file none.json
[ ! -e none.json ] || fail "no race left a file"
# reports at once, survives what is meant for the program, ends with its input
mkfifo pipe
"$RAILBIRD" report --live --text slow.txt <pipe 2>err &
reporter=$!
exec 9>pipe
cat lib.jsonl >&9
for _ in $(seq 2000); do
  grep -qs SUMMARY slow.txt && break
  sleep 0.05
done
grep -qs SUMMARY slow.txt || fail "--live waits for the end of its input"
kill -INT $reporter
kill -TERM $reporter
cat lib.jsonl >&9
exec 9>&-
got=0
wait $reporter || got=$?
expect "--live after signals" "$got $(grep -c WARNING slow.txt)" "0 2"
# quickly: a program waits for it. CPU time, so that others may use the machine.
cp lib.jsonl live.in
spent() { awk '{ print ($16 + $17) * 1000 / ticks }' ticks="$(getconf CLK_TCK)" "/proc/$$/stat"; } # of children, in ms
begin=$(spent)
for _ in 1 2 3 4 5; do live 0; done
took=$((($(spent) - begin) / 5))
[ $took -lt 500 ] || fail "--live takes $took ms of CPU time for a small program"
finish report
