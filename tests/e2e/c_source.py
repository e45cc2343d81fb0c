"""C text as tokens with their lines, comments left out. Enough for reading our own source; no preprocessor."""

import re
from typing import Iterator, NamedTuple

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)
      | (?P<string>"(?:[^"\\\n]|\\.)*")
      | (?P<char>'(?:[^'\\\n]|\\.)*')
      | (?P<name>[A-Za-z_]\w*)
      | (?P<number>\d[\w.]*)
      | (?P<other>\S)""",
    re.DOTALL | re.VERBOSE,
)


class Token(NamedTuple):
    kind: str
    text: str
    line: int


def tokens(text: str) -> Iterator[Token]:
    """All tokens but comments, in order."""
    line, at = 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        if match.lastgroup != "comment":
            yield Token(match.lastgroup, match.group(), line)


def source_files(folder):
    """The .c and .h files under a folder, in order."""
    return sorted(path for path in folder.rglob("*") if path.suffix in (".c", ".h"))
