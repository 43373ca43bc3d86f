#!/usr/bin/env python3
"""What the documents show of berth's output is what berth prints.

A document shows a command as an indented line `$ berth ...`, followed by its output in the same block. Each is run here, in a
folder that has examples/ and the files of tests/docs/files, and its output is compared. A line `...` stands for any number of
lines. Output that depends on a running cluster is named in LIVE with the test that shows the same.

usage: test_docs.py [--write]      --write puts today's output into the documents; a block with a line `...` is left alone
"""
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BERTH = os.path.abspath(os.environ.get("BERTH", os.path.join(ROOT, "build", "berth")))
INDENT = "    "
COLUMNS = 116
ANY = "..."
# Commands whose output depends on a running cluster or on a recording that is not kept here, and where it is tested.
LIVE = {
    "berth explain --server": "tests/e2e/explain_test.go",
    "berth cluster ": "tests/cli/test_fleet.py, tests/cli/test_kubelets.py",
    "berth queue": "tests/cli/test_live.py",
    "berth top": "tests/cli/test_top.py",
    "berth ui": "tests/cli/test_ui.py",
    "berth replay --config binpacking.yaml": "tests/e2e/record_test.go",
}


class Block:
    """A command in a document: where it is, and the lines of its output (from `first` to before `end`)."""

    def __init__(self, path, number, command, first, end, lines):
        self.path, self.number, self.command, self.first, self.end, self.lines = path, number, command, first, end, lines

    def __str__(self):
        return "%s:%d: %s" % (os.path.relpath(self.path, ROOT), self.number, self.command)

    @property
    def is_live(self):
        return any(self.command.startswith(command) for command in LIVE)

    @property
    def is_cut(self):
        return ANY in (line.strip() for line in self.lines)


def documents():
    return [os.path.join(ROOT, "README.md"), *sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))]


def blocks_of(path):
    """A block ends where the indented text ends, or where the next command begins."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    found, at = [], 0
    while at < len(lines):
        if not lines[at].startswith(INDENT + "$ berth"):
            at += 1
            continue
        number, command = at + 1, lines[at][len(INDENT) + 2:]
        while command.endswith("\\"):
            at += 1
            command = command[:-1].rstrip() + " " + lines[at].strip()
        at += 1
        first = at
        while at < len(lines) and (not lines[at] or lines[at].startswith(INDENT)) and not lines[at].startswith(INDENT + "$ "):
            at += 1
        end = at
        while end > first and not lines[end - 1]:
            end -= 1
        found.append(Block(path, number, command, first, end, [line[len(INDENT):] for line in lines[first:end]]))
    return found


def all_blocks():
    return [block for path in documents() for block in blocks_of(path)]


def output(command):
    """What the command prints on standard output, without blanks at the ends of lines."""
    words = shlex.split(command)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(ROOT, "examples"), os.path.join(folder, "examples"))
        for path in glob.glob(os.path.join(ROOT, "tests", "docs", "files", "*")):
            os.symlink(path, os.path.join(folder, os.path.basename(path)))
        environment = {**os.environ, "COLUMNS": str(COLUMNS), "NO_COLOR": "1", "KUBECONFIG": "/nonexistent"}
        done = subprocess.run([BERTH, *words[1:]], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1):
        raise AssertionError("%s: exit code %d: %s" % (command, done.returncode, done.stderr.decode()))
    lines = [line.rstrip() for line in done.stdout.decode().split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def agrees(shown, printed):
    """Whether the shown lines are the printed ones, where ANY stands for any lines."""
    pattern = "\n".join("(?:.*\n)*?.*" if line.strip() == ANY else re.escape(line) for line in shown)
    return re.fullmatch(pattern, "\n".join(printed)) is not None


class Documents(unittest.TestCase):
    def test_outputs(self):
        compared = [block for block in all_blocks() if not block.is_live and block.lines]
        self.assertGreater(len(compared), 0)
        for block in compared:
            with self.subTest(block=str(block)):
                printed = output(block.command)
                if not agrees(block.lines, printed):
                    self.fail("%s\nshows:\n%s\n\nbut berth prints:\n%s\n\n(tests/docs/test_docs.py --write)"
                              % (block, "\n".join(block.lines), "\n".join(printed)))

    def test_live_commands_are_shown(self):
        """A row of LIVE that no document shows any more is dead."""
        commands = [block.command for block in all_blocks()]
        for command in LIVE:
            self.assertTrue(any(shown.startswith(command) for shown in commands), command)

    def test_comparison_can_fail(self):
        self.assertTrue(agrees(["a", ANY, "c"], ["a", "b", "b", "c"]))
        self.assertTrue(agrees(["a", "c"], ["a", "c"]))
        self.assertFalse(agrees(["a", "c"], ["a", "b", "c"]))
        self.assertFalse(agrees(["a", ANY, "d"], ["a", "b", "c"]))


def write():
    for path in documents():
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        for block in reversed(blocks_of(path)):
            if block.is_live or block.is_cut or not block.lines:
                continue
            lines[block.first:block.end] = [(INDENT + line).rstrip() for line in output(block.command)]
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
