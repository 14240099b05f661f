// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// railbird run: a program with our runtime in it, or in the place of TSan's.
//
// The program is inspected before its start, because an absent runtime cannot report its absence. A program
// without hooks, or with TSan's runtime inside, would run and be silent, and silence reads as "no races".
// If nothing is left to report afterwards, this process becomes the program. Otherwise it stays, passes
// signals on and ends as the program ended.
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/argument_list.h"
#include "cmd/launch/launch.h"
#include "cmd/option_table.h"
#include "cmd/toolchain/toolchain.h"
#include "engine/engine.h"
#include "sample/sampler.h"

static const char help_text[] =
    "usage: railbird run [-o KEY=VALUE]... [--json] [--] PROGRAM ARGUMENTS...\n"
    "       railbird run --self-test\n"
    "\n"
    "Runs a program built with 'railbird cc', or one that gcc or clang built with -fsanitize=thread against "
    "the\n"
    "shared TSan runtime (gcc's default; clang's -shared-libsan), which ours then replaces. Its exit status "
    "is\n"
    "passed on; it is 66 if races were found.\n"
    "\n"
    "  -o KEY=VALUE   an option of the runtime, as in RAILBIRD_OPTIONS=\"KEY=VALUE:KEY=VALUE\"; see below\n"
    "  --json         one JSON object on standard output: program, exit, instrumented, races, stats; what "
    "the\n"
    "                 program writes on its standard output then goes to standard error\n"
    "  --self-test    is a known race found, and a program without one left alone? 5 times each\n"
    "\n"
    "Options of the runtime:\n";

static void print_help(void)
{
    fputs(help_text, stdout);
    for (int i = 0; i < RB_OPTIONS; i++)
        printf("  %-15s %s\n", rb_option_info[i].name, rb_option_info[i].help);
}

// ---- options -------------------------------------------------------------------------------------------

static void keep_error(void *context, const char *line)
{
    struct rb_error *e = context;

    rb_bad_input(e, "%s", line); // the first one stays
}

// Returns the expected values of an option: the names in the table of samplers or engines.
static const char *describe_expected(void *context, enum rb_option option, const char *value)
{
    static char text[384];
    struct rb_sampler_spec spec;
    struct rb_error e = {0};
    size_t used = (size_t)snprintf(text, sizeof(text), "one of:");

    (void)context;
    if (option == RB_OPT_engine && !rb_engine_find(value)) {
        for (int i = 0; rb_engines[i] && used < sizeof(text); i++)
            used += (size_t)snprintf(text + used, sizeof(text) - used, " %s", rb_engines[i]->name);
        return text;
    }
    if (option == RB_OPT_sampler && rb_sampler_parse(value, &spec, &e) < 0) {
        for (int i = 0; rb_samplers[i] && used < sizeof(text); i++)
            used += (size_t)snprintf(text + used, sizeof(text) - used, " %s%s", rb_samplers[i]->name,
                                     rb_samplers[i]->parameters);
        return text;
    }
    return NULL;
}

static int take_option(void *context, const char *text)
{
    struct rb_options *o = context;
    struct rb_error e = {0};
    const struct rb_options_host host = {&e, keep_error, describe_expected};

    if (!*text || rb_options_parse(o, text, "-o", &host)) {
        if (!*text)
            rb_bad_input(&e, "-o: expected KEY=VALUE");
        return cli_usage("run", "%s", e.text);
    }
    run_add_options(text);
    return -1;
}

void run_add_options(const char *pairs)
{
    const char *before = getenv("RAILBIRD_OPTIONS");

    setenv("RAILBIRD_OPTIONS", before && *before ? cli_text("%s:%s", before, pairs) : pairs, 1);
}

char *run_pair(const char *key, const char *value)
{
    const char *quote = !strchr(value, '"') ? "\"" : !strchr(value, '\'') ? "'" : NULL;

    return quote ? cli_text("%s=%s%s%s", key, quote, value, quote) : NULL;
}

// ---- program -------------------------------------------------------------------------------------------

bool run_preload(const char *command)
{
    static const char *const names[] = {"libtsan.so.0", "libtsan.so.2", "libclang_rt.tsan-x86_64.so",
                                        "libclang_rt.tsan.so"};
    const char *runtime = cli_lib_file(RB_RT_SHARED), *before = getenv("LD_PRELOAD");
    char *list = cli_text("%s", runtime);

    if (!cli_need_file(command, runtime))
        return false;
    for (size_t i = 0; i < RB_LENGTH(names); i++) {
        const char *shim = cli_lib_file(cli_text("%s/%s", RB_RT_SHIMS, names[i]));
        if (!cli_need_file(command, shim))
            return false;
        list = cli_text("%s:%s", list, shim);
    }
    if (strpbrk(runtime, ": \t\n")) {
        fprintf(
            stderr,
            "railbird %s: %s cannot be preloaded, because the loader takes blanks and colons for the end of "
            "a name; install railbird elsewhere\n",
            command, runtime);
        return false;
    }
    setenv("LD_PRELOAD", before && *before ? cli_text("%s:%s", list, before) : list, 1);
    return true;
}

