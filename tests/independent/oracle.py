"""An oracle as data: docs/ORACLE.md. Defaults are filled in; whatever is not known is refused. Judges nothing."""
import base64
import binascii
import errno
import json
import re
from dataclasses import dataclass, field

import yaml

EFFECTS = ("read", "read-link", "write", "tcp", "udp")
ROLES = ("parent", "child", "grandchild")
FILES = ("EACCES", "EPERM", "ENOENT")
NET = ("EACCES", "EPERM", "ECONNREFUSED", "ENETUNREACH")
LIMIT_YAML, LIMIT_BOUND_MS = 1 << 20, 60000


class BadOracle(Exception):
    """The oracle does not follow docs/ORACLE.md."""


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
class Matcher:
    kind: str
    stream: str
    value: object

    def __str__(self):
        return f"{self.stream} {self.kind}".strip()


@dataclass
class Archive:
    path: str
    bytes: bool


@dataclass
class Case:
    name: str
    matchers: list = field(default_factory=list)
    archives: list = field(default_factory=list)


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


def bad(node, text):
    return BadOracle(f"line {node.start_mark.line + 1}: {text}")


def pairs(node, *known):
    """The (key, value node) of a mapping with known keys, each at most once."""
    if not isinstance(node, yaml.MappingNode):
        raise bad(node, "a mapping must stand here")
    seen = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or known and key.value not in known or key.value in seen:
            raise bad(key, f"an unknown or second key: {getattr(key, 'value', '')!r}")
        seen[key.value] = value
    return seen


def items(node):
    if not isinstance(node, yaml.SequenceNode):
        raise bad(node, "a list must stand here")
    return node.value


def text(node):
    if not isinstance(node, yaml.ScalarNode):
        raise bad(node, "a text must stand here")
    return node.value


def number(node, low, high):
    word = text(node)
    if node.style or not re.fullmatch("0|[1-9][0-9]{0,17}", word) or not low <= int(word) <= high:
        raise bad(node, f"a number from {low} to {high} must stand here")
    return int(word)


def one_of(node, *words):
    if text(node) not in words:
        raise bad(node, f"one of {', '.join(words)} must stand here")
    return node.value


def flag(node):
    return one_of(node, "true", "false") == "true"


def data(node):
    """Bytes: a text, or {base64: ...}."""
    if isinstance(node, yaml.ScalarNode):
        return node.value.encode()
    try:
        return base64.b64decode(text(pairs(node, "base64")["base64"]), validate=True)
    except (KeyError, binascii.Error):
        raise bad(node, "no base64") from None


def json_value(node):
    """What a YAML node says as JSON: a plain scalar that is JSON's null, true, false or a number is that; else a text."""
    if isinstance(node, yaml.MappingNode):
        return {key: json_value(value) for key, value in pairs(node).items()}
    if isinstance(node, yaml.SequenceNode):
        return [json_value(item) for item in node.value]
    if node.style is None and re.fullmatch(r"null|true|false|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?",
                                           node.value):
        return json.loads(node.value)
    return node.value


def errno_of(node):
    found = getattr(errno, text(node), None) if node.value.isupper() else None
    if found is None:
        raise bad(node, f"no errno: {node.value}")
    return found


def read(raw):
    """The oracle in `raw`; BadOracle says where it breaks the document."""
    if len(raw) > LIMIT_YAML:
        raise BadOracle("more than 1 MiB")
    try:
        for event in yaml.parse(raw, yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
                raise BadOracle(f"line {event.start_mark.line + 1}: an alias, anchor or tag")
        root = yaml.compose(raw, yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise BadOracle(" ".join(str(error).split())) from None
    if root is None:
        raise BadOracle("it is empty")
    return _oracle(root)


def _oracle(root):
    keys, oracle = pairs(root, "version", "bounds", "identities", "denials", "trials", "cases"), Oracle()
    if "version" not in keys:
        raise bad(root, "no version")
    number(keys["version"], 1, 1)
    for name, node in (pairs(keys["bounds"], "ended_ms", "grace_ms") if "bounds" in keys else {}).items():
        setattr(oracle, name, number(node, 0, LIMIT_BOUND_MS))
    if "identities" in keys:
        oracle.identities_required = one_of(keys["identities"], "required", "optional") == "required"
    for effect, node in (pairs(keys["denials"], *EFFECTS) if "denials" in keys else {}).items():
        for name, value in pairs(node, "errnos", "timeout", "signal", "diverted").items():
            setattr(oracle.denials[effect], name,
                    frozenset(map(errno_of, items(value))) if name == "errnos" else flag(value))
    if "trials" in keys:
        oracle.trials = [_trial(node) for node in items(keys["trials"])]
    if "cases" in keys:
        oracle.cases = [_case(node) for node in items(keys["cases"])]
    for what in (oracle.trials, oracle.cases):
        if len({one.name for one in what}) != len(what):
            raise bad(root, "a name stands twice")
    return oracle


def _trial(node):
    keys = pairs(node, "name", "roles", "effects")
    if not {"name", "roles"} <= keys.keys():
        raise bad(node, "a trial needs name and roles")
    roles = {one_of(role, *ROLES) for role in items(keys["roles"])}
    effects = {one_of(effect, *EFFECTS) for effect in items(keys["effects"])} if "effects" in keys else EFFECTS
    return Trial(text(keys["name"]), [r for r in ROLES if r in roles], [e for e in EFFECTS if e in effects])


def _case(node):
    keys = pairs(node, "name", "exit", "signal", "stdout", "stderr", "archives")
    if "name" not in keys:
        raise bad(node, "a case needs a name")
    case = Case(text(keys["name"]))
    if "exit" in keys:
        case.matchers.append(Matcher("exit", "", number(keys["exit"], 0, 255)))
    if "signal" in keys:
        case.matchers.append(Matcher("signal", "", number(keys["signal"], 1, 64)))
    for stream in ("stdout", "stderr"):
        if stream in keys:
            case.matchers += _matchers(keys[stream], stream)
    for archive in items(keys["archives"]) if "archives" in keys else ():
        entry = pairs(archive, "path", "bytes")
        if "path" not in entry:
            raise bad(archive, "an archive needs a path")
        case.archives.append(Archive(text(entry["path"]), "bytes" in entry and flag(entry["bytes"])))
    return case


def _matchers(node, stream):
    for kind, value in pairs(node, "empty", "equals", "contains", "json", "tap").items():
        if kind == "empty":
            yield Matcher(kind, stream, flag(value))
        elif kind in ("equals", "contains"):
            yield Matcher(kind, stream, data(value))
        elif kind == "tap":
            for counter, wanted in pairs(value, "tests", "pass", "fail").items():
                yield Matcher(kind, stream, (counter, number(wanted, 0, 10**17)))
        else:
            for item in items(value):
                entry = pairs(item, "pointer", "equals")
                if len(entry) != 2:
                    raise bad(item, "a pointer and equals must stand here")
                yield Matcher(kind, stream, (text(entry["pointer"]), json_value(entry["equals"])))
