// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libmimalloc-dev
// Flags: -Wl,--no-as-needed -lmimalloc
// mimalloc as the program's malloc: allocators.h.
#include "allocators.h"
