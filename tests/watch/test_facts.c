// Code tables against the facts, and both against the processor.
//
// The test decodes itself: facts.py's instructions are part of it. Each is looked up and compared with what
// is written down; then it is run, with the registers it needs, three ways: with an int3 in its place (what
// does the table say it will touch?), and with data breakpoints on each of its operands' bytes and on those
// beside them (does the processor touch exactly these, in this direction; where does the trap come; what does
// the table say it has touched?).
//
// A run is driven by signals: an int3 in run() stops, the handler puts the fact's registers in place of ours,
// the int3 behind the instruction (or where a branch lands) ends it, and our registers come back.
#include "facts.h"

#include <asm/unistd.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "watch/code_table/code_table_build.h"

#define PERF_TRAP 6
#define DIRECTION 0x400
#define MOST_HITS 128
#define MOST_LOST 10

uint8_t fact_memory[MEMORY_BYTES] __attribute__((aligned(4096)));
uint8_t fact_stack[STACK_BYTES] __attribute__((aligned(4096)));
const uint32_t fact_constant = 0x11223344;
_Thread_local uint64_t fact_local = 0x8877665544332211;
extern const uint8_t fact_landing[], fact_go[];
__asm__(".text\nnop\nnop\nfact_landing: .cfi_startproc\nint3\n.cfi_endproc\n.previous\n");

static const uint8_t gregs[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static struct rb_code_table table;
static uintptr_t bias;
static unsigned failures, checks, runs, skipped;

#define CHECK(f, condition, ...)            \
    do {                                    \
        checks++;                           \
        if (!(condition)) {                 \
            failures++;                     \
            printf("FAIL %s: ", (f)->text); \
            printf(__VA_ARGS__);            \
            putchar('\n');                  \
        }                                   \
    } while (0)

// ---- values --------------------------------------------------------------------------------------------

static uintptr_t value_of(const struct place *p)
{
    uintptr_t from = 0;

    switch (p->area) {
    case NUMBER:
        break;
    case MEMORY:
        from = (uintptr_t)fact_memory;
        break;
    case STACK:
        from = (uintptr_t)fact_stack;
        break;
    case CONSTANT:
        from = (uintptr_t)&fact_constant;
        break;
    case LOCAL:
        from = (uintptr_t)&fact_local;
        break;
    case LOCAL_OFFSET:
        from = (uintptr_t)&fact_local - (uintptr_t)__builtin_thread_pointer();
        break;
    case LOW:
        from = LOW_ADDRESS;
        break;
    case LANDING:
        from = (uintptr_t)fact_landing;
        break;
    }
    return (from + (uintptr_t)p->offset) / (uintptr_t)(p->divisor ? p->divisor : 1);
}

// Bytes that differ from their neighbours, so that a value is found at one address alone.
static void fill(uint8_t *at, size_t bytes)
{
    uint32_t x = 12345;

    for (size_t i = 0; i < bytes; i++) {
        x = x * 1664525u + 1013904223u;
        at[i] = (uint8_t)((x >> 24) | 1);
    }
}

static void prepare_memory(const struct fact *f)
{
    fill(fact_memory, sizeof(fact_memory));
    fill(fact_stack, sizeof(fact_stack));
    fill((void *)(uintptr_t)LOW_ADDRESS, 4096);
    if (f->flags & FACT_SAME)
        memcpy(fact_memory + 0x3400, fact_memory + 0x2800, 256);
    for (unsigned i = 0; i < f->cells; i++) {
        const uintptr_t value = value_of(&f->cell[i].value);
        memcpy((void *)value_of(&f->cell[i].at), &value, sizeof(value));
    }
}

static void prepare_registers(const struct fact *f, ucontext_t *c)
{
    for (unsigned i = 0; i < 16; i++)
        if (gregs[i] != REG_RSP)
            c->uc_mcontext.gregs[gregs[i]] = (greg_t)(0x0101010101010101u * (i + 1));
    for (unsigned i = 0; i < f->registers; i++)
        c->uc_mcontext.gregs[gregs[f->reg[i].number]] = (greg_t)value_of(&f->reg[i].value);
    if (f->flags & FACT_DOWN)
        c->uc_mcontext.gregs[REG_EFL] |= DIRECTION;
    c->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)f->start;
}

// ---- what the table says, at rest ----------------------------------------------------------------------

