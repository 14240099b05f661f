/* An exception that two threads hold: one writes to it, the other reads. */
#include "../order.h"
#include <exception>

struct Problem {
    int data;
};
static std::exception_ptr one, two;

static void first(void)
{
    rb_await(1);
    try {
        std::rethrow_exception(one);
    } catch (Problem &problem) {
        problem.data = 1; /* RACE 1 */
        rb_reach(2);
        rb_await(3);
    }
}

static void second(void)
{
    try {
        std::rethrow_exception(two);
    } catch (Problem &problem) {
        rb_reach(1);
        rb_await(2);
        rb_use(problem.data); /* RACE 2 */
        rb_reach(3);
    }
}

int main()
{
    one = std::make_exception_ptr(Problem{});
    two = one;
    return rb_both(first, second);
}
