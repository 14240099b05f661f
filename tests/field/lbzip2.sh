#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# lbzip2: its own bzip2 coder, instrumented, on a pool of threads with one big lock. Compresses and decompresses, also data
# that does not compress.
source "$(dirname "$0")/lib.sh"
program=lbzip2 input=1 load_name='1 MB, 4 threads, there and back'
plant='src/compress.c|wblk = XMALLOC(struct work_blk);'

# The macros are for the gnulib of the time, which looks for them in a libc that no longer defines them.
build() {
  ./configure -q CFLAGS='-g -O2' CPPFLAGS='-D_IO_ftrylockfile=1 -D_IO_IN_BACKUP=0x100' && make -s -j"$jobs"
}

load() {
  local p=$tree/src/lbzip2
  "$p" -n4 -1 -k -c in >a.bz2 && sha256sum <a.bz2 && "$p" -n4 -d -c a.bz2 | cmp - in &&
    "$p" -n4 -9 -c <a.bz2 >b.bz2 && sha256sum <b.bz2 && "$p" -n4 -t b.bz2 && "$p" -n4 -d -c <b.bz2 | cmp - a.bz2 && echo same
}
field
