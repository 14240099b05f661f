// What an access does, and with how many bytes, in one number: for arch_hooks_*.S as well, so there is
// nothing of C here.
#ifndef RB_RUN_CORE_ACCESS_KIND_H
#define RB_RUN_CORE_ACCESS_KIND_H

#define RB_HOW_READ   0
#define RB_HOW_WRITE  1
#define RB_HOW_ATOMIC 2

#define RB_SIZED(size, how) ((size) << 2 | (how))
#define RB_SIZED_HOW        3

#endif
