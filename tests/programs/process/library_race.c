/*
 * The loader's lock orders the users of a library with its constructors and destructors, and not with each
 * other.
 * plugin: plugin_objects.cpp
 */
#include "../order.h"
#include <dlfcn.h>

static void *open_library(void)
{
    void *library = dlopen(PLUGINS "/plugin_objects.cpp.so", RTLD_NOW | RTLD_LOCAL);

    RB_CHECK(library != NULL);
    return library;
}

static void use(void *library, const char *name)
{
    void (*function)(void) = (void (*)(void))dlsym(library, name);

    RB_CHECK(function != NULL);
    function();
}

static void first(void)
{
    void *library = open_library();

    rb_reach(1);
    rb_await(2);
    use(library, "plugin_one");
    rb_reach(3);
    rb_await(4);
    dlclose(library);
}

static void second(void)
{
    rb_await(1);
    void *library = open_library();

    rb_reach(2);
    rb_await(3);
    use(library, "plugin_two");
    dlclose(library);
    rb_reach(4);
}

int main(void)
{
    return rb_both(first, second);
}
