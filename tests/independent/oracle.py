"""An oracle as data: docs/ORACLE.md. Defaults are filled in; whatever is not known is refused. Judges nothing."""
import base64
import binascii
import errno
import json
import re
import signal
from dataclasses import dataclass, field

import yaml

EFFECTS = ("read", "read-link", "write", "tcp", "udp")
ROLES = ("parent", "child", "grandchild")
FILES = ("EACCES", "EPERM", "ENOENT")
NET = ("EACCES", "EPERM", "ECONNREFUSED", "ENETUNREACH")
LIMIT_YAML, LIMIT_DEPTH, LIMIT_VALUES, LIMIT_BOUND_MS = 1 << 20, 16, 65536, 60000
LIMIT_TRIALS, LIMIT_CASES, LIMIT_MATCHERS, LIMIT_ARCHIVES = 64, 256, 256, 256
JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")


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
    """The value nodes of a mapping by key: known ones, where any are named, each at most once."""
    if not isinstance(node, yaml.MappingNode):
        raise bad(node, "a map must stand here")
    seen = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or known and key.value not in known or key.value in seen:
            raise bad(key, f"an unknown or second key: {getattr(key, 'value', '')!r}")
        if key.value == "<<" and not key.style:
            raise bad(key, "a merge key")
        seen[key.value] = value
    return seen


def items(node, low=0, high=LIMIT_VALUES):
    if not isinstance(node, yaml.SequenceNode) or not low <= len(node.value) <= high:
        raise bad(node, f"a list of {low} to {high} must stand here")
    return node.value


def each_once(node, read_one, low=1):
    """The items of a list of which no two are the same."""
    found = [read_one(item) for item in items(node, low)]
    if len(set(found)) != len(found):
        raise bad(node, "an item stands twice")
    return found


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
    if text(node) not in ("true", "false") or node.style:
        raise bad(node, "true or false must stand here")
    return node.value == "true"


def data(node):
    """Bytes: a text, or {base64: ...}."""
    if isinstance(node, yaml.ScalarNode):
        return node.value.encode()
    try:
        return base64.b64decode(text(pairs(node, "base64")["base64"]), validate=True)
    except (KeyError, binascii.Error):
        raise bad(node, "no base64") from None


def json_value(node):
    """What a YAML node says as JSON (ORACLE 4.6)."""
    if isinstance(node, yaml.MappingNode):
        return {key: json_value(value) for key, value in pairs(node).items()}
    if isinstance(node, yaml.SequenceNode):
        return [json_value(item) for item in node.value]
    if node.style:
        return node.value
    if not node.value:
        raise bad(node, "a value is missing")
    if node.value in ("null", "true", "false"):
        return json.loads(node.value)
    if not re.fullmatch(r"[-+.eE0-9]*[0-9][-+.eE0-9]*", node.value):
        return node.value
    found = json_number(node.value)
    if found is None:
        raise bad(node, f"not a number that JSON knows: {node.value}")
    return found


def json_number(word):
    """An int of 64 bits or a finite float; None where the word is neither."""
    form = JSON_NUMBER.fullmatch(word)
    if form is None:
        return None
    if form[2] is None and form[3] is None:
        return int(word) if len(word) <= 20 and -2**63 <= int(word) < 2**63 else None
    return float(word) if abs(float(word)) != float("inf") else None


def signal_of(node):
    found = getattr(signal, "SIG" + text(node), None)
    if not isinstance(found, signal.Signals):
        raise bad(node, f"no signal: {node.value}")
    return int(found)


def pointer_of(node):
    if not re.fullmatch(r"(/([^~/]|~[01])*)*", text(node), re.DOTALL):
        raise bad(node, "no JSON pointer")
    return node.value


def name_of(node):
    if not re.fullmatch(r"[a-z0-9][-a-z0-9]{0,63}", text(node)):
        raise bad(node, "no name")
    return node.value


def path_of(node):
    parts = text(node).split("/")
    if len(node.value.encode()) >= 4096 or any(part in ("", ".", "..") for part in parts):
        raise bad(node, "no path within scratch")
    if "*" in "".join(parts[:-1]) or parts[-1].count("*") > 1:
        raise bad(node, "a '*' that is not the only one, in the last part")
    return node.value


def errno_of(node):
    found = getattr(errno, text(node), None) if node.value.isupper() else None
    if found is None:
        raise bad(node, f"no errno: {node.value}")
    return found


