// Threads format messages into buffers of their own, which a sink takes under a lock. Races: the level is
// looked at without it, and changed by a thread that only watches the configuration.
#include "detect.h"

#ifndef CHANGES
#define CHANGES 1
#endif
enum { BUFFER = 4096 };
static struct {
    pthread_mutex_t mutex;
    unsigned long bytes, sum;
} sink = {.mutex = PTHREAD_MUTEX_INITIALIZER};
struct {
    int racy_level;
} config;
static long rounds, written[MOST_THREADS];

static int put_number(char *out, unsigned value)
{
    char digits[12];
    int n = 0, length;

    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    length = n;
    while (n)
        *out++ = digits[--n];
    return length;
}

static void flush(const char *buffer, int bytes)
{
    unsigned long sum = 0;

    for (int i = 0; i < bytes; i++)
        sum += (unsigned char)buffer[i];
    pthread_mutex_lock(&sink.mutex);
    sink.bytes += (unsigned long)bytes;
    sink.sum += sum;
    pthread_mutex_unlock(&sink.mutex);
}

static int is_wanted(int severity)
{
    return severity >= config.racy_level;
}

static void log_all(long me)
{
    char *buffer = malloc(BUFFER);
    unsigned random = seed_of(me);
    int used = 0, wanted = 0;

    for (long i = 0; i < rounds; i++) {
        think(rounds);
        if (is_due(me, i, rounds))
            wanted += is_wanted(3);
        for (int k = 0; k < 4; k++) {
            used += put_number(buffer + used, draw(&random));
            buffer[used++] = k == 3 ? '\n' : ' ';
        }
        FORGET();
        if (used > BUFFER - 64) {
            flush(buffer, used);
            written[me] += used;
            used = 0;
        }
    }
    expect(wanted > 0, "something was wanted");
    free(buffer);
}

// As long as the others: reads a file of settings that it has in memory, again and again.
static void watch(void)
{
    char *settings = malloc(BUFFER);
    unsigned hash = 0;

    for (int i = 0; i < BUFFER; i++)
        settings[i] = (char)i;
    for (long i = 0; i < rounds; i++) {
        think(rounds);
        for (int j = 0; j < 128; j++)
            hash = hash * 33 + (unsigned char)settings[(i * 128 + j) % BUFFER];
        FORGET();
        if (i % (rounds / (CHANGES + 1)) == rounds / (CHANGES + 1) - 1 &&
            i / (rounds / (CHANGES + 1)) < CHANGES)
            config.racy_level = (int)(hash % 3);
    }
    free(settings);
}

static void *body(void *number)
{
    if ((long)number == THREADS - 1)
        watch();
    else
        log_all((long)number);
    return NULL;
}

int main(void)
{
    unsigned long bytes = 0;

    rounds = work(260000) / THREADS;
    crew(THREADS, body);
    for (int i = 0; i < THREADS; i++)
        bytes += (unsigned long)written[i];
    expect(bytes == sink.bytes, "the sink got everything");
    return 0;
}
