/*
 * A plugin is loaded where a big block was that another thread has given back;
 * both threads write to its memory.
 * plugin: plugin_big.c
 */
#include "../order.h"
#include <dlfcn.h>

static int *place;

RB_UNSEEN int *rb_place(void)
{
    return place;
}

RB_UNSEEN void rb_keep(int *address)
{
    place = address;
}

static void first(void)
{
    const size_t bytes = 8 << 20;
    char *block = malloc(bytes);

    for (size_t i = 0; i < bytes; i += 32)
        block[i] = 1;
    rb_forget(block);
    free(block);
    rb_reach(1);
    rb_await(2);
    RB_CHECK(rb_place() != NULL);
    *rb_place() = 1; /* RACE 1 */
}

static void second(void)
{
    rb_await(1);
    void *plugin = dlopen(PLUGINS "/plugin_big.so", RTLD_NOW | RTLD_LOCAL);
    RB_CHECK(plugin != NULL);
    void (*set)(int) = (void (*)(int))dlsym(plugin, "plugin_set");
    RB_CHECK(set != NULL);
    set(1);
    rb_keep(dlsym(plugin, "plugin_big"));
    rb_reach(2);
}

int main(void)
{
    return rb_both(first, second);
}
