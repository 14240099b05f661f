// C11 atomics and the __atomic builtins, in the ways that let a compiler choose the instruction: what is
// loaded is compared, extended, added, tested, converted, selected, dereferenced; what is stored is a
// constant, a comparison, or made of what was loaded. Every access that is not to the stack is to an atomic
// object, or to what an atomic pointer points at, by a plain move.
#include "atomics.h"

// ---- loads of integers ---------------------------------------------------------------------------------

#define LOADS(T, n, o)                                     \
    T n##_##o##_get(_Atomic(T) *p)                         \
    {                                                      \
        return GET(p, o);                                  \
    }                                                      \
    uint64_t n##_##o##_wide(_Atomic(T) *p)                 \
    {                                                      \
        return (uint64_t)GET(p, o);                        \
    }                                                      \
    int64_t n##_##o##_sign(_Atomic(T) *p)                  \
    {                                                      \
        return (int64_t)GET(p, o);                         \
    }                                                      \
    uint8_t n##_##o##_narrow(_Atomic(T) *p)                \
    {                                                      \
        return (uint8_t)GET(p, o);                         \
    }                                                      \
    uint16_t n##_##o##_narrow2(_Atomic(T) *p)              \
    {                                                      \
        return (uint16_t)GET(p, o);                        \
    }                                                      \
    uint32_t n##_##o##_narrow4(_Atomic(T) *p)              \
    {                                                      \
        return (uint32_t)GET(p, o);                        \
    }                                                      \
    bool n##_##o##_zero(_Atomic(T) *p)                     \
    {                                                      \
        return GET(p, o) == 0;                             \
    }                                                      \
    bool n##_##o##_seven(_Atomic(T) *p)                    \
    {                                                      \
        return GET(p, o) == 7;                             \
    }                                                      \
    bool n##_##o##_less(_Atomic(T) *p, T x)                \
    {                                                      \
        return GET(p, o) < x;                              \
    }                                                      \
    bool n##_##o##_more(_Atomic(T) *p)                     \
    {                                                      \
        return GET(p, o) > 100;                            \
    }                                                      \
    bool n##_##o##_same(_Atomic(T) *p, T x)                \
    {                                                      \
        return GET(p, o) == x;                             \
    }                                                      \
    bool n##_##o##_bit(_Atomic(T) *p)                      \
    {                                                      \
        return GET(p, o) & 4;                              \
    }                                                      \
    bool n##_##o##_bits(_Atomic(T) *p, T x)                \
    {                                                      \
        return GET(p, o) & x;                              \
    }                                                      \
    bool n##_##o##_nth(_Atomic(T) *p, int x)               \
    {                                                      \
        return (uint64_t)GET(p, o) >> (x & 7) & 1;         \
    }                                                      \
    bool n##_##o##_negative(_Atomic(T) *p)                 \
    {                                                      \
        return GET(p, o) <= 0;                             \
    }                                                      \
    void n##_##o##_branch(_Atomic(T) *p)                   \
    {                                                      \
        if (GET(p, o))                                     \
            taken();                                       \
    }                                                      \
    void n##_##o##_branch7(_Atomic(T) *p, T x)             \
    {                                                      \
        if (GET(p, o) != x)                                \
            taken();                                       \
    }                                                      \
    void n##_##o##_spin(_Atomic(T) *p)                     \
    {                                                      \
        while (!GET(p, o))                                 \
            ;                                              \
    }                                                      \
    void n##_##o##_spin_bit(_Atomic(T) *p)                 \
    {                                                      \
        while (GET(p, o) & 1)                              \
            taken();                                       \
    }                                                      \
    T n##_##o##_add(_Atomic(T) *p, T x)                    \
    {                                                      \
        return (T)(GET(p, o) + x);                         \
    }                                                      \
    T n##_##o##_sub(_Atomic(T) *p, T x)                    \
    {                                                      \
        return (T)(x - GET(p, o));                         \
    }                                                      \
    T n##_##o##_mul(_Atomic(T) *p, T x)                    \
    {                                                      \
        return (T)(GET(p, o) * x);                         \
    }                                                      \
    T n##_##o##_mul9(_Atomic(T) *p)                        \
    {                                                      \
        return (T)(GET(p, o) * 1000);                      \
    }                                                      \
    T n##_##o##_div(_Atomic(T) *p, T x)                    \
    {                                                      \
        return (T)(x / GET(p, o));                         \
    }                                                      \
    T n##_##o##_rem(_Atomic(T) *p, T x)                    \
    {                                                      \
        return (T)(GET(p, o) % x);                         \
    }                                                      \
    T n##_##o##_and(_Atomic(T) *p, T x)                    \
    {                                                      \
        return (T)(GET(p, o) & x);                         \
    }                                                      \
    T n##_##o##_andn(_Atomic(T) *p, T x)                   \
    {                                                      \
        return (T)(GET(p, o) & ~x);                        \
    }                                                      \
    T n##_##o##_or(_Atomic(T) *p, T x)                     \
    {                                                      \
        return (T)(GET(p, o) | x);                         \
    }                                                      \
    T n##_##o##_xor(_Atomic(T) *p, T x)                    \
    {                                                      \
        return (T)(GET(p, o) ^ x);                         \
    }                                                      \
    T n##_##o##_shift(_Atomic(T) *p, int x)                \
    {                                                      \
        return (T)((uint64_t)GET(p, o) >> (x & 7));        \
    }                                                      \
    T n##_##o##_shift3(_Atomic(T) *p)                      \
    {                                                      \
        return (T)((uint64_t)GET(p, o) << 3);              \
    }                                                      \
    T n##_##o##_rotate(_Atomic(T) *p)                      \
    {                                                      \
        const T v = GET(p, o);                             \
        return (T)((uint64_t)v << 3 | (uint64_t)v >> 5);   \
    }                                                      \
    T n##_##o##_not(_Atomic(T) *p)                         \
    {                                                      \
        return (T)~GET(p, o);                              \
    }                                                      \
    T n##_##o##_minus(_Atomic(T) *p)                       \
    {                                                      \
        return (T)-GET(p, o);                              \
    }                                                      \
    T n##_##o##_either(_Atomic(T) *p, T x, bool b)         \
    {                                                      \
        const T v = GET(p, o);                             \
        return b ? v : x;                                  \
    }                                                      \
    T n##_##o##_least(_Atomic(T) *p, T x)                  \
    {                                                      \
        const T v = GET(p, o);                             \
        return v < x ? v : x;                              \
    }                                                      \
    T n##_##o##_mask(_Atomic(T) *p)                        \
    {                                                      \
        return (T)(GET(p, o) & 0x3f);                      \
    }                                                      \
    int n##_##o##_ones(_Atomic(T) *p)                      \
    {                                                      \
        return __builtin_popcountll((uint64_t)GET(p, o));  \
    }                                                      \
    int n##_##o##_ctz(_Atomic(T) *p)                       \
    {                                                      \
        return __builtin_ctzll((uint64_t)GET(p, o));       \
    }                                                      \
    int n##_##o##_clz(_Atomic(T) *p)                       \
    {                                                      \
        return __builtin_clzll((uint64_t)GET(p, o));       \
    }                                                      \
    uint64_t n##_##o##_swapped(_Atomic(T) *p)              \
    {                                                      \
        return __builtin_bswap64((uint64_t)GET(p, o));     \
    }                                                      \
    uint32_t n##_##o##_swapped4(_Atomic(T) *p)             \
    {                                                      \
        return __builtin_bswap32((uint32_t)GET(p, o));     \
    }                                                      \
    float n##_##o##_float(_Atomic(T) *p)                   \
    {                                                      \
        return (float)GET(p, o);                           \
    }                                                      \
    double n##_##o##_double(_Atomic(T) *p)                 \
    {                                                      \
        return (double)GET(p, o);                          \
    }                                                      \
    T n##_##o##_nth_of(_Atomic(T) *p, long i)              \
    {                                                      \
        return GET(&p[i], o);                              \
    }                                                      \
    T n##_##o##_chain(_Atomic(T) *p)                       \
    {                                                      \
        return GET(&p[GET(p, o) & 15], o);                 \
    }                                                      \
    void n##_##o##_pass(_Atomic(T) *p)                     \
    {                                                      \
        taken_with(1, 2, 3, 4, 5, 6, (uint64_t)GET(p, o)); \
    }                                                      \
    T n##_##o##_sum(_Atomic(T) *p, int count)              \
    {                                                      \
        T s = 0;                                           \
        for (int i = 0; i < count; i++)                    \
            s = (T)(s + GET(&p[i], o));                    \
        return s;                                          \
    }

