"""An oracle as data: docs/ORACLE.md. Defaults are filled in; whatever is not known is refused. Judges nothing."""
import errno
from dataclasses import dataclass, field

import shows
from nodes import LIMIT_YAML, BadOracle, bad, compose, each_once, errno_of, flag, items, name_of, number, one_of, pairs

EFFECTS = ("read", "read-link", "write", "tcp", "udp")
ROLES = ("parent", "child", "grandchild")
FILES = ("EACCES", "EPERM", "ENOENT")
NET = ("EACCES", "EPERM", "ECONNREFUSED", "ENETUNREACH")
LIMIT_BOUND_MS, LIMIT_TRIALS = 60000, 64


@dataclass
class Denial:
    errnos: frozenset
    diverted: bool
    timeout: bool = False
    signal: bool = False


@dataclass
class Trial:
    name: str
    roles: list
    effects: list


@dataclass
class Oracle:
    ended_ms: int = 2000
    grace_ms: int = 1000
    identities_required: bool = True
    denials: dict = field(default_factory=lambda: {
        name: Denial(frozenset(getattr(errno, e) for e in errnos), diverted)
        for name, errnos, diverted in (("read", FILES, False), ("read-link", FILES, False),
                                       ("write", (*FILES, "EROFS"), True), ("tcp", NET, False), ("udp", NET, True))})
    cases: list = field(default_factory=list)
    trials: list = field(default_factory=lambda: [Trial("bootstrap", ["parent"], list(EFFECTS)),
                                                  Trial("tree", list(ROLES), list(EFFECTS))])


def read(raw):
    """The oracle in `raw`; BadOracle says where it breaks the document."""
    return _oracle(compose(raw))


def _oracle(root):
    if root is None:
        raise BadOracle("it is empty")
    keys, oracle = pairs(root, "version", "bounds", "identities", "denials", "trials", "cases"), Oracle()
    if next(iter(keys), None) != "version":
        raise bad(root, "version must stand first")
    number(keys["version"], 1, 1)
    for name, node in (pairs(keys["bounds"], "ended_ms", "grace_ms") if "bounds" in keys else {}).items():
        setattr(oracle, name, number(node, 1 if name == "ended_ms" else 0, LIMIT_BOUND_MS))
    if "identities" in keys:
        oracle.identities_required = one_of(keys["identities"], "required", "optional") == "required"
    for effect, node in (pairs(keys["denials"], *EFFECTS) if "denials" in keys else {}).items():
        for name, value in pairs(node, "errnos", "timeout", "signal", "diverted").items():
            setattr(oracle.denials[effect], name,
                    frozenset(each_once(value, errno_of, 0)) if name == "errnos" else flag(value))
    if "trials" in keys:
        oracle.trials = [_trial(node) for node in items(keys["trials"], 0, LIMIT_TRIALS)]
    if "cases" in keys:
        oracle.cases = [shows.case_of(node) for node in items(keys["cases"], 0, shows.LIMIT_CASES)]
    for what in (oracle.trials, oracle.cases):
        if len({one.name for one in what}) != len(what):
            raise bad(root, "a name stands twice")
    places = sum(matcher.value.places for case in oracle.cases for matcher in case.matchers
                 if matcher.kind == "matches")
    if places > shows.LIMIT_PLACES:
        raise bad(root, f"expressions of {places} places for a byte")
    return oracle


def _trial(node):
    keys = pairs(node, "name", "roles", "effects")
    if not {"name", "roles"} <= keys.keys():
        raise bad(node, "a trial needs name and roles")
    roles = each_once(keys["roles"], lambda role: one_of(role, *ROLES))
    effects = each_once(keys["effects"], lambda one: one_of(one, *EFFECTS)) if "effects" in keys else EFFECTS
    return Trial(name_of(keys["name"]), [r for r in ROLES if r in roles], [e for e in EFFECTS if e in effects])
