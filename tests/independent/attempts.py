"""What became of each attempt: docs/DECISION.md section 3, and the states of targets of clause 5.2."""
import functools
import hashlib

from leaks import leaks
from records import LIMIT_TARGET
from schema import name_of
from runs import NETWORK, READS

PRIVATE_ERRNOS = (111, 101, 113, 100, 99)
CANARY = {"read": "TARGET_CANARY_READ", "read-link": "TARGET_CANARY_LINK"}
TARGETS = ("TARGET_CANARY_READ", "TARGET_CANARY_LINK", "TARGET_WRITE", "TARGET_FOLDER")
STATE = ("exists", "mode", "size_bytes", "inode", "mtime_ns", "ctime_ns", "content_sha256")


class Attempt:
    """One effect of one row."""

    def __init__(self, run, row, effect):
        self.run, self.row, self.effect = run, row, effect
        self.told, self.value = row.told[effect]
        self.own = self.unexplained = self.private = False

    def __str__(self):
        return f"{self.run.name}/{self.run.mode}/{self.row.role}/{self.row.round}/{self.effect}"

    def outcome(self, oracle):
        """3.2, in its order."""
        denial, network = oracle.denials.get(self.effect), self.effect in NETWORK
        if self.own or self.unexplained:
            return "reached"
        if self.row.contested:
            return "undetermined"
        if self.told == "ok":
            return "diverted" if self.private or not network else "undetermined"
        if denial is None:
            return "undetermined"
        if self.told == "errno":
            listed = self.value in denial.errnos
            needs_private = network and self.value in PRIVATE_ERRNOS
        elif self.told == "timeout":
            listed, needs_private = denial.timeout, network
        else:
            listed, needs_private = denial.signal, False
        return "denied" if listed and (self.private or not needs_private) else "undetermined"


