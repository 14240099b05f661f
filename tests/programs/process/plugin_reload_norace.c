/*
 * A plugin is used by one thread and unloaded; what is loaded in its place has variables of its own, used by
 * another. plugin: plugin_total.c
 */
#include "../order.h"
#include <dlfcn.h>

static void use(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void (*add)(long value);

    RB_CHECK(plugin != NULL);
    add = (void (*)(long))dlsym(plugin, "plugin_add");
    RB_CHECK(add != NULL);
    add(1);
    RB_CHECK(dlclose(plugin) == 0);
}

static void first(void)
{
    use(PLUGINS "/plugin_total.so");
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    use(PLUGINS "/plugin_total.so");
}

int main(void)
{
    return rb_both(first, second);
}
