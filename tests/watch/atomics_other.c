// The same for floating point, booleans, pointers, functions, structures, 16 bytes, and OpenMP: see
// atomics.c.
#include "atomics.h"

// ---- floating point ------------------------------------------------------------------------------------

#define FLOATS(T, n, o)                        \
    T n##_##o##_get(_Atomic(T) *p)             \
    {                                          \
        return GET(p, o);                      \
    }                                          \
    double n##_##o##_wide(_Atomic(T) *p)       \
    {                                          \
        return (double)GET(p, o);              \
    }                                          \
    float n##_##o##_narrow(_Atomic(T) *p)      \
    {                                          \
        return (float)GET(p, o);               \
    }                                          \
    int n##_##o##_int(_Atomic(T) *p)           \
    {                                          \
        return (int)GET(p, o);                 \
    }                                          \
    long n##_##o##_long(_Atomic(T) *p)         \
    {                                          \
        return (long)GET(p, o);                \
    }                                          \
    bool n##_##o##_less(_Atomic(T) *p, T x)    \
    {                                          \
        return GET(p, o) < x;                  \
    }                                          \
    bool n##_##o##_same(_Atomic(T) *p, T x)    \
    {                                          \
        return GET(p, o) == x;                 \
    }                                          \
    T n##_##o##_add(_Atomic(T) *p, T x)        \
    {                                          \
        return GET(p, o) + x;                  \
    }                                          \
    T n##_##o##_sub(_Atomic(T) *p, T x)        \
    {                                          \
        return x - GET(p, o);                  \
    }                                          \
    T n##_##o##_mul(_Atomic(T) *p, T x)        \
    {                                          \
        return GET(p, o) * x;                  \
    }                                          \
    T n##_##o##_div(_Atomic(T) *p, T x)        \
    {                                          \
        return x / GET(p, o);                  \
    }                                          \
    T n##_##o##_fused(_Atomic(T) *p, T x, T y) \
    {                                          \
        return x * y + GET(p, o);              \
    }                                          \
    T n##_##o##_minus(_Atomic(T) *p)           \
    {                                          \
        return -GET(p, o);                     \
    }                                          \
    T n##_##o##_root(_Atomic(T) *p)            \
    {                                          \
        return (T)__builtin_sqrt(GET(p, o));   \
    }                                          \
    T n##_##o##_most(_Atomic(T) *p, T x)       \
    {                                          \
        const T v = GET(p, o);                 \
        return v > x ? v : x;                  \
    }                                          \
    T n##_##o##_sum(_Atomic(T) *p, int count)  \
    {                                          \
        T s = 0;                               \
        for (int i = 0; i < count; i++)        \
            s += GET(&p[i], o);                \
        return s;                              \
    }
#define FLOAT_STORES(T, n, o)                         \
    void n##_##o##_put(_Atomic(T) *p, T x)            \
    {                                                 \
        PUT(p, x, o);                                 \
    }                                                 \
    void n##_##o##_put0(_Atomic(T) *p)                \
    {                                                 \
        PUT(p, 0, o);                                 \
    }                                                 \
    void n##_##o##_puti(_Atomic(T) *p, int x)         \
    {                                                 \
        PUT(p, (T)x, o);                              \
    }                                                 \
    void n##_##o##_plus(_Atomic(T) *p, T x)           \
    {                                                 \
        PUT(p, GET(p, relaxed) + x, o);               \
    }                                                 \
    void n##_##o##_plusa(_Atomic(T) *p, T x)          \
    {                                                 \
        PUT(p, GET(p, acquire) + x, o);               \
    }                                                 \
    void n##_##o##_less_x(_Atomic(T) *p, T x)         \
    {                                                 \
        PUT(p, GET(p, relaxed) - x, o);               \
    }                                                 \
    void n##_##o##_times(_Atomic(T) *p, T x)          \
    {                                                 \
        PUT(p, GET(p, relaxed) * x, o);               \
    }                                                 \
    void n##_##o##_over(_Atomic(T) *p, T x)           \
    {                                                 \
        PUT(p, GET(p, relaxed) / x, o);               \
    }                                                 \
    void n##_##o##_neg(_Atomic(T) *p)                 \
    {                                                 \
        PUT(p, -GET(p, relaxed), o);                  \
    }                                                 \
    void n##_##o##_copy(_Atomic(T) *p, _Atomic(T) *q) \
    {                                                 \
        PUT(p, GET(q, relaxed), o);                   \
    }
