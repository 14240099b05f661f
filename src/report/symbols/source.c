// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/symbols/symbols.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_LIMIT  (8u << 20)
#define TOTAL_LIMIT (128u << 20)

struct rb_source_file {
    char *path, *text; // text NULL if it may not or cannot be read
    size_t size;
};

static const char *const endings[] = {
    ".c",   ".h",   ".cc",  ".hh",  ".cpp", ".hpp", ".cxx", ".hxx",  ".c++", ".h++", ".C",
    ".H",   ".inc", ".inl", ".ipp", ".tcc", ".tpp", ".ixx", ".cppm", ".S",   ".s",   ".asm",
    ".def", ".l",   ".y",   ".ll",  ".yy",  ".m",   ".mm",  ".rs",   ".go",  ".f90", ".cu",
};

static bool is_source(const char *path)
{
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot && i < RB_LENGTH(endings); i++)
        if (!strcmp(dot, endings[i]))
            return true;
    return false;
}

static bool is_text(const struct rb_source_file *f)
{
    return f->text && !memchr(f->text, 0, f->size);
}

// Reads a whole file. A report may come from elsewhere and name any file. O_NOFOLLOW: the file itself must
// have the name of a source, not a symbolic link to it. Links among the folders make no difference: the
// report could name their targets.
static void read_whole(struct rb_source_file *f, size_t limit)
{
    const int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    struct stat st;
    ssize_t n = 1;

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && (size_t)st.st_size <= limit)
        f->text = malloc((size_t)st.st_size);
    while (f->text && f->size < (size_t)st.st_size && n > 0) {
        n = read(fd, f->text + f->size, (size_t)st.st_size - f->size);
        f->size += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    if (!is_text(f)) {
        free(f->text);
        f->text = NULL;
        f->size = 0;
    }
}

static struct rb_source_file *find_source(struct rb_sources *s, const char *path)
{
    struct rb_source_file *f;

    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->list[i].path, path))
            return &s->list[i];
    if (s->count == s->room) {
        const size_t room = s->room ? 2 * s->room : 16;
        f = realloc(s->list, room * sizeof(*f));
        if (!f)
            return NULL;
        s->list = f;
        s->room = room;
    }
    f = &s->list[s->count];
    *f = (struct rb_source_file){.path = strdup(path)};
    if (!f->path)
        return NULL;
    if (is_source(path) && s->bytes < TOTAL_LIMIT)
        read_whole(f, FILE_LIMIT);
    s->bytes += f->size;
    s->count++;
    return f;
}

void rb_sources_free(struct rb_sources *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->list[i].path);
        free(s->list[i].text);
    }
    free(s->list);
    *s = (struct rb_sources){0};
}

size_t rb_source_lines(struct rb_sources *s, const char *path, size_t first, size_t count,
                       struct rb_line *lines)
{
    const struct rb_source_file *f = find_source(s, path);
    const char *at = f ? f->text : NULL, *end = at ? at + f->size : NULL;
    size_t found = 0;

    for (size_t number = 1; at && at < end && found < count; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        if (number >= first)
            lines[found++] = (struct rb_line){.text = at, .length = (size_t)(stop - at)};
        at = newline ? newline + 1 : end;
    }
    return found;
}
