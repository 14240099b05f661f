// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the decoder says of instructions that compilers make, and that everything that is no plain access, or
// not known, is a barrier. The bytes are the assembler's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "run/watchpoint/arch_access.h"

#define RBX 0x10000u
#define RCX 0x200u

static struct rb_code decode(const char *bytes, size_t count)
{
    static uint8_t place[64];
    ucontext_t context;
    struct rb_code code;

    memset(&context, 0, sizeof(context));
    context.uc_mcontext.gregs[REG_RBX] = RBX;
    context.uc_mcontext.gregs[REG_RCX] = RCX;
    memset(place, 0xcc, sizeof(place));
    memcpy(place, bytes, count);
    rb_arch_code((uintptr_t)place, &context, &code);
    if (!code.barrier)
        assert_int_equal(code.bytes, count);
    return code;
}

#define CODE(bytes) decode(bytes, sizeof(bytes) - 1)

static void accesses(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
        bool reads, writes;
        uint8_t size;
        uintptr_t address;
        bool lost;
    } rows[] = {
#define ROW(bytes, ...) {bytes, sizeof(bytes) - 1, __VA_ARGS__}
        ROW("\x8b\x43\x08", true, false, 4, RBX + 8, false),              // mov 8(%rbx),%eax
        ROW("\x48\x8b\x1b", true, false, 8, RBX, true),                   // mov (%rbx),%rbx
        ROW("\x48\x89\x04\xcb", false, true, 8, RBX + 8 * RCX, false),    // mov %rax,(%rbx,%rcx,8)
        ROW("\x66\xc7\x03\x01\x00", false, true, 2, RBX, false),          // movw $1,(%rbx)
        ROW("\xc6\x43\x01\x07", false, true, 1, RBX + 1, false),          // movb $7,1(%rbx)
        ROW("\x83\x03\x01", true, true, 4, RBX, false),                   // addl $1,(%rbx)
        ROW("\x83\x3b\x01", true, false, 4, RBX, false),                  // cmpl $1,(%rbx)
        ROW("\x0f\xb6\x0b", true, false, 1, RBX, false),                  // movzbl (%rbx),%ecx
        ROW("\x0f\xb7\x1b", true, false, 2, RBX, true),                   // movzwl (%rbx),%ebx
        ROW("\x48\x63\x03", true, false, 4, RBX, false),                  // movslq (%rbx),%rax
        ROW("\xf2\x0f\x10\x03", true, false, 8, RBX, false),              // movsd (%rbx),%xmm0
        ROW("\xf3\x0f\x11\x03", false, true, 4, RBX, false),              // movss %xmm0,(%rbx)
        ROW("\x0f\x11\x03", false, true, 16, RBX, false),                 // movups %xmm0,(%rbx)
        ROW("\xc5\xfb\x10\x03", true, false, 8, RBX, false),              // vmovsd (%rbx),%xmm0
        ROW("\xff\x83\x00\x01\x00\x00", true, true, 4, RBX + 256, false), // incl 256(%rbx)
        ROW("\x8b\x04\x25\x40\x00\x00\x00", true, false, 4, 0x40, false), // mov 0x40,%eax
        ROW("\xf7\xb3\x10\x00\x00\x00", true, false, 4, RBX + 16, false), // divl 16(%rbx)
        ROW("\x8a\x23", true, false, 1, RBX, false),                      // mov (%rbx),%ah
        ROW("\x8a\x3b", true, false, 1, RBX, true),                       // mov (%rbx),%bh
        ROW("\x66\x0f\xd4\x03", true, false, 16, RBX, false),             // paddq (%rbx),%xmm0
    };

    (void)state;
    for (unsigned i = 0; i < RB_LENGTH(rows); i++) {
        const struct rb_code c = decode(rows[i].bytes, rows[i].count);
        assert_false(c.barrier);
        assert_true(c.memory && c.known);
        assert_int_equal(c.reads, rows[i].reads);
        assert_int_equal(c.writes, rows[i].writes);
        assert_int_equal(c.size, rows[i].size);
        assert_int_equal(c.lost, rows[i].lost);
        if (!c.lost)
            assert_int_equal(c.address, rows[i].address);
    }
}

static void relative(void **state)
{
    static const uint8_t place[32] = {0x8b, 0x05, 0x10, 0, 0, 0}; // mov 16(%rip),%eax
    ucontext_t context;
    struct rb_code code;

    (void)state;
    memset(&context, 0, sizeof(context));
    rb_arch_code((uintptr_t)place, &context, &code);
    assert_int_equal(code.address, (uintptr_t)place + 6 + 16);
}

static void no_accesses(void **state)
{
    (void)state;
    assert_false(CODE("\x48\x8d\x43\x08").memory);                         // lea
    assert_false(CODE("\x0f\x1f\x40\x00").memory);                         // nop
    assert_false(CODE("\xb8\x01\x02\x03\x04").memory);                     // mov $,%eax: a call asleep
    assert_false(CODE("\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00").memory); // cs nopw
    assert_false(CODE("\x41\xbc\x0a\x00\x00\x00").memory);                 // mov $10,%r12d
    assert_false(CODE("\x66\x0f\x60\x03").known);                          // punpcklbw may take a half
    assert_true(CODE("\x8b\x44\x24\x08").on_frame);                        // mov 8(%rsp),%eax
    assert_true(CODE("\x8b\x45\xf8").on_frame);                            // mov -8(%rbp),%eax
}

// None of these may be taken for a plain access, or be passed by on the way to one.
static void barriers(void **state)
{
    (void)state;
    assert_true(CODE("\xf0\x83\x03\x01").barrier);     // lock addl
    assert_true(CODE("\x87\x03").barrier);             // xchg %eax,(%rbx): locked without saying so
    assert_true(CODE("\x86\x03").barrier);             // xchg %al,(%rbx)
    assert_true(CODE("\x0f\xb1\x0b").barrier);         // cmpxchg
    assert_true(CODE("\x0f\xc1\x03").barrier);         // xadd
    assert_true(CODE("\x0f\xc7\x0b").barrier);         // cmpxchg8b
    assert_true(CODE("\xf3\x48\xa5").barrier);         // rep movsq
    assert_true(CODE("\x0f\xae\xf0").barrier);         // mfence
    assert_true(CODE("\xe8\x00\x00\x00\x00").barrier); // call
    assert_true(CODE("\xeb\x00").barrier);             // jmp
    assert_true(CODE("\x74\x00").barrier);             // je
    assert_true(CODE("\xc3").barrier);                 // ret
    assert_true(CODE("\xff\x13").barrier);             // call *(%rbx)
    assert_true(CODE("\xff\x33").barrier);             // push (%rbx)
    assert_true(CODE("\x53").barrier);                 // push %rbx
    assert_true(CODE("\x48\x83\xec\x08").barrier);     // sub $8,%rsp
    assert_true(CODE("\x64\x8b\x04\x25\x00\x00\x00\x00").barrier); // mov %fs:0,%eax
    assert_true(CODE("\x0f\x05").barrier);                         // syscall
    assert_true(CODE("\xbc\x00\x00\x00\x00").barrier);             // mov $0,%esp
    assert_true(CODE("\xc5\xf8\x90\x03").barrier);                 // kmovw (%rbx),%k0: not setcc
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accesses),
        cmocka_unit_test(relative),
        cmocka_unit_test(no_accesses),
        cmocka_unit_test(barriers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
