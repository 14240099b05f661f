// An object is published by a pointer: a plain one, or std::atomic.
#include <atomic>

#include "two.h"

namespace
{
struct config {
    long version, checked;
};
config *plain;
std::atomic<config *> atomic;

config *get()
{
    return RACE ? *const_cast<config *volatile *>(&plain) : atomic.load(std::memory_order_acquire);
}

void *run(void *given)
{
    auto *me = static_cast<two_thread *>(given);
    long sum = 0;

    for (long i = 0; two_goes_on(); i++) {
        if (me->number == 0) {
            auto *fresh = new config{i, 0}; // those before may be in use: they stay
            fresh->version += 7;
            if (RACE)
                plain = fresh;
            else
                atomic.store(fresh, std::memory_order_release);
            two_pause(2000);
        } else if (config *c = get()) {
            sum += c->version;
            if (RACE && plain)
                plain->version ^= sum;
        }
        two_pause(20);
    }
    return reinterpret_cast<void *>(sum);
}
} // namespace

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
