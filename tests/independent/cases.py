"""Whether a case is met, and its archives: docs/DECISION.md section 6 and docs/ORACLE.md section 4."""
import json
import re
import sys

from oracle import json_number

LIMIT_MATCHED, LIMIT_DEPTH = 16777216, 2048
sys.setrecursionlimit(4 * LIMIT_DEPTH)


class Unreadable(Exception):
    """A matcher cannot be evaluated on these bytes."""


def case_fails(bundle, case, run):
    """Yields why a case is not met in a run (6.1)."""
    what = f"case {case.name} {run.mode} {run.repeat}"
    exit_event = run.first("run_exit")
    if exit_event is None or exit_event.run_exit.watchdog:
        yield f"{what}: it did not end by itself"
        return
    for matcher in case.matchers:
        try:
            if not _holds(bundle, matcher, run, exit_event.run_exit):
                yield f"{what}: {matcher} does not hold"
        except Unreadable as error:
            yield f"{what}: {matcher} cannot be evaluated: {error}"


def _holds(bundle, matcher, run, ended):
    if matcher.kind in ("exit", "signal"):
        how = "exit_status" if matcher.kind == "exit" else "term_signal"
        return ended.WhichOneof("how") == how and getattr(ended, how) == matcher.value
    end = _whole(run, matcher.stream)
    if matcher.kind == "empty":
        return end.content.size_bytes == 0
    if end.content.size_bytes > LIMIT_MATCHED:
        raise Unreadable(f"{matcher.stream} has {end.content.size_bytes} bytes")
    content = bundle.whole(end.content)
    if matcher.kind == "equals":
        return content == matcher.value
    if matcher.kind == "contains":
        return matcher.value in content
    if matcher.kind == "json":
        return same(pointed(one_json(content), matcher.value[0]), matcher.value[1])
    return tap_count(content, matcher.value[0]) == matcher.value[1]


def _whole(run, name):
    end = run.stream("STREAM_" + name.upper())
    if end is None:
        raise Unreadable(f"{name} has no end")
    if end.how == end.HOW_LIMIT:
        raise Unreadable(f"{name} is not whole")
    return end


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
    for word in pointer.split("/")[1:]:
        word = word.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and word in value:
            value = value[word]
        elif isinstance(value, list) and re.fullmatch("0|[1-9][0-9]{0,8}", word) and int(word) < len(value):
            value = value[int(word)]
        else:
            raise Unreadable(f"nothing at {pointer}")
    return value


def same(left, right):
    """Equality of JSON values: of the same type, and true is no number."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and left == right


def tap_count(content, counter):
    """The number of the one counter line of that word; Unreadable where there is none, or more than one."""
    begin = f"# {counter} ".encode()
    found = [line[len(begin):] for line in content.split(b"\n") if line.startswith(begin)]
    if len(found) != 1 or not re.fullmatch(rb"[0-9]{1,15}", found[0]):
        raise Unreadable(f"{len(found)} lines of # {counter}, or no number in it")
    return int(found[0])


def path_matches(pattern, path):
    """Whether an artifact's path is what an archive names; a '*' in the last part stands for any bytes but '/'."""
    head, star, tail = pattern.encode().partition(b"*")
    if not star:
        return path == head
    middle = path[len(head):len(path) - len(tail)]
    return (len(path) >= len(head) + len(tail) and path.startswith(head) and path.endswith(tail)
            and b"/" not in middle)


def artifacts_of(run, wanted):
    """The artifacts of a run that an archive of the oracle names."""
    if run is None:
        return []
    return [event.artifact for event in run.of("artifact") if path_matches(wanted.path, event.artifact.path)]


def _members(artifact, left_out):
    fields = [(m.path, m.type, m.mode, m.size_bytes, m.sha256, m.link, m.mtime_s) for m in artifact.members]
    return sorted((f for f in fields if f[0] not in left_out), key=lambda f: f[0])


def _by_path(artifact):
    found = {}
    for member in _members(artifact, ()):
        found.setdefault(member[0], []).append(member)
    return found


def archives_fail(case, wanted, baseline, again, strict):
    """Yields why an archive is not the same in baseline and strict (6.4)."""
    if baseline is None or strict is None:
        return
    what = f"case {case.name}: {wanted.path}"
    left, right = artifacts_of(baseline, wanted), artifacts_of(strict, wanted)
    if len(left) != 1 or len(right) != 1:
        yield f"{what}: {len(left)} in baseline, {len(right)} in strict"
        return
    left, right = left[0], right[0]
    if left.path != right.path or not all(a.kept and a.is_archive for a in (left, right)):
        yield f"{what}: not two kept archives of one path"
        return
    left_out, bytes_matter, second = set(), wanted.bytes, artifacts_of(again, wanted)
    if len(second) == 1 and second[0].kept and second[0].is_archive:
        one, two = _by_path(left), _by_path(second[0])
        left_out = {path for path in one.keys() | two.keys() if one.get(path) != two.get(path)}
        bytes_matter = bytes_matter and left.sha256 == second[0].sha256
    if _members(left, left_out) != _members(right, left_out):
        yield f"{what}: members differ"
    if bytes_matter and left.sha256 != right.sha256:
        yield f"{what}: digests differ"
