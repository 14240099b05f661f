// Each thread compresses blocks of its own with a window and a table of last places; blocks are counted under
// a lock. Races: the longest match so far is compared by all, and raised now and then, without it.
#include "detect.h"

enum { BLOCK = 2048, SLOTS = 512, LONGEST = 200, STEPS = 24 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long blocks_done, rounds;
struct {
    unsigned racy_longest;
} record;

// Text whose repetitions grow longer in the course of the run.
static void make(unsigned char *text, unsigned *random, unsigned repeat)
{
    for (unsigned i = 0; i < BLOCK;) {
        const unsigned length = 4 + draw(random) % 12;
        for (unsigned j = 0; j < length && i < BLOCK; j++)
            text[i++] = (unsigned char)(draw(random) >> 11);
        const unsigned from = i > repeat ? i - repeat : 0;
        for (unsigned j = 0; j < repeat && i < BLOCK; j++)
            text[i++] = text[from + j];
    }
}

static unsigned compress(const unsigned char *text, unsigned short *last, unsigned *longest)
{
    unsigned out = 0;

    memset(last, 0, SLOTS * sizeof(*last));
    for (unsigned i = 0; i + 3 < BLOCK;) {
        const unsigned h = (text[i] * 33u + text[i + 1] * 7u + text[i + 2]) % SLOTS, from = last[h];
        unsigned length = 0;
        last[h] = (unsigned short)i;
        while (from < i && i + length < BLOCK && length < LONGEST && text[from + length] == text[i + length])
            length++;
        if (length > *longest)
            *longest = length;
        i += length > 3 ? length : 1;
        out += length > 3 ? 3 : 1;
    }
    return out;
}

static void *body(void *number)
{
    const long me = (long)number;
    unsigned random = seed_of(me), bytes = 0;
    unsigned char *text = malloc(BLOCK);
    unsigned short *last = malloc(SLOTS * sizeof(*last));

    for (long i = 0; i < rounds; i++) {
        think(rounds);
        unsigned longest = 0;
        make(text, &random, 8 + (unsigned)(i * STEPS / rounds) * 7);
        bytes += compress(text, last, &longest);
        FORGET();
        if (is_due(me, i, rounds)) {
            together(THREADS);
            if (longest > record.racy_longest)
                record.racy_longest = longest;
        }
        if (i % 64 == 0) {
            pthread_mutex_lock(&mutex);
            blocks_done += 64;
            pthread_mutex_unlock(&mutex);
        }
    }
    expect(bytes > 0, "something was written");
    free(text);
    free(last);
    return NULL;
}

int main(void)
{
    rounds = work(4000) / THREADS;
    crew(THREADS, body);
    expect(blocks_done >= rounds * THREADS, "every block was counted");
    return 0;
}
