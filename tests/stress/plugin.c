// Loaded and unloaded all the time by stress.c.
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long calls, memory[64];

long plugin_call(int n);
long plugin_call(int n)
{
    pthread_mutex_lock(&mutex);
    memory[n & 63] += n;
    const long result = ++calls;
    pthread_mutex_unlock(&mutex);
    return result;
}
