// Numbers for JSON: whole ones without a point, none for what is undefined. Tool side.
#ifndef RB_LAB_COMPARE_JSON_NUMBER_H
#define RB_LAB_COMPARE_JSON_NUMBER_H

#include <jansson.h>
#include <math.h>
#include <stdint.h>

static inline json_t *rb_json_number(double v)
{
    if (!isfinite(v))
        return json_null();
    return v == floor(v) && fabs(v) < 1e15 ? json_integer((json_int_t)v) : json_real(v);
}

static inline json_t *rb_json_count(uint64_t v)
{
    return json_integer((json_int_t)v);
}

#endif
