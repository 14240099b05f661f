// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// railbird COMMAND …: a table of subcommands.
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "cmd/cli.h"

#ifndef RB_VERSION
#define RB_VERSION "unknown"
#endif

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help; // NULL: not listed, for other commands and for tests
} commands[] = {
    {"cc", cmd_cc, "the C compiler with instrumentation, and the runtime at link time"},
    {"c++", cmd_cxx, "the same for C++"},
    {"run", cmd_run, "runs an instrumented program, or one built with -fsanitize=thread"},
    {"watch", cmd_watch, "finds races in a program that was built without Railbird"},
    {"record", cmd_record, "runs an instrumented program and writes a trace of it"},
    {"doctor", cmd_doctor, "says what works on this machine and what to change"},
    {"analyze", cmd_analyze, "one engine, one sampler on a trace"},
    {"compare", cmd_compare, "the same trace through many engines and samplers"},
    {"inject", cmd_inject, "traces with a race in a known place, from a trace without it"},
    {"eval", cmd_eval, "what share of the races of labelled traces each detector finds"},
    {"report", cmd_report, "reports of many runs: symbolized, merged, as text, JSON, SARIF or HTML"},
    {"trace", cmd_trace, "looks at, converts, checks, generates traces"},
    {"code-table", cmd_code_table, NULL},
};

static void print_help(FILE *out)
{
    fputs("Finds data races in C and C++ programs, and measures those who do.\n\n"
          "usage: railbird COMMAND [ARGUMENTS]     railbird COMMAND -h\n\n",
          out);
    for (size_t i = 0; i < RB_LENGTH(commands); i++)
        if (commands[i].help)
            fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
    fputs("\nExit status: 0 done, no race; 66 race found; 2 bad usage or input; 1 internal failure.\n", out);
}

// railbird-cc and railbird-c++ are links to railbird: CMake needs a compiler in one word.
static int run_by_own_name(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];

    if (!strcmp(name, "railbird-cc"))
        return cmd_cc(argc, argv);
    return strcmp(name, "railbird-c++") ? -1 : cmd_cxx(argc, argv);
}

static int run_command(int argc, char **argv)
{
    const int done = argc > 0 ? run_by_own_name(argc, argv) : -1;

    if (done >= 0)
        return done;
    if (argc < 2) {
        print_help(stderr);
        return RB_EXIT_USAGE;
    }
    if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
        print_help(stdout);
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
        if (commands[i].help)
            fprintf(stderr, " %s", commands[i].name);
    fputc('\n', stderr);
    return RB_EXIT_USAGE;
}

// ---- stack ---------------------------------------------------------------------------------------------
// The stack may be limited (ulimit -s): the tool inherits the limit of the program that it reports on.

#define STACK_BYTES ((size_t)4 << 20)

// The command and its result, for the first function on the new stack: makecontext passes only int.
static struct {
    int (*command)(int argc, char **argv);
    char **argv;
    int argc, status;
} call;

static void run_on_stack(void)
{
    call.status = call.command(call.argc, call.argv);
}

// Runs `command`, on a stack of our own if the current one may not grow to STACK_BYTES.
static int run_with_stack(int (*command)(int argc, char **argv), int argc, char **argv)
{
    static ucontext_t here, there;
    struct rlimit limit;
    void *stack = MAP_FAILED;

    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < STACK_BYTES)
        stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1, 0);
    if (stack == MAP_FAILED || getcontext(&there) < 0)
        return command(argc, argv);
    call.command = command;
    call.argv = argv;
    call.argc = argc;
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = STACK_BYTES;
    there.uc_link = &here;
    makecontext(&there, run_on_stack, 0);
    swapcontext(&here, &there);
    return call.status;
}

int main(int argc, char **argv)
{
    return run_with_stack(run_command, argc, argv);
}
