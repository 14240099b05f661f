#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# memcached: four worker threads, the thread that accepts, LRU and hash table maintainers. A part of its own test suite, and
# eight clients on the loopback that mix sets, gets, deletes, touches and counters on shared keys with statistics, reconnect
# now and then (descriptors, and the structures that go with them, change hands), and print what their own keys answer.
source "$(dirname "$0")/lib.sh"
needs libevent-dev perl python3
program=memcached load_name='10 of t/*.t; 8 clients, 4,000 commands'
# The clock, the item header, statistics and the state of connections are read without the lock their writers hold: one by one
# in docs/explanation/field-notes.md.
known='clock_handler|process_debugtime_command|process_verbosity_command|item_remove|item_free|process_get_command'
known+='|process_touch_command|limited_get|lru_pull_tail|item_crawler_thread|lru_maintainer_crawler_check|process_stats_conns'
known+='|conn_to_str|get_conn_text|threadlocal_stats_aggregate|item_stats|lru_maintainer_juggle|make_ascii_get_suffix'
known+='|slab_rebalance_move|sig_handler'

build() {
  ./configure -q CFLAGS='-g -O2' --disable-docs --disable-coverage &&
    make -s -j"$jobs" memcached-debug sizes timedrun
}

clients() {
  python3 - "$1" <<'PYTHON'
import hashlib, random, socket, sys, threading

LAST = (b"END\r\n", b"STORED\r\n", b"DELETED\r\n", b"NOT_FOUND\r\n", b"TOUCHED\r\n", b"OK\r\n", b"ERROR\r\n")
answers, errors = {}, []

class Client:
    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60)
        self.file = self.socket.makefile("rb")

    def ask(self, text):
        self.socket.sendall(text.encode())
        lines = []
        while not lines or not (lines[-1] in LAST or lines[-1][:1].isdigit() or lines[-1].startswith((b"CLIENT", b"SERVER"))):
            line = self.file.readline()
            if not line:
                raise EOFError(text)
            lines.append(line)
        return b"".join(lines)

def work(number):
    try:
        r, own, c = random.Random(number), hashlib.sha256(), Client()
        for i in range(500):
            key, value = "k%d" % r.randrange(200), "v%d" % r.randrange(1000) * r.choice((1, 1, 5, 50, 400))
            kind = r.randrange(12)
            if kind < 3:
                c.ask("set %s 0 %d %d\r\n%s\r\n" % (key, r.choice((0, 0, 1)), len(value), value))
            elif kind < 6:
                c.ask("get %s k1 k2 k3\r\n" % key)
            elif kind == 6:
                c.ask(r.choice(("delete %s\r\n", "touch %s 5\r\n")) % key)
            elif kind == 7:
                c.ask("set n%d 0 0 1\r\n1\r\n" % r.randrange(5))
            elif kind == 8:
                c.ask("incr n%d 1\r\n" % r.randrange(5))
            elif kind == 9:
                c.ask("stats%s\r\n" % r.choice(("", " settings", " items", " slabs", " conns")))
            else:
                mine = "c%d_%d" % (number, r.randrange(20))
                own.update(c.ask("set %s 0 0 %d\r\n%s\r\n" % (mine, len(value), value)))
                own.update(c.ask("get %s\r\n" % mine))
            if i % 100 == 99:
                c.socket.close()
                c = Client()
        answers[number] = own.hexdigest()
    except Exception as e:
        errors.append("%d: %r" % (number, e))

threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
for number in sorted(answers):
    print(number, answers[number])
print("\n".join(errors))
sys.exit(bool(errors))
PYTHON
}

load() {
  local port=$((20000 + RANDOM % 20000)) pid i status=0
  for i in bogus-commands binary-get cas flags getset incrdecr lru noreply stats 64bit; do
    (cd "$tree" && perl -I t/lib "t/$i.t") >"$i.tap" 2>&1 || return 1
    echo "$i: $(grep -c '^ok' "$i.tap") ok, $(grep -c '^not ok' "$i.tap") not"
  done
  "$tree/memcached-debug" -u "$(id -un)" -p $port -U 0 -l 127.0.0.1 -t 4 -m 64 &
  pid=$!
  listening $port && clients $port || status=1
  kill -INT $pid
  wait $pid || status=1
  return $status
}
field
