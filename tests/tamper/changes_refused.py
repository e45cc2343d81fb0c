"""Bundles that are not what docs/FORMAT.md allows, or not true to themselves: no claim, or a refuted one.

Every one of these is a container that is valid in every byte.
"""
import pack
import schema
from changes import go, no_go, refused
from edits import archive, edited, message, set_oracle, step
from facts import STDIN, STDOUT, event, varint, varint_read


def tree(f):
    return f.run("tree", "strict")


def late(f, kind, run, rework, place=0):
    """Reworks a fact when all else is settled."""
    f.late.append(lambda new: rework(new.edit(new.of(kind, run)[place]).event))


# ---- malformed by FORMAT: neither program makes a claim of it ----

@refused("time-goes-back", "FORMAT 7.2")
def _(f):
    def back(found):
        found.at_ns -= 10_000_000_000
    late(f, "step", tree(f), back)


@refused("two-events-exchanged", "FORMAT 7.2")
def _(f):
    """Two events change places with their numbers."""
    def swap(new):
        place = new.place(step(new, tree(new)))
        first, second = new.edit_at(place), new.edit_at(place + 1)
        first.event.seq, second.event.seq = place + 1, place + 2
        new.swap(place)
    f.late.append(swap)


@refused("sequence-gap", "FORMAT 7.2")
def _(f):
    def more(found):
        found.seq += 1
    late(f, "step", tree(f), more)


@refused("event-of-no-kind", "FORMAT 7.4")
def _(f):
    late(f, "all_gone", tree(f), lambda found: found.ClearField("all_gone"))


@refused("event-without-source", "FORMAT 6.3")
def _(f):
    late(f, "run_exit", tree(f), lambda found: found.ClearField("source"))


@refused("event-of-unknown-vantage", "FORMAT 6.3")
def _(f):
    def unknown(found):
        found.vantage = 9
    late(f, "message", None, unknown)


def raw(f, rework):
    """Other bytes in place of the strict step's."""
    def write(new):
        fact = new.edit(step(new, tree(new)))
        fact.raw = rework(schema.pack(fact.event))
    f.late.append(write)


@refused("unknown-field", "FORMAT 6.3")
def _(f):
    raw(f, lambda packed: packed + b"\xf8\x07\x01")


@refused("field-twice", "FORMAT 6.3")
def _(f):
    """The first run number is overridden by the second."""
    raw(f, lambda packed: b"\x28\x05" + packed)


@refused("number-not-shortest", "FORMAT 6.3")
def _(f):
    """The sequence number has a byte more than it needs."""
    def longer(packed):
        end = varint_read(packed, 1)[1]
        return packed[:end - 1] + bytes([packed[end - 1] | 128, 0]) + packed[end:]
    raw(f, longer)


@refused("fields-out-of-order", "FORMAT 6.3")
def _(f):
    """The sequence number stands at the end of the message."""
    def last(packed):
        end = varint_read(packed, 1)[1]
        return packed[end:] + packed[:end]
    raw(f, last)


@refused("numbers-not-packed", "FORMAT 6.3")
def _(f):
    """Two namespace pids, each with a tag of its own: as long as the packed form."""
    def write(new):
        fact = new.edit(new.identities(tree(new), "child")[0])
        pids = list(fact.what.namespace_pids)
        del fact.what.namespace_pids[:]
        one = schema.ProcessIdentity(namespace_pids=pids)
        body = schema.pack(one)
        assert body[0] == 0x32 and len(pids) == 2
        loose = b"".join(b"\x30" + varint(pid) for pid in pids)
        whole = schema.pack(fact.what)
        before = schema.ProcessIdentity()
        before.CopyFrom(fact.what)
        for name in [field.name for field in before.DESCRIPTOR.fields if field.number > 6]:
            before.ClearField(name)
        head = schema.pack(before)
        inner = head + loose + whole[len(head):]
        fact.event.ClearField("process_identity")
        fact.raw = schema.pack(fact.event) + varint(23 << 3 | 2) + varint(len(inner)) + inner
    f.late.append(write)


@refused("message-longer-than-is-kept", "1024|payload")
def _(f):
    """A listener keeps 1024 bytes."""
    f.put_before(f.one("recording_end"), message(0, "UDP", b"x" * 1025))


@refused("chunk-of-no-run", "run|stream")
def _(f):
    def nowhere(found):
        found.run = 0
    late(f, "chunk", tree(f), nowhere)


