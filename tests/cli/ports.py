"""Ports of the loopback interface for servers that the tests start.

They are outside of the kernel's ephemeral range, where a connection could take the port of a server before it listens or while
it restarts, and outside of those of tests/e2e. A port belongs to the process that asked for it until that process ends: a socket
in the abstract namespace, which nothing else holds, says so to tests that run beside it."""
import errno
import os
import socket

FIRST, COUNT = 30000, 2768
taken = []


def free_port():
    """Each once."""
    first = os.getpid() * 43 + len(taken)
    for port in (FIRST + (first + i) % COUNT for i in range(COUNT)):
        mark = socket.socket(socket.AF_UNIX)
        try:
            mark.bind("\0berth-test-port-%d" % port)
            with socket.create_server(("127.0.0.1", port)):
                taken.append(mark)
                return port
        except OSError as error:
            mark.close()
            if error.errno != errno.EADDRINUSE:
                raise
    raise RuntimeError("no port is free")
