#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Programs behind a seccomp filter: the short form of tests/attack/sandbox/run.sh.
exec "$(dirname "$(realpath "$0")")/../attack/sandbox/run.sh" 1
