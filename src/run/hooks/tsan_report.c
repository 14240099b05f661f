// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program's queries about a report and about memory, by TSan's names. The
// answers are looked up when they are asked for.
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inproc/modules.h"
#include "inproc/text_buffer.h"
#include "inproc/tool.h"
#include "run/intercept/descriptors.h"
#include "run/intercept/heap.h"
#include "run/report/race.h"
#include "run/sync/thread.h"

#define FRAMES 64u

static RB_TLS const struct rb_report_view *current;

// The program's own, if it has one.
extern void __tsan_on_report(void *report) __attribute__((weak));

bool rb_report_hook_is_set(void)
{
    return __tsan_on_report != NULL;
}

void rb_report_hook(struct rb_self *me, const struct rb_report_view *view)
{
    const struct rb_report_view *outer = current;

    if (!__tsan_on_report)
        return;
    current = view;
    rb_leave(me);
    __tsan_on_report((void *)(uintptr_t)view);
    me->busy = 1;
    __asm__ volatile("" ::: "memory");
    current = outer;
}

static unsigned copy_stack(rb_stack stack, void **trace, unsigned long room)
{
    uintptr_t pcs[FRAMES];
    const unsigned n = rb_stack_frames(stack, pcs, FRAMES);
    unsigned i = 0;

    for (; trace && i < n && i < room; i++)
        trace[i] = (void *)pcs[i];
    return i;
}

// ---- where an address belongs --------------------------------------------------------------------------

struct place {
    const char *kind; // TSan's name of it
    uintptr_t start;
    size_t size;
    uint32_t thread;
    rb_stack stack;
    int fd;
};

static void find_place(uintptr_t address, struct place *p)
{
    struct rb_block b;
    bool tls;

    *p = (struct place){.kind = "global", .thread = RB_NO_THREAD};
    if (rb_fd_of_word(address, &p->fd))
        p->kind = "fd";
    else if (rb_heap_block(address, &b))
        *p = (struct place){"heap", b.address, b.size, b.thread, b.stack, 0};
    else if (rb_thread_of_stack(address, &p->thread, &tls))
        p->kind = tls ? "tls" : "stack";
}

// A file as it is on disk, for its symbol table.
struct file {
    const unsigned char *bytes;
    size_t size;
};

