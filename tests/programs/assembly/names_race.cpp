/*
 * A lock as a class template, whose assembly has names for its operands. The second thread writes before it holds it.
 */
#include "../order.h"

template <typename Word> class spin_lock
{
    Word word_ = 0;

  public:
    void lock()
    {
        Word was = 1;
        while (was)
            __asm__ volatile("xchg %[was], %[word]" : [was] "+r"(was), [word] "+m"(word_) : : "memory");
    }
    void unlock()
    {
        __asm__ volatile("mov %[zero], (%[word])" : : [word] "r"(&word_), [zero] "r"(Word(0)) : "memory");
    }
};

static spin_lock<unsigned short> lock;
int RB_APART data;

static void take(void)
{
    lock.lock();
}

static void drop(void)
{
    lock.unlock();
}

static void first(void)
{
    take();
    data = 1; /* RACE 1 */
    drop();
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    data = 2; /* RACE 2 */
    take();
    drop();
}

int main(void)
{
    return rb_both(first, second);
}
