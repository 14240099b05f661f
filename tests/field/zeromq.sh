#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ZeroMQ's library with some of its own test programs: contexts, sockets within a process and between, their threads for input,
# output and reaping, mailboxes and pipes without locks.
source "$(dirname "$0")/lib.sh"
needs cmake
program=zeromq3 # the source package
tests=(hwm inproc_connect pair_inproc pair_tcp pair_ipc reqrep_inproc reqrep_tcp ctx_destroy many_sockets monitor shutdown_stress
  spec_dealer spec_router spec_pushpull sub_forward disconnect_inproc router_mandatory last_endpoint proxy)
load_name="${#tests[@]} of its test programs"

# Tests end themselves by an alarm after a minute, which may not be enough.
build() {
  sed -i 's/alarm (timeout_seconds_)/alarm (1000)/' tests/testutil.cpp &&
  cmake -S . -B made -DCMAKE_C_COMPILER="$CC1" -DCMAKE_CXX_COMPILER="$CXX1" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="-g -O2 $INSTRUMENT" \
    -DCMAKE_CXX_FLAGS="-g -O2 $INSTRUMENT" -DENABLE_PRECOMPILED=OFF -DWITH_LIBSODIUM=OFF -DENABLE_CURVE=OFF -DWITH_TLS=OFF \
    -DWITH_LIBBSD=OFF -DENABLE_DRAFTS=OFF -DWITH_DOCS=OFF -DWITH_PERF_TOOL=OFF -DENABLE_CPACK=OFF -DBUILD_SHARED=OFF &&
    make -s -C made -j"$jobs" "${tests[@]/#/test_}"
}

load() {
  local name status=0
  for name in "${tests[@]}"; do
    measured "$tree/made/bin/test_$name" >"$name.out" || status=1
    grep -o ':test_[^:]*:[A-Z]*' "$name.out"
  done
  return $status
}
field