static bool map_file(const char *path, struct file *f)
{
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    struct stat s;
    long map = -1;

    if (fd < 0)
        return false;
    if (syscall(SYS_fstat, fd, &s) == 0 && s.st_size > 0)
        map = syscall(SYS_mmap, NULL, s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    syscall(SYS_close, fd);
    *f = (struct file){(const unsigned char *)map, (size_t)s.st_size};
    return (unsigned long)map <= -4096ul;
}

static bool is_inside_file(const struct file *f, uint64_t at, uint64_t bytes)
{
    return at <= f->size && bytes <= f->size - at;
}

// Finds the variable (STT_OBJECT) or function (STT_FUNC) at `address` in one symbol
// table. The address is relative to the file.
static bool search_table(const struct file *f, const ElfW(Shdr) * table, const ElfW(Shdr) * names, int type,
                         uintptr_t address, struct place *p, char *name, size_t room)
{
    const ElfW(Sym) *symbol = (const void *)(f->bytes + table->sh_offset);

    for (size_t n = table->sh_size / sizeof(*symbol); n; n--, symbol++) {
        if (ELF64_ST_TYPE(symbol->st_info) != type || symbol->st_shndx == SHN_UNDEF ||
            address < symbol->st_value || address - symbol->st_value >= symbol->st_size)
            continue;
        p->start = symbol->st_value;
        p->size = symbol->st_size;
        size_t i = 0;
        for (; i + 1 < room && symbol->st_name + i < names->sh_size; i++)
            if (!(name[i] = (char)f->bytes[names->sh_offset + symbol->st_name + i]))
                break;
        if (room)
            name[i] = 0;
        return true;
    }
    return false;
}

static bool search_file(const struct file *f, int type, uintptr_t address, struct place *p, char *name,
                        size_t room)
{
    const ElfW(Ehdr) *head = (const void *)f->bytes;

    if (f->size < sizeof(*head) || head->e_shentsize != sizeof(ElfW(Shdr)) ||
        !is_inside_file(f, head->e_shoff, head->e_shnum * sizeof(ElfW(Shdr))))
        return false;
    const ElfW(Shdr) *section = (const void *)(f->bytes + head->e_shoff);
    for (unsigned i = 0; i < head->e_shnum; i++) {
        const ElfW(Shdr) *table = &section[i];
        if ((table->sh_type != SHT_SYMTAB && table->sh_type != SHT_DYNSYM) || table->sh_link >= head->e_shnum)
            continue;
        const ElfW(Shdr) *names = &section[table->sh_link];
        if (is_inside_file(f, table->sh_offset, table->sh_size) &&
            is_inside_file(f, names->sh_offset, names->sh_size) &&
            search_table(f, table, names, type, address, p, name, room))
            return true;
    }
    return false;
}

static void find_symbol(int type, uintptr_t address, struct place *p, char *name, size_t room)
{
    struct rb_module m;
    struct file f;

    if (!rb_module_of(address, &m) || !map_file(m.path, &f))
        return;
    if (search_file(&f, type, address - m.bias, p, name, room))
        p->start += m.bias;
    syscall(SYS_munmap, f.bytes, f.size);
}

RB_EXPORT const char *__tsan_locate_address(uintptr_t address, char *name, size_t room, uintptr_t *start,
                                            size_t *size);
RB_EXPORT const char *__tsan_locate_address(uintptr_t address, char *name, size_t room, uintptr_t *start,
                                            size_t *size)
{
    struct rb_self *me = rb_enter();
    struct place p;

    if (name && room)
        name[0] = 0;
    find_place(address, &p);
    if (p.kind[0] == 'g')
        find_symbol(STT_OBJECT, address, &p, name ? name : (char[1]){0}, name ? room : 1);
    if (start)
        *start = p.start;
    if (size)
        *size = p.size;
    if (me)
        rb_leave(me);
    return p.kind;
}

RB_EXPORT int __tsan_get_alloc_stack(uintptr_t address, void **trace, size_t room, int *thread,
                                     uint64_t *os_id);
RB_EXPORT int __tsan_get_alloc_stack(uintptr_t address, void **trace, size_t room, int *thread,
                                     uint64_t *os_id)
{
    struct rb_self *me = rb_enter();
    struct rb_thread_note note;
    struct rb_block b;
    unsigned n = 0;

    if (!me)
        return 0;
    if (rb_heap_block(address, &b) && b.thread != RB_NO_THREAD) {
        *thread = (int)b.thread;
        *os_id = rb_thread_note(b.thread, &note) ? note.os_id : 0;
        n = copy_stack(b.stack, trace, room);
    }
    rb_leave(me);
    return (int)n;
}

RB_WEAK int __sanitizer_get_module_and_offset_for_pc(void *pc, char *path, size_t room, void **offset);
RB_WEAK int __sanitizer_get_module_and_offset_for_pc(void *pc, char *path, size_t room, void **offset)
{
    struct rb_module m;
    size_t i = 0;

    if (!rb_module_of((uintptr_t)pc, &m))
        return 0;
    for (; path && i + 1 < room && m.path[i]; i++)
        path[i] = m.path[i];
    if (path && room)
        path[i] = 0;
    if (offset)
        *offset = (void *)((uintptr_t)pc - m.bias);
    return 1;
}

// ---- the report ----------------------------------------------------------------------------------------
// Each returns 1, or 0 if there is nothing of the kind.

RB_EXPORT void *__tsan_get_current_report(void);
RB_EXPORT void *__tsan_get_current_report(void)
{
    return (void *)(uintptr_t)current;
}

static bool has_place(const struct rb_report_view *view, struct place *p)
{
    struct rb_module m;

    find_place(view->access[0].address, p);
    return p->kind[0] != 'g' || rb_module_of(view->access[0].address, &m);
}

static unsigned threads_of(const struct rb_report_view *view)
{
    return view->access[0].thread == view->access[1].thread ? 1 : 2;
}

RB_EXPORT int __tsan_get_report_data(void *report, const char **description, int *count, int *stacks,
                                     int *accesses, int *places, int *mutexes, int *threads, int *ids,
                                     void **sleep_trace, unsigned long room);
RB_EXPORT int __tsan_get_report_data(void *report, const char **description, int *count, int *stacks,
                                     int *accesses, int *places, int *mutexes, int *threads, int *ids,
                                     void **sleep_trace, unsigned long room)
{
    struct place p;

    (void)sleep_trace; // there is none
    (void)room;
    *description = "data-race";
    *count = *stacks = *mutexes = 0;
    *accesses = 2;
    *places = has_place(report, &p);
    *threads = *ids = (int)threads_of(report);
    return 1;
}

// Stacks beside those of accesses, places and threads, locks held,
// tags of external objects: there are none.
RB_EXPORT int __tsan_get_report_stack(void *report, unsigned long i, void **trace, unsigned long room);
RB_EXPORT int __tsan_get_report_stack(void *report, unsigned long i, void **trace, unsigned long room)
{
    (void)report, (void)i, (void)trace, (void)room;
    return 0;
}

RB_EXPORT int __tsan_get_report_mutex(void *report, unsigned long i, uint64_t *id, void **address,
                                      int *destroyed, void **trace, unsigned long room);
RB_EXPORT int __tsan_get_report_mutex(void *report, unsigned long i, uint64_t *id, void **address,
                                      int *destroyed, void **trace, unsigned long room)
{
    (void)report, (void)i, (void)id, (void)address, (void)destroyed, (void)trace, (void)room;
    return 0;
}

RB_EXPORT int __tsan_get_report_tag(void *report, uintptr_t *tag);
RB_EXPORT int __tsan_get_report_tag(void *report, uintptr_t *tag)
{
    (void)report;
    *tag = 0;
    return 1;
}

RB_EXPORT int __tsan_get_report_mop(void *report, unsigned long i, int *thread, void **address, int *size,
                                    int *write, int *atomic, void **trace, unsigned long room);
RB_EXPORT int __tsan_get_report_mop(void *report, unsigned long i, int *thread, void **address, int *size,
                                    int *write, int *atomic, void **trace, unsigned long room)
{
    const struct rb_report_view *view = report;

    if (i >= 2)
        return 0;
    *thread = (int)view->access[i].thread;
    *address = (void *)view->access[i].address;
    *size = (int)view->access[i].size;
    *write = view->access[i].write;
    *atomic = view->access[i].atomic;
    copy_stack(view->access[i].stack, trace, room);
    return 1;
}

RB_EXPORT int __tsan_get_report_loc(void *report, unsigned long i, const char **type, void **address,
                                    void **start, unsigned long *size, int *thread, int *fd,
                                    int *suppressable, void **trace, unsigned long room);
RB_EXPORT int __tsan_get_report_loc(void *report, unsigned long i, const char **type, void **address,
                                    void **start, unsigned long *size, int *thread, int *fd,
                                    int *suppressable, void **trace, unsigned long room)
{
    const struct rb_report_view *view = report;
    struct place p;

    if (i || !has_place(view, &p))
        return 0;
    if (p.kind[0] == 'g')
        find_symbol(STT_OBJECT, view->access[0].address, &p, (char[1]){0}, 1);
    *type = p.kind;
    *address = (void *)view->access[0].address;
    *start = (void *)p.start;
    *size = p.size;
    *thread = p.thread == RB_NO_THREAD ? -1 : (int)p.thread;
    *fd = p.fd;
    *suppressable = 0;
    copy_stack(p.stack, trace, room);
    return 1;
}

RB_EXPORT int __tsan_get_report_loc_object_type(void *report, unsigned long i, const char **type);
RB_EXPORT int __tsan_get_report_loc_object_type(void *report, unsigned long i, const char **type)
{
    (void)report, (void)i;
    *type = "";
    return 1;
}

RB_EXPORT int __tsan_get_report_unique_tid(void *report, unsigned long i, int *thread);
RB_EXPORT int __tsan_get_report_unique_tid(void *report, unsigned long i, int *thread)
{
    const struct rb_report_view *view = report;

    if (i >= threads_of(view))
        return 0;
    *thread = (int)view->access[i].thread;
    return 1;
}

RB_EXPORT int __tsan_get_report_thread(void *report, unsigned long i, int *thread, uint64_t *os_id,
                                       int *running, const char **name, int *parent, void **trace,
                                       unsigned long room);
RB_EXPORT int __tsan_get_report_thread(void *report, unsigned long i, int *thread, uint64_t *os_id,
                                       int *running, const char **name, int *parent, void **trace,
                                       unsigned long room)
{
    const struct rb_report_view *view = report;
    static RB_TLS struct rb_thread_note note; // the memory of the name

    if (i >= threads_of(view) || !rb_thread_note(view->access[i].thread, &note))
        return 0;
    *thread = (int)note.id;
    *os_id = note.os_id;
    *running = note.running;
    *name = note.name;
    *parent = note.parent == RB_NO_THREAD ? -1 : (int)note.parent;
    copy_stack(note.created, trace, room);
    return 1;
}

// ---- a stack on request --------------------------------------------------------------------------------

RB_WEAK void __sanitizer_print_stack_trace(void);
RB_WEAK void __sanitizer_print_stack_trace(void)
{
    struct rb_self *me = rb_enter();
    uintptr_t pcs[FRAMES];
    char text[4096 + 64];

    if (!me)
        return;
    const unsigned n = rb_stack_frames(rb_stack_here(&me->walk, RB_PC, FRAMES), pcs, FRAMES);
    for (unsigned i = 0; i < n; i++) {
        struct rb_module m;
        struct rb_text t;
        rb_text_init(&t, text, sizeof(text));
        rb_put(&t, "    #");
        rb_put_number(&t, i);
        rb_put_char(&t, ' ');
        rb_put_hex(&t, pcs[i]);
        if (rb_module_of(pcs[i], &m)) {
            rb_put(&t, " (");
            rb_put(&t, m.path);
            rb_put_char(&t, '+');
            rb_put_hex(&t, pcs[i] - m.bias);
            rb_put_char(&t, ')');
        }
        rb_put_char(&t, '\n');
        rb_write_all(2, t.start, (size_t)(t.at - t.start));
    }
    rb_leave(me);
}

// ---- names on request ----------------------------------------------------------------------------------

// From the symbol tables of the files. Lines are known to the tool alone, so there are none.

static void put_described(struct rb_text *t, const char *format, uintptr_t address, const struct place *p,
                          const char *name)
{
    struct rb_module m = {.path = "??"};
    const bool known = rb_module_of(address, &m);

    for (; *format; format++) {
        if (*format != '%' || !format[1]) {
            rb_put_char(t, *format);
            continue;
        }
        switch (*++format) {
        case 'p':
            rb_put_hex(t, address);
            break;
        case 'n':
            rb_put_number(t, 0);
            break;
        case 'l':
        case 'c':
            rb_put_number(t, 0);
            break;
        case 'g':
        case 'f':
            rb_put(t, name[0] ? name : "??");
            break;
        case 'F':
            rb_put(t, "in ");
            rb_put(t, name[0] ? name : "??");
            break;
        case 'q':
            rb_put_hex(t, p->start ? address - p->start : 0);
            break;
        case 'm':
        case 's':
        case 'S':
            rb_put(t, m.path);
            break;
        case 'o':
            rb_put_hex(t, known ? address - m.bias : 0);
            break;
        case 'L':
        case 'M':
            rb_put_char(t, '(');
            rb_put(t, m.path);
            rb_put_char(t, '+');
            rb_put_hex(t, known ? address - m.bias : 0);
            rb_put_char(t, ')');
            break;
        default:
            rb_put_char(t, *format);
        }
    }
}

static void describe_address(int type, uintptr_t address, const char *format, char *to, size_t room)
{
    struct rb_self *me = rb_enter();
    struct place p = {0};
    struct rb_text t;
    char name[256] = "";

    if (room < 2) {
        if (room)
            to[0] = 0;
    } else {
        find_symbol(type, address, &p, name, sizeof(name));
        rb_text_init(&t, to, room - 1);
        put_described(&t, format, address, &p, name);
        *t.at = 0;
    }
    if (me)
        rb_leave(me);
}

RB_WEAK void __sanitizer_symbolize_pc(void *pc, const char *format, char *to, size_t room);
RB_WEAK void __sanitizer_symbolize_pc(void *pc, const char *format, char *to, size_t room)
{
    describe_address(STT_FUNC, (uintptr_t)pc, format, to, room);
}

RB_WEAK void __sanitizer_symbolize_global(void *address, const char *format, char *to, size_t room);
RB_WEAK void __sanitizer_symbolize_global(void *address, const char *format, char *to, size_t room)
{
    describe_address(STT_OBJECT, (uintptr_t)address, format, to, room);
}
