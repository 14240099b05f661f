// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// railbird doctor: reports the parts that work on this machine, the parts that do not, and the remedies.
#include "cmd/doctor/doctor.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli.h"
#include "cmd/option_table.h"

static const char help_text[] =
    "usage: railbird doctor [--json]\n"
    "\n"
    "Tries what 'railbird cc', 'run' and 'watch' need on this machine and says, a line each, whether it "
    "works\n"
    "and what to change if not. Exit status 0 if 'railbird run' works, 1 otherwise.\n"
    "\n"
    "  --json   one JSON object on standard output: run (does it work?), checks\n";

static const struct {
    const char *name;
    void (*check)(struct finding *f);
    bool needed; // `run` does not work without it
} checks[] = {
    {"machine", check_machine, true},
    {"libc", check_libc, false},
    {"gcc", check_gcc, false},
    {"clang", check_clang, false},
    {"runtime files", check_runtime, true},
    {"preloading", check_preload, true},
    {"building", check_building, false}, // a -fsanitize=thread build from elsewhere runs without it
    {"self-test", check_self_test, true},
    {"debug info", check_symbols, false},
    {"text pages", check_text_pages, false},
    {"breakpoints", check_breakpoints, false},
    {"ptrace", check_ptrace, false},
    {"ASLR", check_aslr, false},
    {"limits", check_limits, false},
    {"OpenMP", check_openmp, false},
};

static const char *const status_names[] = {"ok", "warn", "fail"};

static void format_line(char *out, size_t room, const char *format, va_list args)
{
    vsnprintf(out, room, format, args);
    for (char *c = out; *c; c++) // one line; messages of compilers may have several
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
}

void finding_set(struct finding *f, enum finding_status status, const char *format, ...)
{
    va_list args;

    f->status = status;
    va_start(args, format);
    format_line(f->text, sizeof(f->text), format, args);
    va_end(args);
}

void finding_change(struct finding *f, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    format_line(f->change, sizeof(f->change), format, args);
    va_end(args);
}

static json_t *findings_json(const struct finding *f, bool works)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < RB_LENGTH(checks); i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:o}", "name", checks[i].name, "status",
                                              status_names[f[i].status], "text", cli_json_path(f[i].text),
                                              "change", cli_json_path(f[i].change)));
    return json_pack("{s:b, s:o}", "run", works, "checks", list);
}

static void print_finding(const char *name, const struct finding *f)
{
    printf("%-5s %-14s %s\n", status_names[f->status], name, f->text);
    if (f->change[0])
        printf("      %-14s -> %s\n", "", f->change);
    fflush(stdout);
}

int cmd_doctor(int argc, char **argv)
{
    static const struct cli_parser parser = {.command = "doctor", .help = help_text};
    static struct finding found[RB_LENGTH(checks)];
    bool json = false, works = true;
    const struct cli_option table[] = {{"json", .flag = &json}, {0}};
    const int status = cli_parse_options(&parser, table, argc, argv);

    if (status >= 0)
        return status;
    if (optind < argc)
        return cli_usage("doctor", "'%s': takes no arguments", argv[optind]);
    for (size_t i = 0; i < RB_LENGTH(checks); i++) {
        checks[i].check(&found[i]);
        works &= !checks[i].needed || found[i].status != FINDING_FAIL;
        if (!json)
            print_finding(checks[i].name, &found[i]);
    }
    if (json) {
        struct rb_error e = {0};
        if (cli_print_json(findings_json(found, works), &e) < 0)
            return cli_fail("doctor", &e);
    } else {
        puts(works ? "'railbird run' works here." : "'railbird run' does not work here.");
    }
    return works ? RB_EXIT_OK : RB_EXIT_INTERNAL;
}
