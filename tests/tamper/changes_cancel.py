"""cancel.ended, cancel.quiet: did the tree end when it was told to, and was it silent then?"""
import schema
from changes import go, incomplete, no_go
from edits import drop_rows, end_at, end_last_at, late_row, message, set_oracle, step, told_payload
from facts import STDOUT, event

ENDED_NS, GRACE_NS = 2_000_000_000, 1_000_000_000
LATE = 20  # a planned round that the usable candidate's grandchild does not come to
ENDED, QUIET = "cancel.ended", "cancel.quiet"


def tree(f):
    return f.run("tree", "strict")


def stepped(f):
    return step(f, tree(f)).event.at_ns


# ---- cancel.ended ----

@no_go("grandchild-outlives-its-ending", ENDED)
def _(f):
    end_at(f, tree(f), "grandchild", stepped(f) + ENDED_NS + 1)


@go("grandchild-ends-at-the-bound")
def _(f):
    """Exactly at the bound is in time; it survived 2000 ms."""
    end_last_at(f, tree(f), "grandchild", stepped(f) + ENDED_NS)


@no_go("parent-outlives-its-ending", ENDED)
def _(f):
    """All ends come later, the parent's first."""
    end_at(f, tree(f), "parent", stepped(f) + ENDED_NS + 1)


def self_expiry(f, less_ns):
    set_oracle(f, lambda text: text + "\nbounds: {ended_ms: 60000, grace_ms: 1000}\n")
    first = f.identities(tree(f), "grandchild")[0].event.at_ns
    lifetime = f.start(tree(f)).probe.lifetime_ms * 1_000_000
    end_last_at(f, tree(f), "grandchild", first + lifetime - 500_000_000 - less_ns)


@no_go("ended-by-itself", ENDED)
def _(f):
    """A wider bound does not help a role that may have ended by itself."""
    self_expiry(f, 0)


@go("ended-just-before-it-could-by-itself")
def _(f):
    self_expiry(f, 1)


@no_go("oracle-bound-tighter", ENDED)
def _(f):
    """The same end under another oracle's bound."""
    set_oracle(f, lambda text: text + "\nbounds: {ended_ms: 1000, grace_ms: 1000}\n")
    end_at(f, tree(f), "child", stepped(f) + GRACE_NS + 1)


@go("ended-before-the-step")
def _(f):
    """The child was told to be gone just before the step that saw it alive: it ended early, and in time."""
    child = f.end_of(tree(f), "child")
    f.remove([child])
    early = child.copy()
    early.event.at_ns = 0
    f.put_before(step(f, tree(f)), early)


# ---- cancel.quiet ----

@no_go("late-heartbeat", QUIET)
def _(f):
    end_at(f, tree(f), "grandchild", stepped(f) + GRACE_NS + 500)
    late_row(f, tree(f), "grandchild", LATE, stepped(f) + GRACE_NS + 1)


@go("heartbeat-within-the-grace")
def _(f):
    """A row exactly at the limit is not later than it."""
    end_at(f, tree(f), "grandchild", stepped(f) + GRACE_NS + 500)
    late_row(f, tree(f), "grandchild", LATE, stepped(f) + GRACE_NS)


@no_go("late-heartbeat-at-its-end", QUIET)
def _(f):
    """Gone at the very time of the arrival is not gone before it."""
    end_at(f, tree(f), "grandchild", stepped(f) + GRACE_NS + 500)
    late_row(f, tree(f), "grandchild", LATE, stepped(f) + GRACE_NS + 500)


@go("late-bytes-of-the-dead")
def _(f):
    """Bytes that arrive after the role's end are late, not life; the row counts."""
    run, gone = tree(f), f.one("all_gone", tree(f))
    f.delay(f.place(gone), stepped(f) + GRACE_NS + 500)
    line = f.row(run, "grandchild", 8).replace(b" grandchild 8 ", f" grandchild {LATE} ".encode())
    f.add_chunk(run, STDOUT, line, f.place(f.one("all_gone", run)), at_ns=stepped(f) + GRACE_NS + 400)


