// Programs that the program starts or becomes.
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <unistd.h>

#include "inproc/preload.h"
#include "watch/agent/agent.h"

#define RB_EXEC_FUNCTION(ret, name, params) RB_EXPORT ret name params
#define RB_EXEC_REAL                        RB_NEXT
#define RB_EXEC_ITSELF()                    rb_agent_bump()
#define RB_EXEC_CHILD()                     rb_agent_bump()
#include "inproc/exec_functions.h"
