#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# haproxy: four threads, two frontends, servers that it is itself, a cache, compression, a stick table and health checks; ab
# asks while commands of its socket read statistics and set weights and tables. Its locks are inline assembly, which
# `railbird cc` follows (docs/explanation/inline-assembly.md).
# Each thread keeps the connections that it accepts: the queue by which it would hand them on has plain stores with compiler
# barriers alone (listener.c:85 to 118), so with it every word of a connection is a race.
source "$(dirname "$0")/lib.sh"
needs apache2-utils python3
program=haproxy
requests=$([ "${FIELD_FULL:-0}" = 1 ] && echo 20000 || echo 4000)
load_name="4 threads, 2 x $requests requests, 40 commands"

build() {
  make -s -j"$jobs" TARGET=linux-glibc CC="$CC" LD="$CC" DEBUG_CFLAGS=-g OPT_CFLAGS=-O2 haproxy
}

# tell COMMAND: to the socket of the server
tell() {
  python3 - "$1" <<'PYTHON'
import socket, sys

s = socket.socket(socket.AF_UNIX)
s.settimeout(120)
s.connect("socket")
s.sendall(sys.argv[1].encode() + b"\n")
while s.recv(65536):
    pass
PYTHON
}

load() {
  local port=$((20000 + RANDOM % 20000)) pid i n status=0
  cat >server.cfg <<END
global
  nbthread 4
  tune.listener.multi-queue off
  stats socket $PWD/socket mode 600 level admin
defaults
  mode http
  timeout connect 100s
  timeout client 100s
  timeout server 100s
  timeout queue 100s
  timeout check 100s
cache small
  total-max-size 4
  max-age 5
frontend one
  bind 127.0.0.1:$port
  http-request track-sc0 src table seen
  http-request cache-use small
  http-response cache-store small
  stats enable
  stats uri /stats
  compression algo gzip
  compression type text/plain
  default_backend servers
frontend two
  bind 127.0.0.1:$((port + 1))
  http-request track-sc0 path table paths
  default_backend servers
backend servers
  balance roundrobin
  option httpchk GET /check
  server a 127.0.0.1:$((port + 2)) check inter 50 fall 1000 maxconn 4
  server b 127.0.0.1:$((port + 2)) check inter 70 fall 1000
backend seen
  stick-table type ip size 1k expire 30s store http_req_rate(10s),conn_cur
backend paths
  stick-table type string len 32 size 1k expire 30s store http_req_cnt
frontend answers
  bind 127.0.0.1:$((port + 2))
  http-request return status 200 content-type text/plain hdr Cache-Control "max-age=5" string "$(printf 'line of an answer %.0s' {1..40})"
END
  measured "$tree/haproxy" -f server.cfg &
  pid=$!
  listening $((port + 2)) || status=1
  for i in 0 1; do
    # shellcheck disable=SC2046 # no word, or one
    ab -q -n "$requests" -c 8 -s 300 $([ $i = 0 ] || echo -k) "http://127.0.0.1:$((port + i))/page$i" >ab.$i 2>ab.err.$i &
    n[i]=$!
  done
  for i in 1 2 3 4 5; do
    for command in "show stat" "show table seen" "set weight servers/a $((i * 20))" "show fd" "show sess" "show info" \
      "set table paths key /page$i data.http_req_cnt 1" "clear counters"; do
      tell "$command" || status=1
    done
    python3 -c 'import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=120).read()' "http://127.0.0.1:$port/stats;csv" || status=1
  done
  for i in 0 1; do
    wait "${n[i]}" || status=1
    sed -n 's/^\(Complete requests\|Failed requests\|Non-2xx responses\|Document Length\): *\(.*\)/\1 \2/p' ab.$i
  done
  kill -USR1 "$(program_of $pid)" # ends when nothing is left to do
  wait $pid || status=1
  return $status
}
field
