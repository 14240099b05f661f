/* Calls of the same depth have their locals at the same place; each was written by a thread since joined. */
#include "../order.h"

static pthread_t thread;

static void *child(void *argument)
{
    *(long *)argument = 1;
    return NULL;
}

__attribute__((noinline)) static void use(void)
{
    long local = 0;

    rb_escape(&local);
    pthread_create(&thread, NULL, child, &local);
    pthread_join(thread, NULL);
    local++;
    rb_escape(&local);
}

int main(void)
{
    use();
    use();
    return rb_done();
}
