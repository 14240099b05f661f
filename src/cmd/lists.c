// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of engines and samplers, as compare and eval take them.
#include "cmd/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t count_commas(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == ',';
    return n;
}

static int report_out_of_memory(const char *command)
{
    fprintf(stderr, "railbird %s: out of memory\n", command);
    return RB_EXIT_INTERNAL;
}

static int report_bad_engine(const char *command, const char *name)
{
    char known[128] = "";
    size_t used = 0;

    for (int i = 0; rb_lab_engines[i] && used < sizeof(known); i++)
        used += (size_t)snprintf(known + used, sizeof(known) - used, " %s", rb_lab_engines[i]->name);
    return cli_usage(command, "--engines: '%.40s' is not known; expected a list of:%s", name, known);
}

int cli_engine_list(const char *command, const char *text, const struct rb_engine_ops ***engines,
                    size_t *count)
{
    const struct rb_engine_ops **list = calloc(count_commas(text) + 1, sizeof(*list));
    char *copy = strdup(text), *rest = copy;
    int status = list && copy ? -1 : report_out_of_memory(command);

    *engines = list;
    *count = 0;
    for (char *name; status < 0 && *text && (name = strsep(&rest, ","));) {
        const struct rb_engine_ops *engine = rb_lab_engine_find(name);
        size_t i = 0;
        if (!engine) {
            status = report_bad_engine(command, name);
            break;
        }
        while (i < *count && list[i] != engine)
            i++;
        list[i] = engine;
        *count += i == *count;
    }
    free(copy);
    return status;
}

static bool is_number(const char *text, size_t length)
{
    char copy[48], *end;

    if (!length || length >= sizeof(copy))
        return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    strtod(copy, &end);
    return end != copy && *end == 0;
}

// Returns the length of the first sampler of the list. Parameters may contain commas (rpt:0.01,0.1), so a
// piece that is a number belongs to the piece before it.
static size_t sampler_length(const char *text)
{
    size_t end = strcspn(text, ",");

    while (text[end]) {
        const size_t next = strcspn(text + end + 1, ",");
        if (!is_number(text + end + 1, next))
            break;
        end += 1 + next;
    }
    return end;
}

int cli_sampler_list(const char *command, const char *text, struct rb_sampler_spec **samplers, size_t *count)
{
    struct rb_sampler_spec *list = calloc(count_commas(text) + 1, sizeof(*list));
    struct rb_error e = {0};

    *samplers = list;
    *count = 0;
    if (!list)
        return report_out_of_memory(command);
    for (size_t n; *text; text += n + (text[n] == ',')) {
        struct rb_sampler_spec spec;
        char name[sizeof(spec.text)];
        size_t i = 0;
        n = sampler_length(text);
        if (n >= sizeof(name))
            return cli_usage(command, "--samplers: '%.40s...' is too long for a sampler", text);
        memcpy(name, text, n);
        name[n] = 0;
        if (rb_sampler_parse_offline(name, &spec, &e) < 0)
            return cli_usage(command, "--samplers: %s", e.text);
        if (text[n] == ',' && !text[n + 1])
            return cli_usage(command, "--samplers: a sampler is expected behind the last comma");
        while (i < *count && strcmp(list[i].text, spec.text) != 0)
            i++;
        list[i] = spec;
        *count += i == *count;
    }
    return -1;
}