static const struct rb_code_row *rows_of(const struct fact *f, unsigned *count)
{
    const struct rb_code_row *row;

    *count = rb_code_at(&table, (uint32_t)((uintptr_t)f->start - bias), &row);
    return row;
}

// Does what is touched agree with an operand? Before it runs.
static bool agrees(const struct fact *f, const struct fact_operand *o, const struct rb_code_touch *t)
{
    if (f->flags & FACT_SPREAD)
        return !t->exact && t->reads == o->reads && t->writes == o->writes;
    return t->address == value_of(&o->at) && t->size == o->size && t->reads == (bool)o->reads &&
           t->writes == (bool)o->writes && t->exact == !(f->flags & FACT_MASKED);
}

static void check_before(const struct fact *f, const ucontext_t *c, const char *when)
{
    unsigned count;
    const struct rb_code_row *row = rows_of(f, &count);

    CHECK(f, count == f->operands, "%s: %u rows instead of %u", when, count, f->operands);
    for (unsigned i = 0; i < count && count == f->operands; i++) {
        struct rb_code_touch t;
        rb_code_touch_before(&row[i], (uintptr_t)f->start, c, &t);
        CHECK(f, agrees(f, &f->operand[i], &t),
              "%s: operand %u: %#lx, %u bytes, %s%s%s instead of %#lx, %u bytes, %s%s", when, i, t.address,
              t.size, t.reads ? "r" : "", t.writes ? "w" : "", t.exact ? ", exact" : "",
              value_of(&f->operand[i].at), f->operand[i].size, f->operand[i].reads ? "r" : "",
              f->operand[i].writes ? "w" : "");
    }
}

static void check_table(const struct fact *f)
{
    ucontext_t c;
    unsigned count;
    const struct rb_code_row *row = rows_of(f, &count), *before;

    memset(&c, 0, sizeof(c));
    prepare_registers(f, &c);
    check_before(f, &c, "at rest");
    for (unsigned i = 0; i < count && count == f->operands; i++) {
        CHECK(f, row[i].length == f->end - f->start, "length %u instead of %td", row[i].length,
              f->end - f->start);
        CHECK(f, !(row[i].flags & RB_CODE_SITE) == !f->operand[i].site, "operand %u is %sa site", i,
              f->operand[i].site ? "not " : "");
        CHECK(f, !(row[i].flags & RB_CODE_REP) == !(f->flags & FACT_REP), "operand %u: repeats or not", i);
        CHECK(f, !(row[i].flags & RB_CODE_BRANCH) == !(f->flags & FACT_BRANCH), "operand %u: a branch or not",
              i);
        CHECK(f,
              !(row[i].flags & RB_CODE_STACK) == (f->operand[i].at.area != STACK) || strstr(f->text, "rbp"),
              "operand %u: of the stack or not", i);
        CHECK(f,
              !(row[i].flags & RB_CODE_LOCKED) == !(strstr(f->text, "lock") || strstr(f->text, "xchg ")) ||
                  strstr(f->text, "cmpxchg"),
              "operand %u: locked or not", i);
    }
    const unsigned ended = rb_code_before(&table, (uint32_t)((uintptr_t)f->end - bias), &before);
    CHECK(f, ended == (f->flags & FACT_BRANCH ? 0 : f->operands), "%u rows end at its end", ended);
    CHECK(f, !ended || before == row, "another row ends at its end");
}

// ---- running -------------------------------------------------------------------------------------------

struct hit {
    uintptr_t pc;
    unsigned rows; // that rb_code_before gave
    bool found;
    bool elsewhere; // is it said to have touched what it cannot have?
    struct rb_code_touch touch;
};

static const struct fact *volatile current;
static volatile bool plant; // an int3 in the place of the instruction
static uint8_t *planted;
static uint8_t planted_byte;
static ucontext_t home;
static volatile bool ended;
static volatile bool lost; // a hit came without its cause, as on virtual machines, so not from the event
static volatile int died;
static struct hit hits[MOST_HITS];
static volatile unsigned hit_count;
static int event = -1;
static struct perf_event_attr attr;

static void go_home(ucontext_t *c)
{
    memcpy(c->uc_mcontext.gregs, home.uc_mcontext.gregs, sizeof(home.uc_mcontext.gregs));
    ended = true;
}

