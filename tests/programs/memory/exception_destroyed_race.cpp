/* An object that two threads hold, with a destructor of the program's own, and no count: one destroys it. */
#include "../order.h"

struct Problem {
    int data = 0;
    ~Problem()
    {
        data = 7; /* RACE 2 */
        rb_escape(&data);
    }
};
static Problem *problem;

static void first(void)
{
    rb_use(problem->data); /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    problem->~Problem();
}

int main()
{
    problem = new Problem;
    return rb_both(first, second);
}
