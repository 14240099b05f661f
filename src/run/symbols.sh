#!/bin/sh
# symbols.sh export|wrap|own|other OUT FILE...: lists for the linker, from the names that archives or objects define.
#   export  a dynamic list: what a program has to export for its plugins
#   wrap    --wrap options, a line each: what a program's calls are led to, if all of it is static, or libstdc++ alone
#   own     --wrap options for the runtime's objects: what its own calls are led to (self_calls.c); fails if one of them
#           calls a function that another intercepts, and self_calls.c does not have it
#   other   --defsym options: the other names that libtsan has for what it intercepts, for programs whose own functions
#           of the plain names call them. Weak in the end: the runtimes of other sanitizers have some too
set -eu
kind=$1 out=$2
shift 2
names=$(nm --defined-only -g "$@" | awk 'NF == 3 { print $3 }' | sort -u)
# Those that are hidden are the runtime's own.
wrapped() { readelf -sW "$@" | awk '$6 == "DEFAULT" && $7 != "UND" && sub(/^__wrap_/, "", $8) { print $8 }' | sort -u; }
case $kind in
export) { echo '{'; echo "$names" | sed 's/.*/  &;/'; echo '};'; } >"$out" ;;
wrap) wrapped "$@" | sed 's/^/--wrap=/' >"$out" ;;
other)
  {
    nm -g "$@" | awk 'NF == 3 && $2 == "W" { print $3 }' | sort -u |
      grep -Ev '^(_Z|__tsan|__sanitizer|__sancov|__cxa_guard|__wrap|Annotate|Wtf|RunningOn|railbird|omp_|GOMP_|kmp|__kmpc|fopen$)' |
      sed 's/.*/--defsym=__interceptor_&=&/'
    for name in malloc calloc realloc reallocarray free memalign aligned_alloc posix_memalign valloc pvalloc; do
      echo "--defsym=___interceptor_$name=$name"
    done
  } >"$out"
  ;;
own)
  # Its own are hidden; others with such names are for the program's linker (intercept.h).
  readelf -sW "$@" | awk '$6 == "HIDDEN" && sub(/^__wrap_/, "", $8) { print $8 }' | sort -u >"$out"
  missing=$({
    nm -g "$@" | awk -v own="$out" '
      BEGIN { while ((getline name <own) > 0) has[name] = 1 }
      NF == 3 && $2 == "W" { intercepted[$3] = 1 }
      NF == 2 && $1 == "U" { called[$2] = 1 }
      END { for (name in called) if (name in intercepted && !(name in has)) print name }'
  })
  if [ -n "$missing" ]; then
    echo "src/run/intercept/self_calls.c needs a row for what the runtime calls and intercepts: $missing" >&2
    rm -f "$out"
    exit 1
  fi
  sed -i 's/^/--wrap=/' "$out"
  ;;
esac
