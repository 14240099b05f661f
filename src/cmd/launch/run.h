// Parts of `railbird run`: the environment of the program, what becomes of it as one JSON object, and the
// self-test, which the doctor asks for as well.
#ifndef RB_CMD_LAUNCH_RUN_H
#define RB_CMD_LAUNCH_RUN_H

#include "base/options.h"
#include "cmd/cli.h"
#include "cmd/launch/program.h"

// Appends to RAILBIRD_OPTIONS in this process's environment.
void run_add_options(const char *pairs);
// The pair with its value in quotes, if it needs them; NULL if it cannot be written at all.
char *run_pair(const char *key, const char *value);

// LD_PRELOAD with our runtime, and the shims that satisfy whoever asks for TSan's by name. False after a
// line.
bool run_preload(const char *command);

// Runs the program as a child. With `json` all of it becomes one object on standard output; else a line if
// nothing was sampled. `given` are the options as far as the command line and the environment say.
int run_watched(char **words, const struct rb_options *given, const struct program *p, bool json);

// Adds up a figure over what the processes of a program left.
json_int_t run_total(const json_t *all, const char *key);

// Waits until no reporter of this program is at work, nor one that appends to this file (NULL: none).
// Bounded.
void run_await_reporters(pid_t program, const char *json);

// A known race found and a known order left alone, RUNS times each; lines on `out` unless NULL. True if so.
#define RUN_SELF_TESTS 5
bool run_self_test(FILE *out);

#endif
