"""The events of a good recording, to be changed into facts that no recording had: for tests alone."""
import runs
from remake import stream_of
from schema import CLASSES, name_of


class Scene:
    """The events of a bundle, to be changed."""

    def __init__(self, bundle):
        self.bundle, self.objects, self.partial = bundle, {}, False
        self.events = [event.as_message() for event in bundle.events]
        self.runs = {(run.name, run.mode, run.repeat): run for run in runs.read_runs(bundle)}

    def number(self, name, mode, repeat=1):
        return self.runs[(name, mode, repeat)].number

    def of(self, kind, run=None):
        """The events of a kind, of one run or of all."""
        return [e for e in self.events if e.WhichOneof("what") == kind and run in (None, e.run)]

    def drop(self, events):
        gone = {id(event) for event in events}
        assert gone, "there is nothing to drop"
        self.events = [event for event in self.events if id(event) not in gone]

    def place(self, event):
        return next(place for place, one in enumerate(self.events) if one is event)

    def add(self, after, kind, run, **fields):
        """A new event right behind another, at its time."""
        event = CLASSES["Event"](at_ns=after.at_ns, source=1, vantage=1, run=run)
        getattr(event, kind).SetInParent()
        for name, value in fields.items():
            setattr(getattr(event, kind), name, value)
        self.events.insert(self.place(after) + 1, event)
        return event

    def later(self, event, by_ns):
        """Everything from an event on is so much later."""
        for one in self.events[self.place(event):]:
            one.at_ns += by_ns

    def rewrite(self, run, stream, change):
        """Changes what a stream of a run held, chunk by chunk."""
        end = next(e.stream_end for e in self.of("stream_end", run) if name_of(e.stream_end, "stream") == stream)
        old = self.bundle.whole(end.content) if end.content.segments else b""
        new = b""
        for event in self.of("chunk", run):
            if name_of(event.chunk, "stream") == stream:
                begin, size = event.chunk.offset_bytes, event.chunk.size_bytes
                piece = change(old[begin:begin + size])
                event.chunk.offset_bytes, event.chunk.size_bytes = len(new), len(piece)
                new += piece
        assert new != old, "nothing was rewritten"
        end.content.CopyFrom(stream_of(new, self.objects))

    def say(self, run, stream, text, before=None):
        """A chunk more in a stream, read just before an event: the stream's end, if no other is named."""
        end = next(e for e in self.of("stream_end", run) if name_of(e.stream_end, "stream") == stream)
        before, content = before or end, end.stream_end.content
        old = self.bundle.whole(content)
        place = self.place(before)
        chunks = [e for e in self.of("chunk", run) if e.chunk.stream == end.stream_end.stream]
        said = sum(e.chunk.size_bytes for e in chunks if self.place(e) < place)
        for event in chunks:
            if self.place(event) > place:
                event.chunk.offset_bytes += len(text)
        added = self.add(self.events[place - 1], "chunk", run, stream=end.stream_end.stream, offset_bytes=said,
                         size_bytes=len(text))
        added.at_ns, added.vantage = before.at_ns, 2
        content.CopyFrom(stream_of(old[:said] + text + old[said:], self.objects))

    def stream_of(self, content):
        return stream_of(content, self.objects)

    @staticmethod
    def chunk(end, size):
        """The one chunk of the stream that an event ends."""
        event = CLASSES["Event"](at_ns=end.at_ns, source=4, vantage=2, run=end.run)
        event.chunk.stream, event.chunk.size_bytes = end.stream_end.stream, size
        return event

    def replace_in_rows(self, name, role, old, new):
        """The same change in both copies of a role's rows in a trial's strict run."""
        for stream in ("STREAM_STDOUT", "STREAM_SCRATCH_" + role.upper()):
            self.rewrite(self.number(name, "strict"), stream,
                         lambda piece: b"".join(line.replace(old, new) if f" {role} ".encode() in line else line
                                                for line in piece.splitlines(keepends=True)))

    def identities(self, name, role):
        """From the first on that has the role's argv: the process may have been seen before it executed that."""
        run = self.runs[(name, "strict", 1)]
        found = run.identities[role]
        return [e for e in self.of("process_identity", run.number)
                if (e.process_identity.pid, e.process_identity.start_time) == (found.pid, found.start_time)
                and list(e.process_identity.argv) == list(found.seen.argv)]

    def exits(self, name, role):
        run = self.runs[(name, "strict", 1)]
        found = run.identities[role]
        return [e for kind in ("process_exit", "process_gone") for e in self.of(kind, run.number)
                if (getattr(e, kind).pid, getattr(e, kind).start_time) == (found.pid, found.start_time)]
