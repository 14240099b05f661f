/* AnnotateIgnoreSyncBegin: locks taken up to AnnotateIgnoreSyncEnd make no edge. */
#include "../order.h"

void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    pthread_mutex_lock(&mutex);
    data = 1; /* RACE 1 */
    pthread_mutex_unlock(&mutex);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    data = 2; /* RACE 2 */
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    return rb_both(first, second);
}
