/* The unseen order of order.h for programs in Fortran. */
#include "../order.h"

void reach_(const int *step);
void await_(const int *step);

__attribute__((no_sanitize("thread"))) void reach_(const int *step)
{
    rb_reach(*step);
}

__attribute__((no_sanitize("thread"))) void await_(const int *step)
{
    rb_await(*step);
}
