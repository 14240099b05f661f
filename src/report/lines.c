// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads a file of records line by line, in bounded memory.
#include "report/race_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct input {
    FILE *in;
    const char *name;
    size_t number; // of the line
    char *line;    // without its end and without the blanks at either side
    size_t length, room, bytes;
    char first; // first character of the line that is not blank, 0 if there is none
    bool ended; // by a newline, not by the end of the file
};

static bool is_blank(int c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int line_append(struct input *i, char c, struct rb_error *e)
{
    if (i->length + 1 >= i->room) {
        const size_t room = i->room ? 2 * i->room : 4096;
        char *grown = realloc(i->line, room);
        if (!grown)
            return rb_internal(e, "out of memory for a line of %zu bytes", room);
        i->line = grown;
        i->room = room;
    }
    i->line[i->length++] = c;
    i->line[i->length] = 0;
    return 0;
}

// Reads one line and keeps it if it begins like an object. Returns 1, or 0 at the end of the file. A line
// that is too long for a record is an error: the file may be a disk image.
static int line_read(struct input *i, struct rb_error *e)
{
    int c, status = 0;

    i->length = i->bytes = 0;
    i->first = 0;
    i->number++;
    while ((c = getc_unlocked(i->in)) != EOF && c != '\n') {
        if (++i->bytes > RB_LINE_LIMIT)
            return rb_bad_input(e,
                                "%s:%zu: expected a race as a JSON object, found a line of more than %zu MiB",
                                i->name, i->number, RB_LINE_LIMIT >> 20);
        if (!i->first && !is_blank(c))
            i->first = c ? (char)c : '?';
        if (i->first == '{' && (status = line_append(i, (char)c, e)) < 0)
            return status;
    }
    i->ended = c == '\n';
    i->bytes += i->ended;
    while (i->length && is_blank((unsigned char)i->line[i->length - 1]))
        i->line[--i->length] = 0;
    return i->bytes > 0;
}

// Passes the line on. The fault of a bad line is in `e`.
static int line_take(const struct input *i, const struct rb_lines *l, struct rb_error *e)
{
    char *place;
    int status;

    if (i->first != '{')
        return rb_bad_input(e, "%s:%zu: expected a race as a JSON object, found '%c'", i->name, i->number,
                            i->first);
    if (asprintf(&place, "%s:%zu", i->name, i->number) < 0)
        return rb_internal(e, "out of memory");
    status = l->take(l->context, i->line, i->length, place, e);
    free(place);
    return status;
}

static int line_account(const struct input *i, struct rb_lines *l, struct rb_error *e)
{
    struct rb_error wrong = {0};

    if (!i->first)
        return 0;
    if (!i->ended && i->first == '{' && !rb_race_line_is_whole(i->line, i->length)) {
        l->truncated = true;
        return 0;
    }
    if (line_take(i, l, &wrong) == 0) {
        l->whole++;
        return 0;
    }
    if (wrong.fault == RB_FAULT_INPUT && !l->strict) {
        if (!l->broken++)
            l->first_broken = wrong;
        return 0;
    }
    return wrong.fault == RB_FAULT_INPUT ? rb_bad_input(e, "%s", wrong.text)
                                         : rb_internal(e, "%s", wrong.text);
}

static int read_all(struct input *i, uint64_t size, struct rb_lines *l, struct rb_error *e)
{
    uint64_t done = 0;
    int status;

    while ((status = line_read(i, e)) > 0) {
        done += i->bytes;
        if ((status = line_account(i, l, e)) < 0)
            break;
        if (l->progress && size)
            l->progress(l->progress_context, done < size ? done : size, size);
    }
    if (status >= 0 && ferror(i->in))
        status = rb_bad_input(e, "%s: cannot read: %m", i->name);
    if (status >= 0 && l->broken && !l->whole)
        status = rb_bad_input(e, "%s", l->first_broken.text);
    if (status >= 0 && l->truncated && !l->whole)
        status = rb_bad_input(e, "%s:%zu: the only line is not whole; its writer was stopped", i->name,
                              i->number - 1);
    return status < 0 ? status : 0;
}

int rb_read_lines(const char *path, struct rb_lines *l, struct rb_error *e)
{
    const bool standard = !strcmp(path, "-");
    struct input i = {.in = standard ? stdin : fopen(path, "re"), .name = standard ? "standard input" : path};
    struct stat st;
    int status;

    l->whole = l->broken = 0;
    l->first_broken = (struct rb_error){0};
    l->truncated = false;
    if (!i.in)
        return rb_bad_input(e, "%s: cannot read: %m", path);
    if (fstat(fileno(i.in), &st) < 0 || !S_ISREG(st.st_mode))
        st.st_size = 0;
    status = read_all(&i, (uint64_t)st.st_size, l, e);
    if (!standard)
        fclose(i.in);
    free(i.line);
    return status;
}
