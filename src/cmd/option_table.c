// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parses the options of a subcommand with getopt_long.
#include "cmd/option_table.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cli.h"

#define MOST_OPTIONS 24  // rows of a table
#define LONG_FIRST   256 // getopt_long's result for a long option: this plus the index of its row

// ---- values --------------------------------------------------------------------------------------------

// Reports a bad value. `shown` is the option with its dashes, `good` describes good values unless the row
// does.
static int reject_value(const char *command, const struct cli_option *o, const char *shown, const char *value,
                        const char *good)
{
    if (o->expected)
        return cli_usage(command, "%s '%s': expected %s", shown, value, o->expected);
    return cli_usage(command, "%s %s: expected %s", shown, value, good);
}

static int read_whole(const char *command, const struct cli_option *o, const char *shown, const char *value)
{
    char good[96];
    uint64_t number = 0;

    if (!cli_whole(value, o->low, o->high, &number)) {
        if (o->high == INT64_MAX) // JSON's integers have a sign
            snprintf(good, sizeof(good), "a whole number below 2^63");
        else
            snprintf(good, sizeof(good), "a whole number from %" PRIu64 " to %" PRIu64, o->low, o->high);
        return reject_value(command, o, shown, value, good);
    }
    if (o->whole)
        *o->whole = number;
    else
        *o->whole32 = (uint32_t)number;
    return -1;
}

static int read_choice(const char *command, const struct cli_option *o, const char *shown, const char *value)
{
    char good[96] = "";
    size_t used = 0;

    for (int i = 0; o->words[i]; i++) {
        if (!strcmp(value, o->words[i])) {
            *o->choice = i;
            return -1;
        }
        if (used < sizeof(good))
            used += (size_t)snprintf(good + used, sizeof(good) - used, "%s%s",
                                     i == 0            ? ""
                                     : o->words[i + 1] ? ", "
                                                       : " or ",
                                     o->words[i]);
    }
    return reject_value(command, o, shown, value, good);
}

static int read_value(const char *command, const struct cli_option *o, const char *value)
{
    char shown[40];

    if (o->letter)
        snprintf(shown, sizeof(shown), "-%c", o->letter);
    else
        snprintf(shown, sizeof(shown), "--%s", o->name);
    if (o->take)
        return o->take(o->context, value);
    if (o->whole || o->whole32)
        return read_whole(command, o, shown, value);
    if (o->choice)
        return read_choice(command, o, shown, value);
    if (o->share)
        return cli_share(value, o->share)
                   ? -1
                   : reject_value(command, o, shown, value, "a share from 0 to 1, such as 0.15 or 15%");
    if (o->text)
        *o->text = value;
    else
        *o->flag = true;
    return -1;
}

// ---- getopt --------------------------------------------------------------------------------------------

// The table in getopt_long's form.
struct getopt_form {
    struct option longs[MOST_OPTIONS + 2]; // with --help and the end
    char letters[2 * MOST_OPTIONS + 8];
    int count; // rows of the table
};

static void fill_form(struct getopt_form *form, const struct cli_parser *parser,
                      const struct cli_option *table)
{
    char *letter = stpcpy(form->letters, parser->stops ? "+:h" : ":h");
    struct option *next = form->longs;
    int i = 0;

    for (; table[i].name && i < MOST_OPTIONS; i++) {
        const int argument = table[i].flag ? no_argument : required_argument;
        if (*table[i].name)
            *next++ = (struct option){table[i].name, argument, NULL, LONG_FIRST + i};
        if (table[i].letter) {
            *letter++ = table[i].letter;
            if (!table[i].flag)
                *letter++ = ':';
        }
    }
    *letter = 0;
    *next++ = (struct option){"help", no_argument, NULL, LONG_FIRST + i};
    *next = (struct option){0};
    form->count = i;
}

// Reports an option that getopt_long rejected; `c` is its result.
static int reject_option(const char *command, int c, char **argv)
{
    const char letter[] = {'-', (char)optopt, 0};
    // In the middle of "-xyz" optind is still at that word; otherwise it is after the rejected option.
    const bool is_letter = optopt > 0 && optopt < LONG_FIRST;
    const char *culprit = is_letter ? letter : argv[optind - 1];

    if (c == ':')
        return cli_usage(command, "%s needs a value", culprit);
    return cli_usage(command, optopt >= LONG_FIRST ? "%s: this option takes no value" : "%s is not an option",
                     culprit);
}

// Returns the row of a result of getopt_long; form->count for the help.
static int find_row(const struct getopt_form *form, const struct cli_option *table, int c)
{
    int i = 0;

    if (c >= LONG_FIRST)
        return c - LONG_FIRST;
    while (i < form->count && table[i].letter != c)
        i++;
    return i;
}

int cli_parse_options(const struct cli_parser *parser, const struct cli_option *table, int argc, char **argv)
{
    struct getopt_form form;
    int c, status = -1;

    fill_form(&form, parser, table);
    while (status < 0 && (c = getopt_long(argc, argv, form.letters, form.longs, NULL)) != -1) {
        const int row = find_row(&form, table, c);
        if (c == ':' || c == '?')
            return reject_option(parser->command, c, argv);
        if (row == form.count) { // -h, --help
            if (parser->help)
                fputs(parser->help, stdout);
            if (parser->print_help)
                parser->print_help();
            return RB_EXIT_OK;
        }
        status = read_value(parser->command, &table[row], optarg);
    }
    return status;
}
