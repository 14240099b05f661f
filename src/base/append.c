// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/append.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOCK_TRIES 1000u // milliseconds; then it appends without the lock

int rb_append_open(const char *path)
{
    const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    const long fd = syscall(SYS_openat, AT_FDCWD, path, flags, 0644);

    return fd < 0 ? -errno : (int)fd;
}

bool rb_file_has_room(int fd, size_t bytes)
{
    struct rlimit limit;
    struct stat st;

    if (syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return true;
    if (syscall(SYS_fstat, fd, &st) || !S_ISREG(st.st_mode))
        return true;
    const long at = syscall(SYS_lseek, fd, 0L, SEEK_CUR); // a file that is not appended to
    return (rlim_t)(at > st.st_size ? at : st.st_size) + bytes <= limit.rlim_cur;
}

// Locks the file for a short time. A lock that is held for long serves another purpose.
static bool lock_file(int fd)
{
    static const struct timespec ms = {0, 1000000};

    for (unsigned i = 0; i < LOCK_TRIES; i++) {
        if (syscall(SYS_flock, fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return false;
        syscall(SYS_nanosleep, &ms, NULL);
    }
    return false;
}

// Returns true if the file of this size ends in the middle of a line.
static bool ends_in_line(const char *path, off_t size)
{
    char last = '\n';

    if (size == 0)
        return false;
    const long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd >= 0) {
        syscall(SYS_pread64, fd, &last, 1L, size - 1);
        syscall(SYS_close, fd);
    }
    return last != '\n';
}

int rb_write_text(int fd, const char *text, size_t bytes, size_t *written)
{
    size_t done = 0;

    while (done < bytes) {
        const long n = syscall(SYS_write, fd, text + done, bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        done += (size_t)n;
        *written += (size_t)n;
    }
    return 0;
}

int rb_append(int fd, const char *path, const char *text, size_t bytes)
{
    struct stat before, after;
    size_t written = 0;
    int status = 0;

    if (syscall(SYS_fstat, fd, &before) || !S_ISREG(before.st_mode))
        return rb_write_text(fd, text, bytes, &written);
    if (!rb_file_has_room(fd, bytes + 1))
        return -EFBIG;
    const bool locked = lock_file(fd);
    syscall(SYS_fstat, fd, &before);
    if (path && ends_in_line(path, before.st_size))
        status = rb_write_text(fd, "\n", 1, &written);
    if (status == 0)
        status = rb_write_text(fd, text, bytes, &written);
    // Only if no other process has written behind it.
    if (status && written && syscall(SYS_fstat, fd, &after) == 0 &&
        after.st_size == before.st_size + (off_t)written)
        syscall(SYS_ftruncate, fd, before.st_size);
    if (locked)
        syscall(SYS_flock, fd, LOCK_UN);
    return status;
}
