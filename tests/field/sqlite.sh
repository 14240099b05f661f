#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# SQLite: its own tests with several threads on one database: threadtest4 (multi-thread mode),
# threadtest5, and threadtest3 (write-ahead log, checkpoints, shared schema), whose tests run for a time, cut to a second.
#
# threadtest5 is changed in two places, in all builds alike (docs/explanation/field-notes.md): its workers ignore that a statement has
# waited for two seconds in vain, which a slower program does; and one makes a table and fills it in two transactions, between
# which the others may empty it, so that the plain build fails now and then.
source "$(dirname "$0")/lib.sh"
program=sqlite3 load_name='threadtest4, 5, 9 tests of threadtest3'
# The header of the write-ahead log's index is read without its writers' lock; a test changes a setting while its threads
# open databases: docs/explanation/field-notes.md.
known='walIndexTryHdr|walTryBeginRead|walCheckpoint|sqlite3_enable_shared_cache'
plant='src/vdbe.c|Op \*aOp = p->aOp; '

build() {
  ./configure -q CFLAGS='-g -O1' --disable-tcl --disable-readline --disable-shared && make -s sqlite3.c || return 1
  sed -i 's/, [126]0000 }/, 1000 }/' test/threadtest3.c
  sed -i 's/busy_timeout(db, 2000)/busy_timeout(db, 60000)/; s/"CREATE TABLE IF NOT EXISTS p2(/"BEGIN IMMEDIATE;" &/
    s/"INSERT INTO p2(x) SELECT x FROM c;"/& "COMMIT;"/' test/threadtest5.c
  $CC -w -g -O1 -DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_UNLOCK_NOTIFY -DHAVE_USLEEP=1 -c sqlite3.c -o field.o &&
    for n in 3 4 5; do
      more=()
      [ $n = 3 ] && more=(src/test_multiplex.c)
      $CC -w -g -O1 -I. -Isrc test/threadtest$n.c "${more[@]}" field.o -o threadtest$n -lm -lpthread -ldl || return 1
    done
}

load() {
  "$tree/threadtest4" -multithread 3 >log && tail -1 log || return 1 # -serialized fails now and then, in the plain build
  "$tree/threadtest5" >log 2>&1 && tail -1 log || return 1
  "$tree/threadtest3" walthread1 walthread3 cgt_pager_1 dynamic_triggers create_drop_index_1 lookaside1 vacuum1 \
    stress1 shared1 >log && tail -1 log
}
field
