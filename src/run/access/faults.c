// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses that fault. A hook comes before its access, so it announces accesses that may never happen: the
// program's handler of the fault may jump away. Such an access is in no race. Three rules follow:
//   report   a race whose second access would fault is dropped;
//   history  the rest of the page, from the address of the fault on, is forgotten before the handler runs;
//   trace    the thread's last access, if it has faulted, leaves the recording before the handler runs. It
//            comes back if the handler returns, as the instruction is done again then.
#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "run/access/access.h"
#include "run/access/history.h"
#include "run/record/record.h"

#define PAGE   4096u
#define LOWEST 65536u // the kernel maps nothing below it (vm.mmap_min_addr)

int rb_memory_read(uintptr_t address, size_t bytes, uint64_t *value)
{
    const struct iovec from = {(void *)address, bytes < 8 ? bytes : 8}, to = {value, 8};
    const int saved = errno;

    *value = 0;
    if (rb_host.sandboxed) // the kernel may not be asked
        return -EPERM;
    const long got = syscall(SYS_process_vm_readv, (long)syscall(SYS_getpid), &to, 1L, &from, 1L, 0L);
    const int status = got > 0 ? 0 : got < 0 ? -errno : -EFAULT;
    errno = saved;
    return status;
}

bool rb_access_faults(const struct rb_memory_access *t)
{
    uint64_t value;

    if (rb_host.sandboxed) // the kernel may not be asked
        return t->address < LOWEST;
    return rb_memory_read(t->address, t->size, &value) == -EFAULT;
}

void rb_access_undo(struct rb_self *me, uintptr_t address, struct rb_undone *undone)
{
    const uintptr_t from = address & ~(uintptr_t)7;

    undone->count = 0;
    if (!me || me->busy || !address || (me = rb_enter()) == NULL)
        return;
    rb_accesses_drop(me, from, PAGE - from % PAGE);
    if (rb_records())
        rb_record_undo(me, address, undone);
    rb_leave(me);
}

void rb_access_redo(struct rb_self *me, const struct rb_undone *undone)
{
    if (!undone->count || !rb_records() || (me = rb_enter()) == NULL)
        return;
    rb_record_redo(me, undone);
    rb_leave(me);
}
