// Writes an injected trace: the base's tables with one more variable and two more locations, and the events
// in their new order. A file appears under its name only when it is complete. Tool side.
#ifndef RB_LAB_INJECT_OUTPUT_H
#define RB_LAB_INJECT_OUTPUT_H

#include "lab/inject/model.h"

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

#endif
