// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The raw recording as a file (record.h).
#include "run/record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct rb_raw_header *rb_record_header;

static char path[4096]; // absolute: programs change their folder
static struct stat identity;
static uint64_t file_end = RB_RAW_UNIT;

// Makes a system call, again after EINTR. libc has functions for some, but we intercept them. Returns 0 or
// more, or a negative errno.
static long call_kernel(long number, long a, long b, long c, long d, long e, long f)
{
    long r;

    do
        r = syscall(number, a, b, c, d, e, f);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : r;
}

static long map_chunk(int fd, uint64_t at, size_t bytes)
{
    return call_kernel(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (long)at);
}

// Allocates blocks for [at, at + bytes). Where the file system has no such call, writes zeros.
static long allocate_blocks(int fd, uint64_t at, size_t bytes)
{
    static const char zeros[RB_RAW_UNIT];
    struct rlimit limit;
    long r;

    // Beyond the limit the kernel would send SIGXFSZ.
    if (call_kernel(SYS_getrlimit, RLIMIT_FSIZE, (long)&limit, 0, 0, 0, 0) == 0 &&
        at + bytes > limit.rlim_cur)
        return -EFBIG;
    r = call_kernel(SYS_fallocate, fd, 0, (long)at, (long)bytes, 0, 0);
    if (r != -EOPNOTSUPP && r != -ENOSYS)
        return r;
    for (size_t done = 0; done < bytes; done += (size_t)r) {
        const size_t part = bytes - done < sizeof(zeros) ? bytes - done : sizeof(zeros);
        r = call_kernel(SYS_pwrite64, fd, (long)zeros, (long)part, (long)(at + done), 0, 0);
        if (r <= 0)
            return r < 0 ? r : -EIO;
    }
    return 0;
}

static long read_status(int fd, struct stat *st)
{
    return call_kernel(SYS_fstat, fd, (long)st, 0, 0, 0, 0);
}

static long check_same_file(int fd)
{
    struct stat st;
    const long r = read_status(fd, &st);

    if (r < 0)
        return r;
    return st.st_dev == identity.st_dev && st.st_ino == identity.st_ino ? 0 : -ESTALE;
}

static bool make_absolute(const char *name)
{
    size_t n = 0;

    if (name[0] != '/') {
        if (call_kernel(SYS_getcwd, (long)path, sizeof(path), 0, 0, 0, 0) < 0)
            return false;
        while (path[n])
            n++;
        path[n++] = '/';
    }
    for (; *name && n + 1 < sizeof(path); name++)
        path[n++] = *name;
    path[n] = 0;
    return !*name;
}

// Compares byte by byte: memcmp is one of the functions we intercept.
static bool is_raw(const struct rb_raw_header *h)
{
    bool same = h->version == RB_RAW_VERSION;

    for (unsigned i = 0; i < sizeof(h->magic); i++)
        same &= h->magic[i] == RB_RAW_MAGIC[i];
    return same;
}

// Claims the file: the first process to write its number has it. A file that we have just made is filled in
// first: two processes that do so at once write the same.
static int claim_file(struct rb_raw_header *h, bool fresh)
{
    uint32_t nobody = 0;

    if (fresh) {
        h->version = RB_RAW_VERSION;
        h->flags = RB_RAW_FUNCTIONS;
        for (unsigned i = 0; i < sizeof(h->magic); i++)
            h->magic[i] = RB_RAW_MAGIC[i];
    }
    if (!is_raw(h))
        return -EINVAL;
    if (rb_cas_strong_acq_rel(&h->pid, &nobody, (uint32_t)getpid()))
        return 0;
    rb_fetch_add_relaxed(&h->others, 1);
    return h->flags & RB_RAW_ATTENDED ? -EALREADY : -EBUSY;
}

int rb_record_file_open(const char *name)
{
    long fd, r, at = 0;

    if (!make_absolute(name))
        return -ENAMETOOLONG;
    fd = call_kernel(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666, 0, 0);
    if (fd < 0)
        return (int)fd;
    r = read_status((int)fd, &identity);
    if (r == 0 && !S_ISREG(identity.st_mode))
        r = -EINVAL;
    if (r == 0 && identity.st_size == 0)
        r = allocate_blocks((int)fd, 0, RB_RAW_UNIT);
    else if (r == 0 && identity.st_size < (off_t)RB_RAW_UNIT)
        r = -EINVAL;
    if (r == 0)
        r = at = map_chunk((int)fd, 0, RB_RAW_UNIT);
    if (r > 0) {
        r = claim_file((struct rb_raw_header *)at, identity.st_size == 0);
        if (r == 0) {
            rb_record_header = (struct rb_raw_header *)at;
            call_kernel(SYS_readlink, (long)"/proc/self/exe", (long)rb_record_header->program,
                        sizeof(rb_record_header->program) - 1, 0, 0, 0);
        } else {
            call_kernel(SYS_munmap, at, RB_RAW_UNIT, 0, 0, 0, 0);
        }
    }
    call_kernel(SYS_close, fd, 0, 0, 0, 0, 0);
    return (int)r;
}

struct rb_raw_chunk *rb_record_chunk(enum rb_raw_kind kind, uint32_t bytes, int *problem)
{
    const int saved = errno;
    struct rb_raw_chunk *chunk = NULL;
    long fd, r;

    if (rb_host.sandboxed) { // the recording ends here
        *problem = EPERM;
        return NULL;
    }
    fd = r = call_kernel(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_CLOEXEC | O_NONBLOCK, 0, 0, 0);
    if (r >= 0)
        r = check_same_file((int)fd);
    if (r >= 0) {
        const uint64_t at = rb_fetch_add_relaxed(&file_end, bytes);
        r = allocate_blocks((int)fd, at, bytes);
        if (r >= 0)
            r = map_chunk((int)fd, at, bytes);
    }
    if (r > 0) {
        chunk = (struct rb_raw_chunk *)r;
        chunk->bytes = bytes;
        chunk->kind = kind;
    }
    if (fd >= 0)
        call_kernel(SYS_close, fd, 0, 0, 0, 0, 0);
    *problem = (int)-r;
    errno = saved;
    return chunk;
}

void rb_record_unmap(struct rb_raw_chunk *chunk)
{
    const int saved = errno;

    if (!rb_host.sandboxed)
        call_kernel(SYS_munmap, (long)chunk, chunk->bytes, 0, 0, 0, 0);
    errno = saved;
}
