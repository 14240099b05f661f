// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The findings of `railbird doctor`: one for each check, with its meaning and, if something could be
// better, the remedy. A check tries the operation itself if possible, because settings only hint.
#ifndef RB_CMD_DOCTOR_DOCTOR_H
#define RB_CMD_DOCTOR_DOCTOR_H

#include "base/types.h"

enum finding_status { FINDING_OK, FINDING_WARN, FINDING_FAIL };

struct finding {
    enum finding_status status;
    char text[320];
    char change[320]; // "" if nothing is to be changed
};

void finding_set(struct finding *f, enum finding_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void finding_change(struct finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

// doctor_system.c
void check_machine(struct finding *f);
void check_libc(struct finding *f);
void check_breakpoints(struct finding *f);
void check_ptrace(struct finding *f);
void check_text_pages(struct finding *f);
void check_aslr(struct finding *f);
void check_limits(struct finding *f);
void check_openmp(struct finding *f);

// doctor_build.c
void check_gcc(struct finding *f);
void check_clang(struct finding *f);
void check_runtime(struct finding *f);
void check_preload(struct finding *f);
void check_building(struct finding *f);
void check_self_test(struct finding *f);
void check_symbols(struct finding *f);

#endif
