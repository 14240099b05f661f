/* A fiber takes the mutex a thread has taken; both fibers of one thread have their own stacks in reports. */
#include "../order.h"
#include <sanitizer/tsan_interface.h>
#include <ucontext.h>

int data;
void *main_fiber, *fiber;
ucontext_t main_context, fiber_context;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    data = 1;
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void run(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    data = 2;
    pthread_mutex_unlock(&mutex);
    __tsan_switch_to_fiber(main_fiber, 0);
    swapcontext(&fiber_context, &main_context);
}

int main(void)
{
    static char stack[64 * 1024];
    pthread_t thread;

    getcontext(&fiber_context);
    fiber_context.uc_stack.ss_sp = stack;
    fiber_context.uc_stack.ss_size = sizeof(stack);
    fiber_context.uc_link = NULL;
    makecontext(&fiber_context, run, 0);
    main_fiber = __tsan_get_current_fiber();
    fiber = __tsan_create_fiber(0);
    thread = rb_start(first);
    __tsan_switch_to_fiber(fiber, 0);
    swapcontext(&main_context, &fiber_context);
    pthread_join(thread, NULL);
    __tsan_destroy_fiber(fiber);
    return rb_done();
}
