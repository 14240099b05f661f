# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damages bytes and values."""
import struct

NUMBERS = [0, 1, 2, 7, 127, 128, 255, 256, 65535, 65536, (1 << 24) - 1, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40,
           (1 << 63) - 1, 1 << 63, (1 << 64) - 1]


def mutate(data, rng, most=6):
    """A few of: flipped bits, other bytes, numbers that claim much, parts cut, moved, doubled, or filled."""
    data = bytearray(data)
    for _ in range(rng.randrange(1, most)):
        if not data:
            break
        at = rng.randrange(len(data))
        length = min(rng.choice((1, 2, 4, 8, 16, 100, 1000)), len(data) - at)
        kind = rng.randrange(8)
        if kind == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at] = rng.randrange(256)
        elif kind == 2:
            form = rng.choice("BHIQ")
            number = rng.choice(NUMBERS) & (1 << 8 * struct.calcsize(form)) - 1
            data[at:at + struct.calcsize(form)] = struct.pack("<" + form, number)
        elif kind == 3:
            del data[at:at + length]
        elif kind == 4:
            to = rng.randrange(len(data))
            data[to:to] = data[at:at + length]
        elif kind == 5:
            data[at:at + length] = bytes([rng.randrange(256)]) * length
        elif kind == 6:
            data[at:at + length] = rng.randbytes(length)
        elif rng.random() < 0.3:
            del data[at:]
    return bytes(data)
