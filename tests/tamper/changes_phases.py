"""Phases that are told otherwise (FORMAT 7.7.1): the receipt is untrue to its own order, and the decision stays."""
import schema
from changes import go
from edits import edited
from facts import event


def phase(f, name):
    return f.one("phase", trial="tree", phase=getattr(schema, f"PHASE_{name}"))


@go("phase-moved-before-the-reset", unbound="FORMAT 7.7")
def _(f):
    """The strict phase is said to begin before its targets were looked at."""
    moved = phase(f, "STRICT")
    f.remove([moved])
    moved = moved.copy()
    moved.event.at_ns = 0
    f.put_after(phase(f, "RESET"), moved)


@go("phase-moved-into-the-run", unbound="FORMAT 7.7")
def _(f):
    """The drain begins while processes of the run live."""
    moved = phase(f, "DRAIN")
    f.remove([moved])
    moved = moved.copy()
    moved.event.at_ns = 0
    f.put_before(f.one("run_exit", f.run("tree", "strict")), moved)


@go("phase-left-out", unbound="FORMAT 7.7")
def _(f):
    f.remove([phase(f, "RESET_AGAIN")])


@go("phase-twice", unbound="FORMAT 7.7")
def _(f):
    f.put_after(phase(f, "STATE_AFTER"), phase(f, "STATE_AFTER").copy())


@go("phase-of-another-trial", unbound="FORMAT 7.7")
def _(f):
    edited(f, phase(f, "CONTROL_AFTER")).trial = "bootstrap"


@go("last-phase-left-out", unbound="FORMAT 7.7")
def _(f):
    """The recording ends and the last trial was never done."""
    f.remove([phase(f, "DONE")])


@go("scratch-event-of-a-case", unbound="FORMAT 7.7")
def _(f):
    """What a command makes in scratch is never told as the launcher's."""
    run = f.run("syntax", "strict")
    f.put_before(f.one("run_exit", run), event("scratch_event", run, source="SOURCE_INOTIFY", path=b"made", mask=0x100))


@go("scratch-event-after-its-phase", unbound="FORMAT 7.7")
def _(f):
    f.put_before(f.one("run_exit", f.run("syntax", "strict")),
                 event("scratch_event", f.run("launcher", "strict"), source="SOURCE_INOTIFY", path=b"made", mask=0x100))


@go("launcher-makes-and-removes", same=True)
def _(f):
    run = f.run("launcher", "strict")
    for mask in (0x100, 0x200):
        f.put_before(f.one("run_exit", run), event("scratch_event", run, source="SOURCE_INOTIFY", path=b"made", mask=mask))


@go("launcher-makes-more-than-was-seen", same=True)
def _(f):
    run = f.run("launcher", "strict")
    f.put_before(f.one("run_exit", run), event("lost", run, source="SOURCE_INOTIFY", observer=schema.SOURCE_INOTIFY))
