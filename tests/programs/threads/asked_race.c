/*
 * As in the other program, with the data
 * written behind what hands over, or outside of what libc locks.
 * build: -O2 -D_FORTIFY_SOURCE=2
 */
#define _GNU_SOURCE
#include "../order.h"
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <netdb.h>
#include <shadow.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <threads.h>

RB_APART int by_key, by_tss, by_list, by_name, by_wait, by_write, by_watch, by_link, by_timer, by_passwords;
pthread_key_t key;
tss_t specific;
struct gaicb named = {.ar_name = "127.0.0.1"}, waited = {.ar_name = "127.0.0.1"};
struct gaicb *names[] = {&named}, *waits[] = {&waited};
struct aiocb writes = {.aio_buf = "x", .aio_nbytes = 1};
int watcher, timer;
char folder[] = "askedXXXXXX", path[64], other_path[64], target[64];

static int count_library(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)info, (void)size, (void)data;
    return 1;
}

static void first(void)
{
    struct itimerspec later = {{0, 0}, {100, 0}};

    RB_CHECK(getaddrinfo_a(GAI_NOWAIT, names, 1, NULL) == 0);
    RB_CHECK(getaddrinfo_a(GAI_NOWAIT, waits, 1, NULL) == 0);
    RB_CHECK(aio_write(&writes) == 0);
    while (gai_error(&named) == EAI_INPROGRESS || gai_error(&waited) == EAI_INPROGRESS ||
           aio_error(&writes) == EINPROGRESS)
        usleep(1000); /* for libc's threads, which nobody knows */
    by_name = 1;      /* RACE 7 */
    by_wait = 1;      /* RACE 9 */
    by_write = 1;     /* RACE 11 */
    RB_CHECK(pthread_key_delete(key) == 0);
    by_key = 1; /* RACE 1 */
    tss_delete(specific);
    by_tss = 1; /* RACE 3 */
    dl_iterate_phdr(count_library, NULL);
    by_list = 1; /* RACE 5 */
    RB_CHECK(inotify_add_watch(watcher, folder, IN_CREATE) >= 0);
    by_watch = 1; /* RACE 13 */
    RB_CHECK(timerfd_settime(timer, 0, &later, NULL) == 0);
    by_timer = 1;         /* RACE 15 */
    if (lckpwdf() == 0) { /* root's alone */
        ulckpwdf();
    }
    by_passwords = 1; /* RACE 17 */
    rb_reach(1);
    rb_await(2);
    RB_CHECK(symlink("asked", path) == 0);
    by_link = 1; /* RACE 19 */
    rb_reach(3);
}

static void second(void)
{
    struct itimerspec left;
    char events[512];
    pthread_key_t again;
    tss_t other;

    rb_await(1);
    while (gai_error(&named) == EAI_INPROGRESS)
        usleep(1000);
    by_name = 2; /* RACE 8 */
    while (gai_error(&waited) == EAI_INPROGRESS)
        gai_suspend((const struct gaicb *const *)waits, 1, NULL);
    by_wait = 2; /* RACE 10 */
    while (aio_cancel(writes.aio_fildes, &writes) == AIO_NOTCANCELED)
        usleep(1000);
    by_write = 2; /* RACE 12 */
    RB_CHECK(pthread_key_create(&again, NULL) == 0 && again == key);
    by_key = 2; /* RACE 2 */
    RB_CHECK(tss_create(&other, NULL) == thrd_success);
    by_tss = 2; /* RACE 4 */
    dl_iterate_phdr(count_library, NULL);
    by_list = 2; /* RACE 6 */
    close(creat(other_path, 0600));
    RB_CHECK(read(watcher, events, sizeof(events)) > 0);
    by_watch = 2; /* RACE 14 */
    RB_CHECK(timerfd_gettime(timer, &left) == 0 && left.it_value.tv_sec);
    by_timer = 2; /* RACE 16 */
    if (lckpwdf() == 0) {
        ulckpwdf();
    }
    by_passwords = 2; /* RACE 18 */
    rb_reach(2);
    rb_await(3);
    RB_CHECK(readlink(path, target, strlen(path)) == 5);
    by_link = 2; /* RACE 20 */
}

int main(void)
{
    RB_CHECK(pthread_key_create(&key, NULL) == 0 && tss_create(&specific, NULL) == thrd_success);
    RB_CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof(path), "%s/link", folder);
    snprintf(other_path, sizeof(other_path), "%s/file", folder);
    watcher = inotify_init1(0);
    timer = timerfd_create(CLOCK_MONOTONIC, 0);
    writes.aio_fildes = open("/dev/null", O_WRONLY);
    RB_CHECK(watcher >= 0 && timer >= 0 && writes.aio_fildes >= 0);
    const int status = rb_both(first, second);
    unlink(path);
    unlink(other_path);
    rmdir(folder);
    return status;
}
