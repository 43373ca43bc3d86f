"""A TCP relay between a scheduler and the API server, to break the network."""
import contextlib
import socket
import threading


class Relay:
    """Listens on a free port of the loopback interface, and forwards connections to `target`, a host and a port.

    While it is down, connections are closed as soon as they are made. While it holds, they stay open and nothing passes."""

    def __init__(self, target):
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Condition()
        self.is_down = self.is_holding = self.is_closed = False
        self.open = set()
        self.count = self.refused = 0  # connections that were forwarded and refused so far
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(near,), daemon=True).start()

    def serve(self, near):
        with contextlib.suppress(OSError), near, socket.create_connection(self.target) as far:
            pair = (near, far)
            with self.lock:
                if self.is_down or self.is_closed:
                    self.refused += 1
                    return
                self.open.add(pair)
                self.count += 1
            back = threading.Thread(target=self.copy, args=(far, near), daemon=True)
            back.start()
            self.copy(near, far)
            back.join()
            with self.lock:
                self.open.discard(pair)

    def copy(self, source, sink):
        """Until one of them is closed; then both are."""
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                with self.lock:
                    self.lock.wait_for(lambda: not self.is_holding)
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self):
        """Closes all connections; what was held back is lost."""
        with self.lock:
            for pair in self.open:
                for end in pair:
                    with contextlib.suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)
            self.is_holding = False
            self.lock.notify_all()

    def down(self):
        """Nothing gets through until up()."""
        with self.lock:
            self.is_down = True
        self.cut()

    def up(self):
        with self.lock:
            self.is_down = False

    def hold(self):
        """Connections stay open and nothing passes, until go_on() or cut()."""
        with self.lock:
            self.is_holding = True

    def go_on(self):
        with self.lock:
            self.is_holding = False
            self.lock.notify_all()

    def close(self):
        with self.lock:
            self.is_closed = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        self.listener.close()
        self.cut()