@no_go("late-try", QUIET)
def _(f):
    """An attempt that was only announced is life as well."""
    run = tree(f)
    end_at(f, run, "grandchild", stepped(f) + GRACE_NS + 500)
    line = f"EXHIBIT1 try {f.nonce(run, 'grandchild')} grandchild {LATE} read\n".encode()
    f.add_chunk(run, STDOUT, line, f.place(f.end_of(run, "grandchild")), at_ns=stepped(f) + GRACE_NS + 1)


@go("late-try-of-no-planned-round")
def _(f):
    """A round that was not planned makes no try; the later end shows in the claim."""
    run = tree(f)
    end_at(f, run, "grandchild", stepped(f) + GRACE_NS + 500)
    line = f"EXHIBIT1 try {f.nonce(run, 'grandchild')} grandchild 33 read\n".encode()
    f.add_chunk(run, STDOUT, line, f.place(f.end_of(run, "grandchild")), at_ns=stepped(f) + GRACE_NS + 1)


@incomplete("late-row-that-differs", "complete.outcomes", QUIET)
def _(f):
    """Another line of a round that is there: a copy for the outcome, but other bytes, so it arrived late (5.3)."""
    end_at(f, tree(f), "grandchild", stepped(f) + GRACE_NS + 500)
    late_row(f, tree(f), "grandchild", 8, stepped(f) + GRACE_NS + 1,
             "read=errno:1 read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:1")


@go("late-row-that-is-equal")
def _(f):
    """The same bytes once more arrived at their first time; only the grandchild's end is later."""
    run = tree(f)
    end_at(f, run, "grandchild", stepped(f) + GRACE_NS + 500)
    f.add_chunk(run, STDOUT, f.row(run, "grandchild", 8), f.place(f.end_of(run, "grandchild")),
                at_ns=stepped(f) + GRACE_NS + 1)


@no_go("late-message", "boundary.attempts", "boundary.traces", QUIET)
def _(f):
    """A datagram of a round that left no row: nothing explains it, and it came late."""
    run = tree(f)
    end_at(f, run, "grandchild", stepped(f) + GRACE_NS + 500)
    late = message(run, "UDP", told_payload(f, run, "udp", "grandchild", LATE))
    late.event.at_ns = stepped(f) + GRACE_NS + 1
    f.put_before(f.end_of(run, "grandchild"), late)


@no_go("late-message-in-no-run", "boundary.traces", QUIET)
def _(f):
    """The same, told of no run: no trace of this run, but its nonce and its line."""
    run = tree(f)
    end_at(f, run, "grandchild", stepped(f) + GRACE_NS + 500)
    late = message(0, "UDP", told_payload(f, run, "udp", "grandchild", LATE))
    late.event.at_ns = stepped(f) + GRACE_NS + 1
    f.put_before(f.end_of(run, "grandchild"), late)


@no_go("late-heartbeat-after-the-bound", ENDED, QUIET)
def _(f):
    end_at(f, tree(f), "grandchild", stepped(f) + ENDED_NS + 500)
    late_row(f, tree(f), "grandchild", LATE, stepped(f) + ENDED_NS + 1)


@incomplete("late-heartbeat-of-nobody", "complete.observers", ENDED, QUIET)
def _(f):
    """A role without identity has no observed end: what comes late is life."""
    run = tree(f)
    end_at(f, run, "grandchild", stepped(f) + GRACE_NS + 500)
    late_row(f, run, "grandchild", LATE, stepped(f) + GRACE_NS + 1)
    f.remove(f.identities(run, "grandchild"))


@no_go("optional-identity-speaks-after-the-bound", ENDED, QUIET)
def _(f):
    """Where identities are optional, lines must have come in time."""
    run = tree(f)
    end_at(f, run, "grandchild", stepped(f) + ENDED_NS + 500)
    late_row(f, run, "grandchild", LATE, stepped(f) + ENDED_NS + 1)
    f.remove(f.identities(run, "grandchild"))
    set_oracle(f, lambda text: text + "\nidentities: optional\n")


