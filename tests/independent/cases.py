"""Whether a case is met: docs/DECISION.md section 6 and docs/ORACLE.md section 4."""
import re
import stat

from archived import artifacts_of
from json_text import Unreadable, is_absent, one_json, pointed, same, types_of
from schema import name_of

LIMIT_MATCHED, LIMIT_EXPRESSION, LIMIT_QUOTED = 16777216, 1048576, 60
MILLISECOND = 1_000_000


def case_fails(bundle, case, run):
    """Yields why a case is not met in a run, in the sentences of 6.5."""
    what = f"{case.name} {run.mode} {run.repeat}"
    exit_event = run.first("run_exit")
    if exit_event is None or exit_event.run_exit.watchdog:
        yield f"{what}: " + ("it was not seen to end" if exit_event is None else "its watchdog ended it")
        return
    for matcher in case.matchers:
        sentence = f"{what}: oracle line {matcher.line}: {matcher}: "
        try:
            wrong = EVALUATE[matcher.where, matcher.kind](bundle, run, matcher)
        except Unreadable as error:
            yield f"{sentence}cannot be evaluated: {error}"
            continue
        if wrong is not None:
            expected, seen, where = map(quoted, wrong)
            yield f"{sentence}expected {expected}, seen {seen}, at {where}"


def quoted(value):
    """A value as a sentence shows it: shortened, in printable ASCII."""
    raw = value if isinstance(value, bytes) else str(value).encode(errors="replace")
    text = "".join(chr(byte) if 32 <= byte < 127 else "?" for byte in raw[:LIMIT_QUOTED])
    return (text or "nothing") + ("..." if len(raw) > LIMIT_QUOTED else "")


# Each gives None where the matcher holds, else (what was expected, what was seen, where); Unreadable where it cannot.

def _exit(_bundle, run, matcher):
    ended = run.first("run_exit").run_exit
    how = "exit_status" if matcher.kind == "exit" else "term_signal"
    if ended.WhichOneof("how") == how and getattr(ended, how) == matcher.value:
        return None
    seen = ended.WhichOneof("how")
    return matcher.value, f"{seen} {getattr(ended, seen)}" if seen else "neither exit nor signal", "the run's end"


def _within(seen, bounds, where, unit=1):
    low, high = bounds
    if (low is None or seen >= low * unit) and (high is None or seen <= high * unit):
        return None
    return f"{0 if low is None else low} to {'any' if high is None else high}", seen / unit, where


def _duration(_bundle, run, matcher):
    spawned, ended = run.first("spawned"), run.first("run_exit")
    if spawned is None or spawned.seq > ended.seq:
        raise Unreadable("the run was not seen to start before its end")
    return _within(ended.at_ns - spawned.at_ns, matcher.value, "the run's end", MILLISECOND)


def _whole(run, name):
    """What is said of the end of a whole stream."""
    end = run.stream("STREAM_" + name.upper())
    if end is None:
        raise Unreadable(f"{name} has no end")
    if end.how == end.HOW_LIMIT:
        raise Unreadable(f"{name} is not whole")
    return end.content


def _bytes(bundle, run, name, limit=LIMIT_MATCHED):
    content = _whole(run, name)
    if content.size_bytes > limit:
        raise Unreadable(f"{name} has {content.size_bytes} bytes, more than {limit}")
    return bundle.whole(content)


def _empty(_bundle, run, matcher):
    size = _whole(run, matcher.where).size_bytes
    return None if size == 0 else ("no byte", f"{size} bytes", "0")


def _equals(bundle, run, matcher):
    seen = _bytes(bundle, run, matcher.where)
    if seen == matcher.value:
        return None
    at = next((at for at, (a, b) in enumerate(zip(seen, matcher.value)) if a != b), min(len(seen), len(matcher.value)))
    return matcher.value[at:], seen[at:], f"byte {at}"


def _contains(bundle, run, matcher):
    seen = _bytes(bundle, run, matcher.where)
    return None if matcher.value in seen else (matcher.value, seen, f"none of {len(seen)} bytes")


def _matches(bundle, run, matcher):
    seen = _bytes(bundle, run, matcher.where, LIMIT_EXPRESSION)
    return None if matcher.value.describes(seen) else (matcher.value.text, seen, f"none of {len(seen)} bytes")


