/*
 * A plugin is unloaded by its only user; what is loaded in its place for another has its own variables.
 * plugin: plugin_total.c
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