// ---- stores of integers --------------------------------------------------------------------------------

#define STORES(T, n, o)                                      \
    void n##_##o##_put(_Atomic(T) *p, T x)                   \
    {                                                        \
        PUT(p, x, o);                                        \
    }                                                        \
    void n##_##o##_put0(_Atomic(T) *p)                       \
    {                                                        \
        PUT(p, 0, o);                                        \
    }                                                        \
    void n##_##o##_put1(_Atomic(T) *p)                       \
    {                                                        \
        PUT(p, 1, o);                                        \
    }                                                        \
    void n##_##o##_putm(_Atomic(T) *p)                       \
    {                                                        \
        PUT(p, (T)-1, o);                                    \
    }                                                        \
    void n##_##o##_putl(_Atomic(T) *p)                       \
    {                                                        \
        PUT(p, (T)0x123456789abcdef0, o);                    \
    }                                                        \
    void n##_##o##_puts(_Atomic(T) *p, int64_t x)            \
    {                                                        \
        PUT(p, (T)x, o);                                     \
    }                                                        \
    void n##_##o##_puth(_Atomic(T) *p, uint64_t x)           \
    {                                                        \
        PUT(p, (T)(x >> 8), o);                              \
    }                                                        \
    void n##_##o##_putc(_Atomic(T) *p, int x, int y)         \
    {                                                        \
        PUT(p, x < y, o);                                    \
    }                                                        \
    void n##_##o##_putz(_Atomic(T) *p, uint8_t x)            \
    {                                                        \
        PUT(p, x, o);                                        \
    }                                                        \
    void n##_##o##_putb(_Atomic(T) *p, uint64_t x)           \
    {                                                        \
        PUT(p, (T)__builtin_bswap64(x), o);                  \
    }                                                        \
    void n##_##o##_putf(_Atomic(T) *p, double x)             \
    {                                                        \
        PUT(p, (T)x, o);                                     \
    }                                                        \
    void n##_##o##_putn(_Atomic(T) *p, long i, T x)          \
    {                                                        \
        PUT(&p[i], x, o);                                    \
    }                                                        \
    void n##_##o##_fill(_Atomic(T) *p, int count, T x)       \
    {                                                        \
        for (int i = 0; i < count; i++)                      \
            PUT(&p[i], x, o);                                \
    }                                                        \
    void n##_##o##_inc(_Atomic(T) *p)                        \
    {                                                        \
        PUT(p, (T)(GET(p, relaxed) + 1), o);                 \
    }                                                        \
    void n##_##o##_dec(_Atomic(T) *p)                        \
    {                                                        \
        PUT(p, (T)(GET(p, relaxed) - 1), o);                 \
    }                                                        \
    void n##_##o##_inc9(_Atomic(T) *p)                       \
    {                                                        \
        PUT(p, (T)(GET(p, relaxed) + 100), o);               \
    }                                                        \
    void n##_##o##_inca(_Atomic(T) *p)                       \
    {                                                        \
        PUT(p, (T)(GET(p, acquire) + 1), o);                 \
    }                                                        \
    void n##_##o##_incs(_Atomic(T) *p)                       \
    {                                                        \
        PUT(p, (T)(GET(p, seq_cst) + 1), o);                 \
    }                                                        \
    void n##_##o##_plus(_Atomic(T) *p, T x)                  \
    {                                                        \
        PUT(p, (T)(GET(p, relaxed) + x), o);                 \
    }                                                        \
    void n##_##o##_less_x(_Atomic(T) *p, T x)                \
    {                                                        \
        PUT(p, (T)(GET(p, relaxed) - x), o);                 \
    }                                                        \
    void n##_##o##_less_p(_Atomic(T) *p, T x)                \
    {                                                        \
        PUT(p, (T)(x - GET(p, relaxed)), o);                 \
    }                                                        \
    void n##_##o##_times(_Atomic(T) *p, T x)                 \
    {                                                        \
        PUT(p, (T)(GET(p, relaxed) * x), o);                 \
    }                                                        \
    void n##_##o##_band(_Atomic(T) *p, T x)                  \
    {                                                        \
        PUT(p, (T)(GET(p, relaxed) & x), o);                 \
    }                                                        \
    void n##_##o##_bor(_Atomic(T) *p, T x)                   \
    {                                                        \
        PUT(p, (T)(GET(p, relaxed) | x), o);                 \
    }                                                        \
    void n##_##o##_bor8(_Atomic(T) *p)                       \
    {                                                        \
        PUT(p, (T)(GET(p, relaxed) | 8), o);                 \
    }                                                        \
    void n##_##o##_bclear(_Atomic(T) *p)                     \
    {                                                        \
        PUT(p, (T)(GET(p, relaxed) & ~(T)8), o);             \
    }                                                        \
    void n##_##o##_bset(_Atomic(T) *p, int x)                \
    {                                                        \
        PUT(p, (T)(GET(p, relaxed) | (T)1 << (x & 7)), o);   \
    }                                                        \
    void n##_##o##_bxor(_Atomic(T) *p, T x)                  \
    {                                                        \
        PUT(p, (T)(GET(p, relaxed) ^ x), o);                 \
    }                                                        \
    void n##_##o##_bnot(_Atomic(T) *p)                       \
    {                                                        \
        PUT(p, (T)~GET(p, relaxed), o);                      \
    }                                                        \
    void n##_##o##_neg(_Atomic(T) *p)                        \
    {                                                        \
        PUT(p, (T)-GET(p, relaxed), o);                      \
    }                                                        \
    void n##_##o##_shl(_Atomic(T) *p)                        \
    {                                                        \
        PUT(p, (T)((uint64_t)GET(p, relaxed) << 1), o);      \
    }                                                        \
    void n##_##o##_shl3(_Atomic(T) *p)                       \
    {                                                        \
        PUT(p, (T)((uint64_t)GET(p, relaxed) << 3), o);      \
    }                                                        \
    void n##_##o##_shr(_Atomic(T) *p, int x)                 \
    {                                                        \
        PUT(p, (T)(GET(p, relaxed) >> (x & 7)), o);          \
    }                                                        \
    void n##_##o##_rot(_Atomic(T) *p)                        \
    {                                                        \
        const T v = GET(p, relaxed);                         \
        PUT(p, (T)((uint64_t)v << 3 | (uint64_t)v >> 5), o); \
    }                                                        \
    void n##_##o##_copy(_Atomic(T) *p, _Atomic(T) *q)        \
    {                                                        \
        PUT(p, GET(q, relaxed), o);                          \
    }                                                        \
    void n##_##o##_swap(_Atomic(T) *p, _Atomic(T) *q)        \
    {                                                        \
        const T a = GET(p, relaxed), b = GET(q, relaxed);    \
        PUT(p, b, o);                                        \
        PUT(q, a, o);                                        \
    }                                                        \
    void n##_##o##_set_if(_Atomic(T) *p, T x)                \
    {                                                        \
        if (!GET(p, relaxed))                                \
            PUT(p, x, o);                                    \
    }                                                        \
    void n##_##o##_keep(_Atomic(T) *p, T x)                  \
    {                                                        \
        const T v = GET(p, relaxed);                         \
        PUT(p, v < x ? v : x, o);                            \
    }                                                        \
    T n##_##o##_post(_Atomic(T) *p)                          \
    {                                                        \
        const T v = GET(p, relaxed);                         \
        PUT(p, (T)(v + 1), o);                               \
        return v;                                            \
    }                                                        \
    T n##_##o##_pre(_Atomic(T) *p)                           \
    {                                                        \
        const T v = (T)(GET(p, relaxed) + 1);                \
        PUT(p, v, o);                                        \
        return v;                                            \
    }                                                        \
    bool n##_##o##_last(_Atomic(T) *p)                       \
    {                                                        \
        const T v = (T)(GET(p, relaxed) - 1);                \
        PUT(p, v, o);                                        \
        return v == 0;                                       \
    }

