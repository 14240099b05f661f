/* Memory of alloca, written by its owner and by another thread. */
#include "../order.h"
#include <alloca.h>

static void *child(void *argument)
{
    ((char *)argument)[30] = 1; /* RACE 1 */
    rb_reach(1);
    return NULL;
}

__attribute__((noinline)) static void use(int size)
{
    char *block = alloca((size_t)size);
    pthread_t thread;

    rb_forget(block);
    pthread_create(&thread, NULL, child, block);
    rb_await(1);
    block[30] = 2; /* RACE 2 */
    rb_escape(block);
    pthread_join(thread, NULL);
    rb_escape(block);
}

int main(void)
{
    use(100);
    return rb_done();
}
