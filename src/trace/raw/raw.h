// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The raw recording: written by the runtime while the program runs, and merged by the tool into a .rbt
// (docs/explanation/recording.md). Only the runtime writes it, through shared mappings of the file, so that no written
// record is lost however the program ends. Shared by both worlds: no libc but memcpy.
//
//   unit 0       struct rb_raw_header
//   then         chunks, each a whole number of units of 4096 bytes: struct rb_raw_chunk and its contents.
//                A unit that is all zero is a chunk that its owner, killed before, did not use.
//
// A chunk of events belongs to one thread, and a thread's chunks follow each other in the file. A record is
// two words and never changes after `used` has grown over it:
//
//   word 0   63..58  code           word 1   63..48  clock, its low 16 bits
//            57..48  size                    47..0   a place, a number, or a value
//            47..0   address
//
// size     bytes of an access, or of a range: 1 to 1023; 0: the size is in the EXTENT that follows.
// address  of the access, object or range; for FORK and JOIN a thread. User space is 47 bits wide; bit 47 is
//          set for addresses that the runtime made up (descriptors have objects, and no address).
// clock    CLOCK_MONOTONIC in units of 16 ns. The rest of it is in the last TICK: one comes first in each
//          chunk and whenever the rest changes (every millisecond).
// place    in the code: 47..36 module (RB_RAW_MODULE chunks), 35..0 offset in it.
// number   of a numbered event: its turn at its counter. An object's events are numbered by the counter that
//          its address hashes to, while its lock is held. Memory that is given back or starts anew is
//          numbered by counter RB_RAW_MEMORY.
//
// Codes 0 to 49 are those of trace/events.def.
#ifndef RB_TRACE_RAW_RAW_H
#define RB_TRACE_RAW_RAW_H

#include "trace/format.h"

#define RB_RAW_MAGIC       "RBRAWREC"
#define RB_RAW_VERSION     1u
#define RB_RAW_UNIT        4096u
#define RB_RAW_MOST        (16 * RB_RAW_UNIT) // bytes of a chunk
#define RB_RAW_CHUNK_MAGIC 0x4b435752u        // "RWCK"

#define RB_RAW_OBJECTS  128u           // counters of objects
#define RB_RAW_MEMORY   RB_RAW_OBJECTS // the counter of memory
#define RB_RAW_COUNTERS (RB_RAW_OBJECTS + 1)

#define RB_RAW_ADDRESS_BITS 48
#define RB_RAW_SIZES        1024u // sizes that fit the record itself
#define RB_RAW_CLOCK_BITS   16
#define RB_RAW_CLOCK_SHIFT  4 // nanoseconds to ticks
#define RB_RAW_OFFSET_BITS  36
#define RB_RAW_MODULES      (1u << (RB_RAW_ADDRESS_BITS - RB_RAW_OFFSET_BITS))
#define RB_RAW_MADE_UP      (UINT64_C(1) << 47)
#define RB_RAW_LOW48        ((UINT64_C(1) << RB_RAW_ADDRESS_BITS) - 1)

enum rb_raw_op {
    RB_RAW_ATOMIC_READ = 2, // accesses that conflict with plain ones only
    RB_RAW_ATOMIC_WRITE = 3,
    RB_RAW_GONE = 56,      // numbered: the object ends here; the address may be another's next
    RB_RAW_FORGET = 57,    // numbered: the memory starts anew
    RB_RAW_FREED = 58,     // numbered: the memory is about to be given back
    RB_RAW_END = 59,       // of the thread
    RB_RAW_TICK = 60,      // value: the clock without its low 16 bits
    RB_RAW_EXTENT = 61,    // value: the size of the record before
    RB_RAW_GENERATION = 62 // value: the generation of the access history that later accesses belong to
};

enum rb_raw_kind { RB_RAW_EVENTS = 1, RB_RAW_MODULE = 2 };
enum rb_raw_state { RB_RAW_RUNNING = 0, RB_RAW_ENDED = 1 };

enum rb_raw_flag {
    RB_RAW_FUNCTIONS = 1, // enter and exit are recorded
    RB_RAW_ATTENDED = 2   // a tool waits and will report losses: the runtime need not
};

struct rb_raw_header {
    char magic[8];
    uint32_t version;
    uint32_t flags;   // enum rb_raw_flag, set by the process that made the file
    uint32_t pid;     // of the recorded process; 0: no process yet
    uint32_t state;   // enum rb_raw_state
    uint32_t stopped; // errno of the failure that ended the recording before the program; 0: none
    uint32_t others;  // processes that should have recorded here as well and could not
    char sampler[64];
    char program[2048];
};

struct rb_raw_chunk {
    uint32_t magic; // written last: 0 means nothing here
    uint32_t bytes; // with this head; a multiple of RB_RAW_UNIT
    uint32_t kind;  // enum rb_raw_kind
    uint32_t thread;
    uint32_t sequence; // 0, 1, 2 … of the thread's chunks
    uint32_t used;     // records, or modules (1)
    uint32_t os_id;    // of the thread; 0: a fiber, or the owner of a thread's fences
    uint32_t reserved[9];
};

// Behind the head of an RB_RAW_MODULE chunk, one a chunk. Index 0 is never used.
struct rb_raw_module {
    uint64_t bias;     // address minus this is the file's own address
    uint64_t from, to; // where it is mapped
    uint32_t index;
    char build_id[68]; // hex, or ""
    char path[3900];   // "": code that belongs to no file
};

_Static_assert(sizeof(struct rb_raw_header) <= RB_RAW_UNIT, "the header fits its unit");
_Static_assert(sizeof(struct rb_raw_chunk) == 64, "a chunk's head is four records");
_Static_assert(sizeof(struct rb_raw_chunk) + sizeof(struct rb_raw_module) <= RB_RAW_UNIT,
               "a module is a unit");
_Static_assert(RBT_OPCODE_SHIFT == 58 && RB_RAW_SIZES == 1u << (58 - RB_RAW_ADDRESS_BITS), "word 0 is full");
_Static_assert(RB_RAW_CLOCK_BITS + RB_RAW_ADDRESS_BITS == 64, "so is word 1");
_Static_assert((int)RB_RAW_GONE > (int)RB_MARK, "codes of the runtime's own");

RB_INLINE uint64_t rb_raw_word0(unsigned op, uint64_t size, uint64_t address)
{
    return (uint64_t)op << RBT_OPCODE_SHIFT | size << RB_RAW_ADDRESS_BITS | (address & RB_RAW_LOW48);
}

RB_INLINE uint64_t rb_raw_word1(uint64_t clock, uint64_t value)
{
    return clock << RB_RAW_ADDRESS_BITS | (value & RB_RAW_LOW48);
}

RB_INLINE uint32_t rb_raw_counter(uint64_t object)
{
    return (uint32_t)((object * RB_GOLDEN) >> 57);
}

RB_INLINE bool rb_raw_is_numbered(unsigned op)
{
    return (op >= RB_ACQUIRE && op < RB_FORK) || (op >= RB_RAW_GONE && op <= RB_RAW_FREED);
}

// Returns the counter of a numbered event.
RB_INLINE uint32_t rb_raw_counter_of(unsigned op, uint64_t address)
{
    return op == RB_RAW_FORGET || op == RB_RAW_FREED ? RB_RAW_MEMORY : rb_raw_counter(address);
}

#endif
