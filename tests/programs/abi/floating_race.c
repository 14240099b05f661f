/* float, double and a vector of two doubles, written by two threads that nothing orders. */
#include "../order.h"

typedef double rb_vector __attribute__((vector_size(16)));

RB_APART float single;
RB_APART double twice;
RB_APART rb_vector vector;

static void first(void)
{
    single = 1;                 /* RACE 1 */
    twice = 1;                  /* RACE 3 */
    vector = (rb_vector){1, 2}; /* RACE 5 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    single = 2;                 /* RACE 2 */
    twice = 2;                  /* RACE 4 */
    vector = (rb_vector){3, 4}; /* RACE 6 */
}

int main(void)
{
    return rb_both(first, second);
}
