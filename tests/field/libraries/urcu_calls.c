// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: liburcu-dev
// Flags: -lurcu-memb -lurcu-cds -lurcu-common
// liburcu by function calls: rcu.h.
#define RCU_MEMBARRIER
#include "rcu.h"
