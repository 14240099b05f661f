// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/symbols/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/race_record.h"

struct open_module {
    char *path, *build_id; // build_id "" if the report had none
    struct rb_elf_module *module;
};

struct rb_symbolizer {
    struct open_module *list;
    size_t count, room;
    char *debug_path;
    json_t *code, *data; // "index+offset" -> result of rb_elf_module_code and rb_elf_module_data
};

struct rb_symbolizer *rb_symbolizer_new(const char *debug_path)
{
    struct rb_symbolizer *s = calloc(1, sizeof(*s));

    if (!s)
        return NULL;
    s->code = json_object();
    s->data = json_object();
    s->debug_path = debug_path ? strdup(debug_path) : NULL;
    if (!s->code || !s->data || (debug_path && !s->debug_path)) {
        rb_symbolizer_free(s);
        return NULL;
    }
    return s;
}

void rb_symbolizer_free(struct rb_symbolizer *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->count; i++) {
        free(s->list[i].path);
        free(s->list[i].build_id);
        rb_elf_module_close(s->list[i].module);
    }
    free(s->list);
    free(s->debug_path);
    json_decref(s->code);
    json_decref(s->data);
    free(s);
}

// Returns the index of the frame's module in the list, opened if it is new; -1 if out of memory.
static ptrdiff_t open_module_of(struct rb_symbolizer *s, const json_t *frame)
{
    const char *path = rb_member_text(frame, "module"), *build_id = rb_member_text(frame, "build_id");
    struct open_module *m;

    build_id = build_id ? build_id : "";
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->list[i].path, path) && !strcmp(s->list[i].build_id, build_id))
            return (ptrdiff_t)i;
    if (s->count == s->room) {
        const size_t room = s->room ? 2 * s->room : 8;
        m = realloc(s->list, room * sizeof(*m));
        if (!m)
            return -1;
        s->list = m;
        s->room = room;
    }
    m = &s->list[s->count];
    *m = (struct open_module){.path = strdup(path), .build_id = strdup(build_id)};
    // [vdso] and the like are not files
    m->module = rb_elf_module_open(*path == '/' ? path : "", build_id, s->debug_path);
    if (!m->path || !m->build_id || !m->module) {
        free(m->path);
        free(m->build_id);
        rb_elf_module_close(m->module);
        return -1;
    }
    return (ptrdiff_t)s->count++;
}

static void set_note(const struct open_module *m, json_t *object)
{
    json_object_del(object, "note");
    if (rb_elf_module_state(m->module) == RB_ELF_MODULE_DIFFERS)
        json_object_set_new(object, "note", json_string("build-id differs"));
    else if (rb_elf_module_state(m->module) == RB_ELF_MODULE_UNREADABLE && *m->path == '/')
        json_object_set_new(object, "note", json_string("module not readable"));
}

static json_t *look_up(struct rb_symbolizer *s, json_t *cache, ptrdiff_t module, uint64_t address,
                       json_t *(*ask)(struct rb_elf_module *m, uint64_t address))
{
    char key[48];
    json_t *answer;

    snprintf(key, sizeof(key), "%td+%" PRIx64, module, address);
    answer = json_object_get(cache, key);
    if (!answer) {
        answer = ask(s->list[module].module, address);
        json_object_set_new(cache, key, answer ? answer : json_null());
        answer = json_object_get(cache, key);
    }
    return answer;
}

// Returns the names and then the keys of the frame, so that a reader sees the names first.
static json_t *copy_with_names(const json_t *names, const json_t *frame)
{
    json_t *both = json_copy((json_t *)names);

    if (both)
        json_object_update(both, (json_t *)frame);
    return both;
}

// Appends the frame with its names to `stack`, after a frame for each function inlined there.
static int add_frame(struct rb_symbolizer *s, json_t *frame, json_t *stack)
{
    const bool done = json_object_get(frame, "function") || json_object_get(frame, "file");
    const uint64_t offset = rb_member_hex(frame, "offset");
    ptrdiff_t module;
    json_t *names, *one;
    size_t i;

    if (done || !json_object_get(frame, "module"))
        return json_array_append(stack, frame);
    module = open_module_of(s, frame);
    if (module < 0)
        return -1;
    set_note(&s->list[module], frame);
    names = look_up(s, s->code, module, offset ? offset - 1 : 0, rb_elf_module_code);
    if (!json_array_size(names))
        return json_array_append(stack, frame);
    json_array_foreach(names, i, one)
    {
        if (json_array_append_new(stack, copy_with_names(one, frame)) < 0)
            return -1;
    }
    return 0;
}

// Returns true if the frame called main from another module: it is the C library, and is left out.
static bool is_caller_of_main(const json_t *frame, const json_t *called)
{
    const char *function = rb_member_text(called, "function");
    const char *module = rb_member_text(frame, "module"), *of_main = rb_member_text(called, "module");

    return function && !strcmp(function, "main") && module && of_main && strcmp(module, of_main) != 0;
}

static int symbolize_stack(struct rb_symbolizer *s, json_t *owner)
{
    json_t *old = json_object_get(owner, "stack"), *stack, *frame;
    size_t i;

    if (!old)
        return 0;
    stack = json_array();
    json_array_foreach(old, i, frame)
    {
        if (i > 0 && is_caller_of_main(frame, json_array_get(stack, json_array_size(stack) - 1)))
            break;
        if (add_frame(s, frame, stack) < 0) {
            json_decref(stack);
            return -1;
        }
    }
    return json_object_set_new(owner, "stack", stack);
}

static int symbolize_global(struct rb_symbolizer *s, json_t *location)
{
    const char *kind = rb_member_text(location, "kind");
    ptrdiff_t module;

    if (!kind || strcmp(kind, "global") || json_object_get(location, "name") ||
        !json_object_get(location, "module") || !json_object_get(location, "offset"))
        return 0;
    module = open_module_of(s, location);
    if (module < 0)
        return -1;
    set_note(&s->list[module], location);
    json_object_update(location,
                       look_up(s, s->data, module, rb_member_hex(location, "offset"), rb_elf_module_data));
    return 0;
}

int rb_symbolize(struct rb_symbolizer *s, json_t *record, struct rb_error *e)
{
    json_t *location = json_object_get(record, "location"), *entry;
    int status = 0;
    size_t i;

    json_array_foreach(json_object_get(record, "accesses"), i, entry)
    {
        status |= symbolize_stack(s, entry);
    }
    json_array_foreach(json_object_get(record, "threads"), i, entry)
    {
        status |= symbolize_stack(s, entry);
    }
    if (location) {
        status |= symbolize_stack(s, location);
        status |= symbolize_global(s, location);
    }
    return status ? rb_internal(e, "out of memory") : 0;
}
