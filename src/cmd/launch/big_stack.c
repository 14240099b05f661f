#include "cmd/launch/big_stack.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#define STACK_BYTES ((size_t)4 << 20)

// The command and its result, for the function that begins the new stack: makecontext hands over only int.
static struct {
    int (*command)(int argc, char **argv);
    char **argv;
    int argc, status;
} call;

static void run_on_stack(void)
{
    call.status = call.command(call.argc, call.argv);
}

int cli_with_stack(int (*command)(int argc, char **argv), int argc, char **argv)
{
    static ucontext_t here, there;
    struct rlimit limit;
    void *stack = MAP_FAILED;

    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < STACK_BYTES)
        stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1, 0);
    if (stack == MAP_FAILED || getcontext(&there) < 0)
        return command(argc, argv);
    call.command = command;
    call.argv = argv;
    call.argc = argc;
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = STACK_BYTES;
    there.uc_link = &here;
    makecontext(&there, run_on_stack, 0);
    swapcontext(&here, &there);
    return call.status;
}
