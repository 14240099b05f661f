// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The image of a code table: the rows of the functions that the sweep has found certain.
#include "watch/code_table/code_table_build.h"

#include <stdlib.h>
#include <string.h>

#include "watch/code_table/code_table_sweep.h"

// ---- the image -----------------------------------------------------------------------------------------

static void count_row(struct rb_code_counts *c, const struct rb_code_row *r)
{
    c->rows++;
    c->sites += !!(r->flags & RB_CODE_SITE);
    c->reads += !!(r->flags & RB_CODE_READ);
    c->writes += !!(r->flags & RB_CODE_WRITE);
    c->moves += !!(r->flags & RB_CODE_MOVE);
    c->locked += !!(r->flags & RB_CODE_LOCKED);
}

static bool fill_image(struct rb_code_sweep *b, struct rb_code_image *image)
{
    struct rb_code_counts *c = &image->counts;
    uint64_t decoded = 0, instructions = 0;
    uint32_t next = 0, site = 0;

    for (size_t i = 0; i < b->functions; i++) {
        const struct rb_code_function *f = &b->function[i];
        c->invalid += f->fate == RB_CODE_INVALID;
        c->entered += f->fate == RB_CODE_ENTERED;
        c->with_data += f->fate == RB_CODE_HAS_DATA;
        if (f->fate != RB_CODE_KEPT)
            continue;
        c->kept++;
        decoded += f->range.end - f->range.start;
        instructions += f->instructions;
        for (size_t n = 0; n < f->rows; n++)
            count_row(c, &b->row[f->first_row + n]);
    }
    const size_t bytes =
        sizeof(*image->header) + (size_t)c->rows * sizeof(*b->row) + (size_t)c->sites * sizeof(uint32_t);
    struct rb_code_header *h = image->header = calloc(1, bytes);
    if (!h)
        return false;
    struct rb_code_row *row = (void *)(h + 1);
    uint32_t *sites = (void *)(row + c->rows);
    for (size_t i = 0; i < b->functions; i++) {
        const struct rb_code_function *f = &b->function[i];
        for (size_t n = 0; n < f->rows && f->fate == RB_CODE_KEPT; n++) {
            row[next] = b->row[f->first_row + n];
            if (row[next].flags & RB_CODE_SITE)
                sites[site++] = next;
            next++;
        }
    }
    memcpy(h->magic, RB_CODE_MAGIC, sizeof(h->magic));
    h->version = RB_CODE_VERSION;
    h->header_bytes = sizeof(*h);
    memcpy(h->build_id, b->file.id, sizeof(h->build_id));
    h->build_id_bytes = b->file.id_bytes;
    h->file_bytes = bytes;
    h->rows = next;
    h->sites = site;
    h->instructions = instructions;
    h->bytes_decoded = decoded;
    h->bytes_left_out = c->code_bytes > decoded ? c->code_bytes - decoded : 0;
    h->checksum = rb_code_checksum(h);
    return true;
}

int rb_code_build(const char *path, struct rb_code_image *image, struct rb_error *e)
{
    struct rb_code_sweep b;

    *image = (struct rb_code_image){0};
    int failed = rb_code_sweep_open(&b, path, e);
    if (!failed) {
        image->counts = (struct rb_code_counts){.code_bytes = b.file.code_bytes,
                                                .functions = b.file.ranges,
                                                .overlap_bytes = b.file.overlap_bytes,
                                                .producers = b.file.producers,
                                                .id_is_hash = b.file.id_is_hash};
        if (!fill_image(&b, image))
            failed = rb_internal(e, "%s: no memory", path);
    }
    rb_code_sweep_close(&b);
    return failed;
}

void rb_code_free(struct rb_code_image *image)
{
    free(image->header);
    image->header = NULL;
}