static void take_hit(ucontext_t *c)
{
    struct hit *h = &hits[hit_count < MOST_HITS ? hit_count++ : MOST_HITS - 1];
    const struct rb_code_row *row;

    ioctl(event, PERF_EVENT_IOC_DISABLE, 0); // what is looked at below is watched
    *h = (struct hit){.pc = (uintptr_t)c->uc_mcontext.gregs[REG_RIP]};
    h->rows = rb_code_before(&table, (uint32_t)(h->pc - bias), &row);
    h->found = rb_code_touched(row, h->rows, bias, c, attr.bp_addr, (unsigned)attr.bp_len, &h->touch);
    for (unsigned i = 0; i < h->rows; i++) {
        struct rb_code_touch t;
        h->elsewhere |= !(row[i].flags & (RB_CODE_LOST | RB_CODE_SPREAD)) &&
                        rb_code_touch_after(&row[i], row[i].offset + bias, c, attr.bp_addr + 0x200, 8, &t);
    }
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    ucontext_t *c = context;
    const uintptr_t pc = (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
    const struct fact *f = current;

    (void)number;
    if (info->si_code == PERF_TRAP) {
        take_hit(c);
    } else if (pc == (uintptr_t)fact_go) {
        home = *c;
        prepare_registers(f, c);
        if (plant) {
            planted = (uint8_t *)(uintptr_t)f->start;
            planted_byte = *planted;
            *planted = 0xcc;
        }
        if (event >= 0 && attr.bp_len)
            ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
    } else if (planted && pc == (uintptr_t)f->start + 1) {
        *planted = planted_byte;
        planted = NULL;
        c->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)f->start;
        check_before(f, c, "at an int3");
        prepare_registers(f, c);
    } else {
        lost = info->si_code != SI_KERNEL; // which an int3 has
        go_home(c);
    }
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)info;
    died = number;
    if (!current || ended)
        _exit(3);
    go_home(context);
}

static const uint32_t lanes[2][8] = {{0x80808080u, 0x80808080u, 0, 0, 0x80808080u, 0x80808080u, 0, 0},
                                     {0, 2, 5, 9, 11, 14, 20, 31}};
static const uint32_t all_lanes[8] = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u};

// Vector registers for masks and indices, something for the x87 unit, then the int3 that leads to the fact.
void fact_stop(const void *lanes, const void *all_lanes, int avx);
__asm__(".text\nfact_stop: .cfi_startproc\n"
        "fninit\nfld1\n"
        "movdqu (%rdi),%xmm6\ntest %edx,%edx\njz 1f\n"
        "vmovdqu (%rdi),%ymm6\nvmovdqu 32(%rdi),%ymm7\nvmovdqu (%rsi),%ymm5\n"
        "1: int3\n"
        "fact_go: fninit\nemms\ntest %edx,%edx\njz 2f\nvzeroupper\n"
        "2: ret\n.cfi_endproc\n.previous\n");

static void run(const struct fact *f)
{
    current = f;
    ended = false;
    lost = false;
    died = 0;
    hit_count = 0;
    prepare_memory(f);
    fact_stop(lanes, all_lanes, __builtin_cpu_supports("avx"));
    if (event >= 0)
        ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
    current = NULL;
    runs++;
    CHECK(f, ended && !died, "it ended with signal %d", died);
}

static bool can_run(const struct fact *f)
{
    const char *n = f->needs;

    if (f->flags & FACT_STILL)
        return false;
    if (!*n)
        return true;
    if (!strcmp(n, "avx"))
        return __builtin_cpu_supports("avx");
    if (!strcmp(n, "avx2"))
        return __builtin_cpu_supports("avx2");
    if (!strcmp(n, "sse4.2"))
        return __builtin_cpu_supports("sse4.2");
    if (!strcmp(n, "fma") || !strcmp(n, "f16c") || !strcmp(n, "movbe"))
        return __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("avx2"); // came with the same processors
    if (!strcmp(n, "bmi") || !strcmp(n, "bmi2") || !strcmp(n, "lzcnt"))
        return __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (!strcmp(n, "adx")) {
        FILE *info = fopen("/proc/cpuinfo", "r");
        char line[8192];
        bool there = false;
        while (info && !there && fgets(line, sizeof(line), info))
            there = !strncmp(line, "flags", 5) && strstr(line, " adx ");
        if (info)
            fclose(info);
        return there;
    }
    return false; // AVX-512: looked at, not run
}

// ---- breakpoints ---------------------------------------------------------------------------------------

