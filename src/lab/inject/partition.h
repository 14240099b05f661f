// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The direct scheduler. It splits a stretch of an order in two, a part that goes first and a part that goes
// second, and each part keeps its order. Tool side; one for each worker.
//
// late(seed) makes the second part as small as possible: the seed and the events that cannot overtake it.
// early(seed) makes the first part as small as possible: the seed and the events that must stay before it.
// The rules for turning two events around follow from R1 to R5, given that the current order is correct (x
// of the second part stood before y of the first):
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
// "In the second part" includes events behind the stretch, "in the first" those before it. Rules about
// events that a scan has not met yet are assumed to hold and checked afterwards. An event that breaks one
// is moved and the scan is repeated. Parts only grow, so the scans terminate, after a few passes; each is
// linear.
#ifndef RB_LAB_INJECT_PARTITION_H
#define RB_LAB_INJECT_PARTITION_H

#include "lab/inject/model.h"

struct rb_partition {
    const struct rb_model *model;
    uint32_t from, to;     // the stretch, as places
    unsigned char *second; // [place - from]: the event goes into the second part
    unsigned char *forced, *doubtful;
    uint32_t *seen; // by event: number of reads of this write in the first part
    struct rb_partition_mark *threads, *objects, *variables;
    uint32_t scan;    // number of the scan: marks of other scans are void
    uint32_t *buffer; // [count]: for rb_partition_apply
};

bool rb_partition_alloc(struct rb_partition *p, const struct rb_model *m); // false: memory is out
void rb_partition_free(struct rb_partition *p);

// Splits the places from the seed's up to `to`, or from `from` up to the seed's. `keep`: sections of a lock
// keep their order. Returns false if it took too many scans; then there is no partition to apply.
bool rb_partition_late(struct rb_partition *p, const struct rb_order *o, uint32_t seed, uint32_t to,
                       bool keep);
bool rb_partition_early(struct rb_partition *p, const struct rb_order *o, uint32_t seed, uint32_t from,
                        bool keep);

// Returns the place of an event after the partition is applied.
uint32_t rb_partition_place(const struct rb_partition *p, const struct rb_order *o, uint32_t event);
void rb_partition_apply(const struct rb_partition *p, struct rb_order *o);

#endif
