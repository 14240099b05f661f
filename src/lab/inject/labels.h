// labels.json of a folder of injected traces: the two events of each file that race, and the origin of the
// file (docs/inject.md lists the keys). The file is replaced as a whole, so that it can be read at any
// moment, and names only complete files. Tool side.
#ifndef RB_LAB_INJECT_LABELS_H
#define RB_LAB_INJECT_LABELS_H

#include <jansson.h>

#include "lab/inject/verify.h"

struct rb_labels {
    json_t *root, *traces, *negatives; // the arrays are borrowed from root
    char path[4096], temporary[4096];
    char stem[256]; // prefix of the file names of this run
};

// Opens or creates the labels of a folder. Drops the results of an earlier run with the same base and seed:
// labels first, then files.
int rb_labels_open(struct rb_labels *l, const char *dir, const char *base, uint64_t seed, struct rb_error *e);
void rb_labels_close(struct rb_labels *l);

// Adds a trace and its negatives and takes ownership of both (NULL: memory was out). Returns false when
// memory is out.
bool rb_labels_add(struct rb_labels *l, json_t *trace, json_t *negatives);

// Recomputes the totals and replaces the file.
int rb_labels_write(struct rb_labels *l, struct rb_error *e);

// Returns "ww", "rw" or "wr" for the pair, in the order of the trace.
const char *rb_kind_name(const enum rb_op op[2]);
// Writes the name of a base without folder and extension.
void rb_program_name(const char *base, char *name, size_t room);

// Compares the findings with labels.json in the folder of `injected`. Returns 1 if they agree, 0 if the
// file has no label, negative with `e` if they differ.
int rb_labels_check(struct rb_reader *injected, const struct rb_verify_pair *pair, struct rb_error *e);

#endif
