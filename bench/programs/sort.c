// A merge sort by four threads: many accesses, hardly any synchronisation. sort [NUMBERS]
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int *numbers, *room;

struct part {
    long from, to;
    int depth;
};

static void merge(long from, long middle, long to)
{
    long a = from, b = middle, k = from;

    while (a < middle && b < to)
        room[k++] = numbers[a] <= numbers[b] ? numbers[a++] : numbers[b++];
    while (a < middle)
        room[k++] = numbers[a++];
    while (b < to)
        room[k++] = numbers[b++];
    memcpy(numbers + from, room + from, (size_t)(to - from) * sizeof(int));
}

static void *sort(void *given)
{
    const struct part p = *(struct part *)given;
    const long middle = (p.from + p.to) / 2;

    if (p.to - p.from < 2)
        return NULL;
    struct part left = {p.from, middle, p.depth - 1}, right = {middle, p.to, p.depth - 1};
    if (p.depth > 0) {
        pthread_t t;
        pthread_create(&t, NULL, sort, &left);
        sort(&right);
        pthread_join(t, NULL);
    } else {
        sort(&left);
        sort(&right);
    }
    merge(p.from, middle, p.to);
    return NULL;
}

int main(int argc, char **argv)
{
    const long n = argc > 1 ? atol(argv[1]) : 2000000;
    struct part all = {0, n, 2};
    unsigned x = 12345;

    numbers = malloc((size_t)n * sizeof(int));
    room = malloc((size_t)n * sizeof(int));
    for (long i = 0; i < n; i++)
        numbers[i] = (int)((x = x * 1103515245 + 12345) >> 1);
    sort(&all);
    for (long i = 1; i < n; i++)
        if (numbers[i - 1] > numbers[i])
            return 1;
    printf("%d\n", numbers[n / 2]);
    free(numbers);
    free(room);
    return 0;
}
