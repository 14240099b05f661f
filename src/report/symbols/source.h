// Lines of source files around a frame, for pages. A report may come from elsewhere and name any file, and
// pages get published: so only regular files whose names end as source does are opened, and the rest of the
// file system stays out of the page. Files are kept while memory allows. Tool side.
#ifndef RB_REPORT_SYMBOLS_SOURCE_H
#define RB_REPORT_SYMBOLS_SOURCE_H

#include "base/types.h"

struct rb_source_file;

struct rb_sources {
    struct rb_source_file *list;
    size_t count, room, bytes;
};

struct rb_line {
    const char *text; // not terminated, perhaps not UTF-8
    size_t length;
};

void rb_sources_free(struct rb_sources *s);
// Lines first .. first + count - 1 (from 1) as far as the file has them; returns how many it put in `lines`.
// They stay valid until the sources are freed.
size_t rb_source_lines(struct rb_sources *s, const char *path, size_t first, size_t count,
                       struct rb_line *lines);

#endif
