// handover WAY [race]: a thread writes a word and hands it over by a call of the kernel or of libc, another
// takes it and writes the word too, there and back many times. All is ordered but what `race` plants.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "planted.h"

enum { ROUNDS = 100 };
static long data[4];

// What gives and takes one token, in direction 0 or 1.
struct way_pair {
    const char *name;
    void (*prepare)(void);
    void (*give)(int direction);
    void (*take)(int direction);
};
static const struct way_pair *chosen;
static int end[2][2]; // reading and writing end of each direction
static char folder[64], name[2][96];

static void use(void)
{
    for (int i = 0; i < 4; i++)
        data[i]++;
}

static void *there(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        use();
        chosen->give(0);
        chosen->take(1);
    }
    return unused;
}

static void *back(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        chosen->take(0);
        use();
        chosen->give(1);
    }
    return unused;
}

// ---- descriptors ---------------------------------------------------------------------------------------
static void pipes(void)
{
    for (int i = 0; i < 2; i++)
        MUST(pipe(end[i]) == 0);
}
static void sockets(void)
{
    for (int i = 0; i < 2; i++)
        MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, end[i]) == 0);
}
static void packets(void)
{
    for (int i = 0; i < 2; i++)
        MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, end[i]) == 0);
}
static void give_write(int d)
{
    MUST(write(end[d][1], "x", 1) == 1);
}
static void take_read(int d)
{
    char c;
    MUST(read(end[d][0], &c, 1) == 1);
}
static void give_writev(int d)
{
    struct iovec v = {(void *)"x", 1};
    MUST(writev(end[d][1], &v, 1) == 1);
}
static void take_readv(int d)
{
    char c;
    struct iovec v = {&c, 1};
    MUST(readv(end[d][0], &v, 1) == 1);
}
static void give_send(int d)
{
    MUST(send(end[d][1], "x", 1, 0) == 1);
}
static void take_recv(int d)
{
    char c;
    MUST(recv(end[d][0], &c, 1, 0) == 1);
}
static void give_sendmmsg(int d)
{
    struct iovec v = {(void *)"x", 1};
    struct mmsghdr m = {.msg_hdr = {.msg_iov = &v, .msg_iovlen = 1}};
    MUST(sendmmsg(end[d][1], &m, 1, 0) == 1);
}
static void take_recvmmsg(int d)
{
    char c;
    struct iovec v = {&c, 1};
    struct mmsghdr m = {.msg_hdr = {.msg_iov = &v, .msg_iovlen = 1}};
    MUST(recvmmsg(end[d][0], &m, 1, 0, NULL) == 1);
}
static void take_poll(int d)
{
    struct pollfd p = {.fd = end[d][0], .events = POLLIN};
    MUST(poll(&p, 1, -1) == 1);
    use(); // the event alone orders
    take_read(d);
}
static void take_ppoll(int d)
{
    struct pollfd p = {.fd = end[d][0], .events = POLLIN};
    MUST(ppoll(&p, 1, NULL, NULL) == 1);
    use();
    take_read(d);
}
static void take_select(int d)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(end[d][0], &set);
    MUST(select(end[d][0] + 1, &set, NULL, NULL, NULL) == 1);
    use();
    take_read(d);
}
static void take_epoll(int d)
{
    struct epoll_event e = {.events = EPOLLIN}, got;
    const int p = epoll_create1(0);
    MUST(p >= 0 && epoll_ctl(p, EPOLL_CTL_ADD, end[d][0], &e) == 0);
    MUST(epoll_wait(p, &got, 1, -1) == 1);
    use();
    take_read(d);
    close(p);
}
static void take_size(int d)
{
    int size = 0;
    while (ioctl(end[d][0], FIONREAD, &size) == 0 && !size)
        sched_yield();
    use();
    take_read(d);
}
static void give_splice(int d)
{
    int p[2];
    MUST(pipe(p) == 0 && write(p[1], "x", 1) == 1);
    MUST(splice(p[0], NULL, end[d][1], NULL, 1, 0) == 1);
    close(p[0]);
    close(p[1]);
}
static void give_tee(int d)
{
    int p[2];
    MUST(pipe(p) == 0 && write(p[1], "x", 1) == 1);
    MUST(tee(p[0], end[d][1], 1, 0) == 1);
    close(p[0]);
    close(p[1]);
}
static void give_vmsplice(int d)
{
    static char word[] = "x";
    struct iovec v = {word, 1};
    MUST(vmsplice(end[d][1], &v, 1, 0) == 1);
}
static void events(void)
{
    for (int i = 0; i < 2; i++)
        MUST((end[i][0] = end[i][1] = eventfd(0, 0)) >= 0);
}
static void give_event(int d)
{
    MUST(eventfd_write(end[d][1], 1) == 0);
}
static void take_event(int d)
{
    eventfd_t n;
    MUST(eventfd_read(end[d][0], &n) == 0);
}
static void timers(void)
{
    for (int i = 0; i < 2; i++)
        MUST((end[i][0] = end[i][1] = timerfd_create(CLOCK_MONOTONIC, 0)) >= 0);
}
static void give_timer(int d)
{
    const struct itimerspec soon = {.it_value = {0, 1}};
    MUST(timerfd_settime(end[d][1], 0, &soon, NULL) == 0);
}
static void take_timer(int d)
{
    unsigned long n;
    MUST(read(end[d][0], &n, sizeof(n)) == sizeof(n));
}

