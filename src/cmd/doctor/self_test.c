// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The self-test: two programs of ours, built with the tool, one with a race in every run and one without.
// Every access is sampled, so the outcome does not depend on chance: 5 of 5 found and 5 of 5 silent, or
// this machine or this installation has a fault.
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cmd/argument_list.h"
#include "cmd/launch/launch.h"
#include "cmd/toolchain/toolchain.h"

static const struct {
    const char *name;
    int exit;
    const char *good, *bad;
} programs[] = {
    {"unlocked", RB_EXIT_RACE, "the planted race was found", "the planted race was not found"},
    {"locked", RB_EXIT_OK, "the same under a lock was left alone",
     "the same under a lock was reported, or failed"},
};

// Returns true if one run ended with the expected status, and reported a race or none as expected.
static bool has_passed(char **words, int wanted)
{
    char said[4096];
    const int status = launch_capture(words, true, said, sizeof(said));
    const bool reported = strstr(said, "WARNING: Railbird: data race") != NULL;

    return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == wanted &&
           reported == (wanted != RB_EXIT_OK);
}

bool run_self_test(FILE *out)
{
    char *options = launch_setenv("RAILBIRD_OPTIONS", "sampler=all");
    char *tsan = launch_setenv("TSAN_OPTIONS", NULL);
    bool all = true;

    setenv("RAILBIRD_TOOL", cli_tool_path(), 1);
    for (size_t i = 0; i < RB_LENGTH(programs); i++) {
        struct cli_words words = {0};
        int well = 0;

        cli_words_add(&words, cli_libexec_file(programs[i].name));
        if (!cli_need_file("run", words.word[0])) {
            all = false;
            continue;
        }
        for (int run = 0; run < RUN_SELF_TESTS; run++)
            well += has_passed(words.word, programs[i].exit);
        if (out)
            fprintf(out, "%-4s %s: %d of %d runs\n", well == RUN_SELF_TESTS ? "ok" : "FAIL",
                    well == RUN_SELF_TESTS ? programs[i].good : programs[i].bad,
                    well == RUN_SELF_TESTS ? well : RUN_SELF_TESTS - well, RUN_SELF_TESTS);
        all &= well == RUN_SELF_TESTS;
    }
    free(launch_setenv("RAILBIRD_OPTIONS", options));
    free(launch_setenv("TSAN_OPTIONS", tsan));
    free(options);
    free(tsan);
    return all;
}
