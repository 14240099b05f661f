#!/usr/bin/env bash
# Programs behind a seccomp filter: the short form of tests/attack/sandbox/run.sh.
exec "$(dirname "$(realpath "$0")")/../attack/sandbox/run.sh" 1
