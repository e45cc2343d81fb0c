#!/usr/bin/env python3
"""Checks that what the three judges share carries no judgement: no string in base/ and formats/ is an outcome, a
decision, an end of a role or the name of a rule, and no name in capitals is one.

A string counts when it is such a word and nothing else (after a "label:" too), or holds the name of a rule anywhere.
Sentences may use the words ("permission denied"). One string is allowed: the oracle's own key that permits a diversion.

usage: judge_words.py SOURCE_DIR    prints each; exits 1 if there is one
"""

import pathlib
import re
import sys

import c_source

SHARED = ("base", "formats")
WORDS = {"denied", "reached", "diverted", "undetermined", "contested", "GO", "NO-GO", "INCOMPLETE", "self-expiry"}
RULE = re.compile(r"\b(complete|boundary|useful|cancel)\.[a-z%]")
CAPITALS = re.compile(r"(?:[A-Z0-9]+_)*(DENIED|REACHED|DIVERTED|UNDETERMINED|INCOMPLETE|NO_GO)(?:_[A-Z0-9]+)*")
ALLOWED = re.compile(r"formats/oracle[a-z_]*\.[ch]: \"diverted\"")


def is_judgement(token):
    if token.kind == "string":
        text = token.text[1:-1]
        return text.split(":")[-1].strip(" .,;\\n") in WORDS or RULE.search(text) is not None
    return token.kind == "name" and CAPITALS.fullmatch(token.text) is not None


def judge_words(source_dir):
    for folder in SHARED:
        for path in c_source.source_files(source_dir / folder):
            place = path.relative_to(source_dir)
            for token in c_source.tokens(path.read_text()):
                if is_judgement(token) and not ALLOWED.fullmatch(f"{place}: {token.text}"):
                    yield f"{place}:{token.line}: {token.text} is a judge's word"


if __name__ == "__main__":
    found = list(judge_words(pathlib.Path(sys.argv[1])))
    print("\n".join(found))
    sys.exit(1 if found else 0)
