// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Growing lists of words: the arguments of programs to start. Text is split into words as gcc and clang
// split their response files, and can be written back. The process ends or becomes another one soon, so no
// memory is freed before; if out of memory, the process ends with the status of an internal failure.
#ifndef RB_CMD_ARGUMENT_LIST_H
#define RB_CMD_ARGUMENT_LIST_H

#include "base/types.h"

struct cli_words {
    char **word; // ends with NULL
    size_t count, room;
};

void cli_words_add(struct cli_words *w, const char *word);
void cli_words_add_all(struct cli_words *w, const struct cli_words *more);

// Splits the text at blanks. Quotes and backslashes work as in libiberty's buildargv: they hold a word
// together and are removed.
void cli_words_split(struct cli_words *w, const char *text);

// Adds the arguments with each @FILE replaced by the words in it, to a depth that no real build exceeds. An
// unreadable @FILE stays unchanged, as in the compilers. Returns true if any was replaced.
bool cli_words_expand(struct cli_words *w, int argc, char **argv);

// Shortens a list that is too long for one command line: all words but the first `keep` go into an unnamed
// file that stays open over exec, and "@/proc/self/fd/N" replaces them.
void cli_words_fit(struct cli_words *w, size_t keep);

// Prints into memory that stays until the process ends.
char *cli_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Returns the whole file and a NUL after it, for free(); or NULL with errno.
char *cli_read_file(const char *path, size_t *bytes);

#endif
