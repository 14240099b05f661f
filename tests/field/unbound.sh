#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# unbound: four threads forward what they have not in their caches to a second unbound; dnsperf asks while commands of
# unbound-control read statistics, dump and flush caches, and change zones. Then its own unit tests.
source "$(dirname "$0")/lib.sh"
needs libssl-dev libexpat1-dev libevent-dev bison flex dnsperf
program=unbound
queries=$([ "${FIELD_FULL:-0}" = 1 ] && echo 100000 || echo 20000)
load_name="4 threads, $queries queries, 40 commands; unittest"

build() {
  ./configure -q CFLAGS='-g -O2' --disable-rpath --with-libevent --disable-flto --with-pidfile=/dev/null &&
    make -s -j"$jobs" unbound unbound-control unittest
}

# server PORT CONTROL NAME LINES: writes the configuration of a server
server() {
  cat >"$3.conf" <<END
server:
  directory: "$PWD"
  chroot: ""
  username: ""
  pidfile: "$PWD/$3.pid"
  interface: 127.0.0.1
  port: $1
  use-syslog: no
  logfile: "$PWD/$3.log"
  do-daemonize: no
  do-not-query-localhost: no
  module-config: "iterator"
  so-reuseport: yes
  minimal-responses: yes
$4
remote-control:
  control-enable: yes
  control-use-cert: no
  control-interface: $PWD/$2
END
}

load() {
  local port=$((20000 + RANDOM % 20000)) plain=$cache/build/unbound-plain pids=() i status=0
  server $((port + 1)) upstream.control upstream '  local-zone: "field." redirect
  local-data: "field. 300 A 192.0.2.1"
  local-zone: "none." always_nxdomain'
  server $port control server "  num-threads: 4
  msg-cache-size: 1m
  rrset-cache-size: 1m
  # Nobody gives up: the machine may be busy.
  jostle-timeout: 300000
  unknown-server-time-limit: 60000
  infra-keep-probing: yes
forward-zone:
  name: \".\"
  forward-addr: 127.0.0.1@$((port + 1))"
  awk -v n="$queries" 'BEGIN { for (i = 0; i < n; i++) printf "n%d.%s. A\n", i * 7919 % (n / 16), i % 10 ? "field" : "none" }' >queries
  "$plain/unbound" -c "$PWD/upstream.conf" &
  pids+=($!)
  measured "$tree/unbound" -c "$PWD/server.conf" &
  pids+=($!)
  ask() { timeout 60 "$plain/unbound-control" -c "$PWD/server.conf" "$@"; }
  for ((i = 0; i < 300; i++)); do
    ask status >/dev/null 2>&1 && break
    sleep 0.1
  done
  dnsperf -s 127.0.0.1 -p $port -d queries -c 8 -q 40 -t 3600 >dnsperf.out 2>dnsperf.err &
  pids+=($!)
  for ((i = 0; i < 8; i++)); do
    { ask stats_noreset && ask dump_cache && ask flush n$i.field && ask local_data "own$i. 60 A 192.0.2.$i"; } >/dev/null || status=1
    ask flush_zone none >/dev/null || status=1
  done
  wait "${pids[2]}" || status=1
  sed -n 's/^ *\(Queries completed: *[0-9]*\).*/\1/p; s/^ *\(Response codes:.*\)/\1/p' dnsperf.out
  ask list_local_data | grep '^own' | sort
  ask stop >/dev/null || status=1
  wait "${pids[1]}" || status=1
  kill "${pids[0]}"
  wait "${pids[0]}" || status=1
  (cd "$tree" && ./unittest) >unittest.out 2>&1 || status=1
  grep -o 'checks ok' unittest.out # how many is a matter of chance
  return $status
}
field