#define FLOATING(T, n) EACH_LOAD_ORDER(FLOATS, T, n##_l) EACH_STORE_ORDER(FLOAT_STORES, T, n##_s)

FLOATING(float, f32)
FLOATING(double, f64)

// ---- booleans, pointers, functions ---------------------------------------------------------------------

#define OTHERS(T, n, o)                                       \
    bool n##_##o##_bool(_Atomic(bool) *p)                     \
    {                                                         \
        return GET(p, o);                                     \
    }                                                         \
    bool n##_##o##_bool_not(_Atomic(bool) *p)                 \
    {                                                         \
        return !GET(p, o);                                    \
    }                                                         \
    int n##_##o##_bool_either(_Atomic(bool) *p, int x, int y) \
    {                                                         \
        return GET(p, o) ? x : y;                             \
    }                                                         \
    bool n##_##o##_bool_and(_Atomic(bool) *p, bool x)         \
    {                                                         \
        return GET(p, o) & x;                                 \
    }                                                         \
    void n##_##o##_bool_branch(_Atomic(bool) *p)              \
    {                                                         \
        if (!GET(p, o))                                       \
            taken();                                          \
    }                                                         \
    int n##_##o##_deref(_Atomic(int *) *p)                    \
    {                                                         \
        return *GET(p, o);                                    \
    }                                                         \
    void *n##_##o##_next(void *_Atomic *_Atomic *p)           \
    {                                                         \
        return GET(GET(p, o), o);                             \
    }                                                         \
    bool n##_##o##_null(_Atomic(int *) *p)                    \
    {                                                         \
        return GET(p, o) == NULL;                             \
    }                                                         \
    bool n##_##o##_is(_Atomic(int *) *p, int *q)              \
    {                                                         \
        return GET(p, o) == q;                                \
    }                                                         \
    int *n##_##o##_moved(_Atomic(int *) *p, long i)           \
    {                                                         \
        return GET(p, o) + i;                                 \
    }                                                         \
    long n##_##o##_distance(_Atomic(int *) *p, int *q)        \
    {                                                         \
        return GET(p, o) - q;                                 \
    }                                                         \
    void n##_##o##_call(void (*_Atomic *p)(void))             \
    {                                                         \
        GET(p, o)();                                          \
        taken();                                              \
    }                                                         \
    void n##_##o##_tail(void (*_Atomic *p)(void))             \
    {                                                         \
        GET(p, o)();                                          \
    }                                                         \
    int n##_##o##_switch(_Atomic(int) *p)                     \
    {                                                         \
        switch (GET(p, o)) {                                  \
        case 1:                                               \
            return 5;                                         \
        case 2:                                               \
            taken();                                          \
            return 9;                                         \
        case 7:                                               \
            return 3;                                         \
        default:                                              \
            return 0;                                         \
        }                                                     \
    }
#define OTHER_STORES(T, n, o)                                       \
    void n##_##o##_bool_put(_Atomic(bool) *p, bool x)               \
    {                                                               \
        PUT(p, x, o);                                               \
    }                                                               \
    void n##_##o##_bool_true(_Atomic(bool) *p)                      \
    {                                                               \
        PUT(p, true, o);                                            \
    }                                                               \
    void n##_##o##_bool_less(_Atomic(bool) *p, int x, int y)        \
    {                                                               \
        PUT(p, x < y, o);                                           \
    }                                                               \
    void n##_##o##_bool_float(_Atomic(bool) *p, double x, double y) \
    {                                                               \
        PUT(p, x < y, o);                                           \
    }                                                               \
    void n##_##o##_bool_flip(_Atomic(bool) *p)                      \
    {                                                               \
        PUT(p, !GET(p, relaxed), o);                                \
    }                                                               \
    void n##_##o##_pointer(_Atomic(int *) *p, int *q)               \
    {                                                               \
        PUT(p, q, o);                                               \
    }                                                               \
    void n##_##o##_clear(_Atomic(int *) *p)                         \
    {                                                               \
        PUT(p, NULL, o);                                            \
    }                                                               \
    void n##_##o##_step(_Atomic(int *) *p)                          \
    {                                                               \
        PUT(p, GET(p, relaxed) + 1, o);                             \
    }                                                               \
    void n##_##o##_address(_Atomic(void *) *p)                      \
    {                                                               \
        PUT(p, (void *)taken, o);                                   \
    }
EACH_LOAD_ORDER(OTHERS, int, other_l)
EACH_STORE_ORDER(OTHER_STORES, int, other_s)

// ---- structures of 8 and 16 bytes, 16-byte integers ----------------------------------------------------

