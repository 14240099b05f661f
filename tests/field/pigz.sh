#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pigz: jobs, a write list and pools of buffers under locks of its own making (yarn.c: a mutex, a condition and a number).
# Compresses with four threads, in independent blocks as well, and decompresses. zlib itself is not instrumented.
source "$(dirname "$0")/lib.sh"
needs zlib1g-dev
program=pigz input=32 load_name='32 MB, 4 threads, there and back'
plant='pigz.c|Trace(("-- compressing #'

build() {
  make -s CC="$CC" CFLAGS='-g -O2 -DNOZOPFLI' ZOPFLI= pigz 2>/dev/null ||
    $CC -g -O2 -DNOZOPFLI -o pigz pigz.c yarn.c try.c -lm -lpthread -lz
}

load() {
  local p=$tree/pigz
  "$p" -n -p4 -b64 -k -c in >a.gz && sha256sum <a.gz && "$p" -n -p4 -i -1 -c <in >b.gz && sha256sum <b.gz &&
    "$p" -p4 -t a.gz && "$p" -p4 -d -c a.gz | cmp - in && "$p" -p4 -d -c <b.gz | cmp - in && echo same
}
field