// Streams of stdio on pipes.
static FILE *stream[2][2];
static void streams(void)
{
    pipes();
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            MUST((stream[i][j] = fdopen(end[i][j], j ? "w" : "r")));
}
static void give_stream(int d)
{
    MUST(fputs("x\n", stream[d][1]) >= 0 && fflush(stream[d][1]) == 0);
}
static void take_stream(int d)
{
    char line[8];
    MUST(fgets(line, sizeof(line), stream[d][0]));
}

// ---- queues and semaphores -----------------------------------------------------------------------------
static mqd_t queue[2];
static void queues(void)
{
    struct mq_attr a = {.mq_maxmsg = 4, .mq_msgsize = 8};
    for (int i = 0; i < 2; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/attack-%d-%d", (int)getpid(), i);
        queue[i] = mq_open(path, O_RDWR | O_CREAT | O_EXCL, 0600, &a);
        if (queue[i] == (mqd_t)-1)
            exit(77);
        mq_unlink(path);
    }
}
static void give_queue(int d)
{
    MUST(mq_send(queue[d], "x", 1, 0) == 0);
}
static void take_queue(int d)
{
    char c[8];
    MUST(mq_receive(queue[d], c, sizeof(c), NULL) == 1);
}
static int set;
static void remove_set(void)
{
    semctl(set, 0, IPC_RMID);
}
static void sets(void)
{
    if ((set = semget(IPC_PRIVATE, 2, 0600)) < 0)
        exit(77);
    atexit(remove_set);
}
static void give_set(int d)
{
    struct sembuf up = {(unsigned short)d, 1, 0};
    MUST(semop(set, &up, 1) == 0);
}
static void take_set(int d)
{
    struct sembuf down = {(unsigned short)d, -1, 0};
    MUST(semop(set, &down, 1) == 0);
}
static int messages;
static void remove_messages(void)
{
    msgctl(messages, IPC_RMID, NULL);
}
static void message_queues(void)
{
    if ((messages = msgget(IPC_PRIVATE, 0600)) < 0)
        exit(77);
    atexit(remove_messages);
}
static void give_message(int d)
{
    const struct {
        long type;
        char text;
    } m = {d + 1, 'x'};
    MUST(msgsnd(messages, &m, 1, 0) == 0);
}
static void take_message(int d)
{
    struct {
        long type;
        char text;
    } m;
    MUST(msgrcv(messages, &m, 1, d + 1, 0) == 1);
}
static sem_t posix[2];
static void semaphores(void)
{
    for (int i = 0; i < 2; i++)
        sem_init(&posix[i], 0, 0);
}
static void give_semaphore(int d)
{
    sem_post(&posix[d]);
}
static void take_semaphore(int d)
{
    sem_wait(&posix[d]);
}
static void take_try(int d)
{
    while (sem_trywait(&posix[d]))
        sched_yield();
}
static atomic_int word[2];
static void give_futex(int d)
{
    atomic_store(&word[d], 1);
    syscall(SYS_futex, &word[d], FUTEX_WAKE, 1, NULL, NULL, 0);
}
static void take_futex(int d)
{
    int one = 1;
    while (!atomic_compare_exchange_strong(&word[d], &one, 0)) {
        syscall(SYS_futex, &word[d], FUTEX_WAIT, 0, NULL, NULL, 0);
        one = 1;
    }
}

// ---- signals -------------------------------------------------------------------------------------------
static pthread_t thread[2];
static void blocked(void)
{
    sigset_t s;
    sigemptyset(&s);
    sigaddset(&s, SIGUSR1);
    sigaddset(&s, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &s, NULL);
}
static void give_signal(int d)
{
    MUST(kill(getpid(), d ? SIGUSR2 : SIGUSR1) == 0);
}
static void take_signal(int d)
{
    sigset_t s;
    int number;
    sigemptyset(&s);
    sigaddset(&s, d ? SIGUSR2 : SIGUSR1);
    MUST(sigwait(&s, &number) == 0);
}

