// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Coverage for fuzzers (-fsanitize-coverage), which code may be built for at the same time. The
// fuzzer's runtime has these functions, and other libraries have better ones. So ours are weak and
// do nothing. Arguments stay where they are.
#include "run/core/rt.h"

#define RB_COVERAGE(name)              \
    RB_EXPORT RB_WEAK void name(void); \
    RB_EXPORT RB_WEAK void name(void)  \
    {                                  \
    }
#define RB_COVERAGE_OF(name) RB_COVERAGE(__sanitizer_cov_##name)

RB_COVERAGE_OF(trace_pc)
RB_COVERAGE_OF(trace_pc_guard)
RB_COVERAGE_OF(trace_pc_guard_init)
RB_COVERAGE_OF(trace_pc_indir)
RB_COVERAGE_OF(trace_pc_entry)
RB_COVERAGE_OF(trace_pc_exit)
RB_COVERAGE_OF(8bit_counters_init)
RB_COVERAGE_OF(bool_flag_init)
RB_COVERAGE_OF(pcs_init)
RB_COVERAGE_OF(trace_cmp)
RB_COVERAGE_OF(trace_cmp1)
RB_COVERAGE_OF(trace_cmp2)
RB_COVERAGE_OF(trace_cmp4)
RB_COVERAGE_OF(trace_cmp8)
RB_COVERAGE_OF(trace_const_cmp1)
RB_COVERAGE_OF(trace_const_cmp2)
RB_COVERAGE_OF(trace_const_cmp4)
RB_COVERAGE_OF(trace_const_cmp8)
RB_COVERAGE_OF(trace_cmpf)
RB_COVERAGE_OF(trace_cmpd)
RB_COVERAGE_OF(trace_switch)
RB_COVERAGE_OF(trace_div4)
RB_COVERAGE_OF(trace_div8)
RB_COVERAGE_OF(trace_gep)
RB_COVERAGE_OF(load1)
RB_COVERAGE_OF(load2)
RB_COVERAGE_OF(load4)
RB_COVERAGE_OF(load8)
RB_COVERAGE_OF(load16)
RB_COVERAGE_OF(store1)
RB_COVERAGE_OF(store2)
RB_COVERAGE_OF(store4)
RB_COVERAGE_OF(store8)
RB_COVERAGE_OF(store16)
RB_COVERAGE(__sanitizer_dump_coverage)
RB_COVERAGE(__sanitizer_dump_trace_pc_guard_coverage)
