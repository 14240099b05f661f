/* An object is destroyed while nothing orders that after another thread's virtual call. */
#include "../order.h"
#include <new>

struct base {
    base();
    virtual ~base();
    virtual int call();
};
struct derived : base {
    ~derived() override;
    int call() override;
};

__attribute__((noinline)) base::base()
{
    rb_escape(this);
}
__attribute__((noinline)) base::~base() /* RACE 2 */
{                                       /* RACE 2 */
    rb_escape(this);
}
__attribute__((noinline)) int base::call()
{
    return 1;
}
__attribute__((noinline)) derived::~derived()
{
    rb_escape(this);
}
__attribute__((noinline)) int derived::call()
{
    return 2;
}

base *object;

static void first()
{
    rb_use(object->call()); /* RACE 1 */
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    object->~base();
}

int main()
{
    alignas(derived) static char room[sizeof(derived)];

    object = new (room) derived;
    return rb_both(first, second);
}
