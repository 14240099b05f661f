// The life of the process: loading, fork, libraries that come and go, the end.
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "rt/init.h"
#include "rt/intercept.h"
#include "rt/unwind.h"

// ---- start and end ----------------------------------------------------------------------------------------

// Does the module ask for the hooks? Then it is instrumented, and we start before it does.
static int asks_for_hooks(struct dl_phdr_info *info, size_t size, void *found)
{
    const ElfW(Dyn) *dynamic = NULL;
    const ElfW(Sym) *symbols = NULL;
    const char *names = NULL;
    const uint32_t *gnu_hash = NULL;

    (void)size;
    (void)gnu_hash;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_SYMTAB)
            symbols = (const void *)dynamic->d_un.d_ptr;
        if (dynamic->d_tag == DT_STRTAB)
            names = (const char *)dynamic->d_un.d_ptr;
    }
    // The string table follows the symbol table in every linker's layout: undefined symbols come first.
    if (!symbols || !names || (const char *)symbols >= names || (uintptr_t)symbols < info->dlpi_addr)
        return 0;
    for (const ElfW(Sym) *s = symbols; (const char *)(s + 1) <= names; s++)
        if (s->st_shndx == SHN_UNDEF && !__builtin_strcmp(names + s->st_name, "__tsan_init")) {
            *(bool *)found = true;
            return 1;
        }
    return 0;
}

static __attribute__((constructor(101))) void on_load(void)
{
    bool found = false;

    dl_iterate_phdr(asks_for_hooks, &found);
    if (found)
        rb_init();
}

static __attribute__((destructor(101))) void on_end(void)
{
    const int status = rb_finish(-1);

    if (status == -1)
        return;
    fflush(NULL); // what exit() would still do
    syscall(SYS_exit_group, status);
}

RB_INTERCEPT(void, _exit, (int status))
{
    syscall(SYS_exit_group, rb_finish(status));
    __builtin_unreachable();
}

RB_INTERCEPT(void, _Exit, (int status))
{
    syscall(SYS_exit_group, rb_finish(status));
    __builtin_unreachable();
}

// ---- fork ---------------------------------------------------------------------------------------------------
// The child has one thread and a copy of everything. What the other threads were doing to shared state is not
// known, so it starts anew: what was recorded before cannot race with what only the child will do.

RB_INTERCEPT(pid_t, fork, (void))
{
    struct rb_self *me = rb_enter();
    const pid_t child = RB_REAL(fork)();
    const int saved = errno;

    if (child == 0) {
        const bool deferred = me && me->deferred;
        const sigset_t mask = me ? me->deferred_mask : (sigset_t){{0}};
        rb_init_after_fork();
        if (deferred)
            syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
    } else if (me) {
        rb_leave(me);
    }
    errno = saved;
    return child;
}

// ---- libraries ----------------------------------------------------------------------------------------------

RB_INTERCEPT(int, dlclose, (void *handle))
{
    const int r = RB_REAL(dlclose)(handle);
    const int saved = errno;
    struct rb_self *me = rb_enter();

    if (me) { // its memory may be another library's next, and its code as well
        rb_unwind_forget();
        rb_lost_edge(me);
        rb_leave(me);
    }
    errno = saved;
    return r;
}
