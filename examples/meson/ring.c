// A writer and a reader share a ring. The reader looks at `written` without waiting for anything.
#include <pthread.h>
#include <stdio.h>

#define SLOTS 16

static int slot[SLOTS];
static unsigned written;

static void *write_all(void *unused)
{
    for (int i = 0; i < SLOTS; i++) {
        slot[i] = i * i;
        written++; // the race: an atomic store with release order would do
    }
    return unused;
}

static void *read_all(void *sum)
{
    for (unsigned i = 0; i < SLOTS && i < written; i++)
        *(int *)sum += slot[i];
    return NULL;
}

int main(void)
{
    pthread_t writer, reader;
    int sum = 0;

    pthread_create(&writer, NULL, write_all, NULL);
    pthread_create(&reader, NULL, read_all, &sum);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    printf("read %s\n", sum ? "something" : "nothing");
    return 0;
}
