// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libgoogle-perftools-dev
// Flags: -Wl,--no-as-needed -ltcmalloc_minimal
// tcmalloc as the program's malloc: allocators.h.
#include "allocators.h"
