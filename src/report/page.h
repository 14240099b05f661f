// What the HTML pages share: escaping, the frame with its style sheet, and a file that appears whole or not
// at all. Pages are self-contained: no script, no font, nothing from the network. Tool side.
#ifndef RB_REPORT_PAGE_H
#define RB_REPORT_PAGE_H

#include <stdio.h>

#include "base/error.h"

// Text between tags or in a quoted attribute. Control characters and what is not UTF-8 come out as U+FFFD.
void rb_html_text(FILE *out, const char *text);
// A copy that is UTF-8 for sure, U+FFFD for what was not; NULL when memory is out.
char *rb_utf8(const char *text);

void rb_html_begin(FILE *out, const char *title);
void rb_html_end(FILE *out);

// Could rb_html_write put a file there? Asked before hours of work. `option` names it in the message.
int rb_html_check(const char *option, const char *path, struct rb_error *e);
// Writes beside `path` and renames.
int rb_html_write(const char *option, const char *path, void (*fill)(FILE *out, void *context), void *context,
                  struct rb_error *e);

#endif
