"""Runs and what the probe said in them: docs/DECISION.md sections 1 to 4, without any outcome or rule."""
import hashlib
import re

from schema import name_of

ROLES = ("parent", "child", "grandchild")
MODES = {"MODE_BASELINE": "baseline", "MODE_STRICT": "strict", "MODE_CONTROL": "control"}
LINE_STREAMS = ("STREAM_STDOUT", "STREAM_SCRATCH_PARENT", "STREAM_SCRATCH_CHILD", "STREAM_SCRATCH_GRANDCHILD")
LIMIT_LINE = 2048
READS = ("read", "read-link")
NETWORK = ("tcp", "udp")
NUMBER = rb"([1-9][0-9]*)"
LINE = re.compile(rb"EXHIBIT1 (row|try) ([0-9a-f]{32}) (parent|child|grandchild) " + NUMBER + rb" ([^\n]+)\n")
MESSAGE = re.compile(rb"EXHIBIT1 (tcp|udp) ([0-9a-f]{32}) (parent|child|grandchild) " + NUMBER + rb"\n")
TOLD = re.compile(rb"ok(?::([0-9a-f]{64}))?|(errno|signal):" + NUMBER + rb"|timeout")
MILLISECOND = 1_000_000


def role_of(message, field="role"):
    """The role in text."""
    return name_of(message, field)[len("ROLE_"):].lower()


class Line:
    """A row or a try as it stood in one stream, with the arrival of its newline."""

    def __init__(self, raw, kind, role, round_number, words, arrival):
        self.raw, self.kind, self.role, self.round, self.words = raw, kind, role, round_number, words
        self.seq, self.at_ns = arrival


class Row:
    """The copies of one row (2.5): `told` by effect, as (word, number or proof), from the one that came first."""

    def __init__(self, copies):
        self.copies = sorted(copies, key=lambda line: line.seq)
        first = self.copies[0]
        self.role, self.round, self.told = first.role, first.round, first.words
        self.at_ns, self.seq = first.at_ns, first.seq
        self.contested = any(copy.raw != first.raw for copy in copies)


class Identity:
    """A role's identity in a run (4.1), with its first sight and its end (4.2)."""

    def __init__(self, event):
        self.seen = event.process_identity
        self.pid, self.start_time = self.seen.pid, self.seen.start_time
        self.first_at, self.seq = event.at_ns, event.seq
        self.gone_at = self.gone_seq = None
        self.later = []  # what further events tell of the same process


