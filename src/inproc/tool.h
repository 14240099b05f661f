// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the tool as a process of its own and waits for it. The program does not notice. There is no SIGCHLD
// (the child has no exit signal, so wait() does not see it either), no descriptor stays open, and no signal
// is handled meanwhile. `railbird watch` reports this way; the runtime has a reporter that it does not wait
// for (reporter.h).
#ifndef RB_INPROC_TOOL_H
#define RB_INPROC_TOOL_H

#include "inproc/host.h"
#include "inproc/text_buffer.h"

#define RB_TOOL_ENVIRONMENT 4096u // variables handed to it, at most

// Returns the path of the tool; NULL if it is not found.
RB_HIDDEN const char *rb_tool_path(void);
// Copies the program's environment without the variables that would load this runtime into the tool.
RB_HIDDEN void rb_tool_environment(char **out);
// Puts the file of log_path into `room`, and returns it.
RB_HIDDEN const char *rb_log_file(char *room, size_t bytes);

enum rb_tool_answer { RB_TOOL_REPORTED, RB_TOOL_SUPPRESSED, RB_TOOL_MISSING };

RB_HIDDEN enum rb_tool_answer rb_tool_report(const char *record, size_t bytes);
// Runs another of the tool's commands with this input and without its output. Returns its exit status, or
// -1. At most six words, then NULL.
RB_HIDDEN int rb_tool_run(const char *const *words, const char *input, size_t bytes);
// Appends the bare record to the JSON file, to be symbolized later: for processes without the tool.
RB_HIDDEN void rb_tool_keep(const char *record, size_t bytes);
// Text for people: stderr, or log_path.
extern RB_HIDDEN int rb_report_fd; // 2, unless the program has set another one
// Writes the text to a file of the program. Returns false if it does not fit, or the limit of file sizes is near.
RB_HIDDEN bool rb_write_all(int fd, const char *text, size_t bytes);
RB_HIDDEN void rb_say(const char *text, size_t bytes);
// Prints one line on standard error, for options that are not understood; a callback of rb_options_parse.
RB_HIDDEN void rb_complain(void *context, const char *line);
// Reads the place of the tool's cache of tables from the environment.
RB_HIDDEN void rb_table_cache_init(void);
// Puts together the path where the tool keeps a table of this build-id (code_table_cache.c). Returns false if
// there is no cache.
RB_HIDDEN bool rb_table_path(const char *build_id, const char *suffix, char *out, size_t room);
// Converts a build-id, up to `most` bytes. Returns their number.
RB_HIDDEN unsigned rb_build_id_bytes(const char *build_id, uint8_t *out, unsigned most);
// Puts the suppressions that the program itself carries, as the record's "control".
RB_HIDDEN void rb_put_control(struct rb_text *t);

#endif
