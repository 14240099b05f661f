// One race as reports carry it: a JSON object a line, described in docs/reports.md. The jansson object is the
// in-memory form: keys that we do not know travel along, and what comes in raw goes out with names added.
//
// A record from here on is valid: two accesses, each with op, size, address, thread and a stack (perhaps
// empty); whatever else is there has the type that docs/reports.md gives it. Tool side.
#ifndef RB_REPORT_RACE_RECORD_H
#define RB_REPORT_RACE_RECORD_H

#include <jansson.h>

#include "base/error.h"

#define RB_ID_SIZE 17 // 16 hex digits and the end

// Takes one line apart. `place` ("file:12") begins the message when it is not valid. *record is the caller's.
// Bytes that are not UTF-8, as names of files may have, become '?'; long texts are cut (report/bounds.h).
int rb_race_parse(const char *line, size_t length, const char *place, json_t **record, struct rb_error *e);
// Is the line a whole JSON value? A program that was killed leaves one that is not.
bool rb_race_line_is_whole(const char *line, size_t length);

// The race's name: the same for the same two instructions, whoever came first, in every run.
void rb_race_id(const json_t *record, char id[RB_ID_SIZE]);
// The same for two places in the source, relative to the beginning of their functions, so that it outlives a
// rebuild; false if the top frames have no names.
bool rb_race_source_id(const json_t *record, char id[RB_ID_SIZE]);
// Which builds of which modules the two top frames are in; empty when memory is out. For free().
char *rb_race_builds(const json_t *record);

// The hash that ids are made by, and the text that stands for a frame's instruction in them; for free(), NULL
// when memory is out.
uint64_t rb_race_hash(const char *text);
char *rb_race_instruction(const json_t *frame);

// Frame 0 of access 0 or 1, NULL if its stack is empty.
const json_t *rb_race_top(const json_t *record, size_t access);
// The entry of "threads" for that number, NULL if there is none.
const json_t *rb_race_thread(const json_t *record, json_int_t id);

// A member of an object: NULL, 0 if it is not there.
const char *rb_member_text(const json_t *object, const char *key);
uint64_t rb_member_hex(const json_t *object, const char *key);
json_int_t rb_member_int(const json_t *object, const char *key);

// What comes after the last '/', or all of it.
const char *rb_base_name(const char *path);

#endif