@refused("stream-ends-twice", "end|stream")
def _(f):
    end = f.one("stream_end", tree(f), stream=STDOUT)
    f.put_after(end, end.copy())


@refused("digest-too-short", "FORMAT 6.3")
def _(f):
    def cut(found):
        found.freeze.list_sha256 = found.freeze.list_sha256[:31]
    late(f, "freeze", tree(f), cut)


@refused("log-ends-within-an-event", "FORMAT 7.1")
def _(f):
    f.log_end = b"\x05\x08"


@refused("log-followed-by-zero", "FORMAT 7.1")
def _(f):
    f.log_end = b"\0"


@refused("receipt-of-a-later-version", "FORMAT 8.2")
def _(f):
    f.receipt.version = 3


def segments(f, rework):
    f.late_receipt.append(lambda receipt: rework(receipt.events))


def halve(f, run, name):
    """Describes a stream of a run by two segments, put in the wrong order under the digest of the right one."""
    def rework(new):
        content = new.stream(run, name)
        end = new.edit(new.one("stream_end", run, stream=name)).what.content
        middle = content.index(b"\n", len(content) // 2) + 1
        del end.segments[:]
        for piece in (content[middle:], content[:middle]):
            end.segments.add(sha256=new.hold(piece), size_bytes=len(piece))
    f.late.append(rework)


@refused("segments-exchanged", "digest|SHA-256")
def _(f):
    """The halves of the role's lines in the wrong order: other rows come first."""
    halve(f, tree(f), STDOUT)


@refused("log-segment-missing", "segment 1: .*no observation")
def _(f):
    def other(stream):
        stream.segments[0].sha256 = pack.digest_of(b"not there")
    segments(f, other)


@refused("stream-size-wrong", "FORMAT 6.2|a stream of ")
def _(f):
    def more(found):
        found.stream_end.content.size_bytes += 1
    f.late.append(lambda new: more(new.edit(new.one("stream_end", tree(new), stream=STDOUT)).event))


@refused("chunks-with-a-gap", "continue")
def _(f):
    def skip(found):
        found.chunk.offset_bytes += 1
    late(f, "chunk", tree(f), skip, 3)


@refused("chunks-overlap", "continue")
def _(f):
    def back(new):
        later = next(found for found in new.of("chunk", tree(new)) if found.event.chunk.offset_bytes > 0)
        new.edit(later).event.chunk.offset_bytes -= 1
    f.late.append(back)


@refused("chunks-shorter-than-the-stream", "bytes")
def _(f):
    """The last chunk of the parent's copy tells a byte less than the stream has."""
    def less(new):
        new.edit(new.of("chunk", tree(new), stream=4)[-1]).what.size_bytes -= 1
    f.late.append(less)


@refused("members-told-otherwise", "archive")
def _(f):
    """The archive's list was changed, its bytes were not."""
    edited(f, archive(f, f.run("pack", "strict"))).members[2].size_bytes += 1


def bounds(f, text):
    set_oracle(f, lambda oracle: oracle + f"\nbounds: {{{text}}}\n")


@refused("oracle-gives-an-hour", "ended_ms.*60000")
def _(f):
    """The bundle's own oracle lets every role live for an hour; the language allows a minute."""
    bounds(f, "ended_ms: 3600000")


@refused("oracle-gives-an-hour-of-grace", "grace_ms.*60000")
def _(f):
    bounds(f, "grace_ms: 3600000")


# ---- malformed by DECISION 1.1 ----

@refused("event-before-its-run", "DECISION 1.1")
def _(f):
    start = f.one("run_start", tree(f))
    f.put_before(start, event("lost", start.run, observer=schema.SOURCE_INOTIFY))


@refused("run-started-twice", "DECISION 1.1")
def _(f):
    start = f.one("run_start", tree(f))
    f.put_after(start, start.copy())


@refused("two-runs-of-one-name", "DECISION 1.1")
def _(f):
    """A second strict run of a case."""
    start = f.one("run_start", f.run("syntax", "strict"))
    second = start.copy()
    second.event.run, second.event.at_ns = 99, 0
    f.put_before(f.one("recording_end"), second)


@refused("run-without-a-start", "DECISION 1.1")
def _(f):
    f.remove([f.one("run_start", f.run("syntax", "strict"))])


def probe_of(f, name="tree"):
    return edited(f, f.one("run_start", f.run(name, "strict"))).probe


@refused("trial-without-assignment", "assignment|nonce")
def _(f):
    edited(f, f.one("run_start", tree(f))).ClearField("probe")


@refused("case-with-assignment", "assignment|probe")
def _(f):
    probe = f.start(tree(f)).probe
    edited(f, f.one("run_start", f.run("syntax", "strict"))).probe.CopyFrom(probe)


@refused("roles-out-of-order", "roles are not in")
def _(f):
    probe = probe_of(f)
    probe.roles[0].role, probe.roles[1].role = schema.ROLE_CHILD, schema.ROLE_PARENT


@refused("no-rounds", "0 rounds")
def _(f):
    probe_of(f).roles[1].rounds = 0


@refused("too-many-rounds", "1001 rounds")
def _(f):
    probe_of(f).roles[2].rounds = 1001


@refused("unknown-effect", "effect")
def _(f):
    probe_of(f).effects.append("fly")


@refused("recording-start-missing", "first")
def _(f):
    f.remove([f.one("recording_start")])


@refused("recording-starts-twice", "first")
def _(f):
    again = f.one("recording_start").copy()
    again.event.at_ns = 0
    f.put(2, again)


# ---- untrue to itself: a claim follows, and verify refutes the bundle by its bindings ----

@go("run-id-of-another-recording", unbound="run id")
def _(f):
    f.receipt.run_id = bytes(16)


@go("object-that-no-record-names", unbound="unreferenced object")
def _(f):
    """A byte string more in the pack."""
    f.strange[pack.digest_of(b"strange")] = b"strange"


@go("input-that-no-freeze-names", unbound="unreferenced object")
def _(f):
    f.strange_inputs[pack.digest_of(b"strange")] = b"strange"


@go("retained-input-missing", unbound="missing")
def _(f):
    f.inputs.pop(next(iter(f.inputs)))


@go("freeze-list-missing", unbound="missing")
def _(f):
    """A run's own freeze: equal before and after, and of content that is not there."""
    for fact in f.of("freeze", f.run("syntax", "baseline")):
        edited(f, fact).list_sha256 = pack.digest_of(b"not there")


@go("vantage-forged", unbound="vantage")
def _(f):
    """What the subject said is told as seen by the host."""
    f.edit(f.of("chunk", tree(f), stream=STDOUT)[0]).event.vantage = schema.VANTAGE_HOST


@go("stdin-delivered-is-not-offered", unbound="stdin")
def _(f):
    run = f.run("inspect-benign", "strict")
    f.replace(run, STDIN, b"git status", b"git stash!")


@go("other-command-measured", unbound="command")
def _(f):
    """The plan says another command than what ran."""
    start = edited(f, f.one("recording_start"))
    start.plan_sha256 = f.hold(f.objects[start.plan_sha256].replace(b"--check", b"--version"))


@go("plan-pins-more-than-was-looked-at", unbound="pins")
def _(f):
    start = edited(f, f.one("recording_start"))
    pins = b"\npins:\n  - {path: /etc/x, sha256: " + b"0" * 64 + b"}\n"
    start.plan_sha256 = f.hold(f.objects[start.plan_sha256] + pins)


@go("connection-number-skipped", unbound="connection")
def _(f):
    """The last connection of the recording and its message count one too far."""
    last = f.of("accept")[-1]
    for fact in [last, *f.of("message", connection=last.what.connection)]:
        edited(f, fact).connection += 1


@no_go("message-of-no-connection", "boundary.traces", unbound="connection")
def _(f):
    """A tcp message that no accept explains."""
    nonce = f.nonce(tree(f), "child").encode()
    run = f.run("tree", "control", 2)
    f.put_before(f.one("run_exit", run), message(run, "TCP", nonce, 0))


@go("two-runs-with-one-nonce", unbound="nonce")
def _(f):
    """Baseline of bootstrap gets the nonce of strict: its own lines and messages are nobody's then."""
    strict = f.start(f.run("bootstrap", "strict")).probe.nonce
    edited(f, f.one("run_start", f.run("bootstrap", "baseline"))).probe.nonce = strict


@go("run-under-another-watchdog", unbound="watchdog")
def _(f):
    edited(f, f.one("run_start", f.run("suite", "strict"))).watchdog_ms += 1
