// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The used part of OMPT: OpenMP 5.x, chapter "OMPT Interface". Names and numbers are the specification's.
// They are declared here because not every build machine has a library with the header.
#ifndef RB_RUN_OPENMP_OMPT_H
#define RB_RUN_OPENMP_OMPT_H

#include "base/types.h"

typedef union {
    uint64_t value;
    void *ptr;
} ompt_data_t;

typedef struct {
    ompt_data_t variable;
    int dependence_type;
} ompt_dependence_t;

typedef void (*ompt_interface_fn_t)(void);
typedef ompt_interface_fn_t (*ompt_function_lookup_t)(const char *name);
typedef int (*ompt_set_callback_t)(int event, ompt_interface_fn_t callback);
typedef int (*ompt_get_task_memory_t)(void **address, size_t *size, int block);

typedef struct {
    int (*initialize)(ompt_function_lookup_t lookup, int device, ompt_data_t *tool);
    void (*finalize)(ompt_data_t *tool);
    ompt_data_t tool_data;
} ompt_start_tool_result_t;

enum {
    ompt_callback_parallel_begin = 3,
    ompt_callback_parallel_end = 4,
    ompt_callback_task_create = 5,
    ompt_callback_task_schedule = 6,
    ompt_callback_implicit_task = 7,
    ompt_callback_sync_region_wait = 16,
    ompt_callback_dependences = 18,
    ompt_callback_sync_region = 23,
    ompt_callback_flush = 29,
    ompt_callback_cancel = 30,
    ompt_callback_reduction = 31,
};

enum { ompt_scope_begin = 1, ompt_scope_end = 2, ompt_scope_beginend = 3 };

enum { // sync regions: the others are barriers
    ompt_sync_region_taskwait = 5,
    ompt_sync_region_taskgroup = 6,
    ompt_sync_region_reduction = 7,
};

enum {
    ompt_task_complete = 1,
    ompt_task_yield = 2,
    ompt_task_cancel = 3,
    ompt_task_detach = 4,
    ompt_task_early_fulfill = 5,
    ompt_task_late_fulfill = 6,
    ompt_task_switch = 7,
    ompt_taskwait_complete = 8,
};

enum {
    ompt_dependence_type_in = 1,
    ompt_dependence_type_source = 5,
    ompt_dependence_type_sink = 6,
    ompt_dependence_type_inoutset = 7,
    ompt_dependence_type_out_all_memory = 34,
    ompt_dependence_type_inout_all_memory = 35,
};

enum { ompt_cancel_activated = 0x10, ompt_cancel_detected = 0x20 };
enum { ompt_task_initial = 0x1 };

#endif
