#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# symbols.sh export|wrap|own|other OUT FILE...: lists for the linker, from the names that archives or objects define.
#   export  a dynamic list: the names that a program has to export for its plugins
#   wrap    --wrap options, a line each: redirect the calls of a static program, or those of libstdc++ alone
#   own     --wrap options for the runtime's objects: redirect its own calls to self_calls.c. Fails if an object calls an
#           intercepted function without a row there
#   other   --defsym options: libtsan's other names for intercepted functions. Programs that define the plain names
#           themselves call these. They become weak: the runtimes of other sanitizers have some too
set -eu
kind=$1 out=$2
shift 2
names=$(nm --defined-only -g "$@" | awk 'NF == 3 { print $3 }' | sort -u)
# Hidden names are the runtime's own, and left out.
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
  # The runtime's own are hidden; the others are for the program's linker (intercept.h).
  readelf -sW "$@" | awk '$6 == "HIDDEN" && sub(/^__wrap_/, "", $8) { print $8 }' | sort -u >"$out"
  missing=$({
    nm -g "$@" | awk -v own="$out" '
      BEGIN { while ((getline name <own) > 0) has[name] = 1 }
      NF == 3 && $2 == "W" { intercepted[$3] = 1 }
      NF == 2 && $1 == "U" { called[$2] = 1 }
      END { for (name in called) if (name in intercepted && !(name in has)) print name }'
  })
  if [ -n "$missing" ]; then
    echo "src/run/intercept/self_calls.c needs a row for each function that the runtime calls and intercepts: $missing" >&2
    rm -f "$out"
    exit 1
  fi
  sed -i 's/^/--wrap=/' "$out"
  ;;
esac
