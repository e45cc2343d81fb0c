"""Phases that are told otherwise (FORMAT 7.7.1): the receipt is untrue to its own order, and the decision stays."""
import schema
from changes import go
from edits import edited


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
