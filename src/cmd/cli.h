// What the subcommands share: the table's signature, exit statuses, option values, progress, tables of names.
#ifndef RB_CMD_CLI_H
#define RB_CMD_CLI_H

#include <jansson.h>

#include "base/error.h"
#include "trace/reader.h"
#include "trace/std/std.h"

enum rb_exit { RB_EXIT_OK = 0, RB_EXIT_INTERNAL = 1, RB_EXIT_USAGE = 2, RB_EXIT_RACE = 66 };

// argv[0] is the subcommand's name. Each returns an exit status and prints its own messages through fail().
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

// Prints "railbird COMMAND: text" on stderr and gives the status that belongs to the fault.
int cli_fail(const char *command, const struct rb_error *e);
// "railbird COMMAND: option: ..." and RB_EXIT_USAGE; for getopt's own complaints as well.
int cli_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

// What getopt_long returned for something it did not like (':' or '?').
int cli_bad_option(const char *command, int c, char **argv);
int cli_unknown_engine(const char *command, const char *name);

// Prints one JSON object and a newline on stdout and frees it.
int cli_print_json(json_t *object, struct rb_error *e);
// A file's name for JSON, which is UTF-8 and names need not be. NULL when memory is out.
json_t *cli_json_path(const char *path);

// Do two names mean one existing file? Before an output is truncated that is the input.
bool cli_same_file(const char *a, const char *b);

// Numbers as people write them: 100000000, 1e8, 100M, 64k. False if not a whole number in [low, high].
bool cli_whole(const char *text, uint64_t low, uint64_t high, uint64_t *value);
// A share: 0.03 or 3%. False if not in [0, 1].
bool cli_share(const char *text, double *value);

// A progress line on stderr when it is a terminal; clears itself at the end. `label` says what is going on.
struct cli_progress {
    const char *label;
    bool on;
    double started, shown;
};
void cli_progress_start(struct cli_progress *p, const char *label);
void cli_progress_step(void *progress, uint64_t done, uint64_t total); // an rb_progress_fn
void cli_progress_end(struct cli_progress *p);

// What an import met, a line each on stderr.
void cli_say_notes(const char *command, const char *path, const struct rb_std_notes *notes);

// Opens a trace of either kind: .rbt directly, STD text by importing it into an unnamed temporary file.
// What the import or a recovered file has to say goes to stderr, prefixed with the command.
int cli_open_trace(const char *command, const char *path, bool lenient, struct rb_reader *r,
                   struct rb_error *e);

#endif
