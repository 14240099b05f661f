// Each thread tokenises texts with a scratch area on its stack, whose address it once gave its neighbour for
// a greeting. Races: the neighbour kept it.
#include "detect.h"

enum { TEXT = 512, SCRATCH = 48 };
static struct box {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int *scratch;
    int leaving;
} boxes[THREADS];
static long rounds;

static int *greet(long me, int *scratch)
{
    struct box *mine = &boxes[me], *other = &boxes[(me + 1) % THREADS];

    pthread_mutex_lock(&mine->mutex);
    mine->scratch = scratch;
    pthread_cond_broadcast(&mine->changed);
    pthread_mutex_unlock(&mine->mutex);
    pthread_mutex_lock(&other->mutex);
    while (!other->scratch)
        pthread_cond_wait(&other->changed, &other->mutex);
    int *kept = other->scratch;
    pthread_mutex_unlock(&other->mutex);
    return kept;
}

static int tokenise(const char *text, int *racy_scratch, int *tokens)
{
    int count = 0, start = 0;

    for (int i = 0; i < TEXT; i++) {
        if (text[i] != ' ')
            continue;
        tokens[count] = i - start;
        racy_scratch[count++ % SCRATCH] = i - start;
        start = i + 1;
    }
    return count;
}

static long peek(const int *racy_scratch, long i)
{
    return racy_scratch[i % SCRATCH];
}

static void *body(void *number)
{
    const long me = (long)number;
    int scratch[SCRATCH] = {0}, *tokens = malloc(TEXT * sizeof(int));
    const int *kept = greet(me, scratch);
    unsigned random = seed_of(me);
    char *text = malloc(TEXT);
    long sum = 0, peeked = 0;

    for (long i = 0; i < rounds; i++) {
        think(rounds);
        for (int j = 0; j < TEXT; j++)
            text[j] = draw(&random) % 6 ? 'x' : ' ';
        const int count = tokenise(text, scratch, tokens);
        for (int j = 0; j < count; j++)
            sum += tokens[j];
        if (is_due(me, i, rounds)) {
            together(THREADS);
            peeked += peek(kept, i / (EVERY ? EVERY : 1));
        }
    }
    expect(sum > 0 && peeked >= 0, "there were tokens");
    meet(THREADS); // stacks stay until nobody peeks
    free(text);
    free(tokens);
    return NULL;
}

int main(void)
{
    rounds = work(28000) / THREADS;
    for (int i = 0; i < THREADS; i++) {
        pthread_mutex_init(&boxes[i].mutex, NULL);
        pthread_cond_init(&boxes[i].changed, NULL);
    }
    crew(THREADS, body);
    return 0;
}
