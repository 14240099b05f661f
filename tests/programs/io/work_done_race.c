/* A write behind what others have read for the reader. */
#include "../order.h"
#include <aio.h>
#include <errno.h>
#include <sched.h>

struct {
    int x RB_APART;
} data[3];
static int ends[2];

static void wanted(struct aiocb *work, char *to)
{
    *work = (struct aiocb){.aio_fildes = ends[0], .aio_buf = to, .aio_nbytes = 1, .aio_lio_opcode = LIO_READ};
}

static void set_up(void)
{
    RB_CHECK(pipe(ends) == 0);
}

static void first(void)
{
    data[0].x = 1;
    RB_CHECK(write(ends[1], "a", 1) == 1);
    data[1].x = 1;
    RB_CHECK(write(ends[1], "b", 1) == 1);
    data[2].x = 1;
    RB_CHECK(write(ends[1], "c", 1) == 1);
    data[2].x = 3; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    static struct aiocb work;
    static char got;
    const struct aiocb *list[] = {&work};
    struct aiocb *to_do[] = {&work};
    wanted(&work, &got);
    RB_CHECK(aio_read(&work) == 0 && aio_suspend(list, 1, NULL) == 0);
    data[0].x = 2;
    RB_CHECK(aio_return(&work) == 1);
    wanted(&work, &got);
    RB_CHECK(aio_read(&work) == 0);
    while (aio_error(&work) == EINPROGRESS)
        sched_yield();
    data[1].x = 2;
    RB_CHECK(aio_return(&work) == 1);
    wanted(&work, &got);
    RB_CHECK(lio_listio(LIO_WAIT, to_do, 1, NULL) == 0);
    rb_await(1);
    data[2].x = 2; /* RACE 2 */
}

int main(void)
{
    set_up();
    pthread_t a = rb_start(first), b = rb_start(second);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return rb_done();
}
