/* Room is news as well: who waits for it to write comes after who made it by reading. A pipe and a pair of
 * sockets that were found full, one that poll says has room, an eventfd, a queue of messages. */
#include "../order.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/msg.h>
#include <sys/socket.h>

static struct {
    long mtype;
    char text[4096];
} message = {1, {0}}, answer;

int ends[2], pair[2], polled[2], counter, queue;
long data[5];

static void fill(int fd)
{
    RB_CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    while (write(fd, "x", 1) == 1)
        ;
    RB_CHECK(errno == EAGAIN && fcntl(fd, F_SETFL, 0) == 0);
}

static void drain(int fd)
{
    static char buffer[1 << 20];

    RB_CHECK(read(fd, buffer, sizeof(buffer)) > 0);
}

static void first(void)
{
    eventfd_t value;

    rb_await(1);
    data[0] = 1;
    drain(ends[0]);
    data[1] = 1;
    drain(pair[0]);
    data[2] = 1;
    drain(polled[0]);
    data[3] = 1;
    RB_CHECK(eventfd_read(counter, &value) == 0);
    data[4] = 1;
    RB_CHECK(msgrcv(queue, &answer, sizeof(answer.text), 0, 0) >= 0);
    rb_reach(2);
}

static void second(void)
{
    struct pollfd of = {.fd = polled[1], .events = POLLOUT};

    rb_reach(1);
    RB_CHECK(write(ends[1], "x", 1) == 1);
    data[0] = 2;
    RB_CHECK(write(pair[1], "x", 1) == 1);
    data[1] = 2;
    RB_CHECK(poll(&of, 1, -1) == 1);
    data[2] = 2;
    RB_CHECK(eventfd_write(counter, 1) == 0);
    data[3] = 2;
    rb_await(2);
    RB_CHECK(msgsnd(queue, &message, 1, IPC_NOWAIT) == 0);
    data[4] = 2;
}

int main(void)
{
    RB_CHECK(pipe(ends) == 0 && pipe(polled) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    fill(ends[1]);
    fill(pair[1]);
    fill(polled[1]);
    counter = eventfd(0, 0);
    RB_CHECK(counter >= 0 && eventfd_write(counter, UINT64_MAX - 1) == 0);
    queue = msgget(IPC_PRIVATE, 0600);
    RB_CHECK(queue >= 0);
    while (msgsnd(queue, &message, sizeof(message.text), IPC_NOWAIT) == 0)
        ;
    pthread_t a = rb_start(first), b = rb_start(second);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    msgctl(queue, IPC_RMID, NULL);
    return rb_done();
}
