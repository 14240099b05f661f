// What atomics.c and atomics_other.c share.
#ifndef RB_TESTS_HWBP_ATOMICS_H
#define RB_TESTS_HWBP_ATOMICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EACH_LOAD_ORDER(X, T, n) \
    X(T, n, relaxed)             \
    X(T, n, acquire)             \
    X(T, n, seq_cst)
#define EACH_STORE_ORDER(X, T, n) \
    X(T, n, relaxed)              \
    X(T, n, release)              \
    X(T, n, seq_cst)
#define GET(p, order)    atomic_load_explicit(p, memory_order_##order)
#define PUT(p, v, order) atomic_store_explicit(p, v, memory_order_##order)

void taken(void);
void taken_with(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g);

#endif
