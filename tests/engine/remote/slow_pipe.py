"""ssh's ProxyCommand with the delay and the rate of a line far away, and one that can be cut without a word.

    slow_pipe.py HOST PORT DELAY_MS MEGABITS_PER_S CUT

What comes in is passed on after the delay, no faster than the rate; while a file CUT exists, not at all.
"""

import os
import queue
import socket
import sys
import threading
import time


def carry(read, write, delay_s, rate, cut):
    """Pass on what is read. A piece leaves after the one before, and comes the delay later."""
    pieces = queue.Queue(64)

    def arrive():
        while (piece := pieces.get())[1]:
            at, data = piece
            time.sleep(max(0.0, at - time.monotonic()))
            while os.path.exists(cut):
                time.sleep(0.05)
            write(data)
        os._exit(0)

    threading.Thread(target=arrive, daemon=True).start()
    free_at = 0.0
    while True:
        data = read()
        now = time.monotonic()
        free_at = max(free_at, now) + len(data) / rate
        # As a link does: what is ahead of the rate waits in front of it.
        time.sleep(max(0.0, free_at - now - 0.002))
        pieces.put((free_at + delay_s, data))
        if not data:
            return


def main():
    host, port, delay_ms, megabits, cut = sys.argv[1:]
    line = socket.create_connection((host, int(port)))
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    how = float(delay_ms) / 1e3, float(megabits) * 1e6 / 8, cut
    out = threading.Thread(target=carry, args=(lambda: os.read(0, 1 << 14), line.sendall, *how), daemon=True)
    out.start()
    carry(lambda: line.recv(1 << 14), lambda data: os.write(1, data), *how)
    time.sleep(5.0)


if __name__ == "__main__":
    main()
