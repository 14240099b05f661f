// Double-checked locking: a plain pointer outside the lock, or std::atomic. Made anew again and again.
#include <atomic>
#include <mutex>

#include "two.h"

namespace
{
struct thing {
    long uses;
};
std::mutex lock;
thing things[64];
thing *plain;
std::atomic<thing *> atomic;
long made;

thing *get()
{
    thing *t = RACE ? plain : atomic.load(std::memory_order_acquire);
    if (t)
        return t;
    std::lock_guard<std::mutex> held(lock);
    t = RACE ? plain : atomic.load(std::memory_order_relaxed);
    if (!t) {
        t = &things[made++ % 64];
        if (RACE)
            plain = t;
        else
            atomic.store(t, std::memory_order_release);
    }
    return t;
}

void drop()
{
    std::lock_guard<std::mutex> held(lock);
    if (RACE)
        plain = nullptr;
    else
        atomic.store(nullptr, std::memory_order_release);
}

void *run(void *given)
{
    auto *me = static_cast<two_thread *>(given);
    long sum = 0;

    for (unsigned i = 0; two_goes_on(); i++) {
        sum += get() != nullptr;
        if (i % 4 == 0)
            drop();
        two_pause(20 + 10u * static_cast<unsigned>(me->number));
    }
    return reinterpret_cast<void *>(sum);
}
} // namespace

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
