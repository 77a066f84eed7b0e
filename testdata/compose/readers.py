#!/usr/bin/env python3
"""Reads rows through the nodes whose ports are given until its input ends, and
tells what came of it. Each node has a reader with a connection of its own; one
whose connection ends or is refused reads the same row at the next node, as
clients do, and so does one that is told that the database did not answer in
time, as happens on a machine that is busy with other things. It fails if a read
had no answer for a minute, another error, or a row that is another."""

import json
import socket
import sys
import threading
import time

PATIENCE = 60  # seconds for an answer


class Reader(threading.Thread):
    def __init__(self, ports):
        super().__init__()
        self.ports, self.file = ports, None
        self.reads = self.moves = self.cut = self.late = 0
        self.wrong, self.longest = [], 0.0

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.ports[0]), PATIENCE)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = s.makefile("rwb")

    def ask(self, key):
        if self.file is None:
            self.connect()
        self.file.write(b"GET %s\r\n" % key)
        self.file.flush()
        head = self.file.readline()
        if not head.endswith(b"\r\n"):
            self.cut += 1
            raise ConnectionError
        if head[:1] != b"$" or head == b"$-1\r\n":
            return head.strip().decode()
        return json.loads(self.file.read(int(head[1:]) + 2))

    def read(self, id):
        """Asks one node after the other."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                row = self.ask(b"users:%d" % id)
                if not str(row).startswith("-UNAVAILABLE"):
                    return row
                self.late += 1
            except (OSError, ValueError):
                self.moves += 1
            self.file = None
            self.ports = self.ports[1:] + self.ports[:1]
            time.sleep(0.01)
        return "no answer from any node"

    def run(self):
        while not over.is_set():
            id, start = 1 + self.reads % 2000, time.monotonic()
            row = self.read(id)
            self.longest = max(self.longest, time.monotonic() - start)
            self.reads += 1
            if not isinstance(row, dict) or row["id"] != id:
                self.wrong.append(f"users:{id}: {row}")
            time.sleep(0.005)


over = threading.Event()
ports = [int(p) for p in sys.argv[1:]]
readers = [Reader(ports[i:] + ports[:i]) for i in range(len(ports))]
for r in readers:
    r.start()
sys.stdin.read()
over.set()
for r in readers:
    r.join()
wrong = [w for r in readers for w in r.wrong]
print(f"# {sum(r.reads for r in readers)} reads by {len(readers)} clients, {len(wrong)} errors, "
      f"{sum(r.moves for r in readers)} moves to another node ({sum(r.cut for r in readers)} with a read under way), "
      f"{sum(r.late for r in readers)} told that the database was late, the longest read {max(r.longest for r in readers) * 1000:.0f} ms")
for w in wrong[:10]:
    print("#", w)
sys.exit(bool(wrong))
