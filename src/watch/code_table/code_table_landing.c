// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Landing pads: the places in a function where an exception continues, from .gcc_except_table (LSB Core,
// section 10.6.3; the layout is that of the Itanium C++ ABI's reference).
#include "watch/code_table/code_table_cursor.h"
#include "watch/code_table/code_table_elf.h"

bool rb_code_landings(struct rb_code_file *f, uint64_t address, uint64_t function)
{
    size_t bytes = 0;
    const uint8_t *data = rb_code_file_bytes(f, address, &bytes);

    if (!data)
        return false;
    struct rb_cursor c = {data, data + bytes, false};
    uint8_t encoding = (uint8_t)rb_cursor_fixed(&c, 1);
    if (encoding != RB_PE_OMIT)
        function = rb_cursor_pointer(&c, encoding, true, data, address);
    if (rb_cursor_fixed(&c, 1) != RB_PE_OMIT)
        rb_cursor_leb(&c, false); // distance of the table of types
    encoding = (uint8_t)rb_cursor_fixed(&c, 1);
    const uint64_t calls = rb_cursor_leb(&c, false);
    struct rb_cursor each = c;
    rb_cursor_skip(&c, calls);
    if (c.bad)
        return false;
    each.end = c.at;
    while (each.at < each.end && !each.bad) {
        rb_cursor_pointer(&each, encoding, false, data, address); // start and length of the calls
        rb_cursor_pointer(&each, encoding, false, data, address);
        const uint64_t pad = rb_cursor_pointer(&each, encoding, false, data, address);
        rb_cursor_leb(&each, false); // action
        if (pad && !each.bad && !rb_code_file_add_start(f, function + pad))
            return false;
    }
    return !each.bad;
}
