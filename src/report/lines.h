// Files of one JSON object a line. A line that is broken, as a disk that was full for a moment leaves it,
// hides no other line. Memory is bounded by the longest line that a record may have. Tool side.
#ifndef RB_REPORT_LINES_H
#define RB_REPORT_LINES_H

#include "base/error.h"

// Told each line that is not blank, without its end; `place` is "file:12". A negative result is about the
// line (RB_FAULT_INPUT) or stops the reading.
typedef int (*rb_line_fn)(void *context, const char *line, size_t length, const char *place,
                          struct rb_error *e);

struct rb_lines {
    rb_line_fn take;
    void *context;
    rb_progress_fn progress; // may be NULL
    void *progress_context;
    bool strict; // the first broken line stops the reading

    // results
    uint64_t whole, broken;
    struct rb_error first_broken;
    bool truncated; // the last line has no end and is not whole: its writer was stopped. It is left out
};

// `path` "-" is standard input. A file without a whole line is bad input, unless it is empty.
int rb_read_lines(const char *path, struct rb_lines *l, struct rb_error *e);

#endif