static bool open_event(void)
{
    attr = (struct perf_event_attr){.type = PERF_TYPE_BREAKPOINT,
                                    .size = sizeof(attr),
                                    .sample_period = 1,
                                    .bp_type = HW_BREAKPOINT_RW,
                                    .bp_addr = (uintptr_t)fact_memory,
                                    .bp_len = HW_BREAKPOINT_LEN_1,
                                    .disabled = 1,
                                    .exclude_kernel = 1,
                                    .exclude_hv = 1,
                                    .inherit = 1,
                                    .inherit_thread = 1,
                                    .remove_on_exec = 1,
                                    .sigtrap = 1};
    event = (int)syscall(__NR_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    attr.bp_len = 0;
    return event >= 0;
}

// Runs with a breakpoint: were the bytes touched?
static bool touched(const struct fact *f, uintptr_t address, unsigned bytes, bool writes_only)
{
    attr.bp_addr = address;
    attr.bp_len = bytes;
    attr.bp_type = writes_only ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW;
    attr.disabled = 1;
    if (ioctl(event, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr)) {
        CHECK(f, false, "the breakpoint is refused: %s", strerror(errno));
        return false;
    }
    run(f);
    for (unsigned i = 0; i < MOST_LOST && lost; i++)
        run(f);
    attr.bp_len = 0;
    return hit_count;
}

// A hit on an operand: does the table name it?
static void check_hit(const struct fact *f, unsigned number, uintptr_t watched, unsigned bytes)
{
    const struct fact_operand *o = &f->operand[number];
    const struct hit *h = &hits[0];
    const struct rb_code_touch *t = &h->touch;
    const uintptr_t from = value_of(&o->at);
    unsigned count;
    const struct rb_code_row *row = rows_of(f, &count);

    if (f->flags & FACT_BRANCH) {
        CHECK(f, h->pc == (uintptr_t)fact_landing && !h->rows, "a branch: trap at %#lx, %u rows", h->pc,
              h->rows);
        return;
    }
    CHECK(f, h->pc == (uintptr_t)f->end || (f->flags & FACT_REP && h->pc == (uintptr_t)f->start),
          "the trap is at %+td from its start", (const uint8_t *)h->pc - f->start);
    CHECK(f, h->found, "%u bytes at %+td of operand %u are touched, the table says they cannot be", bytes,
          (ptrdiff_t)(watched - from), number);
    CHECK(f, !h->elsewhere, "it is said to have touched other bytes as well");
    if (!h->found || count != f->operands)
        return;
    CHECK(f, t->reads == (bool)o->reads && t->writes == (bool)o->writes, "afterwards %s%s",
          t->reads ? "r" : "", t->writes ? "w" : "");
    CHECK(f, t->address < watched + bytes && watched < t->address + t->size, "not the watched bytes");
    const uint32_t one = row[number].size;
    if (!t->exact) {
        CHECK(f, f->flags & (FACT_SPREAD | FACT_MASKED | FACT_EITHER | FACT_REP),
              "operand %u at %+td: not exact", number, (ptrdiff_t)(watched - from));
        CHECK(f, t->address == watched && t->size == bytes, "not exact, and not what is watched");
    } else if (f->flags & FACT_REP) {
        CHECK(f,
              t->size == one && t->address >= from && t->address + one <= from + o->size &&
                  !((t->address - from) % one),
              "one turn at %+td, %u bytes", (ptrdiff_t)(t->address - from), t->size);
    } else {
        CHECK(f, !(f->flags & (FACT_SPREAD | FACT_MASKED)) && t->address == from && t->size == o->size,
              "afterwards %u bytes at %+td of operand %u", t->size, (ptrdiff_t)(t->address - from), number);
    }
}

static unsigned piece(uintptr_t address, uint32_t size)
{
    unsigned bytes = 8;

    while (bytes > size || address % bytes)
        bytes /= 2;
    return bytes;
}

// Another operand of the same fact there?
static bool is_other(const struct fact *f, unsigned number, uintptr_t address)
{
    const struct fact_operand *o = &f->operand[!number];

    return f->operands == 2 && address - value_of(&o->at) < o->size;
}

static void check_processor(const struct fact *f, unsigned number)
{
    const struct fact_operand *o = &f->operand[number];
    const uintptr_t from = value_of(&o->at), last = from + o->size - 1;
    const bool sure = !(f->flags & FACT_MASKED) || f->flags & FACT_REP; // is every byte touched?
    const unsigned whole = piece(from, o->size);

    CHECK(f, touched(f, from, 1, false) || f->flags & FACT_LOOSE, "operand %u: its first byte is not touched",
          number);
    if (hit_count)
        check_hit(f, number, from, 1);
    CHECK(f, touched(f, from, whole, false) || f->flags & FACT_LOOSE,
          "operand %u: its first %u bytes are not touched", number, whole);
    if (hit_count)
        check_hit(f, number, from, whole);
    CHECK(f, touched(f, from & ~(uintptr_t)7, 8, false) || f->flags & FACT_LOOSE,
          "operand %u: the word it begins in is not touched", number);
    if (hit_count && !is_other(f, number, from & ~(uintptr_t)7) && !(f->flags & FACT_REP))
        check_hit(f, number, from & ~(uintptr_t)7, 8);
    CHECK(f, touched(f, from, whole, true) == (bool)o->writes, "operand %u: is %swritten", number,
          o->writes ? "not " : "");
    if (f->flags & FACT_SPREAD)
        return;
    if (touched(f, last, 1, false))
        check_hit(f, number, last, 1);
    CHECK(f, hit_count || !sure, "operand %u: its last byte is not touched", number);
    CHECK(f, is_other(f, number, from - 1) || !touched(f, from - 1, 1, false),
          "operand %u: touches a byte before it", number);
    CHECK(f, is_other(f, number, last + 1) || !touched(f, last + 1, 1, false),
          "operand %u: touches a byte after it", number);
}

// ---- all of it -----------------------------------------------------------------------------------------

static bool open_table(void)
{
    struct rb_error e = {0};
    struct rb_code_image image;
    char path[] = "/tmp/facts-XXXXXX";
    const int fd = mkstemp(path);

    close(fd);
    if (fd < 0 || rb_code_build("/proc/self/exe", &image, &e) ||
        rb_code_write(image.header, (size_t)image.header->file_bytes, path, &e)) {
        printf("FAIL: no table: %s\n", e.text);
        return false;
    }
    const char *wrong = rb_code_open(&table, path, image.header->build_id, image.header->build_id_bytes);
    rb_code_free(&image);
    unlink(path);
    if (wrong)
        printf("FAIL: the table is refused: %s\n", wrong);
    return !wrong;
}

static void take_signals(void)
{
    static uint8_t other_stack[1 << 16];
    const stack_t s = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
    struct sigaction a = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    sigaltstack(&s, NULL);
    sigaction(SIGTRAP, &a, NULL);
    a.sa_sigaction = on_fault;
    sigaction(SIGSEGV, &a, NULL);
    sigaction(SIGBUS, &a, NULL);
    sigaction(SIGILL, &a, NULL);
    sigaction(SIGFPE, &a, NULL);
}

static bool make_writable(void)
{
    const uintptr_t from = (uintptr_t)facts[0].start & ~(uintptr_t)4095;
    const uintptr_t to = ((uintptr_t)facts[fact_count - 1].end | 4095) + 1;

    return mmap((void *)(uintptr_t)LOW_ADDRESS, 4096, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == (void *)(uintptr_t)LOW_ADDRESS &&
           !mprotect((void *)from, to - from, PROT_READ | PROT_WRITE | PROT_EXEC);
}

extern const uint8_t __ehdr_start[] __attribute__((visibility("hidden")));

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    bias =
        getauxval(AT_ENTRY) < 0x400000 + (64u << 20) ? 0 : (uintptr_t)__ehdr_start; // at a fixed place or not
    if (!open_table())
        return 1;
    for (unsigned i = 0; i < fact_count; i++)
        check_table(&facts[i]);
    const unsigned at_rest = checks;
    take_signals();
    if (!make_writable()) {
        puts("skipped: code cannot be made writable here, so nothing is run");
        return failures ? 1 : 77;
    }
    const bool breakpoints = open_event();
    const int why = errno;
    for (unsigned i = 0; i < fact_count; i++) {
        const struct fact *f = &facts[i];
        if (!can_run(f)) {
            skipped++;
            continue;
        }
        plant = true;
        run(f);
        plant = false;
        for (unsigned n = 0; n < f->operands && breakpoints; n++)
            check_processor(f, n);
    }
    printf("%u instructions, %u checks at rest, %u in %u runs, %u not run, %u failures\n", fact_count,
           at_rest, checks - at_rest, runs, skipped, failures);
    if (failures)
        return 1;
    if (!breakpoints) {
        printf("skipped: no hardware breakpoints (%s), so the processor was not asked\n", strerror(why));
        return 77;
    }
    return 0;
}
