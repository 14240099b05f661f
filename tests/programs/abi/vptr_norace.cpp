/* An object is destroyed under the mutex another thread's virtual call was made under. */
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
__attribute__((noinline)) base::~base()
{
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
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first()
{
    pthread_mutex_lock(&mutex);
    rb_use(object->call());
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    object->~base();
    pthread_mutex_unlock(&mutex);
}

int main()
{
    alignas(derived) static char room[sizeof(derived)];

    object = new (room) derived;
    return rb_both(first, second);
}
