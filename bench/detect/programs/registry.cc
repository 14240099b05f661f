// A registry of names under a mutex, tokens from strings, vectors and maps of each thread's own. Races: the
// version is read, and on the rare path raised, without it.
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "detect.h"

namespace
{
class registry
{
  public:
    void add(const std::string &name)
    {
        std::lock_guard<std::mutex> guard(mutex_);
        names_[name]++;
    }
    void raise(long to)
    {
        racy_version_ = to;
    }
    long version() const
    {
        return racy_version_;
    }
    long total()
    {
        long sum = 0;
        for (const auto &n : names_)
            sum += n.second;
        return sum;
    }

  private:
    std::mutex mutex_;
    std::unordered_map<std::string, long> names_;
    long racy_version_ = 1;
};

registry names;
long rounds, added[MOST_THREADS];

void *body(void *number)
{
    const long me = reinterpret_cast<long>(number);
    unsigned random = seed_of(me);
    std::unordered_map<unsigned, std::vector<unsigned>> mine;
    long versions = 0;

    for (long i = 0; i < rounds; i++) {
        think(rounds);
        auto &list = mine[draw(&random) % 128];
        list.push_back(static_cast<unsigned>(i));
        if (list.size() > 64) {
            unsigned hash = 0;
            for (unsigned x : list)
                hash = hash * 31 + x;
            list.clear();
            names.add("name" + std::to_string(hash % 100));
            added[me]++;
        }
        versions += names.version();
        FORGET();
        if (me == 0 && is_due(me, i, rounds))
            names.raise(i);
    }
    expect(versions > 0, "there was a version");
    return nullptr;
}
} // namespace

int main()
{
    long sum = 0;

    rounds = work(2000000) / THREADS;
    crew(THREADS, body);
    for (long a : added)
        sum += a;
    expect(sum == names.total(), "every name was added");
    return 0;
}
