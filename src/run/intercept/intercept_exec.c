// Programs that the program starts or becomes.
#include "inproc/host.h"
#include "run/intercept/intercept.h"
#include "run/intercept/signals/signals.h"

#define RB_EXEC_FUNCTION RB_INTERCEPT
#define RB_EXEC_REAL     RB_REAL
#define RB_EXEC_ITSELF() ((void)0)
#define RB_EXEC_CHILD()  rb_before_child()
#include "inproc/exec_functions.h"
