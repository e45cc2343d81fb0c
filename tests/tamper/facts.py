"""A bundle as data that can be edited: events, the bytes that each chunk brought, objects; and a bundle made from them.

What follows from the facts is made right again when the bundle is written: sequence numbers, the number of events,
chunk offsets, streams and their digests, which objects there are. `late` steps run after that, for a test that wants
one of these wrong. A `Facts` may be copied cheaply: facts are shared until `edit` makes one's own.
"""
import functools
import hashlib

import pack
import schema

SEGMENT_BYTES = 1 << 20
ROLES = {"parent": 1, "child": 2, "grandchild": 3}
MODES = {"baseline": 1, "strict": 2, "control": 3}
SCRATCH = {"parent": 4, "child": 5, "grandchild": 6}
STDIN, STDOUT, STDERR = 1, 2, 3


@functools.lru_cache(maxsize=65536)
def varint(number):
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def varint_read(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return number, at


class Fact:
    """One event: `event`, its kind in `kind`, what it says in `what`, and the bytes of a chunk in `data`."""

    def __init__(self, event, data=None, packed=None):
        self.event, self.data = event, data
        self.kind = event.WhichOneof("what")
        self.what = getattr(event, self.kind) if self.kind else None
        self.packed = packed  # without its sequence number; None: to be packed when it is written
        self.raw = None       # the bytes to write in its place
        self.set_run()

    def set_run(self):
        self.run = self.event.run  # as it stays: what was read is shared, and not changed

    def copy(self):
        event = schema.Event()
        event.CopyFrom(self.event)
        return OwnFact(event, self.data)


class OwnFact(Fact):
    """One that may be changed."""

    def set_run(self):
        pass

    @property
    def run(self):
        return self.event.run


def event(kind, run=0, at_ns=0, source="SOURCE_RECORDER", vantage=1, **fields):
    """A new fact of this kind."""
    made = schema.Event(at_ns=at_ns, source=getattr(schema, source), vantage=vantage, run=run)
    inner = getattr(made, kind)
    inner.SetInParent()
    for name, value in fields.items():
        if isinstance(value, (list, tuple)):
            getattr(inner, name).extend(value)
        else:
            setattr(inner, name, value)
    return OwnFact(made)


class Facts:
    def __init__(self):
        self.facts, self.objects, self.inputs = [], {}, {}
        self.kinds = {}         # the facts of a kind in order, where it was asked for
        self.receipt, self.claim = None, None
        self.late = []          # called with the facts just before they are packed
        self.late_receipt = []  # called with the receipt, when it names its event log
        self.oracle_is_other = False
        self.log_end = b""      # bytes after the last event
        self.strange, self.strange_inputs = {}, {}  # objects that no fact names
        self.touched = set()    # (run, stream) whose bytes were changed

    # ---- reading ----

    @classmethod
    def read(cls, path):
        self = cls()
        container = pack.read(path)
        self.objects, self.inputs = container.observations, container.inputs
        self.receipt = schema.Receipt.FromString(self.objects[container.receipt])
        if container.claim is not None:
            self.claim = schema.Claim.FromString(self.objects[container.claim])
        log, at = self.stream_bytes(self.receipt.events), 0
        while at < len(log):
            size, at = varint_read(log, at)
            packed = log[at:at + size]
            fact = Fact(schema.Event.FromString(packed), packed=self.after_seq(packed))
            if fact.kind != "log_link":  # a log that is written anew has one segment
                self.facts.append(fact)
            at += size
        self.read_chunks()
        return self

    @staticmethod
    def after_seq(packed):
        assert packed[0] == 8
        return packed[varint_read(packed, 1)[1]:]

    def stream_bytes(self, stream):
        content = b"".join(self.objects[segment.sha256] for segment in stream.segments)
        assert hashlib.sha256(content).digest() == stream.sha256
        return content

    def read_chunks(self):
        whole = {(fact.run, fact.what.stream): self.stream_bytes(fact.what.content)
                 for fact in self.facts if fact.kind == "stream_end"}
        for fact in self.facts:
            if fact.kind == "chunk":
                at, size = fact.what.offset_bytes, fact.what.size_bytes
                fact.data = whole[fact.run, fact.what.stream][at:at + size]

    def copy(self):
        new = Facts()
        new.__dict__.update(self.__dict__, facts=list(self.facts), kinds={}, objects=dict(self.objects),
                            inputs=dict(self.inputs), late=list(self.late), late_receipt=list(self.late_receipt),
                            strange=dict(self.strange), strange_inputs=dict(self.strange_inputs),
                            touched=set(self.touched))
        new.receipt = schema.Receipt()
        new.receipt.CopyFrom(self.receipt)
        return new

    # ---- looking ----

    def of(self, kind, run=None, **fields):
        """The facts of a kind (and run, and with these fields), in order."""
        if kind not in self.kinds:
            self.kinds[kind] = [fact for fact in self.facts if fact.kind == kind]
        found = [fact for fact in self.kinds[kind] if run is None or fact.run == run]
        for name, value in fields.items():
            found = [fact for fact in found if getattr(fact.what, name) == value]
        return found

    def one(self, kind, run=None, **fields):
        (found,) = self.of(kind, run, **fields)
        return found

    def run(self, name, mode, repeat=1):
        """The number of a run."""
        return self.one("run_start", name=name, mode=MODES[mode], repeat=repeat).run

    def place(self, fact):
        return self.facts.index(fact)  # itself: facts are equal to no others

    def start(self, run):
        return self.one("run_start", run).what

    def nonce(self, run, role):
        digits = self.start(run).probe.nonce.hex()
        for name in ["child", "grandchild"][:ROLES[role] - 1]:
            digits = hashlib.sha256(f"exhibit {name} {digits}".encode()).hexdigest()[:32]
        return digits

    def argv(self, run, role):
        own = list(self.start(run).command)
        own[2:4] = [role.encode(), self.nonce(run, role).encode()]
        return own

    def identities(self, run, role):
        """The identity events of a role (those of its forks too, where they were seen)."""
        return [fact for fact in self.of("process_identity", run) if list(fact.what.argv) == self.argv(run, role)]

    def end_of(self, run, role):
        """The event that tells the role's end."""
        who = self.identities(run, role)[0].what
        ends = [fact for kind in ("process_exit", "process_gone") for fact in self.of(kind, run)
                if (fact.what.pid, fact.what.start_time) == (who.pid, who.start_time)]
        return min(ends, key=self.place)

    def stream(self, run, name):
        return b"".join(fact.data for fact in self.of("chunk", run, stream=name))

    def rows(self, run, role, stream=None):
        """The rows of a role as lines, once each, of one stream; default: its own copy, or stdout, where its end came
        between the two and cost the copy the last row."""
        if stream is None:
            return max(self.rows(run, role, SCRATCH[role]), self.rows(run, role, STDOUT), key=len)
        head = b"EXHIBIT1 row " + self.nonce(run, role).encode() + b" "
        lines = self.stream(run, stream).splitlines(keepends=True)
        return [line for line in lines if line.startswith(head)]

    def row(self, run, role, number=1):
        (found,) = [line for line in self.rows(run, role) if line.split()[4] == str(number).encode()]
        return found

    def canary(self, run, name):
        """What a canary held while this run was on."""
        start = self.place(self.one("run_start", run))
        return getattr([fact for fact in self.of("targets") if self.place(fact) < start][-1].what, name)

    def proof(self, run, effect, role, number=1):
        content = self.canary(run, "canary_link" if effect == "read-link" else "canary_read")
        return hashlib.sha256(content + f" {self.nonce(run, role)} {number}".encode()).hexdigest()

    def states(self, run, target):
        """The target's state before and after a trial run."""
        mine = self.of("target_state", target=target)
        start, end = self.place(self.one("run_start", run)), self.place(self.one("run_exit", run))
        return ([fact for fact in mine if self.place(fact) < start][-1],
                [fact for fact in mine if self.place(fact) > end][0])

    def streams_end(self):
        """Whether each stream that has bytes is described at its end; else they are bound to nothing (FORMAT 7.4)."""
        ended = {(fact.run, fact.what.stream) for fact in self.of("stream_end")}
        return all((fact.run, fact.what.stream) in ended for fact in self.of("chunk"))

    def times_ascend(self):
        """Whether no fact is earlier than the one before it (FORMAT 7.2)."""
        times = [fact.event.at_ns for fact in self.facts]
        return times == sorted(times)

    # ---- editing ----

    def edit(self, fact):
        """The fact's own copy in this bundle: what may be changed."""
        return self.edit_at(self.place(fact))

    def edit_at(self, place):
        fact = self.facts[place]
        new = self.facts[place] = fact.copy()
        new.event.seq = place + 1  # it may have moved since it was read
        if fact.kind in self.kinds:
            alike = self.kinds[fact.kind]
            alike[alike.index(fact)] = new
        return new

    def swap(self, place):
        """Exchanges a fact with the one behind it."""
        self.facts[place:place + 2] = reversed(self.facts[place:place + 2])
        self.kinds = {}

    def remove(self, facts):
        facts = list(facts)
        gone = {id(fact) for fact in facts}
        self.facts = [fact for fact in self.facts if id(fact) not in gone]
        self.forget(facts)

    def put(self, place, *facts):
        """Inserts before the fact that stands at a place; facts without a time take that of the fact before."""
        for fact in facts:
            if fact.event.at_ns == 0:
                fact.event.at_ns = self.facts[place - 1].event.at_ns
        self.facts[place:place] = facts
        self.forget(facts)

    def forget(self, facts):
        """Their kinds are to be gathered again."""
        for fact in facts:
            self.kinds.pop(fact.kind, None)

    def put_before(self, fact, *facts):
        self.put(self.place(fact), *facts)

    def put_after(self, fact, *facts):
        self.put(self.place(fact) + 1, *facts)

    def delay(self, place, until_ns):
        """Moves everything from this place on to later times, so that the fact there is at `until_ns` or later."""
        more = until_ns - self.facts[place].event.at_ns
        for i in range(place, len(self.facts)) if more > 0 else ():
            new = self.edit_at(i)
            new.event.at_ns += more
            if new.kind == "step":
                new.what.planned_at_ns += more

    def hold(self, content):
        """Keeps an object; gives its digest."""
        return put(self.objects, content)

    def set_data(self, fact, data):
        """Other bytes in a chunk; without any the chunk goes."""
        self.touched.add((fact.run, fact.what.stream))
        if data:
            self.edit(fact).data = data
        else:
            self.remove([fact])

    def replace(self, run, stream, old, new):
        """Puts `new` in place of bytes that a stream holds; it arrives with the last of them."""
        chunks = self.of("chunk", run, stream=stream)
        start = b"".join(fact.data for fact in chunks).index(old)
        end, at, last = start + len(old), 0, True
        for fact, at in reversed(list(zip(chunks, offsets(chunks)))):
            low, high = max(start - at, 0), min(end - at, len(fact.data))
            if low < high:
                self.set_data(fact, fact.data[:low] + (new if last else b"") + fact.data[high:])
                last = False

    def add_chunk(self, run, stream, data, place, **fields):
        """Bytes that arrive before the fact at this place, after all that the stream had by then."""
        self.touched.add((run, stream))
        scratch = stream in SCRATCH.values()
        fact = event("chunk", run, source="SOURCE_SCRATCH" if scratch else "SOURCE_PIPE", vantage=2, stream=stream,
                     **fields)
        fact.data = data
        self.put(place, fact)
        return fact

    def copies(self, run, line):
        """The streams of a run that hold this line."""
        return [name for name in (STDOUT, *SCRATCH.values()) if line in self.stream(run, name)]

    def rewrite(self, run, line, new):
        """Another line (or none) in place of all copies of one."""
        for name in self.copies(run, line):
            self.replace(run, name, line, new)

    def tell(self, run, role, effect, told, number=1):
        """Makes a row tell something else about an effect, in all its copies."""
        line = self.row(run, role, number)
        self.rewrite(run, line, told_line(line, effect, told))

    # ---- writing ----

    def describe(self, content):
        """A Stream of these bytes; its segments are kept."""
        stream = schema.Stream(size_bytes=len(content), sha256=pack.digest_of(content))
        for at in range(0, len(content), SEGMENT_BYTES):
            piece = content[at:at + SEGMENT_BYTES]
            stream.segments.add(sha256=self.hold(piece), size_bytes=len(piece))
        return stream

    def settle(self):
        """Makes right what follows from the facts."""
        for run, name in sorted(self.touched):
            chunks = self.of("chunk", run, stream=name)
            for fact, at in zip(chunks, offsets(chunks)):
                if (fact.what.offset_bytes, fact.what.size_bytes) != (at, len(fact.data)):
                    fact = self.edit(fact)
                    fact.what.offset_bytes, fact.what.size_bytes = at, len(fact.data)
            for fact in self.of("stream_end", run, stream=name):
                self.edit(fact).what.content.CopyFrom(self.describe(self.stream(run, name)))
        for fact in self.of("recording_end"):
            if fact.what.event_count != len(self.facts):
                self.edit(fact).what.event_count = len(self.facts)
        for seq, fact in enumerate(self.facts, 1):
            if fact.packed is None:
                fact.event.seq = seq

    def log_bytes(self):
        out = bytearray()
        for seq, fact in enumerate(self.facts, 1):
            if fact.raw is not None:
                packed = fact.raw
            elif fact.packed is None:
                packed = schema.pack(fact.event)
            else:
                packed = b"\x08" + varint(seq) + fact.packed
            out += varint(len(packed)) + packed
        return bytes(out) + self.log_end

    def named(self):
        """The digests of all objects that the facts name."""
        whats = {kind: [fact.what for fact in self.of(kind)] for kind in
                 ("recording_start", "freeze", "target_state", "run_start", "stream_end", "artifact")}
        for what in whats["recording_start"]:
            yield from (what.plan_sha256, what.oracle_sha256, what.policy_sha256)
        yield from (what.list_sha256 for what in whats["freeze"])
        yield from (what.content_sha256 for what in whats["target_state"])
        for what in whats["run_start"]:
            yield from (segment.sha256 for segment in what.stdin_stream.segments)
        for what in whats["stream_end"]:
            yield from (segment.sha256 for segment in what.content.segments)
        yield from (what.sha256 for what in whats["artifact"] if what.kept)

    def retained(self):
        """The inputs that a first freeze still names (FORMAT 7.8)."""
        named = {entry.sha256 for fact in self.of("freeze", moment=1)
                 for entry in schema.FreezeList.FromString(self.objects[fact.what.list_sha256]).entries}
        return {digest: content for digest, content in self.inputs.items() if digest in named}

    def build(self, claim=None):
        """The container: with a claim that a function makes from the receipt's digest, or without one."""
        return self.builder()(claim)

    def builder(self):
        """A `build` of these facts as they are now, for several claims: what the claims have in common is made once."""
        new = self.copy()
        new.settle()
        for step in new.late:
            step(new)
        new.receipt.events.CopyFrom(new.describe(new.log_bytes()))
        for step in new.late_receipt:
            step(new.receipt)
        receipt, named = {}, {}
        receipt_digest = put(receipt, schema.pack(new.receipt))
        for digest in [segment.sha256 for segment in new.receipt.events.segments] + list(new.named()):
            if digest in new.objects:
                named[digest] = new.objects[digest]
        inputs = new.retained() | new.strange_inputs

        def built(claim=None):
            stated = {}
            claim_digest = None if claim is None else put(stated, claim(receipt_digest))
            return pack.Pack(receipt_digest, claim_digest, receipt | stated | named | new.strange, inputs)

        return built


def put(objects, content):
    digest = pack.digest_of(content)
    objects[digest] = content
    return digest


def offsets(chunks):
    at = 0
    for fact in chunks:
        yield at
        at += len(fact.data)


def told_line(line, effect, told):
    words = line.decode().rstrip("\n").split(" ")
    (place,) = [i for i, word in enumerate(words) if word.startswith(effect + "=")]
    words[place] = f"{effect}={told}"
    return (" ".join(words) + "\n").encode()
