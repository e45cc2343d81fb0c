"""One JSON text and what is at a pointer in it: docs/ORACLE.md 4.6."""
import json
import re
import sys

from nodes import json_number

LIMIT_DEPTH = 2048
INDEX = re.compile("0|[1-9][0-9]{0,8}")
sys.setrecursionlimit(4 * LIMIT_DEPTH)


class Unreadable(Exception):
    """A matcher cannot be evaluated."""


def one_json(content):
    """The value of exactly one JSON text; Unreadable where ORACLE 4.6 says that it cannot be evaluated."""
    def unique(pairs):
        if len({key for key, _ in pairs}) != len(pairs):
            raise Unreadable("a key stands twice")
        return dict(pairs)

    def constant(name):
        raise Unreadable(f"{name} is no JSON")

    def number(word):
        found = json_number(word)
        if found is None:
            raise Unreadable(f"a number out of range: {word[:40]}")
        return found

    try:
        source = content.decode()
        if depth_of(source) > LIMIT_DEPTH:
            raise Unreadable("nested too deep")
        value = json.loads(source, object_pairs_hook=unique, parse_constant=constant, parse_int=number,
                           parse_float=number)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not one JSON text: {error}") from None
    if any("\0" in text or not encodable(text) for text in texts(value)):
        raise Unreadable("a string with U+0000, or with half a surrogate pair")
    return value


def depth_of(source):
    """How deep arrays and objects nest in a JSON text."""
    depth = deepest = 0
    for word in re.findall(r'"(?:[^"\\]|\\.)*"|[][{}]', source, re.DOTALL):
        depth += (word in "[{") - (word in "]}")
        deepest = max(deepest, depth)
    return deepest


def texts(value):
    """Every string of a JSON value, keys too."""
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            left += value


def encodable(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def pointed(value, pointer):
    """The value at a JSON pointer (RFC 6901); Unreadable where there is none."""
    for word in words_of(pointer):
        if not has(value, word):
            raise Unreadable(f"nothing at {pointer}")
        value = value[word] if isinstance(value, dict) else value[int(word)]
    return value


def is_absent(value, pointer):
    """Whether a value lacks what a pointer names; Unreadable where the pointer's last part is in no object or array."""
    before, _, _ = pointer.rpartition("/")
    holder, word = pointed(value, before), words_of(pointer)[-1]
    if isinstance(holder, dict) or isinstance(holder, list) and INDEX.fullmatch(word):
        return not has(holder, word)
    raise Unreadable(f"{pointer} could not be there")


def words_of(pointer):
    return [word.replace("~1", "/").replace("~0", "~") for word in pointer.split("/")[1:]]


def has(value, word):
    """Whether a value is an object or an array with that part of a pointer."""
    if isinstance(value, dict):
        return word in value
    return isinstance(value, list) and INDEX.fullmatch(word) is not None and int(word) < len(value)


def types_of(value):
    """What ORACLE 4.6 calls a value of JSON."""
    names = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null", int: "integer",
             float: "real"}
    name = names[type(value)]
    return {name, "number"} if name in ("integer", "real") else {name}


def same(left, right):
    """Equality of JSON values: of the same type, and true is no number."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right
