// labels.json of a folder of injected traces: which two events of which file race, and how the file came
// about (docs/inject.md has every key). It is replaced as a whole, so that it can be read at any moment, and
// names only files that are complete. Tool side.
#ifndef RB_LAB_INJECT_LABELS_H
#define RB_LAB_INJECT_LABELS_H

#include <jansson.h>

#include "lab/inject/verify.h"

struct rb_labels {
    json_t *root, *traces, *negatives; // the arrays are borrowed from root
    char path[4096], temporary[4096];
    char stem[256]; // of the names of this run's files
};

// Opens or starts the labels of a folder and drops what an earlier run with the same base and seed put there,
// labels first, then files.
int rb_labels_open(struct rb_labels *l, const char *dir, const char *base, uint64_t seed, struct rb_error *e);
void rb_labels_close(struct rb_labels *l);

// Adds a trace and its negatives, both taken over (NULL: memory was out). Returns false when memory is out.
bool rb_labels_add(struct rb_labels *l, json_t *trace, json_t *negatives);

// Counts everything anew and replaces the file.
int rb_labels_write(struct rb_labels *l, struct rb_error *e);

// "ww", "rw", "wr": of the pair in the order of the trace.
const char *rb_kind_name(const enum rb_op op[2]);
// Name of a base without folder and ending.
void rb_program_name(const char *base, char *name, size_t room);

// If the folder that `injected` is in has a labels.json with this file, does it say what was found? 1 if it
// does, 0 if the file has no label, negative with `e` if they differ.
int rb_labels_check(struct rb_reader *injected, const struct rb_verify_pair *pair, struct rb_error *e);

#endif
