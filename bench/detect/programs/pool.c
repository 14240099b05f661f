// Clients ask servers for results and wait for futures with conditions. Races: some results are copied into
// the future after it has been announced.
#include "detect.h"

enum { WORDS = 256 };
struct result {
    long number, sum, least, most;
    char text[32];
};
struct future {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int state; // 0 idle, 1 asked, 2 ready, 3 no more
    long number;
    struct result racy_result;
};
static struct future futures[MOST_THREADS];
static long rounds;

static struct result compute(long number, long *a)
{
    struct result r = {.number = number, .least = 1L << 30};
    unsigned random = seed_of(number);

    for (int i = 0; i < WORDS; i++)
        a[i] = (long)(draw(&random) % 100000);
    for (int i = 1; i < WORDS; i++)
        a[i] = (a[i] + a[i - 1]) / 2;
    for (int i = 0; i < WORDS; i++) {
        r.sum += a[i];
        r.least = a[i] < r.least ? a[i] : r.least;
        r.most = a[i] > r.most ? a[i] : r.most;
    }
    for (unsigned i = 0; i < sizeof(r.text); i++)
        r.text[i] = (char)('a' + (number + i) % 26);
    return r;
}

static void serve(struct future *f, long me)
{
    long *a = malloc(WORDS * sizeof(long));

    for (long i = 0;; i++) {
        pthread_mutex_lock(&f->mutex);
        while (f->state != 1 && f->state != 3)
            pthread_cond_wait(&f->changed, &f->mutex);
        const int state = f->state;
        const long number = f->number;
        pthread_mutex_unlock(&f->mutex);
        if (state == 3)
            break;
        const struct result r = compute(number, a);
        const int late = is_due(me, i, rounds);
        if (!late)
            f->racy_result = r;
        pthread_mutex_lock(&f->mutex);
        f->state = 2;
        pthread_cond_signal(&f->changed);
        pthread_mutex_unlock(&f->mutex);
        if (late) {
            for (int k = EVERY && EVERY < 1024 ? 1 : 300; k > 0; k--)
                compute(number + k, a);
            memcpy(&f->racy_result, &r, sizeof(r));
        }
    }
    free(a);
}

static void ask(struct future *f, long me)
{
    long *a = malloc(WORDS * sizeof(long)), sum = 0;
    struct result r;

    for (long i = 0; i < rounds; i++) {
        pthread_mutex_lock(&f->mutex);
        f->state = 1;
        f->number = i;
        pthread_cond_signal(&f->changed);
        pthread_mutex_unlock(&f->mutex);
        sum += compute(i + me, a).sum;
        pthread_mutex_lock(&f->mutex);
        while (f->state != 2)
            pthread_cond_wait(&f->changed, &f->mutex);
        pthread_mutex_unlock(&f->mutex);
        memcpy(&r, &f->racy_result, sizeof(r));
        sum += r.sum;
    }
    pthread_mutex_lock(&f->mutex);
    f->state = 3;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->mutex);
    expect(sum > 0, "results are not empty");
    free(a);
}

static void *body(void *number)
{
    const long me = (long)number;

    if (me % 2)
        serve(&futures[me / 2], me);
    else
        ask(&futures[me / 2], me);
    return NULL;
}

int main(void)
{
    rounds = work(14000) / (THREADS / 2);
    for (int i = 0; i < THREADS / 2; i++) {
        pthread_mutex_init(&futures[i].mutex, NULL);
        pthread_cond_init(&futures[i].changed, NULL);
    }
    crew(THREADS / 2 * 2, body);
    return 0;
}
