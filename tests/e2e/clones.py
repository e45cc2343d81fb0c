#!/usr/bin/env python3
"""Looks for copied code between record/, replay/ and verify/: runs of lines that are equal once names and numbers are
folded. What any C file has (includes, declarations, lone braces) is left out first.

usage: clones.py SOURCE_DIR    prints each run; exits 1 if there is one
       clones.py --self-test SOURCE_DIR
"""

import functools
import itertools
import pathlib
import re
import shutil
import sys
import tempfile

import c_source

PROGRAMS = ("record", "replay", "verify")
RUN_LINES = 8
KEYWORDS = set(
    "auto break case char const continue default do double else enum extern float for goto if inline int long NULL "
    "return short signed sizeof static struct switch union unsigned void volatile while bool true false".split()
)
# After folding: preprocessor lines, braces and labels alone, declarations and fields without a value, plain returns.
BOILERPLATE = re.compile(
    r"#.*|[{}();, ]*|(struct|enum|union) I \{|(\} )?else( \{)?|break ;|default :|case I :|return [IN] ;|return - N ;"
    r"|((static|const|struct|enum|unsigned|int|char|bool|void|long|I) )+(\* )*(const )?I( \[ [IN]? ?\])*( , (\* )*I)* ;"
)


@functools.lru_cache(maxsize=None)  # trees have most sources in common
def folded_lines(source):
    """(line number, folded text) of each line that could be copied; equal neighbours (tables) count once."""
    found = []
    for number, line in itertools.groupby(c_source.tokens(source), key=lambda token: token.line):
        folded = []
        for token in line:
            names = {"name": token.text if token.text in KEYWORDS else "I", "number": "N", "string": "S", "char": "C"}
            folded.append(names.get(token.kind, token.text))
        text = " ".join(folded)
        if not BOILERPLATE.fullmatch(text) and not (found and found[-1][1] == text):
            found.append((number, text))
    return found


def runs(lines):
    """All runs of RUN_LINES."""
    texts = [text for _, text in lines]
    return set(zip(*(texts[start:] for start in range(RUN_LINES))))


def common_runs(lines_a, lines_b):
    """(start in a, start in b, length) of each longest run of at least RUN_LINES equal lines."""
    places = {}
    for at, (_, text) in enumerate(lines_b):
        places.setdefault(text, []).append(at)
    lengths = {}
    for a, (_, text) in enumerate(lines_a):
        now = {b: lengths.get(b - 1, 0) + 1 for b in places.get(text, ())}
        for b, length in lengths.items():
            if length >= RUN_LINES and b + 1 not in now:
                yield a - length, b - length + 1, length
        lengths = now
    for b, length in lengths.items():
        if length >= RUN_LINES:
            yield len(lines_a) - length, b - length + 1, length


def clones(source_dir):
    """One sentence for each run that two of the programs have in common."""
    files = {
        program: [(path, lines, runs(lines)) for path in c_source.source_files(source_dir / program)
                  for lines in [folded_lines(path.read_text())]]
        for program in PROGRAMS
    }
    for one, other in itertools.combinations(PROGRAMS, 2):
        for (path_a, lines_a, runs_a), (path_b, lines_b, runs_b) in itertools.product(files[one], files[other]):
            for a, b, length in common_runs(lines_a, lines_b) if not runs_a.isdisjoint(runs_b) else ():
                place_a = f"{path_a.relative_to(source_dir)}:{lines_a[a][0]}"
                place_b = f"{path_b.relative_to(source_dir)}:{lines_b[b][0]}"
                yield f"{place_a} and {place_b}: {length} lines are the same but for names and numbers"


def self_test(source_dir):
    """Plants copies in a temporary tree, with every name changed, and sees exactly those of RUN_LINES or more found."""
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        for program in PROGRAMS:
            shutil.copytree(source_dir / program, tree / program)
        body = [f"    total += weigh(table[{n}], {'+'.join(['x'] * (n + 1))});" for n in range(RUN_LINES)]
        (tree / "record/planted.c").write_text("/* One. */\nint weigh_all(void)\n{\n" + "\n".join(body) + "\n}\n")
        renamed = [re.sub(r"\b(total|weigh|table|x)\b", r"other_\1", line).replace("[", "[1") for line in body]
        planted = tree / "verify/planted.c"
        for lines, expected in ((renamed, True), (renamed[1:], False)):
            planted.write_text("\n\n/* Another. */\n{\n  /* why */\n" + "\n\n".join(lines) + "\n}\n")
            found = [text for text in clones(tree) if "planted.c" in text]
            if bool(found) != expected:
                return f"{len(lines)} copied lines: {found or 'not found'}"
    return ""


def main(arguments):
    if arguments[0] == "--self-test":
        problem = self_test(pathlib.Path(arguments[1]))
        if problem:
            print(f"clones.py does not work: {problem}")
        return 1 if problem else 0
    found = list(clones(pathlib.Path(arguments[0])))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
