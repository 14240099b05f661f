/*
 * A plugin, loaded while the program runs, and the program share a mutex.
 * plugin: plugin_counter.c
 */
#include "../order.h"
#include <dlfcn.h>

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
void (*plugin_set)(int *place, int value);

static void first(void)
{
    pthread_mutex_lock(&mutex);
    data = 1;
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    plugin_set(&data, 2);
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    void *plugin = dlopen(PLUGINS "/plugin_counter.so", RTLD_NOW | RTLD_LOCAL);

    RB_CHECK(plugin != NULL);
    plugin_set = (void (*)(int *, int))dlsym(plugin, "plugin_set");
    RB_CHECK(plugin_set != NULL);
    return rb_both(first, second);
}
