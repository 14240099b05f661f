// exits HOW: main makes two threads that race, and ends while they wait for their turn.
//   begin  they race once exit has begun, and end      stay  they do not end
//   alone  main joins them first                       _exit the same as begin, by _exit
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long shared;
static int stays, alone;
static atomic_int exiting;

static void *race(void *unused)
{
    for (int i = 0; i < 1000000 && !atomic_load_explicit(&exiting, memory_order_relaxed) && !alone; i++)
        usleep(1000);
    usleep(20000); // the plain program is gone by now
    if (!alone)
        shared++;
    while (stays)
        pause();
    return unused;
}

// Registered after the first thread was made, so it runs before exit waits for threads.
static void note_exit(void)
{
    atomic_store_explicit(&exiting, 1, memory_order_relaxed);
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    const char *how = argc > 1 ? argv[1] : "begin";

    stays = strcmp(how, "stay") == 0;
    alone = strcmp(how, "alone") == 0;
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, race, NULL))
            return 1;
    atexit(note_exit);
    for (int i = 0; alone && i < 2; i++)
        pthread_join(threads[i], NULL);
    puts("main ends");
    if (strcmp(how, "_exit") == 0) {
        fflush(stdout);
        note_exit();
        _exit(0);
    }
    return 0;
}
