/*
 * A plugin is loaded where a big block was that another thread has given back: nothing is shared.
 * A thread's own memory of it is freed by who makes the next thread, in an order of libc's.
 * plugin: plugin_big.c
 */
#include "../order.h"
#include <dlfcn.h>

void (*plugin_fill)(int value);

static void nothing(void)
{
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
    pthread_join(rb_start(nothing), NULL); /* on the stack of one that is gone */
}

static void use(void)
{
    plugin_fill(2);
}

static void second(void)
{
    rb_await(1);
    void *plugin = dlopen(PLUGINS "/plugin_big.so", RTLD_NOW | RTLD_LOCAL);
    RB_CHECK(plugin != NULL);
    void (*set)(int) = (void (*)(int))dlsym(plugin, "plugin_set");
    RB_CHECK(set != NULL);
    set(1);
    plugin_fill = (void (*)(int))dlsym(plugin, "plugin_fill");
    RB_CHECK(plugin_fill != NULL);
    for (int i = 0; i < 5; i++)
        pthread_join(rb_start(use), NULL);
    rb_reach(2);
}

int main(void)
{
    return rb_both(first, second);
}
