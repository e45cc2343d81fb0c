#!/usr/bin/python3
"""Judges a bundle, written from the documents alone. Usage: judge_bundle.py BUNDLE [--oracle F] [--json] [--compare F]

Exit: 0 judged, and equal to the recorded claim; 1 malformed, or the claim differs from the recorded one (or the one of
--compare); 2 wrong usage or oracle; 3 INCOMPLETE; 5 could not read.
"""
import argparse
import hashlib
import json
import pathlib
import sys

import apart
import judge
import members
import oracle as oracles
from pack import Refused
from records import Bundle


def say(text):
    print(f"judge_bundle: {text}", file=sys.stderr)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bundle")
    parser.add_argument("--oracle", help="judge under this oracle, not the recorded one")
    parser.add_argument("--json", action="store_true", help="print the claim as JSON")
    parser.add_argument("--compare", help="a claim as JSON that must be equal but for detail and evidence")
    return parser.parse_args()


def show(claim, as_json):
    if as_json:
        print(json.dumps(claim, indent=1, ensure_ascii=False))
        return
    for rule in claim["rules"]:
        print(f"{'holds' if rule['holds'] else 'FAILS'}  {rule['rule']}  {rule['detail']}")
    print(f"decision: {claim['decision']}{' (prospective)' if claim['prospective'] else ''}")


def compared(claim, bundle, path):
    """The differences from the recorded claim of the same oracle, and from the file of --compare."""
    if bundle.claim is not None and not claim["prospective"]:
        yield from (f"the recorded claim: {text}" for text in
                    judge.differences(claim, judge.recorded(bundle.claim), "claim"))
    if path is not None:
        yield from (f"{path}: {text}" for text in
                    judge.differences(claim, json.loads(pathlib.Path(path).read_text()), "claim"))


def main():
    words = arguments()
    try:
        bundle = Bundle(words.bundle)
        members.check(bundle)
        apart.check(bundle)
        raw = (pathlib.Path(words.oracle).read_bytes() if words.oracle
               else bundle.pack.read(bundle.start.oracle_sha256, oracles.LIMIT_YAML))
        claim = judge.judge(bundle, oracles.read(raw), hashlib.sha256(raw).digest())
        differs = list(compared(claim, bundle, words.compare))
    except Refused as error:
        say(error)
        return 1
    except oracles.BadOracle as error:
        say(f"the oracle: {error}")
        return 2 if words.oracle else 1
    except (OSError, ValueError) as error:
        say(error)
        return 5
    show(claim, words.json)
    for text in differs[:20]:
        say(text)
    if differs:
        return 1
    return 3 if claim["decision"] == "INCOMPLETE" else 0


if __name__ == "__main__":
    sys.exit(main())
