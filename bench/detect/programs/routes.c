// Packets are looked up in a table that all threads read; per-thread counters. Races: one thread changes a
// route now and then.
#include "detect.h"

#ifndef ROUTES
#define ROUTES 256
#endif
enum { PACKET = 40 };
struct route {
    unsigned long prefix;
    unsigned long racy_hop, racy_metric;
};
static struct route *routes;
static long rounds;

static unsigned long forward(const unsigned char *packet, unsigned long *cost)
{
    unsigned address = 0;

    for (int j = 0; j < PACKET; j++)
        address = address * 33 + packet[j];
    const struct route *r = &routes[address % ROUTES];
    *cost += r->racy_metric;
    return r->racy_hop;
}

static void change(struct route *r, unsigned hop)
{
    r->racy_hop = hop;
    r->racy_metric = hop % 16;
}

static void *body(void *number)
{
    const long me = (long)number;
    unsigned random = seed_of(me);
    unsigned long cost = 0;
    unsigned char *packet = malloc(PACKET);
    long *sent = calloc(256, sizeof(long)), sum = 0;

    for (long i = 0; i < rounds; i++) {
        think(rounds);
        for (int j = 0; j < PACKET; j++)
            packet[j] = (unsigned char)draw(&random);
        FORGET();
        if (me)
            sent[forward(packet, &cost) % 256]++;
        else if (is_due(me, i, rounds))
            change(&routes[random % ROUTES], random % 256);
    }
    for (int i = 0; i < 256; i++)
        sum += sent[i];
    expect(sum == (me ? rounds : 0) && cost >= (unsigned long)(me > 0), "every packet was sent");
    free(packet);
    free(sent);
    return NULL;
}

int main(void)
{
    rounds = work(400000) / THREADS;
    routes = calloc(ROUTES, sizeof(*routes));
    for (unsigned i = 0; i < ROUTES; i++)
        routes[i] = (struct route){i, i % 256, i % 16};
    crew(THREADS, body);
    free(routes);
    return 0;
}
