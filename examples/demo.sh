#!/usr/bin/env bash
# A first look: a trace with races, one analysis, and the comparison of engines and samplers on it.
set -euo pipefail
railbird=${1:-railbird}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
out=${RAILBIRD_DEMO_HTML:-railbird-demo.html}

step() { printf '\n\033[1m$ railbird %s\033[0m\n' "$*"; }
show() { # runs railbird; a race found is what we hope for
  step "$@"
  (cd "$folder" && "$railbird" "$@") || [ $? -eq 66 ]
}
railbird=$(realpath "$railbird")

echo "A trace of 5 million events: 16 threads, locks, and a few accesses that forget their lock."
show trace gen -o demo.rbt --events 5e6 --threads 16 --race 0.001
show trace info demo.rbt

echo; echo "Every access, exactly: which are the second of a race?"
show analyze demo.rbt --engine so --sampler all --races races.csv

echo; echo "The first races, as a script would read them:"
step "analyze demo.rbt --races races.csv; head -4 races.csv"
echo "index1,index2,variable,thread1,thread2,op1,op2,location1,location2"
head -4 "$folder/races.csv"

echo; echo "Sampling: what each policy would have found of it, and at what cost."
show compare demo.rbt --engines fasttrack,so --runs 3 --html page.html
mv "$folder/page.html" "$out"
printf '\nThe same with pictures: \033[1m%s\033[0m (open it in a browser; it needs no network)\n' "$out"
