// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts that all HTML pages share: escaping, the frame with its style sheet, and the atomic replacement
// of a file. Pages are self-contained: no font, nothing from the network. Tool side.
#ifndef RB_REPORT_PAGE_H
#define RB_REPORT_PAGE_H

#include <stdio.h>

#include "base/error.h"

// Writes the entity of a character that text or a quoted attribute cannot hold. Returns false, and writes
// nothing, for any other character.
bool rb_html_special(FILE *out, char c);
// Writes text between tags or in a quoted attribute. Control characters and invalid UTF-8 become U+FFFD.
void rb_html_text(FILE *out, const char *text);
// Returns a copy in valid UTF-8, with U+FFFD for invalid bytes; NULL if out of memory.
char *rb_utf8(const char *text);

struct rb_html_head {
    const char *title;
    const char *version; // of railbird; NULL: not in the page
    const char *policy;  // Content-Security-Policy, or NULL
    const char *style;   // follows the style that all pages share
};

// Begins a page with a style of its own.
void rb_html_begin_styled(FILE *out, const struct rb_html_head *head);
// Begins a page of tables and plots, without a script.
void rb_html_begin(FILE *out, const char *title);
void rb_html_end(FILE *out);

// Returns 0 if rb_html_write can put a file there: a check before hours of work. Messages name `option`.
int rb_html_check(const char *option, const char *path, struct rb_error *e);
// Writes a file beside `path` and renames it.
int rb_html_write(const char *option, const char *path, void (*fill)(FILE *out, void *context), void *context,
                  struct rb_error *e);

#endif
