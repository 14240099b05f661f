// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a program can tell Railbird, and ask of it. All of it is optional, and all of it is there only in programs
// that run with Railbird's runtime: without it the declarations are weak, and RAILBIRD_PRESENT is false.
#ifndef RAILBIRD_RAILBIRD_H
#define RAILBIRD_RAILBIRD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RAILBIRD_WEAK __attribute__((weak))

// An ordering that Railbird cannot see: everything before a release happens before what follows an acquire of the
// same address.
RAILBIRD_WEAK void railbird_release(const volatile void *address);
RAILBIRD_WEAK void railbird_acquire(const volatile void *address);
// Memory that starts anew: a custom allocator hands out [address, address + size).
RAILBIRD_WEAK void railbird_new_memory(const volatile void *address, size_t size);
// Accesses of this thread between the two are not looked at. They nest.
RAILBIRD_WEAK void railbird_ignore_begin(void);
RAILBIRD_WEAK void railbird_ignore_end(void);
// Races on [address, address + size) are intended and not reported.
RAILBIRD_WEAK void railbird_benign_race(const volatile void *address, size_t size);
// Races reported so far in this process.
RAILBIRD_WEAK uint64_t railbird_races(void);

// A program may define these: options and suppressions as in RAILBIRD_OPTIONS and a suppressions file.
const char *__railbird_default_options(void);
const char *__railbird_default_suppressions(void);

#define RAILBIRD_PRESENT (railbird_races != NULL)

#ifdef __cplusplus
}
#endif
#endif
