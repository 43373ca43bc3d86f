"""A program in a terminal of its own (a pty), and what is seen there."""
import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import threading
import time
import unicodedata

import cli

WAIT_S = 60
ENTER, LEAVE, HOME = "\x1b[?1049h", "\x1b[?1049l", "\x1b[H"
ESCAPES = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")


def columns(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class Terminal:
    """`env`: of the program, instead of TERM=xterm alone."""

    def __init__(self, case, *args, rows=24, width=80, env=None):
        self.case, self.text, self.ended = case, "", threading.Event()
        self.master, slave = os.openpty()
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, width, 0, 0))
        self.slave = slave  # stays open: its settings are looked at
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen([cli.BERTH, *args], stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True, env={"TERM": "xterm", **(env or {})},
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        case.addCleanup(self.close)

    def _read(self):
        parts = []
        while not self.ended.is_set() or select.select([self.master], [], [], 0)[0]:
            if select.select([self.master], [], [], 0.05)[0]:
                parts.append(os.read(self.master, 1 << 16))
                self.text = b"".join(parts).decode("utf-8", "replace")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if not self.ended.is_set():
            self.ended.set()
            self.reader.join()
            os.close(self.master)
            os.close(self.slave)

    def frames(self):
        """What was drawn, screen by screen, as lists of lines without colours; the last one may not be complete."""
        return [[ESCAPES.sub("", line).rstrip("\r") for line in frame.split("\n")] for frame in self.text.split(HOME)[1:]]

    def screen(self):
        frames = self.frames()
        return "\n".join(frames[-2 if len(frames) > 1 else -1]) if frames else ""

    def until(self, fact, what):
        ends = time.monotonic() + WAIT_S
        while not fact():
            if time.monotonic() > ends:
                self.case.fail("never: %s\n%s" % (what, self.text[-4000:]))
            time.sleep(0.02)

    def until_shown(self, text):
        self.until(lambda: text in self.screen(), "the screen has %r" % text)

    def resize(self, rows, width):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, width, 0, 0))

    def type(self, keys):
        os.write(self.master, keys.encode())

    def end(self):
        """Waits for the end; returns the exit code. The terminal is as it was before."""
        code = self.process.wait(timeout=WAIT_S)
        self.until(lambda: self.text.rstrip().endswith(LEAVE) or ENTER not in self.text, "the screen of before is back")
        self.case.assertEqual(termios.tcgetattr(self.slave), self.before)
        return code
