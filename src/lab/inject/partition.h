// The direct scheduler: a stretch of an order is split in two, a part that goes first and a part that goes
// second, and each part keeps its order. Tool side; one for each worker.
//
// late(seed) makes the second part as small as it can be: the seed and what cannot overtake it. early(seed)
// makes the first part as small as it can be: the seed and what must stay before it. What may be turned
// around (x of the second part stood before y of the first) follows from R1 to R5, given that the order at
// hand is correct:
//
//   x                   y                             may be turned around
//   ------------------------------------------------------------------------------------------------------
//   of one thread; a fork or join and the thread's    never
//   events; a pair of R5
//   write               read that sees it             never
//   read                write of the same variable    if the write that x sees is in the second part
//   write               write of the same variable    if all reads that see y are in the first part
//   release             acquire of the lock,          if x's whole section is in the second part and y's
//                       in conflict                   in the first: they change their order
//
// "In the second part" is also what lies behind the stretch, "in the first" what lies before it. Rules that
// look at what a scan has not met yet are assumed to hold and looked at afterwards; what breaks one is moved
// and the scan is repeated. Parts only grow, so that ends, in a few scans of the stretch; each is linear.
#ifndef RB_LAB_INJECT_PARTITION_H
#define RB_LAB_INJECT_PARTITION_H

#include "lab/inject/model.h"

struct rb_partition {
    const struct rb_model *model;
    uint32_t from, to;     // the stretch, as places
    unsigned char *second; // [place - from]: goes into the second part
    unsigned char *forced, *doubtful;
    uint32_t *seen; // by event: reads of this write that are in the first part
    struct rb_partition_mark *threads, *objects, *variables;
    uint32_t scan;    // number of the scan: marks of other scans are void
    uint32_t *buffer; // [count]: for rb_partition_apply
};

bool rb_partition_alloc(struct rb_partition *p, const struct rb_model *m); // false: memory is out
void rb_partition_free(struct rb_partition *p);

// Splits the places from the seed's up to `to`, or from `from` up to the seed's. `keep`: sections of a lock
// keep their order. False if it took too many scans; nothing can be applied then.
bool rb_partition_late(struct rb_partition *p, const struct rb_order *o, uint32_t seed, uint32_t to,
                       bool keep);
bool rb_partition_early(struct rb_partition *p, const struct rb_order *o, uint32_t seed, uint32_t from,
                        bool keep);

// Where an event would go.
uint32_t rb_partition_place(const struct rb_partition *p, const struct rb_order *o, uint32_t event);
void rb_partition_apply(const struct rb_partition *p, struct rb_order *o);

#endif
