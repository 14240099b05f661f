/*
 * An exception that two threads hold, with a destructor of the program's own: the last to let go of it runs that, ordered
 * by a count in the C++ library, which is inside the program.
 * build: -static-libstdc++
 */
#include "../order.h"
#include <exception>

struct Problem {
    int data[16] = {};
    Problem() = default;
    Problem(const Problem &) = default;
    ~Problem()
    {
        for (int &value : data)
            value = 7;
        rb_escape(data);
    }
};
static std::exception_ptr one, two;

static void first(void)
{
    try {
        std::rethrow_exception(one);
    } catch (const Problem &problem) {
        for (const int &value : problem.data)
            rb_use(value);
    }
    one = nullptr;
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    two = nullptr;
}

int main()
{
    one = std::make_exception_ptr(Problem{});
    two = one;
    return rb_both(first, second);
}
