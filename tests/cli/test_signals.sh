#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Signals reach the program as without the runtime: the short form of tests/attack/signals/run.sh.
exec "$(dirname "$(realpath "$0")")/../attack/signals/run.sh" 1
