// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts that the subcommands share: exit statuses, messages, option values, lists of engines and
// samplers, JSON output, progress, and opening traces.
#ifndef RB_CMD_CLI_H
#define RB_CMD_CLI_H

#include <jansson.h>

#include "base/error.h"
#include "lab/replay/replay.h"
#include "sample/sampler.h"
#include "trace/reader.h"
#include "trace/std/std.h"

enum rb_exit { RB_EXIT_OK = 0, RB_EXIT_INTERNAL = 1, RB_EXIT_USAGE = 2, RB_EXIT_RACE = 66 };

// The subcommands. argv[0] is the subcommand's name. Each prints its own messages and returns an exit
// status.
int cmd_cc(int argc, char **argv);
int cmd_cxx(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_analyze(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_inject(int argc, char **argv);
int cmd_eval(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_code_table(int argc, char **argv);

// ---- messages ------------------------------------------------------------------------------------------

// Prints "railbird COMMAND: text" on stderr and returns the exit status of the fault.
int cli_fail(const char *command, const struct rb_error *e);
// Prints "railbird COMMAND: text (railbird COMMAND -h shows the options)" and returns RB_EXIT_USAGE.
int cli_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

int cli_unknown_engine(const char *command, const char *name);

// ---- JSON ----------------------------------------------------------------------------------------------

// Prints one JSON object and a newline on stdout and frees it.
int cli_print_json(json_t *object, struct rb_error *e);
// Returns a file's name as JSON text, which is UTF-8; names need not be. NULL if out of memory.
json_t *cli_json_path(const char *path);

// ---- values --------------------------------------------------------------------------------------------

// Returns true if two names mean one existing file: a check before an output is truncated.
bool cli_same_file(const char *a, const char *b);

// Reads a number as people write it: 100000000, 1e8, 100M, 64k. Returns false if it is not a whole number
// in [low, high].
bool cli_whole(const char *text, uint64_t low, uint64_t high, uint64_t *value);
// Reads a share: 0.03 or 3%. Returns false if it is not in [0, 1].
bool cli_share(const char *text, double *value);

// Read lists of engines and samplers, separated by commas; repeated entries are dropped. Messages name
// `command` and the option --engines or --samplers. An empty text is an empty list. The caller frees the
// lists. Both return -1 to go on, else an exit status.
int cli_engine_list(const char *command, const char *text, const struct rb_engine_ops ***engines,
                    size_t *count);
int cli_sampler_list(const char *command, const char *text, struct rb_sampler_spec **samplers, size_t *count);

// ---- progress ------------------------------------------------------------------------------------------

// A progress line on stderr if it is a terminal; it clears itself at the end. `label` names the work.
struct cli_progress {
    const char *label;
    bool on;
    double started, shown;
};
void cli_progress_start(struct cli_progress *p, const char *label);
void cli_progress_step(void *progress, uint64_t done, uint64_t total); // an rb_progress_fn
void cli_progress_end(struct cli_progress *p);

// ---- traces --------------------------------------------------------------------------------------------

// Prints the notes of an import on stderr, one on each line.
void cli_say_notes(const char *command, const char *path, const struct rb_std_notes *notes);

// Opens a trace of either kind: .rbt directly, STD text by importing it into an unnamed temporary file.
// Notes about an import or a recovered file go to stderr, prefixed with the command.
int cli_open_trace(const char *command, const char *path, bool lenient, struct rb_reader *r,
                   struct rb_error *e);

#endif
