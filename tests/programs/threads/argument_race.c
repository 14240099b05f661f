/* A structure handed to a thread by pointer, written on by its maker. */
#include "../order.h"

struct work {
    int input, output;
};

static void *child(void *argument)
{
    struct work *work = argument;

    rb_await(1);
    work->output = work->input + 1; /* RACE 2 */
    return work;
}

int main(void)
{
    struct work *work = malloc(sizeof(*work));
    pthread_t thread;
    void *result;

    work->input = 1;
    pthread_create(&thread, NULL, child, work);
    work->input = 2; /* RACE 1 */
    rb_reach(1);
    pthread_join(thread, &result);
    RB_CHECK(((struct work *)result)->output >= 2);
    free(result);
    return rb_done();
}