struct pair {
    int32_t a, b;
};
struct wide_pair {
    uint64_t a, b;
};
#define STRUCTS(T, n, o)                     \
    T n##_##o##_get(_Atomic(T) *p)           \
    {                                        \
        return GET(p, o);                    \
    }                                        \
    int64_t n##_##o##_field(_Atomic(T) *p)   \
    {                                        \
        const T v = GET(p, o);               \
        return (int64_t)v.b;                 \
    }                                        \
    bool n##_##o##_field_zero(_Atomic(T) *p) \
    {                                        \
        const T v = GET(p, o);               \
        return v.a == 0;                     \
    }
#define STRUCT_STORES(T, n, o)                        \
    void n##_##o##_put(_Atomic(T) *p, T x)            \
    {                                                 \
        PUT(p, x, o);                                 \
    }                                                 \
    void n##_##o##_put0(_Atomic(T) *p)                \
    {                                                 \
        PUT(p, ((T){0, 0}), o);                       \
    }                                                 \
    void n##_##o##_copy(_Atomic(T) *p, _Atomic(T) *q) \
    {                                                 \
        PUT(p, GET(q, relaxed), o);                   \
    }
EACH_LOAD_ORDER(STRUCTS, struct pair, pair_l)
EACH_STORE_ORDER(STRUCT_STORES, struct pair, pair_s)

// Of 16 bytes: where these are calls, copies on the stack are reached by any register at -Os.
#ifndef __OPTIMIZE_SIZE__
EACH_LOAD_ORDER(STRUCTS, struct wide_pair, wide_l)
EACH_STORE_ORDER(STRUCT_STORES, struct wide_pair, wide_s)

__int128 huge_get(_Atomic(__int128) *p)
{
    return atomic_load(p);
}
__int128 huge_relaxed(_Atomic(__int128) *p)
{
    return GET(p, relaxed);
}
bool huge_zero(_Atomic(__int128) *p)
{
    return GET(p, acquire) == 0;
}
void huge_put(_Atomic(__int128) *p, __int128 x)
{
    atomic_store(p, x);
}
void huge_release(_Atomic(__int128) *p, __int128 x)
{
    PUT(p, x, release);
}
void huge_plus(_Atomic(__int128) *p, __int128 x)
{
    PUT(p, GET(p, relaxed) + x, relaxed);
}
long double long_double_get(_Atomic(long double) *p)
{
    return GET(p, relaxed);
}
void long_double_put(_Atomic(long double) *p, long double x)
{
    PUT(p, x, relaxed);
}
#endif
bool flag_set(atomic_flag *p)
{
    return atomic_flag_test_and_set(p);
}
void flag_clear(atomic_flag *p)
{
    atomic_flag_clear_explicit(p, memory_order_release);
}

// ---- OpenMP's ------------------------------------------------------------------------------------------

#ifdef _OPENMP
#define OMP(T, n)                                   \
    T n##_omp_read(T *p)                            \
    {                                               \
        T v;                                        \
        _Pragma("omp atomic read") v = *p;          \
        return v;                                   \
    }                                               \
    bool n##_omp_same(T *p, T x)                    \
    {                                               \
        T v;                                        \
        _Pragma("omp atomic read") v = *p;          \
        return v == x;                              \
    }                                               \
    T n##_omp_plus(T *p, T x)                       \
    {                                               \
        T v;                                        \
        _Pragma("omp atomic read seq_cst") v = *p;  \
        return (T)(v + x);                          \
    }                                               \
    void n##_omp_write(T *p, T x)                   \
    {                                               \
        _Pragma("omp atomic write") *p = x;         \
    }                                               \
    void n##_omp_clear(T *p)                        \
    {                                               \
        _Pragma("omp atomic write seq_cst") *p = 0; \
    }                                               \
    void n##_omp_update(T *p, T x)                  \
    {                                               \
        _Pragma("omp atomic update") *p += x;       \
    }                                               \
    void n##_omp_step(T *p)                         \
    {                                               \
        T v;                                        \
        _Pragma("omp atomic read") v = *p;          \
        v = (T)(v + 1);                             \
        _Pragma("omp atomic write") *p = v;         \
    }                                               \
    T n##_omp_capture(T *p)                         \
    {                                               \
        T v;                                        \
        _Pragma("omp atomic capture") v = (*p)++;   \
        return v;                                   \
    }
OMP(uint8_t, u8)
OMP(int16_t, i16)
OMP(int32_t, i32)
OMP(uint64_t, u64)
OMP(float, f32)
OMP(double, f64)
#endif
