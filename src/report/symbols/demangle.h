// Turns the mangled name of a C++ function or variable into the one of its source. Names come from the files
// of a report and may be hostile: output, time and stack are bounded. Tool side.
#ifndef RB_REPORT_SYMBOLS_DEMANGLE_H
#define RB_REPORT_SYMBOLS_DEMANGLE_H

#include "base/types.h"

// Writes the name into `out` of `room` bytes and returns true. Returns false, with `out` undefined, for a
// name that is not mangled, does not fit, or takes too long. Not reentrant.
bool rb_demangle(const char *symbol, char *out, size_t room);

#endif
