// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One race as reports carry it: a JSON object on a line, described in docs/reference/reports.md. The jansson object
// is the form in memory. Unknown keys are kept, and the output is the input with names added.
//
// A parsed record is valid. It has two accesses, each with op, size, address, thread and a stack, which may
// be empty. Every other key has the type that docs/reference/reports.md gives it. Tool side.
#ifndef RB_REPORT_RACE_RECORD_H
#define RB_REPORT_RACE_RECORD_H

#include <jansson.h>

#include "base/error.h"

#define RB_ID_SIZE 17 // 16 hex digits and the end

// ---- bounds --------------------------------------------------------------------------------------------
// Texts come from files and programs and may have any length. Every text of a record is valid UTF-8 of at
// most RB_TEXT_LIMIT bytes, including the ellipsis of a cut text.

#define RB_TEXT_LIMIT ((size_t)4096)    // as long as a path may be
#define RB_LINE_LIMIT ((size_t)8 << 20) // bytes of one record

// Makes every byte above ASCII '?': the last resort for text that is not UTF-8.
void rb_text_make_ascii(char *text, size_t length);

// Returns a JSON string of any bytes: bytes that are not UTF-8 become '?', a long text is cut. Returns NULL
// if out of memory.
json_t *rb_json_text(const char *text);

// Cuts every long text in the value, which no other value shares. Returns -1 if out of memory.
int rb_json_bound(json_t *value);

// Returns the name of a function in at most `limit` bytes: inner template arguments become "…" first. For
// free(); NULL if out of memory.
char *rb_name_shorten(const char *name, size_t limit);

// ---- lines ---------------------------------------------------------------------------------------------
// A file of records has one JSON object on each line. A broken line hides no other line; a disk that was
// full for a moment leaves one. Memory is bounded by the longest line that a record may have.

// Takes each line that is not blank, without its end; `place` is "file:12". A negative result is about the
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

// Reads the file; `path` "-" is standard input. A file without a whole line is bad input, unless it is
// empty.
int rb_read_lines(const char *path, struct rb_lines *l, struct rb_error *e);

// ---- records -------------------------------------------------------------------------------------------

// Parses one line into *record, which the caller owns. `place` ("file:12") begins the message about an
// invalid line. Bytes that are not UTF-8, as names of files may have, become '?'; long texts are cut.
int rb_race_parse(const char *line, size_t length, const char *place, json_t **record, struct rb_error *e);
// Returns true if the line is a whole JSON value. A killed program leaves an incomplete one.
bool rb_race_line_is_whole(const char *line, size_t length);

// Writes the race's id: the same for the same two instructions, in either order, in every run.
void rb_race_id(const json_t *record, char id[RB_ID_SIZE]);
// Writes the id of the two places in the source, relative to the start of their functions, so that it
// survives a rebuild. Returns false if the top frames have no names.
bool rb_race_source_id(const json_t *record, char id[RB_ID_SIZE]);
// Returns the builds of the modules of the two top frames; empty if out of memory. For free().
char *rb_race_builds(const json_t *record);

// The hash that ids are made by, and the text of a frame's instruction in them; for free(), NULL if out of
// memory.
uint64_t rb_race_hash(const char *text);
char *rb_race_instruction(const json_t *frame);

// Returns true if order that may have been made between the accesses could not be followed.
bool rb_race_is_partial(const json_t *record);

// Returns frame 0 of access 0 or 1, NULL if its stack is empty.
const json_t *rb_race_top(const json_t *record, size_t access);
// Returns the entry of "threads" with that id, NULL if there is none.
const json_t *rb_race_thread(const json_t *record, json_int_t id);

// Return a member of an object: NULL or 0 if it is missing.
const char *rb_member_text(const json_t *object, const char *key);
uint64_t rb_member_hex(const json_t *object, const char *key);
json_int_t rb_member_int(const json_t *object, const char *key);

// Returns the part of the path after its last '/', or all of it.
const char *rb_base_name(const char *path);

#endif