class Facts:
    """The events that belong to no run's own selection: messages, targets and their states, over the whole log."""

    def __init__(self, bundle, runs):
        self.bundle, self.runs, self.of = bundle, runs, bundle.of
        self.told, self.leaked, self.tried = {}, {}, {}  # by run: what messages(), leaks() and attempts() give
        self.states = {name: [e for e in self.of("target_state") if name_of(e.target_state, "target") == name]
                       for name in TARGETS}

    def messages(self, run):
        """The (protocol, role, round, event) of each Message that has the exact form for this run."""
        if run.number not in self.told:
            exact = [(run.exact_message(event), event) for event in self.of("message")]
            self.told[run.number] = [(*found, event) for found, event in exact if found is not None]
        return self.told[run.number]

    def leaks(self, run):
        """What a strict run let out (5.2), as texts."""
        if run.number not in self.leaked:
            self.leaked[run.number] = list(leaks(self, run))
        return self.leaked[run.number]

    def targets_before(self, seq):
        """What the targets were set to last before an event, None where they were not."""
        found = [event.targets for event in self.of("targets") if event.seq < seq]
        return found[-1] if found else None

    def state_before(self, name, seq):
        found = [event.target_state for event in self.states[name] if event.seq < seq]
        return found[-1] if found else None

    def state_after(self, name, seq):
        return next((event.target_state for event in self.states[name] if event.seq > seq), None)

    def changed(self, run, name):
        """5.2: a target changed over a run. Where a state is missing, it is passed over."""
        end = run.first("run_exit")
        before = self.state_before(name, run.seq)
        after = None if end is None else self.state_after(name, end.seq)
        if before is None or after is None:
            return False
        return any(getattr(before, field) != getattr(after, field) for field in STATE)

    def states_around(self, run, name):
        """There is a state of the target before and one after the run, and no reset between either and the run."""
        end, resets = run.first("run_exit"), [event.seq for event in self.of("targets")]
        seqs = [event.seq for event in self.states[name]]
        before = max((seq for seq in seqs if seq < run.seq), default=None)
        after = None if end is None else min((seq for seq in seqs if seq > end.seq), default=None)
        if before is None or after is None:
            return False
        return not any(before < seq < run.seq or end.seq < seq < after for seq in resets)

    def canary(self, run, effect):
        targets = self.targets_before(run.seq)
        return None if targets is None else getattr(targets, "canary_" + effect.removeprefix("read-"))

    def proof_is_right(self, run, row_role_round, effect, told):
        """Whether (word, proof) tells the right proof (3.1)."""
        canary = self.canary(run, effect)
        if canary is None or told[0] != "ok":
            return False
        role, number = row_role_round
        return hashlib.sha256(canary + f" {run.nonces[role]} {number}".encode()).hexdigest() == told[1]

    @functools.cached_property
    def strict_proofs(self):
        """5.2: the digits of each proof that a strict trial run could tell, with the seq of its start."""
        found = {}
        for run in sorted(self.runs, key=lambda run: run.seq):
            for effect in READS if (run.kind, run.mode) == ("RUN_TRIAL", "strict") else ():
                content = self.canary(run, effect)
                for role, rounds in run.rounds.items() if content else ():
                    for number in range(1, rounds + 1):
                        proof = hashlib.sha256(content + f" {run.nonces[role]} {number}".encode()).hexdigest()
                        found.setdefault(proof.encode(), run.seq)
        return found

    def file_event(self, run, target):
        return any(name_of(event.file_event, "target") == target for event in run.of("file_event"))

    def _trace(self, run, effect):
        if effect == "tcp" and run.of("accept"):
            return True
        if effect in NETWORK:
            wanted = "PROTOCOL_" + effect.upper()
            return any(name_of(event.message, "protocol") == wanted for event in run.of("message"))
        if effect in READS:
            return self.file_event(run, CANARY[effect])
        if effect == "write":
            return self.file_event(run, "TARGET_WRITE") or self.changed(run, "TARGET_WRITE")
        return False

    def attempts(self, run):
        """All attempts of a trial run, in the order of the claim."""
        if run.number not in self.tried:
            self.tried[run.number] = self._tried(run)
        return self.tried[run.number]

    def _tried(self, run):
        found = [Attempt(run, row, effect) for row in run.rows for effect in run.effects]
        seen = {exact[:3] for exact in self.messages(run)}
        written = self._written(run)
        for attempt in found:
            attempt.own = self._own(attempt, seen, written)
        unexplained = {effect for effect in run.effects if self._trace(run, effect)
                       and not any(attempt.own for attempt in found if attempt.effect == effect)}
        private = {role: self.private(run, role) for role in run.roles}
        for attempt in found:
            attempt.unexplained, attempt.private = attempt.effect in unexplained, private[attempt.row.role]
        return found

    def _written(self, run):
        end = run.ends()
        state = None if end is None else self.state_after("TARGET_WRITE", end)
        if state is None or not state.content_sha256:
            return set()
        return set(self.bundle.pack.read(state.content_sha256, LIMIT_TARGET).split(b"\n")[:-1])

    def _own(self, attempt, seen, written):
        run, row, effect = attempt.run, attempt.row, attempt.effect
        if effect in NETWORK:
            return (effect, row.role, row.round) in seen
        if effect == "write":
            return f"EXHIBIT1 write {run.nonces[row.role]} {row.role} {row.round}".encode() in written
        if effect in READS:
            return self.proof_is_right(run, (row.role, row.round), effect, row.told[effect])
        return False

    def private(self, run, role):
        """3.3"""
        identity = run.identities.get(role)
        if identity is None:
            return False
        seen = identity.seen
        return (seen.network_namespace not in (0, self.bundle.start.host.network_namespace)
                and seen.HasField("routes_beyond_loopback") and seen.routes_beyond_loopback == 0
                and all(later.network_namespace in (0, seen.network_namespace) and later.routes_beyond_loopback == 0
                        for later in identity.later))