# ---- a silence that proves something (5.4): 32 rounds, 200 ms from one to the next, and a step after 8 ----

def grace(f, grace_ms):
    set_oracle(f, lambda text: text + f"\nbounds: {{ended_ms: 2000, grace_ms: {grace_ms}}}\n")


@go("last-round-just-after-the-grace", same=True)
def _(f):
    grace(f, (31 - 7) * 200 - 1)


@incomplete("last-round-at-the-end-of-the-grace", "complete.spoke")
def _(f):
    grace(f, (31 - 7) * 200)


@incomplete("rounds-all-before-the-ending", "complete.spoke", unbound="the list of roles and rounds")
def _(f):
    """Told to make the awaited rounds alone."""
    f.edit(f.one("run_start", tree(f))).what.probe.roles[2].rounds = 8


@incomplete("lifetime-within-the-grace", "complete.spoke", unbound="interval or lifetime")
def _(f):
    """It was to live for 3000 ms: the step is due at 1400, and the grace of 1600 ms ends when it does."""
    f.edit(f.one("run_start", tree(f))).what.probe.lifetime_ms = 3000
    grace(f, 1600)


# ---- a failed cancellation made to look passed ----

def end_early(f):
    """The default candidate's grandchild, told to have ended right after the step."""
    end = f.end_of(tree(f), "grandchild")
    f.remove([end])
    early = end.copy()
    early.event.at_ns = 0
    f.put_after(step(f, tree(f)), early)


def late_rounds(f):
    return range(f.start(tree(f)).probe.ending[0].after_rounds + 1, 33)


@no_go("cancellation-whitewashed", "useful.contract", base="default")
def _(f):
    """Late rows taken away and the end put early: the facts then show a passed cancellation."""
    drop_rows(f, tree(f), "grandchild", late_rounds(f))
    end_early(f)


@no_go("late-rows-taken-away", "useful.contract", ENDED, base="default")
def _(f):
    """The process still ended by itself."""
    drop_rows(f, tree(f), "grandchild", late_rounds(f))


@no_go("end-put-early", "useful.contract", base="default")
def _(f):
    """Rows that then come after the role's end are late bytes; who believes the end must believe that."""
    end_early(f)


@no_go("bounds-widened", "useful.contract", ENDED, base="default")
def _(f):
    """Self-expiry is no cancellation, however wide the bounds are; rows taken away leave a grace that is heard out."""
    drop_rows(f, tree(f), "grandchild", late_rounds(f))
    set_oracle(f, lambda text: text + "\nbounds: {ended_ms: 60000, grace_ms: 4799}\n")


@incomplete("grace-beyond-the-last-round", "complete.spoke", "useful.contract", ENDED, base="default")
def _(f):
    """Nobody was to speak any more when the grace was over: the silence then proves nothing."""
    set_oracle(f, lambda text: text + "\nbounds: {ended_ms: 60000, grace_ms: 60000}\n")


@incomplete("step-unsent", "complete.recording", "useful.contract", base="default")
def _(f):
    f.remove(f.of("step", tree(f)))


@incomplete("cleanup-claimed-for-the-survivor", "useful.contract", "complete.cleanup", ENDED, QUIET, base="default")
def _(f):
    """A cleanup that is told to have ended the grandchild passes nothing."""
    f.put_before(f.end_of(tree(f), "grandchild"), event("cleanup", tree(f), reason=schema.REASON_BOUND))


@no_go("baseline-cut-short", "useful.contract", ENDED, QUIET, base="default")
def _(f):
    """The unconfined grandchild ended sooner: no rule asks for it, the claim's tree tells it."""
    run = f.run("tree", "baseline")
    end = f.end_of(run, "grandchild")
    f.remove([end])
    early = end.copy()
    early.event.at_ns = 0
    f.put_after(step(f, run), early)
