// Workers multiply matrices of their own and poll a flag; one thread sets it when it has finished its own
// share. Races: the flag, and what the setter leaves beside it.
#include "detect.h"

enum { N = 8 };
struct matrix {
    int at[N][N];
};
struct {
    int racy_enough;
    long racy_reason;
} control;
static long rounds;

static void multiply(const struct matrix *a, const struct matrix *b, struct matrix *c)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int sum = 0;
            for (int k = 0; k < N; k++)
                sum += a->at[i][k] * b->at[k][j];
            c->at[i][j] = sum % 1000;
        }
}

static int is_enough(void)
{
    return control.racy_enough;
}

static void *body(void *number)
{
    const long me = (long)number;
    struct matrix *m = malloc(3 * sizeof(*m));
    unsigned random = seed_of(me);
    long seen = 0;

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            m[0].at[i][j] = m[1].at[i][j] = (int)(draw(&random) % 100);
    for (long i = 0; i < rounds; i++) {
        think(rounds);
        multiply(&m[i % 2], &m[(i + 1) % 2], &m[2]);
        m[i % 2] = m[2];
        FORGET();
        if (me == 0 && i == rounds * 3 / 4) {
            control.racy_reason = i;
            control.racy_enough = 1;
        }
        if (me && is_due(me, i, rounds) && is_enough())
            seen += control.racy_reason > 0;
    }
    expect(seen <= rounds && m[2].at[0][0] < 1000, "products are small");
    free(m);
    return NULL;
}

int main(void)
{
    rounds = work(28000) / THREADS;
    crew(THREADS, body);
    return 0;
}