class Run:
    """The events of one run, by kind, with what follows from them alone."""

    def __init__(self, event):
        self.number, self.start, self.seq = event.run, event.run_start, event.seq
        self.kind = name_of(self.start, "kind")
        self.mode, self.name, self.repeat = MODES[name_of(self.start, "mode")], self.start.name, self.start.repeat
        self.events = {}
        self.rows, self.tries, self.identities, self.conflicting = [], [], {}, set()

    def of(self, kind):
        """The events of one kind, in order."""
        return self.events.get(kind, [])

    def first(self, kind):
        return self.of(kind)[0] if self.of(kind) else None

    def ends(self):
        """The seq of the RunExit or SpawnFailed, whichever is first; None where there is neither."""
        return min((event.seq for kind in ("run_exit", "spawn_failed") for event in self.of(kind)), default=None)

    def stream(self, name):
        """The StreamEnd of that stream, or None."""
        found = [e.stream_end for e in self.of("stream_end") if name_of(e.stream_end, "stream") == name]
        return found[0] if found else None

    def first_step(self):
        return min(self.of("step"), key=lambda event: event.step.index, default=None)

    def last_step(self):
        return max(self.of("step"), key=lambda event: event.step.index, default=None)

    def read_probe(self, bundle):
        """Fills rows, tries and identities of a trial run."""
        probe, parent = self.start.probe, self.start.probe.nonce.hex()
        child = hashlib.sha256(b"exhibit child " + parent.encode()).hexdigest()[:32]
        grandchild = hashlib.sha256(b"exhibit grandchild " + child.encode()).hexdigest()[:32]
        nonces = dict(zip(ROLES, (parent, child, grandchild)))
        self.roles = [role_of(entry) for entry in probe.roles]
        self.rounds = {role_of(entry): entry.rounds for entry in probe.roles}
        self.nonces = {role: nonces[role] for role in self.roles}
        self.argvs = {role: [*self.start.command[:2], role.encode(), nonces[role].encode(), *self.start.command[4:]]
                      for role in ROLES[1:]}
        self.effects = list(probe.effects)
        self._read_lines(bundle)
        for role in ROLES:  # one that was not assigned has an identity too, if it ran
            self._identify(bundle, role)

    def row(self, role, round_number):
        return next((row for row in self.rows if (row.role, row.round) == (role, round_number)), None)

    def roles_rows(self, role):
        return [row for row in self.rows if row.role == role]

    def _read_lines(self, bundle):
        rows = {}
        for name in LINE_STREAMS:
            for raw, arrival in self._cut(bundle, name):
                line = self._parse(raw, arrival)
                if line is not None and line.kind == "row":
                    rows.setdefault((line.role, line.round), []).append(line)
                elif line is not None:
                    self.tries.append(line)
        order = sorted(rows, key=lambda key: (ROLES.index(key[0]), key[1]))
        self.rows = [Row(rows[key]) for key in order]

    def _cut(self, bundle, name):
        """The lines of a stream (2.1), each with (seq, at_ns) of the chunk that holds its newline."""
        end = self.stream(name)
        if end is None:
            return
        chunks = iter([e for e in self.of("chunk") if name_of(e.chunk, "stream") == name])
        event, begin, left = None, 0, b""
        for piece in bundle.pieces(end.content):
            left += piece
            *lines, left = left.split(b"\n")
            for line in lines:
                place = begin + len(line)
                while event is None or event.chunk.offset_bytes + event.chunk.size_bytes <= place:
                    event = next(chunks)
                if len(line) < LIMIT_LINE:
                    yield line + b"\n", (event.seq, event.at_ns)
                begin = place + 1
            if len(left) > LIMIT_LINE:  # what is over the bound can be dropped, but for its length
                begin, left = begin + len(left) - LIMIT_LINE, left[-LIMIT_LINE:]

    def _parse(self, raw, arrival):
        found = LINE.fullmatch(raw)
        if found is None:
            return None
        kind, nonce, role, number, rest = found.groups()
        role = role.decode()
        if self.nonces.get(role) != nonce.decode() or len(number) > 10 or int(number) > self.rounds[role]:
            return None
        if kind == b"try":
            if rest not in [effect.encode() for effect in self.effects]:
                return None
            return Line(raw, "try", role, int(number), rest, arrival)
        words = rest.split(b" ")
        if len(words) != len(self.effects):
            return None
        told = {}
        for effect, word in zip(self.effects, words):
            prefix = effect.encode() + b"="
            told[effect] = parse_told(effect, word[len(prefix):]) if word.startswith(prefix) else None
            if told[effect] is None:
                return None
        return Line(raw, "row", role, int(number), told, arrival)

    def _identify(self, bundle, role):
        probes = {binary.sha256 for binary in bundle.start.binaries if binary.name == "exhibit-probe"}
        argv = self.argvs.get(role, list(self.start.command))
        pids, found = set(), {}
        for event in self.of("process_identity"):
            seen = event.process_identity
            if seen.executable_sha256 not in probes or not seen.executable_sha256 or list(seen.argv) != argv:
                continue
            if seen.parent_pid not in pids:
                found.setdefault((seen.pid, seen.start_time), Identity(event))
                pids.add(seen.pid)
        if len(found) > 1:
            self.conflicting.add(role)
        if len(found) != 1:
            return
        identity = self.identities[role] = next(iter(found.values()))
        identity.later = [event.process_identity for event in self.of("process_identity")
                          if (event.process_identity.pid, event.process_identity.start_time) ==
                          (identity.pid, identity.start_time) and event.process_identity.executable_sha256 in probes
                          and event.seq > identity.seq]
        for event in sorted(self.of("process_exit") + self.of("process_gone"), key=lambda event: event.seq):
            gone = getattr(event, event.kind)
            if (gone.pid, gone.start_time) == (identity.pid, identity.start_time):
                identity.gone_at, identity.gone_seq = event.at_ns, event.seq
                return

    def expires(self, identity, margin_ms):
        """first_at + lifetime, and so many milliseconds more."""
        return identity.first_at + (self.start.probe.lifetime_ms + margin_ms) * MILLISECOND

    def ended_by(self, role):
        """4.3"""
        identity = self.identities.get(role)
        if identity is None or identity.gone_at is None:
            return "none"
        if any(event.seq < identity.gone_seq for event in self.of("cleanup")):
            return "cleanup"
        if identity.gone_at >= self.expires(identity, -500):
            return "self-expiry"
        step = self.first_step()
        if step is not None and identity.gone_seq > step.seq:
            return "step"
        if self.ends_itself(role):
            return "exit"
        return "step" if self.ends_itself("parent") and self.was_alive(role) else "early"

    def was_alive(self, role):
        """A role with an identity was alive at the first step."""
        identity, step = self.identities[role], self.first_step()
        return (identity.pid, identity.start_time) in [(a.pid, a.start_time) for a in step.step.alive]

    def ends_itself(self, role):
        """The role's own end is the first step."""
        step = self.first_step()
        return role == "parent" and step is not None and name_of(step.step, "target") == "STEP_PARENT_EXIT"

    def more_to_say(self, grace_ms):
        """5.4"""
        probe = self.start.probe
        until = grace_ms + sum(plan.after_ms for plan in probe.ending)
        if probe.ending:
            first = probe.ending[0]
            until += max(first.after_rounds - 1, 0) * probe.interval_ms
            until += 1000 if name_of(first, "target") == "STEP_PARENT_EXIT" else 0
        last = (self.rounds.get("grandchild", 1) - 1) * probe.interval_ms
        return last > until and probe.lifetime_ms > until

    def survived_ms(self, role):
        """4.4"""
        identity, step = self.identities.get(role), self.last_step()
        if identity is None or identity.gone_at is None or step is None or identity.gone_at <= step.at_ns:
            return 0
        return (identity.gone_at - step.at_ns) // MILLISECOND

    def exact_message(self, event):
        """The (protocol, role, round) of a Message that has exactly the form of 3.1 for this run, or None."""
        words = MESSAGE.fullmatch(event.message.payload)
        if words is None or event.message.truncated:
            return None
        protocol = words[1].decode()
        if name_of(event.message, "protocol") != "PROTOCOL_" + protocol.upper():
            return None
        role = words[3].decode()
        if self.nonces.get(role) != words[2].decode() or len(words[4]) > 10 or int(words[4]) > self.rounds[role]:
            return None
        return protocol, role, int(words[4])


def parse_told(effect, word):
    """(word, number or proof) of what a row tells of an effect (2.2), None where it has not that form."""
    found = TOLD.fullmatch(word)
    if found is None:
        return None
    proof, kind, number = found.groups()
    if kind is not None:
        number = int(number) if len(number) < 5 else 5000
        return (kind.decode(), number) if number <= (4095 if kind == b"errno" else 64) else None
    if word == b"timeout":
        return "timeout", None
    if (proof is not None) != (effect in READS):
        return None
    return "ok", proof and proof.decode()


def read_runs(bundle):
    """All runs in the order of the log, each with its events."""
    runs = {}
    for event in bundle.events:
        what = event.kind
        if what == "run_start":
            runs[event.run] = Run(event)
        elif event.run:
            runs[event.run].events.setdefault(what, []).append(event)
    for run in runs.values():
        if run.kind == "RUN_TRIAL":
            run.read_probe(bundle)
    return list(runs.values())
