"""What an oracle asks of a case: docs/ORACLE.md sections 4 and 5. Refuses what they do; evaluates nothing."""
import re
from dataclasses import dataclass, field

import yaml

from expressions import BadExpression, Expression
from nodes import (bad, data, flag, items, json_value, name_of, number, one_of, pairs, path_of, pointer_of,
                   signal_of, text)

LIMIT_CASES, LIMIT_MATCHERS, LIMIT_ARCHIVES, LIMIT_FILES, LIMIT_PATTERNS = 256, 256, 256, 256, 64
LIMIT_LINES, LIMIT_DURATION_MS, LIMIT_COUNTER = 16777216, 3600000, 2**32 - 1
LIMIT_PLACES = 4096  # of all expressions of an oracle
TYPES = ("object", "array", "string", "boolean", "null", "integer", "real", "number")


@dataclass
class Matcher:
    kind: str    # exit, signal, duration_ms, or the key of a stream or of `files`
    where: str   # stdout, stderr, files, or nothing
    value: object
    line: int    # on which its value begins

    def __str__(self):
        return f"{self.where} {self.kind}".strip()


@dataclass
class Archive:
    path: str
    line: int
    bytes: bool = False
    paths: tuple = ()    # what is left out of the comparison
    mtime: bool = False
    owner: bool = False


@dataclass
class Case:
    name: str
    matchers: list = field(default_factory=list)
    archives: list = field(default_factory=list)


def line_of(node):
    return node.start_mark.line + 1


def case_of(node):
    keys = pairs(node, "name", "exit", "signal", "duration_ms", "stdout", "stderr", "files", "archives")
    if "name" not in keys or {"exit", "signal"} <= keys.keys():
        raise bad(node, "a case needs a name, and exit or signal at most")
    case = Case(name_of(keys["name"]))
    for key, value in keys.items():
        if key == "exit":
            case.matchers.append(Matcher(key, "", number(value, 0, 255), line_of(value)))
        elif key == "signal":
            case.matchers.append(Matcher(key, "", signal_of(value), line_of(value)))
        elif key == "duration_ms":
            case.matchers.append(Matcher(key, "", bounds(value, LIMIT_DURATION_MS), line_of(value)))
        elif key in ("stdout", "stderr"):
            case.matchers += _stream(value, key)
        elif key == "files":
            case.matchers += [_file(item) for item in items(value, 1, LIMIT_FILES)]
        elif key == "archives":
            case.archives = [_archive(item) for item in items(value, 0, LIMIT_ARCHIVES)]
    if not case.matchers and not case.archives or len(case.matchers) > LIMIT_MATCHERS:
        raise bad(node, f"{len(case.matchers)} matchers and no archive")
    return case


def bounds(node, high):
    """(at least, at most) of a map of one or both; None where it is not given."""
    keys = pairs(node, "at_least", "at_most")
    low, top = (number(keys[key], 0, high) if key in keys else None for key in ("at_least", "at_most"))
    if not keys or low is not None and top is not None and low > top:
        raise bad(node, "no bound, or two that are upside down")
    return low, top


def digest(node):
    if not re.fullmatch("[0-9a-f]{64}", text(node)):
        raise bad(node, "no SHA-256 in 64 hexadecimal digits of lower case")
    return bytes.fromhex(node.value)


def true(node):
    if not flag(node):
        raise bad(node, "it can only be true")
    return True


def expression(node):
    try:
        return Expression(text(node))
    except BadExpression as error:
        raise bad(node, f"no expression: {error}") from None


def _stream(node, where):
    keys = pairs(node, "empty", "equals", "contains", "matches", "sha256", "lines", "json", "tap")
    if not keys:
        raise bad(node, "a stream that need show nothing")
    for kind, value in keys.items():
        yield from (Matcher(kind, where, wanted, line_of(at)) for wanted, at in _wanted(kind, value))


def _one_or_more(node):
    return items(node, 1) if isinstance(node, yaml.SequenceNode) else [node]


def _wanted(kind, node):
    """What each matcher of one key of a stream wants, and the node that says it."""
    if kind == "empty":
        return [(true(node), node)]
    if kind == "equals":
        return [(data(node), node)]
    if kind == "sha256":
        return [(digest(node), node)]
    if kind == "lines":
        if isinstance(node, yaml.MappingNode):
            return [(bounds(node, LIMIT_LINES), node)]
        return [((number(node, 0, LIMIT_LINES),) * 2, node)]
    if kind == "contains":
        found = [(data(item), item) for item in _one_or_more(node)]
        if any(not wanted for wanted, _ in found):
            raise bad(node, "nothing is contained everywhere")
        return found
    if kind == "matches":
        return [(expression(item), item) for item in _one_or_more(node)]
    if kind == "tap":
        counters = pairs(node, "tests", "pass", "fail")
        if not counters:
            raise bad(node, "no counter")
        return [((word, number(value, 0, LIMIT_COUNTER)), value) for word, value in counters.items()]
    return [(_json(item), item) for item in items(node, 1)]


def _json(node):
    """(pointer, what is asked of the value there, and what for)."""
    keys = pairs(node, "pointer", "equals", "type", "absent")
    if len(keys) != 2 or "pointer" not in keys:
        raise bad(node, "a pointer, and one of equals, type and absent must stand here")
    pointer = pointer_of(keys.pop("pointer"))
    (kind, value), = keys.items()
    if kind == "absent" and not pointer:
        raise bad(node, "the whole text is never absent")
    return pointer, kind, {"equals": json_value, "type": lambda one: one_of(one, *TYPES), "absent": true}[kind](value)


def _file(node):
    keys = pairs(node, "path", "exists", "absent", "sha256")
    if len(keys) != 2 or "path" not in keys:
        raise bad(node, "a path, and one of exists, absent and sha256 must stand here")
    path = path_of(keys.pop("path"))
    (kind, value), = keys.items()
    return Matcher(kind, "files", (path, digest(value) if kind == "sha256" else true(value)), line_of(node))


def _archive(node):
    keys = pairs(node, "path", "bytes", "except")
    if "path" not in keys:
        raise bad(node, "an archive needs a path")
    archive = Archive(path_of(keys["path"]), line_of(node), "bytes" in keys and flag(keys["bytes"]))
    if "except" in keys:
        left_out = pairs(keys["except"], "paths", "mtime", "owner")
        if archive.bytes:
            raise bad(keys["except"], "byte by byte nothing is left out")
        if "paths" in left_out:
            archive.paths = tuple(map(_pattern, items(left_out["paths"], 1, LIMIT_PATTERNS)))
        archive.mtime, archive.owner = (key in left_out and flag(left_out[key]) for key in ("mtime", "owner"))
        if not (archive.paths or archive.mtime or archive.owner):
            raise bad(keys["except"], "an exception that leaves nothing out")
    return archive


def _pattern(node):
    if not 1 <= len(text(node).encode()) <= 4095 or node.value.count("*") > 1:
        raise bad(node, "no pattern of 1 to 4095 bytes with one '*' at most")
    return node.value
