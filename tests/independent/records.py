"""What the bytes of a pack mean: streams, the event log, receipt and claim (docs/FORMAT.md sections 6 to 9).

Checks what those sections demand of the records; judges nothing.
"""
import functools
import hashlib

import schema
from pack import INPUTS, OBSERVATIONS, Pack, Refused
from schema import name_of

LIMIT_SEGMENT = 1048576
LIMIT_EVENT = 1048448
LIMIT_STREAM, LIMIT_STREAMS, LIMIT_STDIN = 16 << 30, 64 << 30, 16 << 20
LIMIT_RECEIPT, LIMIT_CLAIM, LIMIT_FREEZE = 16 << 20, 64 << 20, 64 << 20
LIMIT_TARGET, LIMIT_PAYLOAD, LIMIT_MEMBERS = 1048576, 1024, 100000
LIMIT_ROUNDS, LIMIT_TRIALS = 1000, 64
EFFECTS = ("read", "read-link", "write", "tcp", "udp")
S_IFMT, S_IFREG = 0o170000, 0o100000
SEQ, AT_NS = b"\x08", b"\x10"  # of an Event, in front of their numbers


class Event:
    """One event of a log: seq, at_ns, source, vantage, run, kind, and under the name of its kind what it says.

    What it says may be shared with the events of other logs: it is not to be changed.
    """

    def __init__(self, seq, at_ns, said):
        self.__dict__.update(said)
        self.seq, self.at_ns = seq, at_ns

    def as_message(self):
        """The same as a message of its own."""
        made = schema.CLASSES["Event"](seq=self.seq, at_ns=self.at_ns, source=self.source, vantage=self.vantage,
                                       run=self.run)
        if self.kind is not None:
            getattr(made, self.kind).CopyFrom(getattr(self, self.kind))
        return made


def event_of(raw):
    """The Event in `raw`. What stands behind number and time comes again in other logs, and is kept."""
    seq = at_ns = at = 0
    if raw[:1] == SEQ:
        seq, at = schema.varint(raw, 1, len(raw))
    if raw[at:at + 1] == AT_NS:
        at_ns, at = schema.varint(raw, at + 1, len(raw))
    rest = raw[at:]
    if rest[:1] in (SEQ, AT_NS) or not (seq and at_ns):
        schema.unpack("Event", raw)  # complains, but where they are left out
    return Event(seq, at_ns, (_kept if len(rest) <= schema.LIMIT_KEPT_BYTES else _said)(rest))


def _said(rest):
    message = schema.unpack("Event", rest)
    said = {"source": message.source, "vantage": message.vantage, "run": message.run,
            "kind": message.WhichOneof("what")}
    if said["kind"] is not None:
        said[said["kind"]] = getattr(message, said["kind"])
    return said


_kept = functools.lru_cache(schema.LIMIT_KEPT)(_said)


