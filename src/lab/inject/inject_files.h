// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The files of an injection: traces (output.c) and labels.json (labels.c). Tool side.
#ifndef RB_LAB_INJECT_INJECT_FILES_H
#define RB_LAB_INJECT_INJECT_FILES_H

#include <jansson.h>

#include "lab/inject/model.h"
#include "lab/inject/verify.h"

// ---- traces --------------------------------------------------------------------------------------------

// Writes an injected trace: the base's tables with one more variable and two more locations, and the events
// in their new order. A file appears under its name only when it is complete.

// Made once for a base, then only read.
struct rb_output {
    const struct rb_reader *base;
    struct rb_output_table {
        uint64_t count, bytes;
        unsigned char *packed; // in the form of the file; NULL: without names
    } table[RBT_TABLES];
    char variable[64];    // the variable of the pair
    char location[2][64]; // the locations of the pair
    uint64_t variable_id; // number of the variable
    uint32_t location_id[2];
    bool text; // STD text instead of .rbt
};

// Prepares the output. The names of the base must be loaded.
int rb_output_prepare(struct rb_output *out, const struct rb_reader *base, bool text, struct rb_error *e);
void rb_output_free(struct rb_output *out);

// Writes dir/file. Returns 0, or a negative errno with `e`.
int rb_output_write(const struct rb_output *out, const struct rb_event *events, uint64_t count,
                    const char *dir, const char *file, struct rb_error *e);

// ---- labels --------------------------------------------------------------------------------------------

// labels.json of a folder of injected traces: the two events of each file that race, and the origin of the
// file (docs/reference/lab.md lists the keys). The file is replaced as a whole, so that it can be read at any
// moment, and names only complete files.
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
