// Races as they are found: the runtime starts `railbird report --live` and writes raw lines into its standard
// input; each becomes text and a line of JSON at once. It holds up nobody: one write for each report, so that
// those of several processes into one file do not mix, and no waiting for anything but its input. It ends
// when the input does; the signals that end a program from outside are for the program. Tool side.
#ifndef RB_REPORT_LIVE_H
#define RB_REPORT_LIVE_H

#include <stdio.h>

#include "base/error.h"

struct rb_live_options {
    const char *text;      // "-" for standard error, a file to append to, or NULL
    const char *json_file; // a file to append to, or NULL
    const char *const *suppressions;
    size_t suppression_count;
};

struct rb_live_result {
    uint64_t reported, suppressed;
    bool failed; // something could not be read or written; it was said on standard error
};

// Reads `in` to its end. What went wrong is said on standard error, a line each, prefixed with `name`, and
// never ends the work.
void rb_live_run(FILE *in, const struct rb_live_options *o, const char *name, struct rb_live_result *result);

#endif
