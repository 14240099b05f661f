#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# zstd -T4: a pool of jobs, a buffer handed around between them, the long-distance matcher in its own order; and its
# streaming test (tests/zstreamtest), which drives the multi-threaded coder with random parameters.
source "$(dirname "$0")/lib.sh"
program=libzstd input=2 load_name='2 MB -T4, several modes; zstreamtest'
plant='lib/compress/zstdmt_compress.c|size_t lastCBlockSize = 0;'

build() {
  local flags=(CC="$CC" CFLAGS='-g -O2' HAVE_LZMA=0 HAVE_LZ4=0 HAVE_ZLIB=0)
  make -s -j"$jobs" -C programs "${flags[@]}" zstd && make -s -j"$jobs" -C tests "${flags[@]}" zstreamtest
}

load() {
  local p=$tree/programs/zstd mode
  for mode in '-1 -B128KiB' '-3 -B512KiB' '-4 --rsyncable' '-2 --long=20 -B512KiB'; do
    # shellcheck disable=SC2086
    "$p" -q -f -T4 $mode in -o out.zst && sha256sum <out.zst && "$p" -q -t out.zst && "$p" -q -d -c out.zst | cmp - in || return 1
  done
  "$p" -q -T4 --adapt -c <in >out.zst && "$p" -q -d -c out.zst | cmp - in && echo same || return 1
  "$tree/tests/zstreamtest" --newapi -i"$([ "${FIELD_FULL:-0}" = 1 ] && echo 200 || echo 6)" -s7 >log 2>&1 || return 1
  echo 'zstreamtest: ok'
}
field
