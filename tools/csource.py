"""C source text for the checks of this folder: the code without comments and literals, and its calls."""
import re

NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
CALL = re.compile(r"(?<![\w.>])([a-z_0-9]+)\s*\(")


def strip(text):
    """Blanks out comments and literals; positions and line numbers stay."""
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def calls(code):
    """(name, line) of everything in stripped text that looks like a call, except through a pointer."""
    for match in CALL.finditer(code):
        yield match.group(1), code.count("\n", 0, match.start()) + 1
