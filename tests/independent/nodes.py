"""Nodes of YAML, read as the keys of an oracle ask (docs/PLAN.md section 1, docs/ORACLE.md). Knows no key."""
import base64
import binascii
import errno
import json
import re
import signal

import yaml
from yaml.composer import Composer

LIMIT_YAML, LIMIT_DEPTH, LIMIT_VALUES = 1 << 20, 16, 65536
JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
SIGNALS = {"POLL" if one.name == "SIGIO" else one.name[3:]: int(one) for one in signal.Signals if one < signal.SIGRTMIN}
ERRNOS = {**{name: getattr(errno, name) for name in errno.errorcode.values()}, "EHWPOISON": 133}
for alias, name in (("EWOULDBLOCK", "EAGAIN"), ("EDEADLOCK", "EDEADLK"), ("ENOTSUP", "EOPNOTSUPP")):
    ERRNOS.pop(alias, None)
    ERRNOS[name] = getattr(errno, name)


class BadOracle(Exception):
    """The oracle does not follow docs/ORACLE.md."""


def compose(raw, quick=False):
    """The root node of the one document in `raw`, None where it is empty; `quick`: by libyaml's parser, as our programs,
    and not by Python's own."""
    if len(raw) > LIMIT_YAML or raw.startswith(b"\xef\xbb\xbf") or b"\0" in raw:
        raise BadOracle("more than 1 MiB, or a byte order mark, or a NUL")
    try:
        return yaml.compose(raw.decode(), _QuickBounded if quick else _Bounded)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadOracle(" ".join(str(error).split())) from None


class _Bounds:
    """PLAN 1.1: no alias, anchor, tag or directive; bounded depth and number of values."""

    depth = values = 0

    def get_event(self):
        event = super().get_event()
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
            raise bad(event, "an alias, anchor or tag")
        if isinstance(event, yaml.DocumentStartEvent) and (event.version or event.tags):
            raise bad(event, "a directive")
        self.values += isinstance(event, yaml.NodeEvent)
        self.depth += isinstance(event, yaml.CollectionStartEvent)
        if self.depth > LIMIT_DEPTH or self.values > LIMIT_VALUES:
            raise bad(event, "too deep, or too many values")
        self.depth -= isinstance(event, yaml.CollectionEndEvent)
        return event


class _Bounded(_Bounds, yaml.SafeLoader):
    pass


class _QuickBounded(_Bounds, Composer, yaml.CSafeLoader):
    """Events are libyaml's; nodes are made of them, and bounded, in Python."""

    def __init__(self, stream):
        yaml.CSafeLoader.__init__(self, stream)
        Composer.__init__(self)


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
        word = text(pairs(node, "base64")["base64"])
        found = base64.b64decode(word, validate=True)
        if base64.b64encode(found).decode() == word:
            return found
    except (KeyError, binascii.Error):
        pass
    raise bad(node, "no base64, or not in its one form")


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
    if text(node) not in SIGNALS:
        raise bad(node, f"no signal: {node.value}")
    return SIGNALS[node.value]


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
    if text(node) not in ERRNOS:
        raise bad(node, f"no errno: {node.value}")
    return ERRNOS[node.value]
