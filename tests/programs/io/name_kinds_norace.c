/* Names of every kind, and what is known of files, tell who sees them: what came before is over. */
#define _GNU_SOURCE 1
#include "../order.h"
#include <dirent.h>
#include <fcntl.h>
#include <semaphore.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

char folder[] = "/tmp/railbird-kinds-XXXXXX", file[64], node[64], temporary[64], name[64];
int fd;
struct sockaddr_un address = {.sun_family = AF_UNIX};

static int bound(void)
{
    const int s = socket(AF_UNIX, SOCK_STREAM, 0);

    if (bind(s, (void *)&address, sizeof(address)) == 0)
        return s;
    close(s);
    return -1;
}

static int count(void)
{
    struct dirent **list;
    const int n = scandir(folder, &list, NULL, NULL);

    for (int i = 0; i < n; i++)
        free(list[i]);
    free(list);
    return n;
}

static void tell_bound(void)
{
    RB_CHECK(bound() >= 0);
}

static int see_bound(void)
{
    const int s = bound();

    if (s >= 0)
        close(s);
    return s < 0;
}

static void tell_node(void)
{
    RB_CHECK(mknod(node, S_IFREG | 0600, 0) == 0);
}

static int see_node(void)
{
    return access(node, F_OK) == 0;
}

static void tell_temporary(void)
{
    RB_CHECK(mkstemp(temporary) >= 0);
}

static int see_temporary(void)
{
    return count() == 5; /* with the file, the node and the two that are in every folder */
}

static void tell_memory(void)
{
    RB_CHECK(shm_open(name, O_CREAT | O_RDWR, 0600) >= 0);
}

static int see_memory(void)
{
    return shm_open(name, O_RDWR, 0) >= 0;
}

static void tell_memory_gone(void)
{
    RB_CHECK(shm_unlink(name) == 0);
}

static int see_memory_gone(void)
{
    return !see_memory();
}

static void tell_semaphore(void)
{
    RB_CHECK(sem_open(name, O_CREAT, 0600, 1) != SEM_FAILED);
}

static int see_semaphore(void)
{
    return sem_open(name, 0) != SEM_FAILED;
}

static void tell_mode(void)
{
    RB_CHECK(chmod(file, 0640) == 0);
}

static int see_mode(void)
{
    struct stat s;

    return fstat(fd, &s) == 0 && (s.st_mode & 0777) == 0640;
}

static void tell_time(void)
{
    const struct timespec times[2] = {{5, 0}, {5, 0}};

    RB_CHECK(futimens(fd, times) == 0);
}

static int see_time(void)
{
    struct stat s;

    return stat(file, &s) == 0 && s.st_mtime == 5;
}

static void tell_size(void)
{
    RB_CHECK(posix_fallocate(fd, 0, 4096) == 0);
}

static int see_size(void)
{
    struct statx s;

    return statx(AT_FDCWD, file, 0, STATX_SIZE, &s) == 0 && s.stx_size == 4096;
}

static void tell_place(void)
{
    RB_CHECK(lseek(fd, 100, SEEK_SET) == 100);
}

static int see_place(void)
{
    return lseek(fd, 0, SEEK_CUR) == 100;
}

static void tell_folder(void)
{
    RB_CHECK(chdir(folder) == 0);
}

static int see_folder(void)
{
    char now[64];

    return getcwd(now, sizeof(now)) && strcmp(now, folder) == 0;
}

static const struct {
    void (*tell)(void);
    int (*see)(void);
} ways[] = {{tell_bound, see_bound},
            {tell_node, see_node},
            {tell_temporary, see_temporary},
            {tell_memory, see_memory},
            {tell_memory_gone, see_memory_gone},
            {tell_semaphore, see_semaphore},
            {tell_mode, see_mode},
            {tell_time, see_time},
            {tell_size, see_size},
            {tell_place, see_place},
            {tell_folder, see_folder}};
#define WAYS (int)(sizeof(ways) / sizeof(ways[0]))
long data[WAYS];

static void first(void)
{
    for (int i = 0; i < WAYS; i++) {
        rb_await(2 * i);
        data[i] = 1;
        ways[i].tell();
        rb_reach(2 * i + 1);
    }
}

static void second(void)
{
    for (int i = 0; i < WAYS; i++) {
        rb_await(2 * i + 1);
        RB_CHECK(ways[i].see());
        data[i] = 2;
        rb_reach(2 * i + 2);
    }
}

int main(void)
{
    RB_CHECK(mkdtemp(folder) != NULL);
    snprintf(file, sizeof(file), "%s/file", folder);
    snprintf(node, sizeof(node), "%s/node", folder);
    snprintf(temporary, sizeof(temporary), "%s/XXXXXX", folder);
    snprintf(name, sizeof(name), "/railbird-kinds-%d", getpid());
    snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s", name);
    fd = open(file, O_CREAT | O_RDWR, 0600);
    RB_CHECK(fd >= 0);
    pthread_t a = rb_start(first), b = rb_start(second);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    sem_unlink(name);
    unlink(file);
    unlink(node);
    unlink(temporary);
    rmdir(folder);
    return rb_done();
}
