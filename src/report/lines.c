#include "report/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "report/race.h"

// One line without its end; false if it is to be left out.
static bool is_line(struct rb_lines *l, const char *line, size_t *length)
{
    const bool ended = *length && line[*length - 1] == '\n';

    while (*length && strchr(" \t\r\n", line[*length - 1]))
        --*length;
    if (!*length || strspn(line, " \t\r") >= *length)
        return false;
    if (ended || rb_race_line_is_whole(line, *length))
        return true;
    l->truncated = true;
    return false;
}

// What does not even begin like an object is no report; said before a whole disk image is taken for a line.
static int check_start(FILE *in, const char *name, size_t number, struct rb_error *e)
{
    const int c = getc(in);

    if (c == EOF)
        return 0;
    ungetc(c, in);
    if (c == '{' || (c && strchr(" \t\r\n", c)))
        return 1;
    return rb_bad_input(e, "%s:%zu: expected a race as a JSON object, found '%c'", name, number, c);
}

static int read_all(FILE *in, const char *name, uint64_t size, struct rb_lines *l, struct rb_error *e)
{
    char *line = NULL, *place = NULL;
    size_t room = 0;
    uint64_t done = 0;
    int status = 0;

    for (size_t number = 1; (status = check_start(in, name, number, e)) > 0; number++) {
        const ssize_t n = getline(&line, &room, in);
        size_t length = n > 0 ? (size_t)n : 0;
        if (n < 0)
            break;
        done += length;
        if (!is_line(l, line, &length))
            continue;
        line[length] = 0;
        if (asprintf(&place, "%s:%zu", name, number) < 0) {
            status = rb_internal(e, "out of memory");
            break;
        }
        status = l->take(l->context, line, length, place, e);
        free(place);
        if (status < 0)
            break;
        if (l->progress && size)
            l->progress(l->progress_context, done < size ? done : size, size);
    }
    if (status >= 0 && ferror(in))
        status = rb_bad_input(e, "%s: cannot read: %m", name);
    free(line);
    return status < 0 ? status : 0;
}

int rb_read_lines(const char *path, struct rb_lines *l, struct rb_error *e)
{
    const bool standard = !strcmp(path, "-");
    FILE *in = standard ? stdin : fopen(path, "re");
    struct stat st;
    int status;

    l->truncated = false;
    if (!in)
        return rb_bad_input(e, "%s: cannot read: %m", path);
    if (fstat(fileno(in), &st) < 0 || !S_ISREG(st.st_mode))
        st.st_size = 0;
    status = read_all(in, standard ? "standard input" : path, (uint64_t)st.st_size, l, e);
    if (!standard)
        fclose(in);
    return status;
}
