// Lists of words for programs that are started: growing, taken apart from text the way gcc and clang take
// apart their response files, and put together again. The process ends or becomes another one soon after, so
// nothing here is given back before; when memory is out the process ends with the status of an internal
// failure.
#ifndef RB_CMD_ARGUMENT_LIST_H
#define RB_CMD_ARGUMENT_LIST_H

#include "base/types.h"

struct cli_words {
    char **word; // ends with NULL
    size_t count, room;
};

void cli_words_add(struct cli_words *w, const char *word);
void cli_words_add_all(struct cli_words *w, const struct cli_words *more);

// Blanks separate; quotes and backslashes as in libiberty's buildargv: they hold a word together and are
// gone.
void cli_words_split(struct cli_words *w, const char *text);

// The arguments with each @FILE replaced by the words in it, to any depth a sane build has. What cannot be
// read stays as it is, as the compilers have it. True if anything was replaced.
bool cli_words_expand(struct cli_words *w, int argc, char **argv);

// If the words are more than one command line holds: all but the first in an unnamed file that stays open
// over exec, and "@/proc/self/fd/N" in their place. The first `keep` words stay.
void cli_words_fit(struct cli_words *w, size_t keep);

// printf into memory that stays.
char *cli_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

// The whole file with a NUL behind it, for free(), or NULL (errno says why).
char *cli_read_file(const char *path, size_t *bytes);

#endif
