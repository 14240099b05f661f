// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static void fill_error(struct rb_error *e, enum rb_fault fault, const char *format, va_list args)
{
    if (e->fault != RB_FAULT_NONE)
        return;
    e->fault = fault;
    vsnprintf(e->text, sizeof(e->text), format, args);
    for (char *c = e->text; *c; c++) // one line and no terminal commands, even if the names in it have them
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
}

int rb_bad_input(struct rb_error *e, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill_error(e, RB_FAULT_INPUT, format, args);
    va_end(args);
    return -EINVAL;
}

int rb_internal(struct rb_error *e, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fill_error(e, RB_FAULT_INTERNAL, format, args);
    va_end(args);
    return -EIO;
}
