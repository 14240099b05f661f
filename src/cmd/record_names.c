// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cmd/record_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/symbols/symbols.h"

// Returns the module; NULL if the file is not the one that ran, or cannot be read.
static struct rb_elf_module *open_module(struct record_names *n, const struct rb_raw_module *m)
{
    struct rb_elf_module **module = &n->module[m->index - 1];

    if (!*module)
        *module = rb_elf_module_open(m->path, m->build_id[0] ? m->build_id : NULL, NULL);
    return *module && rb_elf_module_state(*module) == RB_ELF_MODULE_READABLE ? *module : NULL;
}

static const char *member_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

// Returns the frames active at the call that returns to `offset`, the innermost first.
static json_t *find_frames(struct record_names *n, const struct rb_raw_module *m, uint64_t offset)
{
    struct rb_elf_module *module = open_module(n, m);
    json_t *frames = module ? rb_elf_module_code(module, offset - 1) : NULL;

    if (frames && json_array_size(frames) == 0) {
        json_decref(frames);
        return NULL;
    }
    return frames;
}

static bool name_code(void *context, const struct rb_raw_module *m, uint64_t offset, char *name, size_t room)
{
    json_t *frames = find_frames(context, m, offset);
    const json_t *frame = json_array_get(frames, 0);
    const char *function = member_text(frame, "function"), *file = member_text(frame, "file");

    if (function && file)
        snprintf(name, room, "%s %s:%d", function, base_name(file),
                 (int)json_integer_value(json_object_get(frame, "line")));
    else if (function)
        snprintf(name, room, "%s", function);
    json_decref(frames);
    return function != NULL;
}

static bool name_function(void *context, const struct rb_raw_module *m, uint64_t offset, char *name,
                          size_t room)
{
    json_t *frames = find_frames(context, m, offset);
    const char *function = member_text(json_array_get(frames, json_array_size(frames) - 1), "function");

    if (function)
        snprintf(name, room, "%s", function);
    json_decref(frames);
    return function != NULL;
}

// Returns the index of the first symbol that ends after the address: it holds the address, or is the place
// to insert one.
static size_t find_symbol(const struct record_names *n, uint64_t address)
{
    size_t low = 0, high = n->symbols;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (n->symbol[middle].to <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Looks up the variable and adds it to the list. Returns false if there is none.
static bool add_symbol(struct record_names *n, const struct rb_raw_module *m, uint64_t address, size_t at)
{
    struct rb_elf_module *module = open_module(n, m);
    json_t *variable = module ? rb_elf_module_data(module, address - m->bias) : NULL;
    const char *name = member_text(variable, "name");
    const uint64_t from = address - (uint64_t)json_integer_value(json_object_get(variable, "name_offset"));
    struct record_symbol *bigger = name ? realloc(n->symbol, (n->symbols + 1) * sizeof(*bigger)) : NULL;

    if (bigger) {
        memmove(bigger + at + 1, bigger + at, (n->symbols++ - at) * sizeof(*bigger));
        bigger[at] =
            (struct record_symbol){from,
                                   from + (uint64_t)json_integer_value(json_object_get(variable, "size")),
                                   strdup(name)};
        n->symbol = bigger;
    }
    json_decref(variable);
    return bigger != NULL;
}

static bool name_data(void *context, const struct rb_raw_module *m, uint64_t offset, char *name, size_t room)
{
    struct record_names *n = context;
    const uint64_t address = m->bias + offset;
    const size_t at = find_symbol(n, address);

    if ((at == n->symbols || n->symbol[at].from > address) && !add_symbol(n, m, address, at))
        return false;
    const struct record_symbol *s = &n->symbol[at];
    if (!s->name || s->from > address)
        return false;
    if (address == s->from)
        snprintf(name, room, "%s", s->name);
    else
        snprintf(name, room, "%s+%" PRIu64, s->name, address - s->from);
    return true;
}

bool record_names_open(struct record_names *n, const struct rb_raw *raw)
{
    n->raw = raw;
    n->names = (struct rb_merge_names){n, name_code, name_function, name_data};
    n->module = calloc(raw->modules + 1u, sizeof(struct rb_elf_module *));
    return n->module != NULL;
}

void record_names_close(struct record_names *n)
{
    for (uint32_t i = 0; n->module && i < n->raw->modules; i++)
        if (n->module[i])
            rb_elf_module_close(n->module[i]);
    for (size_t i = 0; i < n->symbols; i++)
        free(n->symbol[i].name);
    free(n->symbol);
    free(n->module);
    *n = (struct record_names){0};
}
