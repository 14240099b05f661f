// Tellers move money between accounts under the bank's lock; an auditor has one of its own. Races: it is the
// wrong lock for the interest that the auditor adds.
#include "detect.h"

#ifndef ACCOUNTS
#define ACCOUNTS 128
#endif
struct account {
    long racy_balance;
    long moves;
};
static struct account *accounts;
static pthread_mutex_t bank = PTHREAD_MUTEX_INITIALIZER, audit = PTHREAD_MUTEX_INITIALIZER;
static long rounds, moves;

static unsigned form(unsigned *random, unsigned *field)
{
    unsigned hash = 0;

    for (int j = 0; j < 48; j++)
        field[j] = draw(random);
    FORGET();
    for (int j = 0; j < 48; j++)
        hash = (hash ^ field[j]) * 16777619u;
    return hash;
}

static void move(struct account *from, struct account *to, long sum)
{
    pthread_mutex_lock(&bank);
    from->racy_balance -= sum;
    to->racy_balance += sum;
    from->moves++;
    to->moves++;
    moves++;
    pthread_mutex_unlock(&bank);
}

static void add_interest(struct account *a)
{
    pthread_mutex_lock(&audit);
    a->racy_balance += 1;
    pthread_mutex_unlock(&audit);
}

static void *body(void *number)
{
    const long me = (long)number;
    unsigned random = seed_of(me), field[48];

    for (long i = 0; i < rounds; i++) {
        think(rounds);
        const unsigned hash = form(&random, field);
        if (me)
            move(&accounts[hash % ACCOUNTS], &accounts[hash / ACCOUNTS % ACCOUNTS], hash % 100);
        else if (is_due(me, i, rounds))
            add_interest(&accounts[hash % ACCOUNTS]);
    }
    return NULL;
}

int main(void)
{
    long sum = 0;

    rounds = work(320000) / THREADS;
    accounts = calloc(ACCOUNTS, sizeof(*accounts));
    crew(THREADS, body);
    for (int i = 0; i < ACCOUNTS; i++)
        sum += accounts[i].moves;
    expect(sum == 2 * moves && moves == rounds * (THREADS - 1), "moves are counted twice");
    free(accounts);
    return 0;
}
