// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inline assembly with variables in registers by name, beside hooks that order threads: hooks come between the
// assignment of such a variable and the statement that uses it, and between the statement and the use of its result.
#include <stdio.h>
#include <string.h>

static long call_kernel(long number, const void *a, const void *b, long c, long d, long e, long f)
{
    register const void *rdi __asm__("rdi") = a;
    register const void *rsi __asm__("rsi") = b;
    register long rdx __asm__("rdx") = c, r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    register long rax __asm__("rax") = number;

    __asm__ volatile("syscall"
                     : "+r"(rax)
                     : "r"(rdi), "r"(rsi), "r"(rdx), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return rax;
}

static long add_to(long *word, long value)
{
    register long r11 __asm__("r11") = value;

    __asm__ volatile("lock xaddq %0, %1" : "+r"(r11), "+m"(*word) : : "memory");
    return r11;
}

static double double_with(long *word, double value)
{
    register double xmm9 __asm__("xmm9") = value;

    __asm__ volatile("lock incq %1\n\taddsd %0, %0" : "+x"(xmm9), "+m"(*word) : : "memory");
    return xmm9;
}

// Nothing can be added to such a function.
__attribute__((naked)) static long add_one(long *word)
{
    __asm__("movl $1, %eax\n\tlock xaddq %rax, (%rdi)\n\tret");
    (void)word;
}

int main(void)
{
    enum { PREAD = 17, MMAP = 9, READ_WRITE = 3, PRIVATE_ANONYMOUS = 0x22, PAGE = 4096 };
    char text[4] = "";
    long word = 5, off = 1;
    FILE *self = fopen("/proc/self/exe", "r");

    if (!self || call_kernel(PREAD, (void *)(long)fileno(self), text, 3, off, 0, 0) != 3 ||
        strcmp(text, "ELF"))
        return printf("pread: %s\n", text), 1;
    char *page = (char *)call_kernel(MMAP, NULL, (void *)PAGE, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0);
    if ((unsigned long)page > -(unsigned long)PAGE)
        return printf("mmap: %p\n", (void *)page), 1;
    page[PAGE - 1] = 1;
    for (long i = 0; i < 100; i++)
        if (add_to(&word, i) != 5 + i * (i - 1) / 2)
            return printf("xadd: %ld\n", word), 1;
    word = 1;
    if (double_with(&word, 1.5) != 3.0 || add_one(&word) != 2 || word != 3)
        return printf("word: %ld\n", word), 1;
    puts("right");
    return 0;
}
