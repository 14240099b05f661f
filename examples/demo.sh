#!/usr/bin/env bash
# A first look, on a real program: build it, run it, read the report, see it as a page, record it and ask the
# laboratory what other samplers would have found.
set -euo pipefail
railbird=$(realpath "${1:-railbird}")
here=$(dirname "$(realpath "$0")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
pages=$PWD

say() { printf '\n%s\n' "$*"; }
show() { # the command as one would type it; a race found is what we hope for
  printf '\n\033[1m$ %s\033[0m\n' "${*//"$railbird"/railbird}"
  (cd "$folder" && "$@") || [ $? -eq 66 ]
}
cp "$here/demo/tally.c" "$folder"

say "A small program with a mistake: four threads, one line outside the lock."
show sed -n '12,19p' tally.c
show "$railbird" cc -g -O1 tally.c -o tally
show "$railbird" run -o report=text,json:races.json -- ./tally

say "The same report as a page, and for machines:"
show "$railbird" report races.json --format html -o races.html
cp "$folder/races.html" "$pages/railbird-demo-races.html"
echo "$pages/railbird-demo-races.html (open it in a browser; it needs no network)"
show "$railbird" report races.json --format sarif -o races.sarif

say "Now recorded, and asked: what would each engine and sampler have found of this very run?"
show "$railbird" record -o tally.rbt -- ./tally
show "$railbird" trace info tally.rbt
show "$railbird" compare tally.rbt --engines fasttrack,so --runs 5 --html compare.html
cp "$folder/compare.html" "$pages/railbird-demo.html"
echo "$pages/railbird-demo.html"
