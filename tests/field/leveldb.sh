#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# LevelDB (C++): db_bench with four threads and buffers so small that compaction never rests: a skip list read without a
# lock, reference counts, C++ condition variables.
source "$(dirname "$0")/lib.sh"
needs cmake
program=leveldb load_name='db_bench, 4 threads, 7 benchmarks of 1,000'
plant='db/db_impl.cc|Writer w(&mutex_);'

build() {
  cmake -S . -B build -DCMAKE_C_COMPILER="$CC1" -DCMAKE_CXX_COMPILER="$CXX1" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_C_FLAGS="$INSTRUMENT" -DCMAKE_CXX_FLAGS="$INSTRUMENT" -DLEVELDB_BUILD_BENCHMARKS=ON \
    -DLEVELDB_BUILD_TESTS=OFF && cmake --build build -j"$jobs" --target db_bench
}

# How many of the keys were found depends on the seeds alone, not on who came first; so do the names.
load() {
  "$tree/build/db_bench" --db="$PWD/db" --num=1000 --threads=4 --write_buffer_size=65536 --max_file_size=65536 \
    --benchmarks=fillrandom,overwrite,readrandom,readwhilewriting,compact,seekrandom,deleterandom >log 2>&1 || return 1
  tr '\r' '\n' <log | sed -n 's/^\([a-z]*\) *: .*op;\( (.*)\)\?.*/\1\2/p' | sed 's/^readwhilewriting.*/readwhilewriting/'
}
field
