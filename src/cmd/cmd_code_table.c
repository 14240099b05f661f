// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// railbird code-table: makes the table of a module's memory accesses that `railbird watch` needs. Not
// listed: watch makes its tables by itself. --rows prints a table, for tests and for debugging.
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli.h"
#include "cmd/option_table.h"
#include "watch/code_table/code_table_build.h"
#include "watch/code_table/code_table_elf.h"

static const char help_text[] =
    "usage: railbird code-table FILE [-o OUT] [--json] [--rows]\n"
    "       railbird code-table --rmw FILE... [--json] [--rows]\n"
    "\n"
    "Decodes the code of an executable or a shared object and writes what its instructions do to memory, "
    "for\n"
    "'railbird watch', which does so itself where it is missing. Prints the table's path.\n"
    "\n"
    "  -o OUT   to this file; otherwise into the cache, where a good table of the same file is left as it "
    "is\n"
    "  --json   one JSON object instead: path, build_id, made, and counts of what is and is not in it\n"
    "  --rows   instead of the path the table itself: address, length, flags, size, operand; a line each\n"
    "  --rmw    tables of atomic instructions instead, for hooks in libraries that are not instrumented\n";

struct wanted {
    const char *file, *out;
    bool json, rows, rmw;
};

static void format_hex(const uint8_t *id, uint32_t bytes, char *out)
{
    out[0] = 0;
    for (uint32_t i = 0; i < bytes && i < RB_CODE_ID_BYTES; i++)
        sprintf(out + 2 * i, "%02x", id[i]);
}

static json_t *list_producers(unsigned producers)
{
    json_t *list = json_array();

    if (producers & RB_CODE_BY_GCC)
        json_array_append_new(list, json_string("gcc"));
    if (producers & RB_CODE_BY_CLANG)
        json_array_append_new(list, json_string("clang"));
    if (producers & RB_CODE_BY_UNKNOWN)
        json_array_append_new(list, json_string("unknown"));
    return list;
}

// Prints the table's summary. The counts `c` exist only if the table was built now; otherwise NULL.
static int print_json(const char *path, const struct rb_code_table *t, const struct rb_code_counts *c,
                      struct rb_error *e)
{
    const struct rb_code_header *h = t->header;
    char id[2 * RB_CODE_ID_BYTES + 1];

    format_hex(h->build_id, h->build_id_bytes, id);
    json_t *o = json_pack("{s:o, s:s, s:b, s:I, s:I, s:I, s:I, s:I}", "path", cli_json_path(path), "build_id",
                          id, "made", c != NULL, "rows", (json_int_t)h->rows, "sites", (json_int_t)h->sites,
                          "instructions", (json_int_t)h->instructions, "bytes_decoded",
                          (json_int_t)h->bytes_decoded, "bytes_left_out", (json_int_t)h->bytes_left_out);
    if (o && c) {
        const struct {
            const char *name;
            uint64_t value;
        } counts[] = {{"functions", c->functions},
                      {"functions_kept", c->kept},
                      {"functions_invalid", c->invalid},
                      {"functions_entered", c->entered},
                      {"functions_with_data", c->with_data},
                      {"bytes_overlapping", c->overlap_bytes},
                      {"reads", c->reads},
                      {"writes", c->writes},
                      {"moves", c->moves},
                      {"locked", c->locked}};
        for (size_t i = 0; i < RB_LENGTH(counts); i++)
            json_object_set_new(o, counts[i].name, json_integer((json_int_t)counts[i].value));
        json_object_set_new(o, "producers", list_producers(c->producers));
    }
    return cli_print_json(o, e);
}

static void print_rows(const struct rb_code_table *t)
{
    static const struct {
        unsigned flag;
        char letter;
    } letters[] = {{RB_CODE_READ, 'r'},      {RB_CODE_WRITE, 'w'},  {RB_CODE_SITE, 'S'},
                   {RB_CODE_LOCKED, 'L'},    {RB_CODE_STACK, 's'},  {RB_CODE_REP, 'R'},
                   {RB_CODE_LOST, 'l'},      {RB_CODE_MOVE, 'M'},   {RB_CODE_BRANCH, 'b'},
                   {RB_CODE_MASKED, 'm'},    {RB_CODE_SPREAD, '*'}, {RB_CODE_DOWN, 'd'},
                   {RB_CODE_UP, 'u'},        {RB_CODE_STRING, 't'}, {RB_CODE_LOADED, 'o'},
                   {RB_CODE_LOST_INDEX, 'i'}};
    static const char *const names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8",
                                        "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};

    for (uint32_t i = 0; i < t->header->rows; i++) {
        const struct rb_code_row *r = &t->row[i];
        char flags[RB_LENGTH(letters) + 1];
        for (size_t n = 0; n < RB_LENGTH(letters); n++)
            flags[n] = r->flags & letters[n].flag ? letters[n].letter : '-';
        flags[RB_LENGTH(letters)] = 0;
        printf("%" PRIx32 " %u %s %u %s%" PRId32 "(%s,%s,%u)\n", r->offset, r->length, flags, r->size,
               r->scale_segment & RB_CODE_FS   ? "fs:"
               : r->scale_segment & RB_CODE_GS ? "gs:"
                                               : "",
               r->displacement, r->base == RB_CODE_NONE ? "" : names[r->base],
               r->index == RB_CODE_NONE ? "" : names[r->index], 1u << (r->scale_segment & 3));
    }
}

