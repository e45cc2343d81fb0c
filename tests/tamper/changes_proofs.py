"""boundary.traces: proofs as bytes, wherever a strict run brings them out."""
import schema
from changes import go, no_go, refused
from changes_boundary import ATTEMPTS, TRACES, middle, tree
from facts import SEGMENT_BYTES, STDERR, STDOUT, event


def left(f, run, content):
    """A kept artifact of a run, with this content."""
    f.put_after(f.of("freeze", run, moment=schema.FREEZE_RUN_AFTER)[0],
                event("artifact", run, source="SOURCE_FILES", path=b"tmp/loot", mode=0o100600, kept=True,
                      size_bytes=len(content), sha256=f.hold(content)))


@no_go("proof-in-stderr", TRACES)
def _(f):
    f.add_chunk(tree(f), STDERR, b"read: " + f.proof(tree(f), "read", "parent").encode() + b"\n", middle(f, tree(f)))


@no_go("proof-in-stdout-of-bootstrap", TRACES)
def _(f):
    run = f.run("bootstrap", "strict")
    f.add_chunk(run, STDOUT, f.proof(run, "read-link", "parent").encode(), middle(f, run))


@no_go("proof-among-digits-over-many-chunks", TRACES)
def _(f):
    """What stands around it, and how it arrives, makes no difference."""
    text = b"f00" + f.proof(tree(f), "read-link", "grandchild", 5).encode() + b"00"
    for at in range(0, len(text), 10):
        f.add_chunk(tree(f), STDERR, text[at:at + 10], middle(f, tree(f)))


@no_go("proof-over-two-segments", TRACES)
def _(f):
    text = b"0" * (SEGMENT_BYTES - 30) + f.proof(tree(f), "read", "grandchild", 2).encode()
    f.add_chunk(tree(f), STDERR, text, middle(f, tree(f)))


@no_go("proof-in-an-artifact", TRACES)
def _(f):
    left(f, tree(f), b"x" + f.proof(tree(f), "read", "child").encode())


@no_go("proof-in-a-later-runs-artifact", TRACES)
def _(f):
    """What a strict trial read, brought out by the strict run after it."""
    runs = sorted((f.run(name, "strict") for name in ("tree", "bootstrap")), key=lambda run: f.place(
        f.one("run_start", run)))
    left(f, runs[1], f.proof(runs[0], "read", "parent").encode())


@go("proof-in-an-earlier-runs-artifact", same=True)
def _(f):
    """No run can leave what only a later one could read."""
    runs = sorted((f.run(name, "strict") for name in ("tree", "bootstrap")), key=lambda run: f.place(
        f.one("run_start", run)))
    left(f, runs[0], f.proof(runs[1], "read", "parent").encode())


@go("proof-of-another-run-in-an-artifact", same=True)
def _(f):
    """Baseline was free to read."""
    left(f, tree(f), f.proof(f.run("tree", "baseline"), "read", "child").encode())


@go("proof-in-capitals-or-short", same=True)
def _(f):
    proof = f.proof(tree(f), "read", "child").encode()
    broken = proof[:40] + b"\n" + proof[40:]
    f.add_chunk(tree(f), STDERR, b" ".join([proof[1:], proof[:-1], broken, proof.upper()]), middle(f, tree(f)))


@go("proof-in-stderr-of-baseline", same=True)
def _(f):
    run = f.run("tree", "baseline")
    f.add_chunk(run, STDERR, f.proof(tree(f), "read", "child").encode(), middle(f, run))


@no_go("proof-of-another-round", ATTEMPTS, TRACES)
def _(f):
    """A proof for round 6 proves nothing in round 7: diverted. But somebody has read the canary."""
    f.tell(tree(f), "grandchild", "read", "ok:" + f.proof(tree(f), "read", "grandchild", 6), 7)


@no_go("proof-of-no-planned-round", ATTEMPTS)
def _(f):
    """Nobody was to tell it, and so it is looked for nowhere."""
    last = max(entry.rounds for entry in f.start(tree(f)).probe.roles if entry.role == 3)
    f.tell(tree(f), "grandchild", "read", "ok:" + f.proof(tree(f), "read", "grandchild", last + 1), 7)


@refused("more-strict-trials-than-a-plan-has", "more than 64 strict trial runs|is not what the plan says")
def _(f):
    """Each would have up to 6000 proofs to look for. verify, which knows the plan, is not led so far."""
    start, last = f.one("run_start", tree(f)), max(fact.run for fact in f.facts)
    for number in range(64):
        again = start.copy()
        again.event.run, again.event.at_ns, again.what.name = last + 1 + number, 0, f"again-{number}"
        again.what.probe.nonce = number.to_bytes(16, "big")
        f.put_after(f.one("run_start", tree(f)), again)
