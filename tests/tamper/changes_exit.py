"""An ending that nobody sends: the parent ends itself, and the step is when that was seen."""
import schema
from changes import go, incomplete, no_go
from edits import end_at, set_oracle, step

ENDED_NS = 2_000_000_000
LAST_ROUND_MS, STEP_MS = 29 * 100, 3 * 100 + 1000  # of the plan in bundles.py
BASE = "exits"


def tree(f):
    return f.run("tree", "strict")


def step_of(f):
    return f.edit(step(f, tree(f))).what


def end_beside_step(f, role, after):
    """Puts a role's end right behind or before the step, at its time."""
    end, beside = f.end_of(tree(f), role), step(f, tree(f))
    moved = end.copy()
    moved.event.at_ns = beside.event.at_ns if after else 0
    f.remove([end])
    (f.put_after if after else f.put_before)(beside, moved)


@incomplete("exit-triggered-by-rounds", "complete.recording", base=BASE)
def _(f):
    step_of(f).trigger = schema.Step.TRIGGER_ROUNDS


@incomplete("exit-overdue", "complete.recording", base=BASE)
def _(f):
    """The parent was not seen to end when it should have."""
    step_of(f).trigger = schema.Step.TRIGGER_OVERDUE


@incomplete("exit-with-a-signal", "complete.recording", base=BASE)
def _(f):
    """Somebody sent something, where nobody was to."""
    step_of(f).signal = 15


@incomplete("exit-told-to-the-group", "complete.recording", base=BASE)
def _(f):
    """Another step than the planned one; the parent's own end is then an early one."""
    step_of(f).target = schema.STEP_GROUP


@incomplete("exit-before-the-parents-end", "complete.observers", base=BASE)
def _(f):
    """The step stands before the end that it is told to be."""
    end_beside_step(f, "parent", after=True)


@incomplete("child-not-seen-beside-the-parent", "complete.observers", base=BASE)
def _(f):
    """Nobody saw the child alive before it all ended: that it was gone then proves nothing."""
    end_beside_step(f, "child", after=False)
    child, alive = f.end_of(tree(f), "child").what, step_of(f).alive
    kept = [schema.AliveProcess.FromString(schema.pack(one)) for one in alive if one.pid != child.pid]
    del alive[:]
    alive.extend(kept)


@go("child-gone-with-the-parent", base=BASE)
def _(f):
    """Seen alive beside the parent and gone before the step: the parent's end ended it. The grandchild takes longer."""
    end_beside_step(f, "grandchild", after=True)
    end_beside_step(f, "child", after=False)
    end_at(f, tree(f), "grandchild", step(f, tree(f)).event.at_ns + ENDED_NS)


@no_go("grandchild-outlives-the-parents-exit", "cancel.ended", base=BASE)
def _(f):
    end_beside_step(f, "grandchild", after=True)
    end_at(f, tree(f), "grandchild", step(f, tree(f)).event.at_ns + ENDED_NS + 1)


def grace(f, grace_ms):
    """The oracle is JSON, which is YAML."""
    set_oracle(f, lambda text: text.replace('"version": 1', '"version": 1, "bounds": {"grace_ms": %d}' % grace_ms, 1))


@go("exit-last-round-just-after-the-grace", base=BASE, same=True)
def _(f):
    """The second that the parent stays counts (5.4)."""
    grace(f, LAST_ROUND_MS - STEP_MS - 1)


@incomplete("exit-last-round-at-the-end-of-the-grace", "complete.spoke", base=BASE)
def _(f):
    grace(f, LAST_ROUND_MS - STEP_MS)


@go("parent-told-another-lifetime", base=BASE, unbound="the ending")
def _(f):
    """No rule asks for it; verify compares it with the plan."""
    f.edit(f.one("run_start", tree(f))).what.probe.parent_ms = 1200


@go("told-to-ignore-term", base=BASE, unbound="whether SIGTERM is ignored")
def _(f):
    f.edit(f.one("run_start", tree(f))).what.probe.ignores_term = True


@incomplete("exit-planned-for-the-group", "complete.recording", base=BASE, unbound="the ending")
def _(f):
    """The receipt's own plan of the ending is another than what was done, and than the plan's."""
    plan = f.edit(f.one("run_start", tree(f))).what.probe.ending[0]
    plan.target, plan.signal = schema.STEP_GROUP, 15
