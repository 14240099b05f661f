// railbird COMMAND …: a table of subcommands.
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#ifndef RB_VERSION
#define RB_VERSION "unknown"
#endif

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"analyze", cmd_analyze, "one engine, one sampler on a trace"},
    {"compare", cmd_compare, "the same trace through many engines and samplers"},
    {"trace", cmd_trace, "looks at, converts, checks, generates traces"},
};

static void help(FILE *out)
{
    fputs("Finds data races in C and C++ programs, and measures those who do.\n\n"
          "usage: railbird COMMAND [ARGUMENTS]     railbird COMMAND -h\n\n",
          out);
    for (size_t i = 0; i < RB_LENGTH(commands); i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
    fputs("\nExit status: 0 done, no race; 66 race found; 2 bad usage or input; 1 internal failure.\n", out);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return RB_EXIT_USAGE;
    }
    if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
        help(stdout);
        return RB_EXIT_OK;
    }
    if (!strcmp(argv[1], "--version")) {
        puts("railbird " RB_VERSION);
        return RB_EXIT_OK;
    }
    for (size_t i = 0; i < RB_LENGTH(commands); i++)
        if (!strcmp(argv[1], commands[i].name))
            return commands[i].run(argc - 1, argv + 1);
    struct rb_error e = {0}; // for its one line without control characters
    rb_bad_input(&e, "'%s' is not a command", argv[1]);
    fprintf(stderr, "railbird: %s; expected one of:", e.text);
    for (size_t i = 0; i < RB_LENGTH(commands); i++)
        fprintf(stderr, " %s", commands[i].name);
    fputc('\n', stderr);
    return RB_EXIT_USAGE;
}
