// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libabsl-dev
// Flags: -std=c++17 $(pkg-config --cflags --libs absl_synchronization absl_base absl_strings absl_cord absl_time)
// Abseil: mutexes with conditions, notifications, counters, barriers, one-time calls, and cords whose blocks are counted.
#include "planted.h"
#include <absl/base/call_once.h>
#include <absl/strings/cord.h>
#include <absl/synchronization/barrier.h>
#include <absl/synchronization/blocking_counter.h>
#include <absl/synchronization/mutex.h>
#include <absl/synchronization/notification.h>
#include <cstdio>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

enum { COUNT = 500 };

static void use(int)
{
    absl::Mutex own;
    absl::MutexLock locked(&own);
    absl::Notification note;
    note.Notify();
}

static absl::Mutex mutex, shared, turns;
static absl::CondVar turned;
static std::deque<std::unique_ptr<int>> queue;
static long guarded, under_shared, turn_count;
static int turn;

static bool has_item(std::deque<std::unique_ptr<int>> *q)
{
    return !q->empty();
}

static void produce()
{
    for (int i = 0; i < COUNT; i++) {
        absl::MutexLock locked(&mutex);
        queue.push_back(std::make_unique<int>(i));
    }
}

static void consume()
{
    for (int i = 0; i < COUNT; i++) {
        mutex.LockWhen(absl::Condition(has_item, &queue));
        std::unique_ptr<int> item = std::move(queue.front());
        queue.pop_front();
        mutex.Unlock();
        guarded += *item;
    }
}

static void take_turns(int me)
{
    for (int i = 0; i < COUNT; i++) {
        turns.Lock();
        while (turn != me)
            turned.Wait(&turns);
        turn_count++;
        turn = !turn;
        turned.SignalAll();
        turns.Unlock();
        {
            absl::WriterMutexLock writing(&shared);
            under_shared++;
        }
        absl::ReaderMutexLock reading(&shared);
        if (under_shared < 0)
            abort();
    }
}

int main(int argc, char **argv)
{
    planted_start(argc, argv, use);
    std::vector<std::thread> threads;
    threads.emplace_back(produce);
    threads.emplace_back(consume);
    threads.emplace_back(take_turns, 0);
    threads.emplace_back(take_turns, 1);

    // What a thread does before Notify, DecrementCount or Block is seen after the wait.
    long seen = 0;
    for (int i = 0; i < 50; i++) {
        absl::Notification start;
        absl::BlockingCounter ended(2);
        auto *barrier = new absl::Barrier(2);
        int block = 0, parts[2] = {0, 0}, sums[2];
        absl::once_flag once;
        int once_value = 0;
        auto part = [&](int me) {
            start.WaitForNotification();
            absl::call_once(once, [&] { once_value = 5; });
            parts[me] = block + me + once_value;
            if (barrier->Block())
                delete barrier;
            sums[me] = parts[0] + parts[1];
            ended.DecrementCount();
        };
        std::thread a(part, 0), b(part, 1);
        block = i;
        start.Notify();
        ended.Wait();
        seen += sums[0] + sums[1];
        a.join();
        b.join();
    }

    // The last cord that holds a block frees it, by the program's function.
    long released = 0;
    for (int i = 0; i < 50; i++) {
        auto *text = new std::string(5000, 'x');
        absl::Cord cord = absl::MakeCordFromExternal(*text, [text, &released](absl::string_view) {
            released += text->size();
            delete text;
        });
        std::thread other([copy = cord]() mutable {
            if (copy.Flatten()[7] != 'x')
                abort();
            copy.Clear();
        });
        if (cord.Flatten()[9] != 'x')
            abort();
        cord.Clear();
        other.join();
    }
    for (std::thread &t : threads)
        t.join();
    planted_end();
    printf("%ld %ld %ld %ld %ld\n", guarded, turn_count, under_shared, seen, released);
    return 0;
}