def read(raw):
    """The oracle in `raw`; BadOracle says where it breaks the document."""
    if len(raw) > LIMIT_YAML or raw.startswith(b"\xef\xbb\xbf") or b"\0" in raw:
        raise BadOracle("more than 1 MiB, or a byte order mark, or a NUL")
    try:
        _bounded(raw.decode())
        return _oracle(yaml.compose(raw.decode(), yaml.SafeLoader))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadOracle(" ".join(str(error).split())) from None


def _bounded(source):
    """PLAN 1.1: no alias, anchor, tag or directive; bounded depth and number of values."""
    depth = values = 0
    for event in yaml.parse(source, yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
            raise bad(event, "an alias, anchor or tag")
        if isinstance(event, yaml.DocumentStartEvent) and (event.version or event.tags):
            raise bad(event, "a directive")
        values += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        if depth > LIMIT_DEPTH or values > LIMIT_VALUES:
            raise bad(event, "too deep, or too many values")
        depth -= isinstance(event, yaml.CollectionEndEvent)


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
        oracle.cases = [_case(node) for node in items(keys["cases"], 0, LIMIT_CASES)]
    for what in (oracle.trials, oracle.cases):
        if len({one.name for one in what}) != len(what):
            raise bad(root, "a name stands twice")
    return oracle


def _trial(node):
    keys = pairs(node, "name", "roles", "effects")
    if not {"name", "roles"} <= keys.keys():
        raise bad(node, "a trial needs name and roles")
    roles = each_once(keys["roles"], lambda role: one_of(role, *ROLES))
    effects = each_once(keys["effects"], lambda one: one_of(one, *EFFECTS)) if "effects" in keys else EFFECTS
    return Trial(name_of(keys["name"]), [r for r in ROLES if r in roles], [e for e in EFFECTS if e in effects])


def _case(node):
    keys = pairs(node, "name", "exit", "signal", "stdout", "stderr", "archives")
    if "name" not in keys or {"exit", "signal"} <= keys.keys():
        raise bad(node, "a case needs a name, and exit or signal at most")
    case = Case(name_of(keys["name"]))
    if "exit" in keys:
        case.matchers.append(Matcher("exit", "", number(keys["exit"], 0, 255)))
    if "signal" in keys:
        case.matchers.append(Matcher("signal", "", signal_of(keys["signal"])))
    for stream in ("stdout", "stderr"):
        if stream in keys:
            case.matchers += _matchers(keys[stream], stream)
    for archive in items(keys["archives"], 0, LIMIT_ARCHIVES) if "archives" in keys else ():
        entry = pairs(archive, "path", "bytes")
        if "path" not in entry:
            raise bad(archive, "an archive needs a path")
        case.archives.append(Archive(path_of(entry["path"]), "bytes" in entry and flag(entry["bytes"])))
    if not case.matchers and not case.archives or len(case.matchers) > LIMIT_MATCHERS:
        raise bad(node, f"{len(case.matchers)} matchers and no archive")
    return case


def _matchers(node, stream):
    keys = pairs(node, "empty", "equals", "contains", "json", "tap")
    if not keys:
        raise bad(node, "a stream that need show nothing")
    for kind, value in keys.items():
        yield from (Matcher(kind, stream, wanted) for wanted in _wanted(kind, value))


def _wanted(kind, node):
    """What each matcher of one key of a stream wants."""
    if kind == "empty":
        if not flag(node):
            raise bad(node, "empty can only be true")
        return [True]
    if kind == "equals":
        return [data(node)]
    if kind == "contains":
        found = [data(item) for item in (items(node, 1) if isinstance(node, yaml.SequenceNode) else [node])]
        if b"" in found:
            raise bad(node, "nothing is contained everywhere")
        return found
    if kind == "tap":
        counters = pairs(node, "tests", "pass", "fail")
        if not counters:
            raise bad(node, "no counter")
        return [(counter, number(value, 0, 2**32 - 1)) for counter, value in counters.items()]
    entries = [(item, pairs(item, "pointer", "equals")) for item in items(node, 1)]
    for item, entry in entries:
        if len(entry) != 2:
            raise bad(item, "a pointer and equals must stand here")
    return [(pointer_of(entry["pointer"]), json_value(entry["equals"])) for _, entry in entries]
