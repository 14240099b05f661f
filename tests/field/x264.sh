#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# x264 without its assembly: four threads encode frames that depend on each other, each waits for the rows of the one before.
# The bytes are the same each time, with any number of threads.
source "$(dirname "$0")/lib.sh"
needs python3
program=x264 frames=$([ "${FIELD_FULL:-0}" = 1 ] && echo 40 || echo 10)
load_name="--threads 4, $frames frames of 352x288"

build() {
  ./configure --disable-asm --disable-opencl --disable-avs --disable-swscale --disable-lavf --disable-ffms --disable-gpac \
    --disable-lsmash --enable-debug &&
    make -s -j"$jobs" x264
}

# video FRAMES: squares that move over a texture, with noise
video() {
  local file=$cache/video-$1
  echo "$file"
  [ -e "$file" ] && return
  python3 - "$1" >"$file.new" <<'PYTHON'
import random, sys

WIDTH, HEIGHT = 352, 288
noise = random.Random(7)
texture = bytes((x * x // 64 + y * 3 + (x ^ y)) % 200 + 20 for y in range(HEIGHT) for x in range(WIDTH))
squares = [(noise.randrange(280), noise.randrange(220), noise.randrange(-9, 10), noise.randrange(-7, 8)) for _ in range(12)]
for n in range(int(sys.argv[1])):
    luma = bytearray(texture)
    for i, (x, y, dx, dy) in enumerate(squares):
        x, y = (x + n * dx) % (WIDTH - 48), (y + n * dy) % (HEIGHT - 48)
        for row in range(y, y + 48):
            luma[row * WIDTH + x:row * WIDTH + x + 48] = bytes([40 + 16 * i]) * 48
    for _ in range(2000):
        luma[noise.randrange(WIDTH * HEIGHT)] = noise.randrange(256)
    chroma = bytes(128 + (n * 3 + i // 176) % 60 for i in range(WIDTH * HEIGHT // 4))
    sys.stdout.buffer.write(luma + chroma + chroma[::-1])
PYTHON
  mv "$file.new" "$file"
}

load() {
  local in preset
  in=$(video "$frames")
  for preset in fast $([ "${FIELD_FULL:-0}" != 1 ] || echo slower); do
    measured "$tree/x264" --quiet --threads 4 --preset $preset --fps 25 --demuxer raw --input-res 352x288 -o $preset.264 "$in" || return 1
    sha256sum $preset.264
  done
}
field