def _stream_digest(_bundle, run, matcher):
    seen = _whole(run, matcher.where).sha256
    return None if seen == matcher.value else (matcher.value.hex(), seen.hex(), "the whole stream")


def _lines(bundle, run, matcher):
    seen = _bytes(bundle, run, matcher.where)
    return _within(seen.count(b"\n") + (seen[-1:] not in (b"", b"\n")), matcher.value, "the whole stream")


def _json(bundle, run, matcher):
    value, (pointer, kind, wanted) = one_json(_bytes(bundle, run, matcher.where)), matcher.value
    where = pointer or "the whole text"
    if kind == "absent":
        return None if is_absent(value, pointer) else ("nothing", pointed(value, pointer), where)
    seen = pointed(value, pointer)
    holds = same(seen, wanted) if kind == "equals" else wanted in types_of(seen)
    return None if holds else (wanted, f"{seen} ({min(types_of(seen))})", where)


def _tap(bundle, run, matcher):
    counter, wanted = matcher.value
    seen = tap_count(_bytes(bundle, run, matcher.where), counter)
    return None if seen == wanted else (wanted, seen, f"# {counter}")


def tap_count(content, counter):
    """The number of the one counter line of that word; Unreadable where there is none, or more than one."""
    begin = f"# {counter} ".encode()
    found = [line[len(begin):] for line in content.split(b"\n") if line.startswith(begin)]
    if len(found) != 1 or not re.fullmatch(rb"[0-9]{1,15}", found[0]):
        raise Unreadable(f"{len(found)} lines of # {counter}, or no number in it")
    return int(found[0])


def _left(bundle, run, path):
    """The artifacts of a path, but for those that the launcher leaves by itself (ORACLE 4.12)."""
    found = artifacts_of(run, path)
    if not found or run.mode != "strict":
        return found
    launchers = {event.run for event in bundle.events if event.kind == "run_start"
                 and name_of(event.run_start, "kind") == "RUN_LAUNCHER" and event.run_start.name == "launcher"
                 and name_of(event.run_start, "mode") == "MODE_STRICT" and event.run_start.repeat == 1}
    own = {event.artifact.path for event in bundle.events
           if event.run in launchers and event.kind == "artifact"}
    return [artifact for artifact in found if artifact.path not in own]


def _exists(bundle, run, matcher):
    path, _ = matcher.value
    found = _left(bundle, run, path)
    if any(stat.S_ISREG(artifact.mode) for artifact in found):
        return None
    return "a regular file", f"{len(found)} of other kinds", path


def _file_digest(bundle, run, matcher):
    path, wanted = matcher.value
    found = _left(bundle, run, path)
    if len(found) != 1:
        raise Unreadable(f"{len(found)} artifacts of {path}")
    if not stat.S_ISREG(found[0].mode) or not found[0].kept:
        raise Unreadable(f"{path} is no regular file that was kept: {quoted(found[0].note)}")
    return None if found[0].sha256 == wanted else (wanted.hex(), found[0].sha256.hex(), path)


def _absent(bundle, run, matcher):
    path, _ = matcher.value
    found = _left(bundle, run, path)
    if found:
        return "nothing", found[0].path, path
    if not _listing_is_whole(bundle, run):
        raise Unreadable("what the run left was not listed to its end")
    return None


def _listing_is_whole(bundle, run):
    """ORACLE 4.12"""
    if any(not event.artifact.path or stat.S_ISDIR(event.artifact.mode) for event in run.of("artifact")):
        return False
    after = next((event.seq for event in run.of("freeze") if name_of(event.freeze, "moment") == "FREEZE_RUN_AFTER"),
                 None)
    return after is not None and any(event.run != run.number for event in bundle.events[after:])


STREAM = {"empty": _empty, "equals": _equals, "contains": _contains, "matches": _matches, "sha256": _stream_digest,
          "lines": _lines, "json": _json, "tap": _tap}
EVALUATE = {("", "exit"): _exit, ("", "signal"): _exit, ("", "duration_ms"): _duration, ("files", "exists"): _exists,
            ("files", "sha256"): _file_digest, ("files", "absent"): _absent,
            **{(stream, kind): how for stream in ("stdout", "stderr") for kind, how in STREAM.items()}}
