#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static void must(int status, const struct rb_error *e, const char *what)
{
    if (status < 0) {
        fprintf(stderr, "%s: %s\n", what, e->text);
        abort();
    }
}

static void at_least(uint64_t *count, uint64_t used)
{
    if (*count < used + 1)
        *count = used + 1;
}

void test_trace(struct rb_reader *r, const struct rb_event *events, uint64_t count,
                const struct test_sizes *sizes)
{
    struct rb_error e = {0};
    struct rb_writer w;
    uint64_t n[RBT_TABLES] = {sizes->threads, sizes->locks, sizes->variables, sizes->locations,
                              sizes->functions, 0};
    const int fd = memfd_create("trace", MFD_CLOEXEC);

    if (fd < 0)
        abort();
    must(rb_writer_open(&w, "test trace", fd, NULL, &e), &e, "open");
    for (uint64_t i = 0; i < count; i++) {
        at_least(&n[RBT_THREADS], events[i].thread);
        at_least(&n[RBT_LOCATIONS], events[i].location);
        at_least(&n[rb_table_of_space[rb_op_info[events[i].op].space]], events[i].target);
        rb_writer_put(&w, &events[i], true);
    }
    for (int t = 0; t < RBT_TABLES; t++)
        rb_writer_table(&w, (enum rbt_table)t, n[t], NULL, 0);
    must(rb_writer_finish(&w, n[RBT_THREADS], 0), &e, "finish");
    must(rb_reader_open_fd(r, fd, "test trace", &e), &e, "read back");
}