// ---- what changes in one go, for the `lock` forms ------------------------------------------------------

#define CHANGES(T, n)                                                                         \
    T n##_fetch_add(_Atomic(T) *p, T x)                                                       \
    {                                                                                         \
        return atomic_fetch_add(p, x);                                                        \
    }                                                                                         \
    void n##_only_add(_Atomic(T) *p, T x)                                                     \
    {                                                                                         \
        atomic_fetch_add_explicit(p, x, memory_order_relaxed);                                \
    }                                                                                         \
    void n##_only_inc(_Atomic(T) *p)                                                          \
    {                                                                                         \
        atomic_fetch_add_explicit(p, 1, memory_order_relaxed);                                \
    }                                                                                         \
    T n##_fetch_or(_Atomic(T) *p, T x)                                                        \
    {                                                                                         \
        return atomic_fetch_or(p, x);                                                         \
    }                                                                                         \
    void n##_only_and(_Atomic(T) *p, T x)                                                     \
    {                                                                                         \
        atomic_fetch_and(p, x);                                                               \
    }                                                                                         \
    bool n##_test_set(_Atomic(T) *p)                                                          \
    {                                                                                         \
        return atomic_fetch_or(p, 4) & 4;                                                     \
    }                                                                                         \
    bool n##_down(_Atomic(T) *p)                                                              \
    {                                                                                         \
        return atomic_fetch_sub(p, 1) == 1;                                                   \
    }                                                                                         \
    T n##_exchange(_Atomic(T) *p, T x)                                                        \
    {                                                                                         \
        return atomic_exchange(p, x);                                                         \
    }                                                                                         \
    bool n##_cas(_Atomic(T) *p, T x, T y)                                                     \
    {                                                                                         \
        return atomic_compare_exchange_strong(p, &x, y);                                      \
    }                                                                                         \
    T n##_nand(_Atomic(T) *p, T x)                                                            \
    {                                                                                         \
        return (T)__atomic_fetch_nand((T *)p, x, __ATOMIC_SEQ_CST);                           \
    }                                                                                         \
    T n##_builtin(T *p)                                                                       \
    {                                                                                         \
        return (T)(__atomic_load_n(p, __ATOMIC_ACQUIRE) + 1);                                 \
    }                                                                                         \
    bool n##_builtin_zero(T *p)                                                               \
    {                                                                                         \
        return __atomic_load_n(p, __ATOMIC_RELAXED) == 0;                                     \
    }                                                                                         \
    void n##_builtin_inc(T *p)                                                                \
    {                                                                                         \
        __atomic_store_n(p, (T)(__atomic_load_n(p, __ATOMIC_RELAXED) + 1), __ATOMIC_RELAXED); \
    }                                                                                         \
    void n##_builtin_or(T *p, T x)                                                            \
    {                                                                                         \
        __atomic_store_n(p, (T)(__atomic_load_n(p, __ATOMIC_RELAXED) | x), __ATOMIC_RELEASE); \
    }                                                                                         \
    T n##_old_add(T *p, T x)                                                                  \
    {                                                                                         \
        return __sync_fetch_and_add(p, x);                                                    \
    }                                                                                         \
    void n##_old_release(T *p)                                                                \
    {                                                                                         \
        __sync_lock_release(p);                                                               \
    }

#define INTEGER(T, n) EACH_LOAD_ORDER(LOADS, T, n##_l) EACH_STORE_ORDER(STORES, T, n##_s) CHANGES(T, n)

INTEGER(uint8_t, u8)
INTEGER(int8_t, i8)
INTEGER(uint16_t, u16)
INTEGER(int16_t, i16)
INTEGER(uint32_t, u32)
INTEGER(int32_t, i32)
INTEGER(uint64_t, u64)
INTEGER(int64_t, i64)
