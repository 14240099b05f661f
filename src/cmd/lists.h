// Lists of engines and samplers, as compare and eval take them: separated by commas, what stands there twice
// dropped.
#ifndef RB_CMD_LISTS_H
#define RB_CMD_LISTS_H

#include <stddef.h>

#include "lab/replay/replay.h"
#include "sample/sampler.h"

// `command` and the option --engines or --samplers are for messages. An empty text is an empty list. The
// lists are the caller's to free. Both return -1 to go on, else an exit status.
int cli_engine_list(const char *command, const char *text, const struct rb_engine_ops ***engines,
                    size_t *count);
int cli_sampler_list(const char *command, const char *text, struct rb_sampler_spec **samplers, size_t *count);

#endif
