/* A switch to a fiber that was asked not to synchronize orders nothing. */
#include "../order.h"
#include <sanitizer/tsan_interface.h>
#include <ucontext.h>

#define FLAGS __tsan_switch_to_fiber_no_sync
int data;
void *main_fiber, *fiber;
ucontext_t main_context, fiber_context;

static void run(void)
{
    data = 2; /* RACE 2 */
    rb_escape(&data);
    __tsan_switch_to_fiber(main_fiber, 0);
    swapcontext(&fiber_context, &main_context);
}

int main(void)
{
    static char stack[64 * 1024];

    getcontext(&fiber_context);
    fiber_context.uc_stack.ss_sp = stack;
    fiber_context.uc_stack.ss_size = sizeof(stack);
    fiber_context.uc_link = NULL;
    makecontext(&fiber_context, run, 0);
    main_fiber = __tsan_get_current_fiber();
    fiber = __tsan_create_fiber(0);
    data = 1; /* RACE 1 */
    __tsan_switch_to_fiber(fiber, FLAGS);
    swapcontext(&main_context, &fiber_context);
    data = 3; /* behind the fiber's switch back, which synchronizes */
    __tsan_destroy_fiber(fiber);
    return rb_done();
}
