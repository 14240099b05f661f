// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cmd/argument_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli.h"

#define DEPTH_MOST 32 // of response files in response files
#define CHUNK      (64u * 1024)
#define LINE_MOST  (512u * 1024) // bytes of words passed without a file; Linux takes 2 MB or more

static void end_out_of_memory(void)
{
    fputs("railbird: out of memory for a command line\n", stderr);
    exit(RB_EXIT_INTERNAL);
}

// Returns memory that stays until the process ends. Its chunks form a list.
static void *allocate_kept(size_t bytes)
{
    static struct chunk {
        struct chunk *before;
        char bytes[];
    } * last;
    static size_t left;
    static char *at;

    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > left) {
        const size_t room = bytes > CHUNK ? bytes : CHUNK;
        struct chunk *chunk = malloc(sizeof(*chunk) + 16 + room);
        if (!chunk)
            end_out_of_memory();
        chunk->before = last;
        last = chunk;
        at = (char *)(((uintptr_t)chunk->bytes + 15) & ~(uintptr_t)15);
        left = room;
    }
    void *memory = at;
    at += bytes;
    left -= bytes;
    return memory;
}

static char *copy_text(const char *text, size_t length)
{
    char *copy = memcpy(allocate_kept(length + 1), text, length);

    copy[length] = 0;
    return copy;
}

static void append_word(struct cli_words *w, char *word)
{
    if (w->count + 2 > w->room) {
        const size_t room = w->room ? 2 * w->room : 64;
        char **more = allocate_kept(room * sizeof(*more));
        if (w->count)
            memcpy(more, w->word, w->count * sizeof(*more));
        w->word = more;
        w->room = room;
    }
    w->word[w->count++] = word;
    w->word[w->count] = NULL;
}

void cli_words_add(struct cli_words *w, const char *word)
{
    append_word(w, copy_text(word, strlen(word)));
}

void cli_words_add_all(struct cli_words *w, const struct cli_words *more)
{
    for (size_t i = 0; i < more->count; i++)
        cli_words_add(w, more->word[i]);
}

char *cli_text(const char *format, ...)
{
    va_list args;
    char *text, *kept;

    va_start(args, format);
    const int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        end_out_of_memory();
    kept = copy_text(text, (size_t)length);
    free(text);
    return kept;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

// Returns the end of the word that begins at `t`.
static const char *word_end(const char *t)
{
    char quote = 0;

    for (; *t && (quote || !is_blank(*t)); t++) {
        if (*t == '\\' && quote != '\'' && t[1])
            t++;
        else if (quote && *t == quote)
            quote = 0;
        else if (!quote && (*t == '\'' || *t == '"'))
            quote = *t;
    }
    return t;
}

// Returns the next word and moves *text after it. NULL if there is none.
static char *next_word(const char **text)
{
    const char *t = *text, *end;
    char quote = 0, *word, *out;

    while (is_blank(*t))
        t++;
    if (!*t)
        return NULL;
    end = word_end(t);
    word = out = allocate_kept((size_t)(end - t) + 1);
    for (; t < end; t++) {
        if (*t == '\\' && quote != '\'' && t[1])
            *out++ = *++t;
        else if (quote && *t == quote)
            quote = 0;
        else if (!quote && (*t == '\'' || *t == '"'))
            quote = *t;
        else
            *out++ = *t;
    }
    *out = 0;
    *text = end;
    return word;
}

void cli_words_split(struct cli_words *w, const char *text)
{
    char *word;

    while ((word = next_word(&text)))
        append_word(w, word);
}

char *cli_read_file(const char *path, size_t *bytes)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0, room = 0;
    char *text = NULL;
    ssize_t got = -1;

    if (fd < 0)
        return NULL;
    do {
        if (used + 1 >= room) {
            room = room ? 2 * room : 65536;
            char *more = realloc(text, room);
            if (!more)
                end_out_of_memory();
            text = more;
        }
        got = read(fd, text + used, room - used - 1);
        if (got > 0)
            used += (size_t)got;
    } while (got > 0 || (got < 0 && errno == EINTR));
    const int problem = errno;
    close(fd);
    if (got < 0) {
        free(text);
        errno = problem;
        return NULL;
    }
    text[used] = 0;
    if (bytes)
        *bytes = used;
    return text;
}

static bool expand_word(struct cli_words *w, const char *word, int depth)
{
    struct cli_words inside = {0};
    struct stat st;
    char *text;

    // A folder or a pipe is not a response file. The depth ends a file that includes itself.
    if (word[0] != '@' || depth >= DEPTH_MOST || stat(word + 1, &st) < 0 || !S_ISREG(st.st_mode) ||
        !(text = cli_read_file(word + 1, NULL))) {
        cli_words_add(w, word);
        return false;
    }
    cli_words_split(&inside, text);
    free(text);
    for (size_t i = 0; i < inside.count; i++)
        expand_word(w, inside.word[i], depth + 1);
    return true;
}

bool cli_words_expand(struct cli_words *w, int argc, char **argv)
{
    bool any = false;

    for (int i = 0; i < argc; i++)
        any |= expand_word(w, argv[i], 0);
    return any;
}

// Writes a word with a backslash before blanks, quotes and backslashes; an empty word becomes quotes.
static void write_word(FILE *out, const char *word)
{
    if (!*word)
        fputs("\"\"", out);
    for (; *word; word++) {
        if (is_blank(*word) || *word == '\\' || *word == '\'' || *word == '"')
            putc('\\', out);
        putc(*word, out);
    }
    putc('\n', out);
}

void cli_words_fit(struct cli_words *w, size_t keep)
{
    size_t bytes = 0;

    for (size_t i = 0; i < w->count; i++)
        bytes += strlen(w->word[i]) + 1 + sizeof(char *);
    if (bytes <= LINE_MOST || keep >= w->count)
        return;
    const int fd = memfd_create("railbird-arguments", 0);
    FILE *out = fd >= 0 ? fdopen(dup(fd), "w") : NULL;
    if (!out)
        return; // exec reports that the line is too long
    for (size_t i = keep; i < w->count; i++)
        write_word(out, w->word[i]);
    if (fclose(out) == EOF)
        return;
    w->word[keep] = cli_text("@/proc/self/fd/%d", fd);
    w->word[keep + 1] = NULL;
    w->count = keep + 1;
}
