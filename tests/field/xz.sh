#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# xz: liblzma's own coder with threads, instrumented, a block for each. Compresses with four threads and small blocks, decompresses with
# four and with one, and tests.
source "$(dirname "$0")/lib.sh"
program=xz-utils input=1 load_name='1 MB, 4 threads, there and back'
plant='src/liblzma/common/stream_encoder_mt.c|state = worker_encode(thr, &out_pos, state);'

build() {
  ./configure -q CFLAGS='-g -O2' --disable-shared --disable-nls --disable-doc --disable-scripts --disable-lzmadec --disable-lzmainfo &&
    make -s -j"$jobs"
}

load() {
  local p=$tree/src/xz/xz
  "$p" -T4 -1 --block-size=128KiB -k -c in >a.xz && sha256sum <a.xz && "$p" -T4 -d -c a.xz | cmp - in &&
    "$p" -T1 -d -c a.xz | cmp - in && "$p" -T4 -t a.xz && echo same
}
field
