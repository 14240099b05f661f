// Exceptions through functions with two bodies, whose gates change meanwhile: destructors run, the right
// handler catches.
#include <condition_variable>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "flip.h"

struct Noisy {
    int *n;
    explicit Noisy(int *p) : n(p)
    {
        ++*n;
    }
    ~Noisy()
    {
        --*n;
    }
    Noisy(const Noisy &o) : n(o.n)
    {
        ++*n;
    }
};
static int depth;
__attribute__((noinline)) static int risky(std::vector<int> &v, int i)
{
    Noisy a(&depth);
    if (i % 7 == 3)
        throw std::runtime_error("seven " + std::to_string(i));
    if (i % 11 == 5)
        throw i;
    v.at(i % 50) += i;
    return v[i % 50];
}
__attribute__((noinline)) static long work(int rounds)
{
    std::vector<int> v(40);
    std::map<std::string, int> seen;
    long sum = 0;
    for (int i = 0; i < rounds; i++) {
        try {
            Noisy b(&depth);
            for (int k = 0; k < 3; k++) {
                sum += risky(v, i + k);
                v[k] ^= k;
            }
        } catch (const std::out_of_range &) {
            sum += 3;
            v[1]++;
        } catch (const std::exception &e) {
            seen[e.what()]++;
            sum += e.what()[0];
        } catch (int n) {
            sum -= n;
            try {
                if (n % 2)
                    throw;
            } catch (...) {
                sum += 17;
            }
        }
        if (depth) {
            std::printf("leak %d\n", depth);
            return -1;
        }
    }
    for (auto &p : seen)
        sum += p.second * p.first.size();
    for (int x : v)
        sum += x;
    return sum;
}

// Waiting among things that must be destroyed; two threads, each when it is its turn.
static std::mutex mutex;
static std::condition_variable changed;
static int whose;
static std::vector<long> handed(16);
__attribute__((noinline)) static long hand_over(int me, int rounds)
{
    int alive = 0;
    long kept = me + 1;
    for (int i = 0; i < rounds; i++) {
        Noisy outer(&alive);
        try {
            std::unique_lock<std::mutex> lock(mutex);
            while (whose != me)
                changed.wait(lock);
            Noisy inner(&alive);
            for (auto &h : handed)
                h = (h * 3 + kept) % 100003;
            kept = (kept * 31 + handed[i % 16]) % 1000003;
            whose = 1 - me;
            changed.notify_one();
            if (i % 5 == 4)
                throw i;
        } catch (int n) {
            kept += n + alive;
        }
    }
    return kept + alive * 1000000007L;
}

int main()
{
    auto sum = std::make_unique<long>(0);
    pthread_t flipper;

    const long gates = flip_begin(&flipper);
    for (int i = 0; i < 20; i++)
        *sum += work(300 + i);
    long others = 0;
    std::thread hands([&] { others = hand_over(1, 100); });
    *sum += hand_over(0, 100);
    hands.join();
    *sum += others;
    flip_end(flipper);
    std::fprintf(stderr, "%ld gates\n", gates);
    std::printf("%ld\n", *sum);
}