class Bundle:
    """A checked pack with its receipt and events. Raises Refused where a clause does not hold."""

    def __init__(self, path):
        self.pack = Pack(path)
        self.facts = None  # what follows from it under any oracle, once it was judged under one
        try:
            self._check()
        except BaseException:
            self.pack.close()
            raise

    def _check(self):
        self.referenced = {self.pack.receipt}
        self.lists = {}
        self.receipt = self._message("Receipt", self.pack.receipt, LIMIT_RECEIPT, "8.1")
        if self.receipt.version not in (1, 2):
            raise Refused("8.2", f"a receipt of version {self.receipt.version}")
        self.claim = None
        if self.pack.claim is not None:
            self.claim = self._message("Claim", self.pack.claim, LIMIT_CLAIM, "9.1")
            if self.claim.version not in (1, 2):
                raise Refused("9.1", f"a claim of version {self.claim.version}")
        self.events = list(self._events())
        self.by_kind = {}
        for event in self.events:
            self.by_kind.setdefault(event.kind, []).append(event)
        self._order()
        self.start = self.events[0].recording_start
        self._run_order()
        self._streams_fit_chunks()
        self._streams_are_whole()
        self._objects()

    def of(self, kind):
        """The events of one kind, in order."""
        return self.by_kind.get(kind, [])

    def _message(self, name, digest, limit, clause):
        self.referenced.add(digest)
        try:
            return schema.unpack(name, self.pack.read(digest, limit))
        except KeyError:
            raise Refused(clause, f"no observation object {digest.hex()}, a {name}") from None
        except schema.NotPlain as error:
            raise Refused("6.3", f"{name} {digest.hex()}: {error}") from None

    def pieces(self, stream):
        """The bytes of a stream, segment by segment. Its digest is checked when it is first read, by _stream."""
        for segment in stream.segments:
            yield self.pack.read(segment.sha256, LIMIT_SEGMENT)

    def whole(self, stream):
        """All bytes of a stream that is known to be small."""
        return b"".join(self.pieces(stream))

    def _stream(self, stream, what):
        sizes = [segment.size_bytes for segment in stream.segments]
        if any(not 1 <= size <= LIMIT_SEGMENT for size in sizes):
            raise Refused("6.1", f"{what}: a segment of no byte, or of more than {LIMIT_SEGMENT}")
        total = sum(sizes)
        if total > LIMIT_STREAM:
            raise Refused("6.2", f"{what}: more than 16 GiB")
        if total != stream.size_bytes:
            raise Refused("6.2", f"{what}: segments of {total} bytes in a stream of {stream.size_bytes}")
        for segment in stream.segments:
            if not self.pack.has(segment.sha256) or self.pack.size_of(segment.sha256) != segment.size_bytes:
                raise Refused("6.1", f"{what}: a segment is no observation object of its size")
            self.referenced.add(segment.sha256)
        if self._digest(stream) != stream.sha256:
            raise Refused("6.2", f"{what}: the stream has another digest")

    def _digest(self, stream):
        """What a stream hashes to. The pack has looked at the digests of its objects, and so at that of one segment."""
        if len(stream.segments) == 1:
            return stream.segments[0].sha256
        digest = hashlib.sha256()
        for piece in self.pieces(stream):
            digest.update(piece)
        return digest.digest()

    def _events(self):
        self._stream(self.receipt.events, "the event log")
        left, place, segments = b"", 0, self.receipt.events.segments
        for number, piece in enumerate(self.pieces(self.receipt.events)):
            before = segments[number - 1].sha256 if number and not left else None  # where an event begins the segment
            left += piece
            at = 0
            while (found := self._event(left, at, place)) is not None:
                event, at = found
                if event.kind == "log_link" and event.log_link.before_sha256 != before:
                    raise Refused("7.1.1", f"event {event.seq} is a link to another segment than the one before")
                before = None
                yield event
            left = left[at:]
            place += at
        if left:
            raise Refused("7.1", f"the event log ends within an event, at {place}")

    def _event(self, left, at, place):
        """The event at `at` and the place behind it, or None where more bytes are needed."""
        last = at  # byte of its length
        while last < len(left) and left[last] > 0x7F:
            last += 1
        if last - at >= 10:
            raise Refused("7.1", f"no length of an event at {place + at}")
        if last == len(left):
            return None
        try:
            size, begin = schema.varint(left, at, last + 1)
            if not 1 <= size <= LIMIT_EVENT:
                raise Refused("7.1", f"an event of {size} bytes at {place + at}")
            if len(left) < begin + size:
                return None
            return event_of(left[begin:begin + size]), begin + size
        except schema.NotPlain as error:
            raise Refused("6.3", f"the event at {place + at} of the log: {error}") from None

    def _order(self):
        before = 0
        for number, event in enumerate(self.events, 1):
            if event.seq != number:
                raise Refused("7.2", f"event {number} has seq {event.seq}")
            if event.at_ns < before:
                raise Refused("7.2", f"event {number} is earlier than the one before")
            if event.kind is None:
                raise Refused("7.4", f"event {number} is of no kind")
            if (event.kind == "recording_start") != (number == 1):
                raise Refused("7.4", f"event {number} is {event.kind}: recording_start is the first of all, and once")
            before = event.at_ns
        for event in self.of("message"):
            if len(event.message.payload) > LIMIT_PAYLOAD:
                raise Refused("6.3.1", f"event {event.seq} keeps {len(event.message.payload)} bytes of a message")
        for event in self.of("artifact"):
            if len(event.artifact.members) > LIMIT_MEMBERS:
                raise Refused("6.3.1", f"event {event.seq} lists {len(event.artifact.members)} members")
        if not self.events:
            raise Refused("7.4", "there is no event")
        if self.events[0].recording_start.run_id != self.receipt.run_id:
            raise Refused("8.1", "the receipt's run id is not that of recording_start")

    def _run_order(self):
        started, identities, strict_trials = set(), set(), 0
        for event in self.events:
            if event.kind == "run_start":
                start = event.run_start
                identity = (start.kind, start.name, start.mode, start.repeat)
                if event.run == 0 or event.run in started or identity in identities:
                    raise Refused("DECISION 1.1", f"a second RunStart of run {event.run} ({start.name})")
                started.add(event.run)
                identities.add(identity)
                strict_trials += (name_of(start, "kind"), name_of(start, "mode")) == ("RUN_TRIAL", "MODE_STRICT")
                if strict_trials > LIMIT_TRIALS:
                    raise Refused("DECISION 1.1", f"more than {LIMIT_TRIALS} strict trial runs")
                self._probe_fits(event)
            elif event.run and event.run not in started:
                raise Refused("7.3", f"event {event.seq} of run {event.run} comes before its RunStart")

    @staticmethod
    def _probe_fits(event):
        start, probe = event.run_start, event.run_start.probe
        if (name_of(start, "kind") == "RUN_TRIAL") != start.HasField("probe"):
            raise Refused("DECISION 1.1", f"run {event.run}: a trial without probe, or another run with one")
        roles = [entry.role for entry in probe.roles]
        if any(a >= b for a, b in zip(roles, roles[1:])):
            raise Refused("DECISION 1.1", f"run {event.run}: its roles are out of order")
        if any(not 1 <= entry.rounds <= LIMIT_ROUNDS for entry in probe.roles):
            raise Refused("DECISION 1.1", f"run {event.run}: rounds out of 1 to {LIMIT_ROUNDS}")
        if any(effect not in EFFECTS for effect in probe.effects):
            raise Refused("DECISION 1.1", f"run {event.run}: an effect that is not known")

    def _streams_fit_chunks(self):
        """Sizes alone: no byte is read for a stream that cannot be right."""
        arrived, ended, described = {}, set(), 0
        for event in self.events:
            if event.kind == "chunk":
                chunk, key = event.chunk, (event.run, event.chunk.stream)
                if chunk.offset_bytes != arrived.get(key, 0) or key in ended or not chunk.size_bytes:
                    raise Refused("7.4", f"the chunk of event {event.seq} does not follow the one before")
                arrived[key] = chunk.offset_bytes + chunk.size_bytes
            elif event.kind == "stream_end":
                end, key = event.stream_end, (event.run, event.stream_end.stream)
                if key in ended:
                    raise Refused("7.4", f"a second end of a stream, event {event.seq}")
                ended.add(key)
                if not end.HasField("content"):
                    raise Refused("7.4", f"a stream's end without its content, event {event.seq}")
                kept, came = end.content.size_bytes, arrived.get(key, 0)
                described += kept
                if described > LIMIT_STREAMS:
                    raise Refused("6.2", f"the streams up to event {event.seq} have {described} bytes")
                if kept > came or kept != came and name_of(end, "how") != "HOW_LIMIT":
                    raise Refused("DECISION 1.1", f"chunks of {came} bytes in the stream of event {event.seq}")
            elif event.kind == "run_start" and event.run_start.stdin_stream.size_bytes > LIMIT_STDIN:
                raise Refused("6.2", f"the stdin of event {event.seq} has more than 16 MiB")

    def _streams_are_whole(self):
        for event in self.of("stream_end"):
            self._stream(event.stream_end.content, f"the stream of event {event.seq}")
        for event in self.of("run_start"):
            if event.run_start.HasField("stdin_stream"):
                self._stream(event.run_start.stdin_stream, f"the stdin of event {event.seq}")

    def _needed(self, digest, event):
        if not self.pack.has(digest):
            raise Refused("7.9", f"event {event.seq} names {digest.hex() or 'no digest'}, no observation object")
        self.referenced.add(digest)

    def freeze_list(self, digest):
        """The entries of a FreezeList that an event named."""
        if digest not in self.lists:
            entries = self._message("FreezeList", digest, LIMIT_FREEZE, "7.5").entries
            paths = [entry.path for entry in entries]
            if not paths or paths[0] != b"" or any(a >= b for a, b in zip(paths, paths[1:])):
                raise Refused("7.5", f"the entries of FreezeList {digest.hex()} do not ascend from an empty path")
            self.lists[digest] = entries
        return self.lists[digest]

    def _loose(self):
        """FORMAT 8.3: what salvage found and no event names."""
        loose = list(self.receipt.loose_sha256)
        if loose and not self.receipt.partial:
            raise Refused("8.3", "loose objects in a receipt that is not partial")
        if any(a >= b for a, b in zip(loose, loose[1:])):
            raise Refused("8.3", "the loose objects do not ascend")
        self.referenced.update(loose)
        return set(loose)

    def _objects(self):
        """FORMAT 7.8 and 7.9: what events name is there, and what is there is named."""
        inputs = set()
        for event in self.events:
            what = event.kind
            if what == "recording_start":
                for digest in (self.start.plan_sha256, self.start.oracle_sha256):
                    self._needed(digest, event)
                if self.start.policy_sha256:
                    self._needed(self.start.policy_sha256, event)
            elif what == "freeze":
                self._needed(event.freeze.list_sha256, event)
                entries = self.freeze_list(event.freeze.list_sha256)
                if name_of(event.freeze, "moment") == "FREEZE_BEFORE":
                    inputs.update(e.sha256 for e in entries if e.mode & S_IFMT == S_IFREG)
            elif what == "target_state" and event.target_state.content_sha256:
                self._needed(event.target_state.content_sha256, event)
                if name_of(event.target_state, "target") == "TARGET_FOLDER":
                    self.freeze_list(event.target_state.content_sha256)
            elif what == "artifact" and event.artifact.kept:
                self._needed(event.artifact.sha256, event)
        if self.pack.claim is not None:
            self.referenced.add(self.pack.claim)
        inputs |= self._loose()
        for digest in self.pack.parts[OBSERVATIONS].objects:
            if digest not in self.referenced:
                raise Refused("7.9", f"observation object {digest.hex()} belongs to nothing")
        for digest in self.pack.parts[INPUTS].objects:
            if digest not in inputs:
                raise Refused("7.8", f"input object {digest.hex()} is in no first freeze")
