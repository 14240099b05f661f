#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs `make demo` and `make test` as on a new machine: in a chroot with git, make and apt alone, on a clone of HEAD.
#   fresh.sh [-n RUNS] [-b LOOPS] [-B LOOPS] [-k] [COMMAND...]
#   -n  runs, each in a chroot of its own; default 1      -b  busy loops beside every run   -B  beside the last run alone
#   -k  keeps the folders and says where they are         COMMAND  shell commands instead of the two
# Ends with 0 only if every command of every run does. The chroot is made by debootstrap from the packages that this
# machine's apt uses. Mounts belong to a namespace that ends with the run; processes within end with it as well.
set -euo pipefail
self=$(realpath "${BASH_SOURCE[0]}")
tree=$(realpath "$(dirname "$self")/..")

# enter ROOT COMMAND: within new mount and process namespaces, whose first process this is and remains, so that somebody
# waits for orphans.
enter() {
  local root=$1
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
  mount -t devpts -o ptmxmode=0666,newinstance devpts "$root/dev/pts"
  mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
  mount --rbind --make-rslave /sys "$root/sys"
  # shellcheck disable=SC2016 # the shell within expands it
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} \
    ${no_proxy:+"no_proxy=$no_proxy"} chroot "$root" /bin/sh -c 'cd /root/railbird && eval "$1"' sh "$2"
}
if [ "${1:-}" = --enter ]; then
  enter "$2" "$3"
  exit
fi

runs=1 loops=0 last_loops=0 keep=
while getopts n:b:B:k option; do
  case $option in
  n) runs=$OPTARG ;;
  b) loops=$OPTARG ;;
  B) last_loops=$OPTARG ;;
  k) keep=1 ;;
  *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ $# != 0 ] || set -- "make demo" "make test"
[ "$(id -u)" = 0 ] || { echo "fresh.sh: only root can make a chroot"; exit 2; }
command -v debootstrap >/dev/null || { echo "fresh.sh: debootstrap is not installed"; exit 2; }

work=$(mktemp -d)
busy=() inside=
end_loops() {
  [ ${#busy[@]} = 0 ] || kill "${busy[@]}" 2>/dev/null || true
  busy=()
}
clean_up() {
  end_loops
  [ -z "$inside" ] || kill -9 "$inside" 2>/dev/null || true
  [ -z "$inside" ] || wait "$inside" 2>/dev/null || true
  if [ -n "$keep" ]; then
    echo "kept: $work"
  else
    rm -rf --one-file-system "$work"
  fi
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

# What apt uses here: the archive of this release, its keys, and how packages are fetched.
. /etc/os-release
read -r mirror components < <(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
  awk -v release="$VERSION_CODENAME" '$2 == release { uri = uri ? uri : $1; if ($1 == uri) some = some (some ? "," : "") $3 }
    END { print uri, some }')
[ -n "$mirror" ] || { echo "fresh.sh: apt has no source for $VERSION_CODENAME"; exit 2; }
: "${http_proxy:=$(apt-config shell p Acquire::http::Proxy | sed "s/^p='\(.*\)'$/\1/")}"
: "${https_proxy:=$(apt-config shell p Acquire::https::Proxy | sed "s/^p='\(.*\)'$/\1/")}"
export http_proxy https_proxy
base=$work/base
echo "making a chroot of $VERSION_CODENAME"
include=git,make
[ "${mirror#https}" = "$mirror" ] || include+=,ca-certificates
debootstrap --variant=minbase --include="$include" --components="$components" "$VERSION_CODENAME" "$base" "$mirror" \
  >"$work/debootstrap.log" 2>&1 || { tail -n 20 "$work/debootstrap.log"; exit 1; }
rm -f "$base"/etc/apt/sources.list
for name in sources.list sources.list.d trusted.gpg trusted.gpg.d keyrings preferences preferences.d auth.conf auth.conf.d; do
  [ ! -e "/etc/apt/$name" ] || cp -a "/etc/apt/$name" "$base/etc/apt/"
done
cp -a /usr/share/keyrings/. "$base/usr/share/keyrings/"
apt-config dump | grep -E '^Acquire::(http|https|ftp|Retries|Check-Valid-Until|Languages|ForceIPv)' >"$base/etc/apt/apt.conf.d/90host"
cp -L /etc/resolv.conf /etc/hosts "$base/etc/"

status=0
for ((n = 1; n <= runs; n++)); do
  root=$work/run$n beside=$loops
  [ "$n" != "$runs" ] || [ "$last_loops" = 0 ] || beside=$last_loops
  cp -a --reflink=auto "$base" "$root"
  git clone -q --no-hardlinks "$tree" "$root/root/railbird"
  chown -R 0:0 "$root/root/railbird"
  end_loops
  for ((i = 0; i < beside; i++)); do
    (while kill -0 $$ 2>/dev/null; do :; done) &
    busy+=($!)
  done
  for command in "$@"; do
    echo "=== run $n of $runs, $beside busy loops beside: $command"
    start=$SECONDS got=0
    unshare --mount --propagation private --pid --fork --kill-child "$self" --enter "$root" "$command" </dev/null &
    inside=$!
    wait "$inside" || got=$?
    inside=
    echo "=== run $n of $runs: $command: status $got after $((SECONDS - start)) s"
    [ "$got" = 0 ] || status=1
  done
  [ -n "$keep" ] || rm -rf --one-file-system "$root"
done
exit $status
