// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The writer of injected traces: the extended tables once, then a file for each trace.
#include "lab/inject/inject_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/lock_check.h"
#include "trace/std/std.h"
#include "trace/writer.h"

#define MOST_NAMED_ANEW 4096u // a longer table without names stays without names

struct packer {
    unsigned char *bytes;
    uint64_t used, room;
    bool failed;
};

static void pack_name(struct packer *p, const char *name)
{
    uint64_t length = strlen(name);

    if (p->used + length + 10 > p->room) {
        const uint64_t room = 2 * p->room + length + 64;
        unsigned char *bytes = realloc(p->bytes, room);
        p->failed |= !bytes;
        if (!bytes)
            return;
        p->bytes = bytes;
        p->room = room;
    }
    for (uint64_t rest = length;; rest >>= 7) {
        p->bytes[p->used++] = (unsigned char)((rest & 0x7f) | (rest >= 0x80 ? 0x80 : 0));
        if (rest < 0x80)
            break;
    }
    memcpy(p->bytes + p->used, name, length);
    p->used += length;
}

// Makes a name that the table lacks: `wish`, with a number appended if needed.
static void new_name(const struct rb_reader *r, enum rbt_table table, const char *wish, char name[64])
{
    char scratch[32];
    bool taken = true;

    for (unsigned k = 0; taken; k++) {
        snprintf(name, 64, k ? "%s.%u" : "%s", wish, k);
        taken = false;
        for (uint64_t i = 0; i < rb_reader_count(r, table) && !taken; i++)
            taken = !strcmp(rb_reader_name(r, table, i, scratch), name);
    }
}

// Returns true if all locations are integers, and sets *next to the next one. STD text has no other
// locations.
static bool next_integer(const struct rb_reader *r, int64_t *next)
{
    char scratch[32];

    *next = 0;
    for (uint64_t i = 0; i < rb_reader_count(r, RBT_LOCATIONS); i++) {
        const char *name = rb_reader_name(r, RBT_LOCATIONS, i, scratch);
        char *end;
        const long long value = strtoll(name, &end, 10);
        if (end == name || *end || value < INT32_MIN || value > INT32_MAX - 2)
            return false;
        *next = value + 1 > *next ? value + 1 : *next;
    }
    return true;
}

static bool make_table(struct rb_output *out, enum rbt_table table, const char *const *more,
                       uint32_t more_count)
{
    const struct rb_reader *r = out->base;
    const uint64_t count = rb_reader_count(r, table);
    struct rb_output_table *t = &out->table[table];
    const bool named = r->names[table].bytes || (more_count && count <= MOST_NAMED_ANEW);
    struct packer p = {0};
    char scratch[32];

    t->count = count + more_count;
    if (!named)
        return true;
    for (uint64_t i = 0; i < count && !p.failed; i++)
        pack_name(&p, rb_reader_name(r, table, i, scratch));
    for (uint32_t k = 0; k < more_count && !p.failed; k++)
        pack_name(&p, more[k]);
    t->packed = p.bytes;
    t->bytes = p.used;
    return !p.failed;
}

int rb_output_prepare(struct rb_output *out, const struct rb_reader *base, bool text, struct rb_error *e)
{
    const uint64_t variables = rb_reader_count(base, RBT_VARIABLES),
                   locations = rb_reader_count(base, RBT_LOCATIONS);
    const char *names[2] = {out->location[0], out->location[1]}, *variable = out->variable;
    int64_t next;
    bool good = true;

    *out = (struct rb_output){.base = base, .text = text, .variable_id = variables};
    if (locations + 2 > RB_MAX_LOCATIONS)
        return rb_bad_input(e, "%s: %" PRIu64 " code locations leave no room for the two that injection adds",
                            base->path, locations);
    const bool integers = text && next_integer(base, &next);
    new_name(base, RBT_VARIABLES, "railbird.injected", out->variable);
    if (!base->names[RBT_VARIABLES].bytes && variables > MOST_NAMED_ANEW)
        snprintf(out->variable, sizeof(out->variable), "V%" PRIu64, variables);
    for (uint32_t k = 0; k < 2; k++) {
        char wish[64];
        snprintf(wish, sizeof(wish), "railbird.injected.%" PRIu32, k + 1);
        out->location_id[k] = (uint32_t)locations + k;
        if (integers)
            snprintf(out->location[k], sizeof(out->location[k]), "%" PRId64, next + k);
        else if (!base->names[RBT_LOCATIONS].bytes && locations > MOST_NAMED_ANEW)
            snprintf(out->location[k], sizeof(out->location[k]), "%" PRIu64, locations + k);
        else
            new_name(base, RBT_LOCATIONS, wish, out->location[k]);
    }
    for (int t = 0; t < RBT_TABLES && good; t++) {
        const bool v = t == RBT_VARIABLES, l = t == RBT_LOCATIONS;
        good = make_table(out, (enum rbt_table)t, v ? &variable : names, v ? 1 : l ? 2 : 0);
    }
    if (good)
        return 0;
    rb_output_free(out);
    return rb_internal(e, "out of memory for names");
}

