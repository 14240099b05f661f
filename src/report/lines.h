// Files of one JSON value a line. Tool side.
#ifndef RB_REPORT_LINES_H
#define RB_REPORT_LINES_H

#include "base/error.h"

// Told each line that is not blank, without its end; `place` is "file:12". A negative result stops the
// reading.
typedef int (*rb_line_fn)(void *context, const char *line, size_t length, const char *place,
                          struct rb_error *e);

struct rb_lines {
    rb_line_fn take;
    void *context;
    rb_progress_fn progress; // may be NULL
    void *progress_context;
    bool truncated; // set if the last line is the beginning of one: whoever wrote it was stopped. It is left
                    // out
};

// `path` "-" is standard input.
int rb_read_lines(const char *path, struct rb_lines *l, struct rb_error *e);

#endif
