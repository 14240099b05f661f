// load memcached|redis PORT REQUESTS CONNECTIONS: a load for a server on the loopback: eight gets, a set and
// an increment of ten, a request at a time on each connection, the next when the answer is there. Every
// answer's bytes are known beforehand and compared. Prints how long requests took (microseconds), as one JSON
// object; status 1 when an answer was wrong or none came.
//
// It may be stopped and let go on at any time, together with the server. A request that was under way then
// has no time: `measured` says how many have. How long it took as a whole says nothing, so it is not told.
//
// One thread, with epoll. The keys and the order are the same each time; who is served first is the server's
// business.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { KEYS = 10000, VALUE = 200, MOST = 512, ROOM = 1024, TRIES = 3000 };
enum kind { GET, SET, COUNT };

struct connection {
    int fd;
    size_t have, want;
    long counted; // increments so far
    double asked; // 0: it will have no time
    char wanted[ROOM], got[ROOM];
};

static struct connection connections[MOST];
static bool redis;
static long sent, answered, measured, requests;
static int count;
static float *took; // those that are measured
static volatile sig_atomic_t was_stopped;

static void on_continue(int signal_number)
{
    (void)signal_number;
    was_stopped = 1;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what, const char *more)
{
    fprintf(stderr, "load: %s: %s\n", what, more);
    exit(1);
}

static void value_of(long key, char *value)
{
    for (int i = 0; i < VALUE; i++)
        value[i] = (char)('a' + (key * 31 + i * 7) % 26);
    value[VALUE] = '\0';
}

// The request and the answer it must get.
static size_t compose(struct connection *c, enum kind kind, long key, char *request)
{
    char value[VALUE + 1], name[32], number[32];
    int length = 0, want = 0;

    value_of(key, value);
    const int named = snprintf(name, sizeof(name), "%s%ld", kind == COUNT ? "n" : "key", key);
    const int digits = snprintf(number, sizeof(number), "%ld", c->counted + 1);
    switch (kind) {
    case GET:
        if (redis) {
            length = snprintf(request, ROOM, "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", named, name);
            want = snprintf(c->wanted, ROOM, "$%d\r\n%s\r\n", VALUE, value);
        } else {
            length = snprintf(request, ROOM, "get %s\r\n", name);
            want = snprintf(c->wanted, ROOM, "VALUE %s 0 %d\r\n%s\r\nEND\r\n", name, VALUE, value);
        }
        break;
    case SET:
        if (redis)
            length = snprintf(request, ROOM, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", named, name,
                              VALUE, value);
        else
            length = snprintf(request, ROOM, "set %s 0 0 %d\r\n%s\r\n", name, VALUE, value);
        want = snprintf(c->wanted, ROOM, redis ? "+OK\r\n" : "STORED\r\n");
        break;
    case COUNT:
        c->counted++;
        if (redis) {
            length = snprintf(request, ROOM, "*2\r\n$4\r\nINCR\r\n$%d\r\n%s\r\n", named, name);
            want = snprintf(c->wanted, ROOM, ":%s\r\n", number);
        } else if (c->counted == 1) { // memcached counts only what is there
            length = snprintf(request, ROOM, "set %s 0 0 %d\r\n%s\r\n", name, digits, number);
            want = snprintf(c->wanted, ROOM, "STORED\r\n");
        } else {
            length = snprintf(request, ROOM, "incr %s 1\r\n", name);
            want = snprintf(c->wanted, ROOM, "%s\r\n", number);
        }
        break;
    }
    c->want = (size_t)want;
    c->have = 0;
    return (size_t)length;
}

static void ask(struct connection *c)
{
    const long n = sent++;
    char request[ROOM];
    size_t length;

    if (n < KEYS) // every key once, before anything is counted
        length = compose(c, SET, n, request);
    else if (n % 10 == 9)
        length = compose(c, COUNT, c - connections, request);
    else
        length = compose(c, n % 10 == 4 ? SET : GET, n * 7919 % KEYS, request);
    c->asked = now();
    if (write(c->fd, request, length) != (ssize_t)length)
        fail("write", strerror(errno));
}

// The clock is read before the flag: had we been stopped before that, the flag would be set.
static void note(struct connection *c)
{
    const double end = now();

    if (was_stopped) {
        was_stopped = 0;
        for (int i = 0; i < count; i++)
            connections[i].asked = 0;
    }
    if (c->asked > 0 && answered >= KEYS)
        took[measured++] = (float)((end - c->asked) * 1e6);
}

static void answer(struct connection *c)
{
    const ssize_t n = read(c->fd, c->got + c->have, ROOM - 1 - c->have);

    if (n <= 0)
        fail("read", n < 0 ? strerror(errno) : "the server has closed the connection");
    c->have += (size_t)n;
    c->got[c->have] = 0;
    if (memcmp(c->got, c->wanted, c->have < c->want ? c->have : c->want) != 0 || c->have > c->want)
        fail("a wrong answer", c->got);
    if (c->have < c->want)
        return;
    note(c);
    if (++answered == KEYS) { // all are there: now they may be asked for
        for (int i = 0; i < count; i++)
            ask(&connections[i]);
    } else if (sent != KEYS && sent < requests) {
        ask(c);
    }
}

// A server that has just been started takes its time; tries are counted, as the clock goes on while we are
// stopped.
static int connected(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timespec pause = {0, 10000000};
    const int one = 1;

    for (int i = 0; i < TRIES; i++, nanosleep(&pause, NULL)) {
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0) {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
            return fd;
        }
        close(fd);
    }
    fail("connect", strerror(errno));
    return -1;
}

static int by_time(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    const struct sigaction action = {.sa_handler = on_continue, .sa_flags = SA_RESTART};
    const int set = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event events[64];

    if (argc < 5)
        return 2;
    redis = strcmp(argv[1], "redis") == 0;
    requests = KEYS + atol(argv[3]);
    count = atoi(argv[4]);
    if (count < 1 || count > MOST || requests < KEYS + count)
        return 2;
    took = calloc((size_t)requests, sizeof(*took));
    sigaction(SIGCONT, &action, NULL);
    for (int i = 0; i < count; i++) {
        connections[i].fd = connected(atoi(argv[2]));
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &connections[i]};
        epoll_ctl(set, EPOLL_CTL_ADD, connections[i].fd, &e);
    }
    for (int i = 0; i < count; i++)
        ask(&connections[i]);
    while (answered < requests) {
        const int n = epoll_wait(set, events, 64, 60000);
        if (n == 0 || (n < 0 && errno != EINTR))
            fail("no answer", "for a minute");
        for (int i = 0; i < n; i++)
            answer(events[i].data.ptr);
    }
    if (measured == 0)
        fail("latency", "no request was left to run from its beginning to its end");
    qsort(took, (size_t)measured, sizeof(*took), by_time);
    printf("{\"requests\": %ld, \"measured\": %ld, \"p50\": %.1f, \"p99\": %.1f, \"most\": %.1f}\n",
           requests - KEYS, measured, (double)took[measured / 2], (double)took[measured * 99 / 100],
           (double)took[measured - 1]);
    return 0;
}