static int make_table(const struct wanted *w, char *path, size_t room, struct rb_code_counts *counts,
                      bool *made, struct rb_error *e)
{
    struct rb_code_image image;

    if (!w->out)
        return rb_code_cached(w->file, path, room, counts, made, e);
    if (strlen(w->out) >= room)
        return rb_bad_input(e, "the name of the output is too long");
    if (cli_same_file(w->file, w->out))
        return rb_bad_input(e, "%s: is the input", w->out);
    strcpy(path, w->out);
    int failed = rb_code_build(w->file, &image, e);
    if (!failed)
        failed = rb_code_write(image.header, (size_t)image.header->file_bytes, path, e);
    *counts = image.counts;
    *made = true;
    rb_code_free(&image);
    return failed;
}

static int run_command(const struct wanted *w, struct rb_error *e)
{
    char path[PATH_MAX];
    struct rb_code_counts counts;
    struct rb_code_table table;
    bool made = false;
    int failed = make_table(w, path, sizeof(path), &counts, &made, e);

    if (failed)
        return failed;
    if (!w->json && !w->rows) {
        puts(path);
        return 0;
    }
    const char *wrong = rb_code_open(&table, path, NULL, 0);
    if (wrong)
        return rb_internal(e, "%s: %s", path, *wrong ? wrong : "is gone");
    if (w->rows)
        print_rows(&table);
    if (w->json)
        failed = print_json(path, &table, made ? &counts : NULL, e);
    rb_code_close(&table);
    return failed;
}

// ---- atomic instructions -------------------------------------------------------------------------------

static void print_rmw_rows(const struct rb_rmw_table *t)
{
    for (uint32_t i = 0; i < t->header->rows; i++) {
        const struct rb_rmw_row *r = &t->row[i];
        printf("%" PRIx32 " %u %u %u\n", r->offset, r->length, r->taken, r->size);
    }
}

static int print_rmw_json(const char *path, const struct rb_rmw_header *h, struct rb_error *e)
{
    char id[2 * RB_CODE_ID_BYTES + 1];

    format_hex(h->build_id, h->build_id_bytes, id);
    return cli_print_json(json_pack("{s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "path", cli_json_path(path),
                                    "build_id", id, "instructions",
                                    (json_int_t)h->rows + h->left_out + h->not_certain, "with_room",
                                    (json_int_t)h->with_room, "with_moves", (json_int_t)h->with_moves,
                                    "without_room", (json_int_t)h->rows - h->with_room - h->with_moves,
                                    "left_out", (json_int_t)h->left_out, "not_certain",
                                    (json_int_t)h->not_certain),
                          e);
}

static int print_rmw(const struct wanted *w, const char *file, struct rb_error *e)
{
    char path[PATH_MAX];
    struct rb_rmw_table table;
    int failed = rb_rmw_cached(file, path, sizeof(path), e);

    if (failed)
        return failed;
    if (!w->json && !w->rows) {
        puts(path);
        return 0;
    }
    const char *wrong = rb_rmw_table_open(&table, path, NULL, 0);
    if (wrong)
        return rb_internal(e, "%s: %s", path, *wrong ? wrong : "is gone");
    if (w->rows)
        print_rmw_rows(&table);
    if (w->json)
        failed = print_rmw_json(path, table.header, e);
    rb_rmw_table_close(&table);
    return failed;
}

int cmd_code_table(int argc, char **argv)
{
    static const struct cli_parser parser = {.command = "code-table", .help = help_text};
    struct wanted w = {0};
    const struct cli_option table[] = {
        {"output", 'o', .text = &w.out},
        {"json", .flag = &w.json},
        {"rows", .flag = &w.rows},
        {"rmw", .flag = &w.rmw},
        {0},
    };
    struct rb_error e = {0};
    const int status = cli_parse_options(&parser, table, argc, argv);

    if (status >= 0)
        return status;
    if (w.rmw && w.out)
        return cli_usage("code-table", "--rmw and -o exclude each other");
    for (int i = optind; w.rmw && i < argc; i++)
        if (print_rmw(&w, argv[i], &e))
            return cli_fail("code-table", &e);
    if (w.rmw && optind < argc)
        return RB_EXIT_OK;
    if (argc - optind != 1)
        return cli_usage("code-table", "expected one FILE");
    w.file = argv[optind];
    return run_command(&w, &e) ? cli_fail("code-table", &e) : RB_EXIT_OK;
}
