/*
 * A library's constructors run before anybody has it, and its destructors after everybody has closed it, whoever
 * opens it first and closes it last: the loader has a lock. Here each thread opens the library for itself, and
 * a mutex orders the users.
 * plugin: plugin_objects.cpp
 */
#include "../order.h"
#include <dlfcn.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

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
    pthread_mutex_lock(&mutex);
    function();
    pthread_mutex_unlock(&mutex);
}

static void first(void)
{
    void *library = open_library(); /* the constructors are this thread's */

    rb_reach(1);
    rb_await(2);
    dlclose(library); /* and the destructors */
    rb_reach(3);
    rb_await(4);
    library = open_library();
    use(library, "plugin_one");
    dlclose(library); /* not here */
    rb_reach(5);
}

static void second(void)
{
    void *library;

    rb_await(1);
    library = open_library();
    use(library, "plugin_two");
    dlclose(library);
    rb_reach(2);
    rb_await(3);
    library = open_library();
    use(library, "plugin_two");
    rb_reach(4);
    rb_await(5);
} /* left to the end of the program */

int main(void)
{
    return rb_both(first, second);
}
