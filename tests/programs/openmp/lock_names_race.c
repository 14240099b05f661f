/* The lock functions that Fortran calls, each thread its own.
 * By reference, as Fortran passes its arguments. */
#include "../order.h"
#include <stdint.h>

void omp_init_lock_(intptr_t *lock);
void omp_destroy_lock_(intptr_t *lock);
void omp_set_lock_(intptr_t *lock);
void omp_unset_lock_(intptr_t *lock);
int32_t omp_test_lock_(intptr_t *lock);
void omp_init_nest_lock_(intptr_t *lock);
void omp_destroy_nest_lock_(intptr_t *lock);
void omp_set_nest_lock_(intptr_t *lock);
void omp_unset_nest_lock_(intptr_t *lock);
int32_t omp_test_nest_lock_(intptr_t *lock);
int omp_get_thread_num(void);

RB_APART int simple, tested, nested, nest_tested;
intptr_t locks[2], nests[2];

static void first(void)
{
    omp_set_lock_(&locks[0]);
    simple = 1; /* RACE 1 */
    omp_unset_lock_(&locks[0]);
    omp_set_lock_(&locks[0]);
    tested = 1; /* RACE 3 */
    omp_unset_lock_(&locks[0]);
    omp_set_nest_lock_(&nests[0]);
    omp_set_nest_lock_(&nests[0]);
    omp_unset_nest_lock_(&nests[0]);
    nested = 1; /* RACE 5 */
    omp_unset_nest_lock_(&nests[0]);
    omp_set_nest_lock_(&nests[0]);
    nest_tested = 1; /* RACE 7 */
    omp_unset_nest_lock_(&nests[0]);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    omp_set_lock_(&locks[1]);
    simple = 2; /* RACE 2 */
    omp_unset_lock_(&locks[1]);
    RB_CHECK(omp_test_lock_(&locks[1]));
    tested = 2; /* RACE 4 */
    omp_unset_lock_(&locks[1]);
    omp_set_nest_lock_(&nests[1]);
    nested = 2; /* RACE 6 */
    omp_unset_nest_lock_(&nests[1]);
    RB_CHECK(omp_test_nest_lock_(&nests[1]));
    nest_tested = 2; /* RACE 8 */
    omp_unset_nest_lock_(&nests[1]);
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        omp_init_lock_(&locks[i]);
        omp_init_nest_lock_(&nests[i]);
    }
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0)
            first();
        else
            second();
    }
    for (int i = 0; i < 2; i++) {
        omp_destroy_lock_(&locks[i]);
        omp_destroy_nest_lock_(&nests[i]);
    }
    return rb_done();
}
