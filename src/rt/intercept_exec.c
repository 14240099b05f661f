// Programs that the program starts or becomes.
#include "rt/intercept.h"
#include "rt/preload.h"
#include "rt/signals.h"

#define RB_EXEC_FUNCTION RB_INTERCEPT
#define RB_EXEC_REAL     RB_REAL
#define RB_EXEC_ITSELF() ((void)0)
#define RB_EXEC_CHILD()  rb_before_child()
#include "rt/exec_functions.h"
