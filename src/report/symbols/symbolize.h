// Puts names to a race: functions, files and lines to the frames of every stack in it, a variable to a global
// location. Modules are opened once, addresses looked up once. Tool side.
//
// A frame's "offset" is where the call returns to, so the instruction is looked up one byte before. What has
// names already is left alone. A frame that could have had names says why it has none in "note".
#ifndef RB_REPORT_SYMBOLS_SYMBOLIZE_H
#define RB_REPORT_SYMBOLS_SYMBOLIZE_H

#include <jansson.h>

#include "base/error.h"

struct rb_symbolizer;

// `debug_path`: one more folder with separate debug files; NULL for none. NULL when memory is out.
struct rb_symbolizer *rb_symbolizer_new(const char *debug_path);
void rb_symbolizer_free(struct rb_symbolizer *s);
int rb_symbolize(struct rb_symbolizer *s, json_t *record, struct rb_error *e);

#endif
