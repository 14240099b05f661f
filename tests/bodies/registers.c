// Every register that our plugin's hooks promise to preserve is set, the hook is called, and all are
// compared: rax, rcx, rdx, rsi, rdi, rbx, rbp, r8, r9, r12 to r15, xmm0 to xmm15. With sampler=all each
// access is taken and goes the whole way.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define HOOKS(X)                                                                                 \
    X(read1)                                                                                     \
    X(read2)                                                                                     \
    X(read4) X(read8) X(read16) X(write1) X(write2) X(write4) X(write8) X(write16) X(read_range) \
        X(write_range) X(vptr_update) X(func_entry) X(func_exit) X(gate) X(probe) X(asm_release) \
        X(asm_acquire) X(asm_fence)
#define DECLARE(name) void __railbird_##name(void);
HOOKS(DECLARE)
#define ROW(name) {#name, __railbird_##name},
static const struct {
    const char *name;
    void (*hook)(void);
} hooks[] = {HOOKS(ROW)};

struct registers {
    uint64_t general[13];
    uint64_t vector[16][2];
};

// In the order of struct registers; r11 has the hook, r10 the place.
void call_with(const struct registers *before, struct registers *after, void (*hook)(void));
__asm__(".text\n.globl call_with\ncall_with:\n"
        "push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\npush %rsi\n"
        "mov %rdx, %r11\nmov %rdi, %r10\n"
        ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\nmovups 104+16*\\n(%r10), %xmm\\n\n.endr\n"
        "mov 0(%r10), %rax\nmov 8(%r10), %rcx\nmov 16(%r10), %rdx\nmov 24(%r10), %rsi\nmov 32(%r10), %rdi\n"
        "mov 40(%r10), %rbx\nmov 48(%r10), %rbp\nmov 56(%r10), %r8\nmov 64(%r10), %r9\nmov 72(%r10), %r12\n"
        "mov 80(%r10), %r13\nmov 88(%r10), %r14\nmov 96(%r10), %r15\n"
        "call *%r11\n"
        "pop %r10\n"
        "mov %rax, 0(%r10)\nmov %rcx, 8(%r10)\nmov %rdx, 16(%r10)\nmov %rsi, 24(%r10)\nmov %rdi, 32(%r10)\n"
        "mov %rbx, 40(%r10)\nmov %rbp, 48(%r10)\nmov %r8, 56(%r10)\nmov %r9, 64(%r10)\nmov %r12, 72(%r10)\n"
        "mov %r13, 80(%r10)\nmov %r14, 88(%r10)\nmov %r15, 96(%r10)\n"
        ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\nmovups %xmm\\n, 104+16*\\n(%r10)\n.endr\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\nret\n");

static void *idle(void *barrier)
{
    pthread_barrier_wait(barrier);
    return NULL;
}

int main(void)
{
    static uint64_t data[4096];
    static pthread_barrier_t barrier;
    pthread_t other;
    long wrong = 0, calls = 0;

    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&other, NULL, idle, &barrier);
    for (unsigned round = 0; round < 500; round++)
        for (unsigned h = 0; h < sizeof(hooks) / sizeof(hooks[0]); h++) {
            struct registers before, after;
            unsigned char *bytes = (unsigned char *)&before;
            for (unsigned i = 0; i < sizeof(before); i++)
                bytes[i] = (unsigned char)(i * 7 + round * 31 + h + 1);
            before.general[3] = 8; // the second argument: bytes, or another pointer
            before.general[4] = (uint64_t)&data[(round * 8 + h * 64) % 4000]; // the first
            call_with(&before, &after, hooks[h].hook);
            calls++;
            if (memcmp(&before, &after, sizeof(before))) {
                wrong++;
                fprintf(stderr, "%s changes a register\n", hooks[h].name);
            }
        }
    pthread_barrier_wait(&barrier);
    pthread_join(other, NULL);
    printf("%ld calls, %ld wrong\n", calls, wrong);
    return wrong != 0;
}
