// The tool as a process of its own that is waited for. The program does not notice: no SIGCHLD (the child has
// no exit signal, so wait() does not see it either), no descriptor stays open, no signal is taken meanwhile.
// `railbird watch` reports this way; the runtime has a reporter that it does not wait for (reporter.c).
#ifndef RB_INPROC_TOOL_H
#define RB_INPROC_TOOL_H

#include "inproc/host.h"
#include "inproc/text_buffer.h"

#define RB_TOOL_ENVIRONMENT 4096u // variables handed to it, at most

// Where the tool is; NULL if it is not found.
RB_HIDDEN const char *rb_tool_path(void);
// The program's environment without what would bring this runtime into the tool.
RB_HIDDEN void rb_tool_environment(char **out);
// The file of log_path, in `room`.
RB_HIDDEN const char *rb_log_file(char *room, size_t bytes);

enum rb_tool_answer { RB_TOOL_REPORTED, RB_TOOL_SUPPRESSED, RB_TOOL_MISSING };

RB_HIDDEN enum rb_tool_answer rb_tool_report(const char *record, size_t bytes);
// Another of the tool's commands, with this input, its output thrown away: its exit status, or -1. At most
// six words, then NULL.
RB_HIDDEN int rb_tool_run(const char *const *words, const char *input, size_t bytes);
// Without the tool: the bare record goes to the JSON file, to be symbolized later.
RB_HIDDEN void rb_tool_keep(const char *record, size_t bytes);
// Text for people: stderr, or log_path.
extern RB_HIDDEN int rb_report_fd; // 2, unless the program has said otherwise
RB_HIDDEN void rb_say(const char *text, size_t bytes);
// One line on standard error, for options that are not understood; a callback of rb_options_parse.
RB_HIDDEN void rb_complain(void *context, const char *line);
// The suppressions the program carries itself, as the record's "control".
RB_HIDDEN void rb_put_control(struct rb_text *t);

#endif
