// meet [ROUNDS]: races of known frequency, for calibrate.py. Two threads call the functions touch_0 …
// touch_11 in every round, each with a word of its own; race j has them meet, at the same time and on the
// same word, in 2^(j + 2) rounds of the run. So all the code is hot, and only the meetings are rare.
#include <pthread.h>
#include <stdlib.h>

#define RACES 12
long racy_words[RACES][8];
static long own[2][RACES][8];
static volatile long round_of[2];

#define TOUCH(j)                                                       \
    __attribute__((noinline)) static void touch_##j(long *racy_or_own) \
    {                                                                  \
        (*racy_or_own)++;                                              \
    }
TOUCH(0)
TOUCH(1)
TOUCH(2)
TOUCH(3)
TOUCH(4)
TOUCH(5)
TOUCH(6)
TOUCH(7)
TOUCH(8)
TOUCH(9)
TOUCH(10)
TOUCH(11)
static void (*const touch[RACES])(long *) = {touch_0, touch_1, touch_2, touch_3, touch_4,  touch_5,
                                             touch_6, touch_7, touch_8, touch_9, touch_10, touch_11};
static long rounds = 30000000;

// Neither goes on before the other has come.
__attribute__((noinline, no_sanitize("thread"))) static void meet(long me, long round)
{
    round_of[me] = round;
    while (round_of[1 - me] < round)
        __builtin_ia32_pause();
}

static void *work(void *number)
{
    const long me = (long)number;
    long left[RACES];

    for (int j = 0; j < RACES; j++)
        left[j] = (rounds >> (j + 2)) / RACES * (j + 1); // not all at the same time
    for (long i = 1; i <= rounds; i++) {
        for (int j = 0; j < RACES; j++) {
            if (--left[j] > 0) {
                touch[j](own[me][j]);
                continue;
            }
            left[j] = rounds >> (j + 2);
            meet(me, i * RACES + j);
            touch[j](racy_words[j]);
        }
    }
    round_of[me] = (rounds + 1) * RACES;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread[2];

    if (argc > 1)
        rounds = atol(argv[1]);
    for (long i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, work, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
