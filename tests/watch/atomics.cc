// std::atomic and its operators in the ways that programs use them; see atomics.c.
#include <atomic>
#include <cstdint>
#include <memory>

#define FOR_ORDERS(X, T) \
    X(T, std::memory_order_relaxed, std::memory_order_relaxed) \
    X(T, std::memory_order_acquire, std::memory_order_release) \
    X(T, std::memory_order_seq_cst, std::memory_order_seq_cst)

void taken();

template <typename T, std::memory_order L, std::memory_order S> struct integer {
    static T get(std::atomic<T> &a) { return a.load(L); }
    static bool same(std::atomic<T> &a, T x) { return a.load(L) == x; }
    static bool zero(std::atomic<T> &a) { return !a.load(L); }
    static bool less(std::atomic<T> &a, std::atomic<T> &b) { return a.load(L) < b.load(L); }
    static bool both(std::atomic<T> &a, std::atomic<T> &b) { return a.load(L) == b.load(L); }
    static T sum(std::atomic<T> &a, std::atomic<T> &b) { return T(a.load(L) + b.load(L)); }
    static long mixed(std::atomic<T> &a, long x) { return x + a.load(L); }
    static double real(std::atomic<T> &a) { return double(a.load(L)) * 1.5; }
    static void put(std::atomic<T> &a, T x) { a.store(x, S); }
    static void more(std::atomic<T> &a) { a.store(T(a.load(L) + 1), S); }
    static void plus(std::atomic<T> &a, T x) { a.store(T(a.load(L) + x), S); }
    static void merge(std::atomic<T> &a, std::atomic<T> &b) { a.store(T(a.load(L) | b.load(L)), S); }
    static void flip(std::atomic<T> &a) { a.store(T(a.load(L) ^ 1), S); }
    static void twice(std::atomic<T> &a) { a.store(T(a.load(L) * 2), S); }
    static void half(std::atomic<T> &a) { a.store(T(a.load(L) / 2), S); }
    static bool publish(std::atomic<T> &a, T x)
    {
        if (a.load(L) >= x)
            return false;
        a.store(x, S);
        return true;
    }
    static void wait(std::atomic<T> &a, T x)
    {
        while (a.load(L) != x)
            taken();
    }
    static T operators(std::atomic<T> &a) { return T(++a + a-- + T(a += 3) + T(a ^= 5)); }
    static void assign(std::atomic<T> &a, T x) { a = x; }
    static T convert(std::atomic<T> &a) { return a; }
    static bool weak(std::atomic<T> &a, T x, T y) { return a.compare_exchange_weak(x, y, S, std::memory_order_relaxed); }
};
// A volatile atomic and one within a class are no others.
template <typename T, std::memory_order L, std::memory_order S> struct held {
    struct object {
        int before;
        std::atomic<T> value;
        volatile std::atomic<T> kept;
    };
    static T get(object &o) { return T(o.value.load(L) + o.kept.load(L)); }
    static void more(object *o, long i) { o[i].value.store(T(o[i].value.load(L) - 1), S); }
    static bool zero(object *o, long i) { return o[i].value.load(L) == 0; }
};
template <typename T, std::memory_order L, std::memory_order S> struct real {
    static T get(std::atomic<T> &a) { return a.load(L); }
    static void put(std::atomic<T> &a, T x) { a.store(x, S); }
    static void plus(std::atomic<T> &a, T x) { a.store(a.load(L) + x, S); }
    static void times(std::atomic<T> &a, T x) { a.store(a.load(L) * x, S); }
    static T sum(std::atomic<T> &a, std::atomic<T> &b) { return a.load(L) + b.load(L); }
    static bool less(std::atomic<T> &a, std::atomic<T> &b) { return a.load(L) < b.load(L); }
    static T scale(std::atomic<T> &a, T x) { return a.load(L) * x + x; }
};
template <typename T, std::memory_order L, std::memory_order S> struct pointer {
    static T *get(std::atomic<T *> &a) { return a.load(L); }
    static T deref(std::atomic<T *> &a) { return *a.load(L); }
    static bool null(std::atomic<T *> &a) { return !a.load(L); }
    static void push(std::atomic<T *> &a, T *x) { a.store(x, S); }
    static void step(std::atomic<T *> &a, long i) { a.store(a.load(L) + i, S); }
    static T *move(std::atomic<T *> &a) { return a++; }
};

#define INTEGERS(T, L, S) \
    template struct integer<T, L, S>; \
    template struct held<T, L, S>;
#define REALS(T, L, S) template struct real<T, L, S>;
#define POINTERS(T, L, S) template struct pointer<T, L, S>;
FOR_ORDERS(INTEGERS, std::int8_t)
FOR_ORDERS(INTEGERS, std::uint8_t)
FOR_ORDERS(INTEGERS, std::int16_t)
FOR_ORDERS(INTEGERS, std::uint16_t)
FOR_ORDERS(INTEGERS, std::int32_t)
FOR_ORDERS(INTEGERS, std::uint32_t)
FOR_ORDERS(INTEGERS, std::int64_t)
FOR_ORDERS(INTEGERS, std::uint64_t)
FOR_ORDERS(REALS, float)
FOR_ORDERS(REALS, double)
FOR_ORDERS(POINTERS, int)
FOR_ORDERS(POINTERS, long)

bool flag(std::atomic<bool> &a) { return a; }
void raise(std::atomic<bool> &a) { a = true; }
void toggle(std::atomic<bool> &a) { a.store(!a.load(std::memory_order_relaxed), std::memory_order_relaxed); }
void keep(std::atomic<bool> &a, bool b) { a.store(a.load(std::memory_order_relaxed) | b, std::memory_order_release); }
enum class state : unsigned char { idle, busy, done };
bool is_done(std::atomic<state> &a) { return a.load(std::memory_order_acquire) == state::done; }
void finish(std::atomic<state> &a) { a.store(state::done, std::memory_order_release); }

#if defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) // else there are copies on the stack, by any register
struct two {
    float x, y;
};
float second(std::atomic<two> &a) { return a.load(std::memory_order_relaxed).y; }
void set_two(std::atomic<two> &a, float x) { a.store(two{x, x}, std::memory_order_relaxed); }
struct wide {
    void *pointer;
    std::uint64_t count;
};
std::uint64_t count_of(std::atomic<wide> &a) { return a.load().count; }
void set_wide(std::atomic<wide> &a, void *p) { a.store(wide{p, 1}); }
#endif