void rb_output_free(struct rb_output *out)
{
    for (int t = 0; t < RBT_TABLES; t++)
        free(out->table[t].packed);
    memset(out->table, 0, sizeof(out->table));
}

// ---- a file --------------------------------------------------------------------------------------------

static int put_events(const struct rb_output *out, struct rb_writer *w, const struct rb_event *events,
                      uint64_t count)
{
    struct rb_lock_table locks = {0};
    const struct rbt_header *h = &out->base->header;

    for (uint64_t i = 0; i < count; i++) {
        const enum rb_op op = events[i].op;
        const bool lock = op == RB_ACQUIRE || op == RB_RELEASE || op == RB_RD_ACQ || op == RB_RD_REL;
        rb_writer_put(w, &events[i],
                      lock && rb_lock_table_apply(&locks, op, events[i].thread, events[i].target) ==
                                  RB_LOCK_OUTER);
    }
    rb_lock_table_free(&locks);
    for (int t = 0; t < RBT_TABLES; t++)
        rb_writer_table(w, (enum rbt_table)t, out->table[t].count, out->table[t].packed, out->table[t].bytes);
    return rb_writer_finish(w, h->threads_run, h->flags & RBT_LENIENT);
}

static int write_text(const struct rb_output *out, const struct rb_event *events, uint64_t count,
                      const char *path, struct rb_error *e)
{
    const int fd = memfd_create("injected", MFD_CLOEXEC);
    uint64_t foreign, renamed;
    struct rb_writer w;
    struct rb_reader r;
    FILE *file;
    int status;

    if (fd < 0)
        return rb_internal(e, "%s: no memory file for the trace: %s", path, strerror(errno));
    status = rb_writer_open(&w, path, fd, NULL, e);
    if (status == 0)
        status = put_events(out, &w, events, count);
    if (status == 0)
        status = rb_reader_open_fd(&r, fd, path, e);
    if (status < 0)
        return status;
    file = fopen(path, "we");
    if (!file)
        status = rb_bad_input(e, "%s: cannot create: %s", path, strerror(errno));
    if (status == 0)
        status = rb_std_export(&r, file, &foreign, &renamed, e);
    if (file && fclose(file) != 0 && status == 0)
        status = rb_internal(e, "%s: cannot write: %s", path, strerror(errno));
    rb_reader_close(&r);
    if (status < 0)
        unlink(path);
    return status;
}

int rb_output_write(const struct rb_output *out, const struct rb_event *events, uint64_t count,
                    const char *dir, const char *file, struct rb_error *e)
{
    char temporary[4096], path[4096];
    struct rb_writer_hint hint = {.threads = out->table[RBT_THREADS].count,
                                  .locations = out->table[RBT_LOCATIONS].count};
    struct rb_writer w;
    int status;

    if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path) ||
        snprintf(temporary, sizeof(temporary), "%s/.%s.part", dir, file) >= (int)sizeof(temporary))
        return rb_bad_input(e, "%.200s: the name of the folder is too long", dir);
    for (int t = 0; t < RBT_TABLES; t++)
        if (t != RBT_LOCATIONS && out->table[t].count > hint.targets)
            hint.targets = out->table[t].count;
    if (out->text) {
        status = write_text(out, events, count, temporary, e);
    } else {
        status = rb_writer_open(&w, temporary, -1, &hint, e);
        if (status == 0)
            status = put_events(out, &w, events, count);
    }
    if (status == 0 && rename(temporary, path) != 0) {
        status = rb_internal(e, "%s: cannot rename to it: %s", path, strerror(errno));
        unlink(temporary);
    }
    return status;
}
