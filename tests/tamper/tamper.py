#!/usr/bin/python3
"""Takes a good bundle, changes the meaning of a fact, and writes a bundle that is valid in every byte.

usage: tamper.py FROM TO --change NAME [--change NAME ...] [--claim keep|none|FILE.json]
       tamper.py --list

--claim keep: what FROM's claim states, bound to the new receipt (the default); none: no claim; FILE.json: the claim
that this file tells, as exhibit-replay --json prints it.
"""
import argparse
import json
import pathlib
import sys

sys.dont_write_bytecode = True  # a test leaves nothing in the sources

import changes
import claims
import pack
from facts import Facts


def tampered(facts, *names):
    """The facts after these changes, one after the other."""
    facts = facts.copy()
    for name in names:
        changes.CATALOGUE[name].apply(facts)
    return facts


def kept_claim(base, facts):
    """What the claim of `base` states, as a claim on changed facts under the oracle that they name."""
    starts = facts.of("recording_start")
    return claims.bound_to(base.claim, starts[0].what.oracle_sha256 if starts else None)


def list_all():
    for change in changes.CATALOGUE.values():
        rules = ", ".join(sorted(change.fails)) or "no rule fails"
        expected = f"{change.decision}: {rules}" if change.malformed is None else f"refused: {change.malformed}"
        print(f"{change.name} ({change.base}): {expected}" + (f"; unbound: {change.unbound}" if change.unbound else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--change", action="append", default=[], choices=list(changes.CATALOGUE), metavar="NAME")
    parser.add_argument("--claim", default="keep")
    parser.add_argument("bundles", nargs="*", metavar="FROM TO")
    args = parser.parse_args()
    if args.list:
        return list_all()
    if len(args.bundles) != 2:
        parser.error("FROM and TO are needed")
    base = Facts.read(args.bundles[0])
    facts = tampered(base, *args.change)
    claim = None
    if args.claim == "keep":
        claim = kept_claim(base, facts)
    elif args.claim != "none":
        claim = claims.bound_to(claims.from_json(json.loads(pathlib.Path(args.claim).read_text())))
    pack.write(args.bundles[1], facts.build(claim))


if __name__ == "__main__":
    sys.exit(main())
