// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libjemalloc-dev
// Flags: -Wl,--no-as-needed -ljemalloc
// jemalloc as the program's malloc: allocators.h.
#include "allocators.h"
