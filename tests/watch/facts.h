// Instructions and what they do to memory: facts.py writes them, test_facts.c asks tables and the processor.
#ifndef RB_TESTS_HWBP_FACTS_H
#define RB_TESTS_HWBP_FACTS_H

#include <stdint.h>

// What an address or a register's value is counted from.
enum area {
    NUMBER,
    MEMORY,       // fact_memory
    STACK,        // fact_stack
    CONSTANT,     // fact_constant, which is read-only
    LOCAL,        // fact_local, which is thread-local
    LOCAL_OFFSET, // the same, from the thread pointer
    LOW,          // LOW_ADDRESS
    LANDING,      // code that branches lead to
};

struct place {
    enum area area;
    int64_t offset;
    int divisor; // of the whole
};

enum {
    FACT_SPREAD = 1,
    FACT_MASKED = 2,
    FACT_BRANCH = 4,
    FACT_DOWN = 8, // with the direction flag set
    FACT_REP = 16,
    FACT_EITHER = 32, // afterwards its address may be gone
    FACT_STILL = 64,  // not to be run
    FACT_LOOSE = 256, // which half is touched is the processor's choice
    FACT_SAME = 128,  // both operands are to hold the same, else it stops
};

struct fact_operand {
    struct place at;
    uint32_t size; // of all turns
    int reads, writes, site;
};

struct fact {
    const char *text;
    const uint8_t *start, *end;
    const char *needs; // of the processor
    unsigned operands;
    struct fact_operand operand[2];
    unsigned registers;
    struct {
        uint8_t number;
        struct place value;
    } reg[6];
    unsigned cells; // what memory has to hold
    struct {
        struct place at, value;
    } cell[1];
    unsigned flags;
};

extern const struct fact facts[];
extern const unsigned fact_count;

#define MEMORY_BYTES 0x6000
#define STACK_BYTES  0x1000
#define LOW_ADDRESS  0x10000000u
extern uint8_t fact_memory[MEMORY_BYTES], fact_stack[STACK_BYTES];
extern const uint32_t fact_constant;
extern _Thread_local uint64_t fact_local;

#endif
