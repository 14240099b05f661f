// Bounds on the texts of a report: what comes from files and programs may have any length. Every text of a
// record is valid UTF-8 of at most RB_TEXT_LIMIT bytes, the ellipsis of one that was cut included. Tool side.
#ifndef RB_REPORT_BOUNDS_H
#define RB_REPORT_BOUNDS_H

#include <jansson.h>

#include "base/types.h"

#define RB_TEXT_LIMIT ((size_t)4096)    // as long as a path may be
#define RB_LINE_LIMIT ((size_t)8 << 20) // bytes of one record

// Makes every byte above ASCII '?': the last resort for text that is not UTF-8.
void rb_text_make_ascii(char *text, size_t length);

// A JSON string of any bytes: those that are not UTF-8 become '?', a long text is cut. NULL when memory is
// out.
json_t *rb_json_text(const char *text);

// Cuts every long text in the value, which no other value shares. -1 when memory is out.
int rb_json_bound(json_t *value);

// The name of a function in at most `limit` bytes: inner template arguments become "…" first. For free();
// NULL when memory is out.
char *rb_name_shorten(const char *name, size_t limit);

#endif