// Warns the user before the program starts. Returns -1 to go on, else an exit status.
static int prepare_program(const char *path, const struct program *p)
{
    struct rb_error e = {0}; // for its one line without control characters

    if (p->privileged) {
        program_say_privileged(path, &e);
        cli_fail("run", &e);
        return -1;
    }
    if (p->refuses[0]) {
        program_say_refuses(path, p, &e);
        cli_fail("run", &e);
        return -1;
    }
    switch (p->kind) {
    case PROGRAM_OURS: // a shared runtime has to come before libc
        return !p->needs_ours || run_preload("run") ? -1 : RB_EXIT_INTERNAL;
    case PROGRAM_STATIC:
        rb_bad_input(
            &e,
            "%s has TSan's runtime linked into it, which cannot be replaced; build it with 'railbird cc', "
            "or with -fsanitize=thread -shared-libsan",
            path);
        return cli_fail("run", &e);
    case PROGRAM_FOREIGN:
        rb_bad_input(&e, "%s is no program for x86-64: nothing in it is watched, and no report means nothing",
                     path);
        break;
    case PROGRAM_PLAIN:
        rb_bad_input(
            &e,
            "%s is not instrumented: only instrumented libraries it loads and programs it starts are "
            "watched, and no report does not mean no races; build it with 'railbird cc'",
            path);
        break;
    case PROGRAM_SHARED:
        if (!p->loader) {
            rb_bad_input(&e, "%s has hooks and no loader to bring a runtime; build it with 'railbird cc'",
                         path);
            return cli_fail("run", &e);
        }
        break;
    case PROGRAM_OTHER:
        break;
    }
    if (e.fault != RB_FAULT_NONE)
        cli_fail("run", &e);
    return p->kind == PROGRAM_FOREIGN || run_preload("run") ? -1 : RB_EXIT_INTERNAL;
}

static int start_program(char **words, const struct rb_options *given, bool json)
{
    struct rb_error e = {0};
    struct program p;
    char *path = launch_need(words[0], &e);
    int status;

    if (!path)
        return cli_fail("run", &e);
    program_look(path, &p);
    status = prepare_program(path, &p);
    free(path);
    if (status >= 0)
        return status;
    setenv("RAILBIRD_TOOL", cli_tool_path(), 1);
    // With every access sampled, or with figures requested, nothing is left to report at the end.
    if (json || (!p.privileged && strcmp(given->sampler, "all") && !(given->given >> RB_OPT_stats & 1)))
        return run_watched(words, given, &p, json);
    execvp(words[0], words);
    rb_bad_input(&e, "cannot run '%s': %s", words[0], strerror(errno));
    return cli_fail("run", &e);
}

int cmd_run(int argc, char **argv)
{
    static const struct cli_parser parser = {.command = "run", .print_help = print_help, .stops = true};
    const char *environment = getenv("RAILBIRD_OPTIONS");
    bool json = false, self_test = false;
    struct rb_options given;
    const struct cli_option table[] = {
        {"", 'o', .take = take_option, .context = &given},
        {"json", .flag = &json},
        {"self-test", .flag = &self_test},
        {0},
    };
    struct rb_error wrong = {0};
    const struct rb_options_host host = {&wrong, keep_error, describe_expected};
    int status;

    rb_options_init(&given);
    if (environment)
        rb_options_parse(&given, environment, "RAILBIRD_OPTIONS", &host);
    status = cli_parse_options(&parser, table, argc, argv);
    if (status >= 0)
        return status;
    if (self_test && (json || optind < argc))
        return cli_usage("run", "--self-test runs programs of its own and goes with nothing else");
    if (self_test)
        return run_self_test(stdout) ? RB_EXIT_OK : RB_EXIT_INTERNAL;
    if (optind == argc)
        return cli_usage("run", "which program?");
    if (wrong.fault != RB_FAULT_NONE) // a misspelt option would weaken the test unnoticed
        return cli_usage("run", "%s", wrong.text);
    const char *tsan = getenv("TSAN_OPTIONS");
    if (tsan)
        rb_options_parse_tsan(&given, tsan, NULL);
    return start_program(argv + optind, &given, json);
}
