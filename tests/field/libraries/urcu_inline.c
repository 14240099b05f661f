// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: liburcu-dev
// Flags: -lurcu-mb -lurcu-cds -lurcu-common
// Known: _?urcu_.*|_{0,3}cds_.* -- volatile accesses of the header are plain ones by C11
// liburcu with its read side, pointers and queues inlined into the program, as volatile accesses and assembly: rcu.h.
#define _LGPL_SOURCE
#define RCU_MB
#include "rcu.h"
