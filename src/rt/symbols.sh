#!/bin/sh
# symbols.sh export|wrap ARCHIVE OUT: lists for the linker, from the names that the archive defines.
#   export  a dynamic list: what a program has to export for its plugins
#   wrap    --wrap options, a line each: what a static program's calls are led to
set -eu
names=$(nm --defined-only -g "$2" | awk 'NF == 3 { print $3 }' | sort)
case $1 in
export) { echo '{'; echo "$names" | sed 's/.*/  &;/'; echo '};'; } >"$3" ;;
wrap) echo "$names" | sed -n 's/^__wrap_/--wrap=/p' >"$3" ;;
esac
