// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options of a subcommand as a table: one row for each option, with its names and the variable that it
// sets. `--name VALUE`, `--name=VALUE`, unambiguous prefixes and single letters work as getopt_long has
// them.
//
// A row sets one of `flag`, `text`, `whole`, `whole32`, `share`, `choice` and `take`, and its type decides
// how the value is read. -h and --help need no row.
#ifndef RB_CMD_OPTION_TABLE_H
#define RB_CMD_OPTION_TABLE_H

#include "base/types.h"

struct cli_option {
    const char *name; // of the long form, without dashes; "": none; NULL ends the table
    char letter;      // of the short form, which messages then show; 0: none

    bool *flag; // takes no value
    const char **text;
    uint64_t *whole; // in [low, high], as cli_whole reads it
    uint32_t *whole32;
    double *share; // as cli_share reads it
    int *choice;   // index of the value in `words`

    // Reads any other value. Returns -1 to go on, else an exit status after a message.
    int (*take)(void *context, const char *value);
    void *context;

    uint64_t low, high;
    const char *const *words; // ends with NULL
    const char *expected;     // replaces the description of good values in messages; may be NULL
};

struct cli_parser {
    const char *command;      // for messages
    const char *help;         // printed for -h, unless NULL
    void (*print_help)(void); // called for -h after that, unless NULL
    bool stops;               // at the first word that is no option: a program, whose options are its own
};

// Sets the variables of the options in argv; `optind` is then the index of the first other argument.
// Returns -1 to go on, else an exit status, after a message or the help.
int cli_parse_options(const struct cli_parser *parser, const struct cli_option *table, int argc, char **argv);

#endif
