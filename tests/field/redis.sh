#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Redis with four I/O threads that read and write (they wait for work by spinning on an atomic), background threads that
# free and sync, an append-only file, and a child that rewrites it. redis-benchmark for load, then commands whose answers
# are compared.
source "$(dirname "$0")/lib.sh"
program=redis load_name='4 I/O threads, 9 kinds of 300 requests'
plant='src/networking.c|atomicIncr(server.stat_total_writes_processed, 1);'

build() {
  make -s -j"$jobs" CC="$CC" MALLOC=libc OPTIMIZATION=-O2 CFLAGS=-g V=1 redis-server && # the clients are the plain build's
    if [ "$variant" = plain ]; then make -s -j"$jobs" MALLOC=libc OPTIMIZATION=-O2 V=1 redis-benchmark redis-cli; fi
}

load() {
  local port=$((20000 + RANDOM % 20000)) bin=$cache/build/redis-plain/src pid kind status=0 i
  "$tree/src/redis-server" --port $port --bind 127.0.0.1 --io-threads 4 --io-threads-do-reads yes --save '' \
    --appendonly yes --lazyfree-lazy-user-del yes --loglevel warning --logfile log --dir "$PWD" &
  pid=$!
  listening $port || status=1
  for kind in set get lpush lpop sadd hset zadd mset lrange_100; do
    timeout 120 "$bin/redis-benchmark" -p $port -n 300 -c 20 -P 4 -d 200 -r 1000 -q -t $kind >/dev/null || status=1
  done
  ask() { timeout 60 "$bin/redis-cli" -p $port "$@" || status=1; }
  ask flushall async
  for i in 1 2 3 4 5 6 7 8 9 10; do
    ask incrby counter $i
    ask zadd scores $((i * 7 % 10)) "member$i"
  done
  ask zrange scores 0 -1
  ask del scores
  ask bgrewriteaof
  for i in $(seq 100); do
    ask info persistence | grep -q 'aof_rewrite_in_progress:1' || break
    sleep 0.1
  done
  ask info persistence | tr -d '\r' | grep 'aof_last_bgrewrite_status'
  ask shutdown nosave
  wait $pid || status=1
  return $status
}
field
