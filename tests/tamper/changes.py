"""The catalogue of changes, and what each must lead to: written by hand from docs/DECISION.md, never from an output.

`go`, `no_go`, `incomplete` register a change under the decision it must lead to and exactly the rules that must fail;
`refused` one that makes a bundle malformed or untrue to itself. A change gets the facts of its base bundle and edits
them. `usable` fails no rule, nor does `exits`, whose parent ends by itself; `default` fails useful.contract, cancel.ended
and cancel.quiet.
"""
import dataclasses
import importlib
from collections.abc import Callable

CATALOGUE = {}


@dataclasses.dataclass(frozen=True)
class Change:
    name: str
    apply: Callable
    base: str
    decision: str | None = None     # None: refused by both programs
    fails: frozenset = frozenset()
    same: bool = False              # the claim of the base bundle stays true
    unbound: str | None = None      # verify refutes, with a finding that holds this text, whatever the rules say
    malformed: str | None = None    # replay and verify refuse, each in words that hold one of these (by "|")

    @property
    def about(self):
        return (self.apply.__doc__ or "").strip()


def register(name, **fields):
    def take(apply):
        assert name not in CATALOGUE, name
        CATALOGUE[name] = Change(name, apply, **fields)
        return apply
    return take


def go(name, base="usable", same=False, unbound=None):
    return register(name, base=base, decision="GO", same=same, unbound=unbound)


def no_go(name, *fails, base="usable", unbound=None):
    return register(name, base=base, decision="NO-GO", fails=frozenset(fails), unbound=unbound)


def incomplete(name, *fails, base="usable", unbound=None):
    return register(name, base=base, decision="INCOMPLETE", fails=frozenset(fails), unbound=unbound)


def refused(name, words, base="usable"):
    return register(name, base=base, malformed=words)


for part in ("recording", "observers", "outcomes", "cases", "boundary", "proofs", "cancel", "exit", "phases", "segments",
             "refused"):
    importlib.import_module(f"changes_{part}")
