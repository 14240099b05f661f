#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pbzip2 (C++): a queue of blocks under mutexes and conditions. Compresses with four threads, with small blocks and in one
# piece from a pipe, decompresses with four, and tests. libbz2 itself is not instrumented.
source "$(dirname "$0")/lib.sh"
needs libbz2-dev
program=pbzip2 input=16 load_name='16 MB, 4 threads, there and back'
plant='pbzip2.cpp|ret = BZ2_bzBuffToBuffCompress(CompressedData, &outSize,$'

build() {
  make -s CXX="$CXX" CXXFLAGS='-g -O2 -pthread -D_LARGEFILE64_SOURCE -D_FILE_OFFSET_BITS=64 -DUSE_STACKSIZE_CUSTOMIZATION' \
    LDFLAGS=-pthread pbzip2
}

load() {
  local p=$tree/pbzip2
  "$p" -q -p4 -b1 -k -c in >a.bz2 && sha256sum <a.bz2 &&
    "$p" -q -p4 -b2 -c <in >b.bz2 && sha256sum <b.bz2 &&
    "$p" -q -p4 -t a.bz2 && "$p" -q -p4 -d -c a.bz2 | cmp - in &&
    "$p" -q -p4 -d -c <b.bz2 | cmp - in && echo same
}
field