// ---- names of files ------------------------------------------------------------------------------------
static void remove_folder(void)
{
    for (int i = 0; i < 2; i++) {
        unlink(name[i]);
        rmdir(name[i]);
    }
    rmdir(folder);
}
static void names(void)
{
    strcpy(folder, "/tmp/handover-XXXXXX");
    MUST(mkdtemp(folder));
    for (int i = 0; i < 2; i++)
        snprintf(name[i], sizeof(name[i]), "%s/%d", folder, i);
    atexit(remove_folder);
}
static void give_mkdir(int d)
{
    MUST(mkdir(name[d], 0700) == 0);
}
static void take_rmdir(int d)
{
    while (rmdir(name[d]))
        sched_yield();
}
static void give_symlink(int d)
{
    MUST(symlink("x", name[d]) == 0);
}
static void take_unlink(int d)
{
    while (unlink(name[d]))
        sched_yield();
}
static void give_rename(int d)
{
    char from[128];
    snprintf(from, sizeof(from), "%s.new", name[d]);
    const int fd = open(from, O_CREAT | O_WRONLY, 0600);
    MUST(fd >= 0 && close(fd) == 0 && rename(from, name[d]) == 0);
}
static void locked_file(void)
{
    names();
    for (int i = 0; i < 2; i++)
        MUST((end[i][0] = end[i][1] = open(name[i], O_CREAT | O_RDWR, 0600)) >= 0);
}
// A byte more is there for each token; the size says so.
static off_t taken[2];
static void give_longer(int d)
{
    struct stat s;
    MUST(fstat(end[d][1], &s) == 0 && pwrite(end[d][1], "x", 1, s.st_size) == 1);
}
static void take_pread(int d)
{
    char c;
    while (pread(end[d][0], &c, 1, taken[d]) != 1)
        sched_yield();
    taken[d]++;
}
static void watched(void)
{
    names();
    for (int i = 0; i < 2; i++) {
        MUST(mkdir(name[i], 0700) == 0);
        MUST((end[i][0] = inotify_init()) >= 0 && inotify_add_watch(end[i][0], name[i], IN_CREATE) >= 0);
    }
}
static void give_create(int d)
{
    char path[128];
    static int n[2];
    snprintf(path, sizeof(path), "%s/%d", name[d], n[d]++);
    const int fd = open(path, O_CREAT | O_WRONLY, 0600);
    MUST(fd >= 0);
    close(fd);
}
static void take_inotify(int d)
{
    char buffer[4096];
    char path[128];
    static int n[2];
    // One event a token: the other does not go on before.
    MUST(read(end[d][0], buffer, sizeof(buffer)) > 0);
    snprintf(path, sizeof(path), "%s/%d", name[d], n[d]++);
    MUST(unlink(path) == 0);
}

// ---- libc ----------------------------------------------------------------------------------------------
static FILE *locked;
static atomic_int whose;
static void files(void)
{
    MUST((locked = fopen("/dev/null", "w")));
}
static void give_flockfile(int d)
{
    flockfile(locked);
    atomic_store_explicit(&whose, d + 1, memory_order_relaxed);
    funlockfile(locked);
}
static void take_flockfile(int d)
{
    for (;;) {
        flockfile(locked);
        const int seen = atomic_load_explicit(&whose, memory_order_relaxed);
        if (seen == d + 1)
            atomic_store_explicit(&whose, 0, memory_order_relaxed);
        funlockfile(locked);
        if (seen == d + 1)
            return;
        sched_yield();
    }
}

static const struct way_pair pairs[] = {
    {"pipe", pipes, give_write, take_read},
    {"pipe_vectors", pipes, give_writev, take_readv},
    {"socket", sockets, give_send, take_recv},
    {"messages", packets, give_sendmmsg, take_recvmmsg},
    {"poll", pipes, give_write, take_poll},
    {"ppoll", sockets, give_write, take_ppoll},
    {"select", pipes, give_write, take_select},
    {"epoll", sockets, give_write, take_epoll},
    {"fionread", pipes, give_write, take_size},
    {"splice", pipes, give_splice, take_read},
    {"tee", pipes, give_tee, take_read},
    {"vmsplice", pipes, give_vmsplice, take_read},
    {"eventfd", events, give_event, take_event},
    {"timerfd", timers, give_timer, take_timer},
    {"stdio", streams, give_stream, take_stream},
    {"mq", queues, give_queue, take_queue},
    {"semop", sets, give_set, take_set},
    {"msg", message_queues, give_message, take_message},
    {"semaphore", semaphores, give_semaphore, take_semaphore},
    {"trywait", semaphores, give_semaphore, take_try},
    {"futex", semaphores, give_futex, take_futex},
    {"signal", blocked, give_signal, take_signal},
    {"mkdir", names, give_mkdir, take_rmdir},
    {"symlink", names, give_symlink, take_unlink},
    {"rename", names, give_rename, take_unlink},
    {"pread", locked_file, give_longer, take_pread},
    {"inotify", watched, give_create, take_inotify},
    {"flockfile", files, give_flockfile, take_flockfile},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        if (argc < 2 || !strcmp(argv[1], "-l")) {
            puts(pairs[i].name);
            continue;
        }
        if (strcmp(argv[1], pairs[i].name))
            continue;
        chosen = &pairs[i];
        chosen->prepare();
        MUST(pthread_create(&thread[0], NULL, there, NULL) == 0);
        MUST(pthread_create(&thread[1], NULL, back, NULL) == 0);
        for (int t = 0; t < 2; t++)
            pthread_join(thread[t], NULL);
        plant_race(argc, argv);
        printf("%ld\ndone\n", data[0]);
        return 0;
    }
    return argc > 1 && !strcmp(argv[1], "-l") ? 0 : 2;
}
