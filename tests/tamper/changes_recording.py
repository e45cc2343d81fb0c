"""complete.recording, complete.pins, complete.cleanup: was it measured to the end, and from the same sources?"""
import pack
import schema
from changes import go, incomplete
from edits import SECOND_NS, edited, other_list, step
from facts import event


def tree(f):
    return f.run("tree", "strict")


def again(fact):
    """A copy that takes the time of the fact before it."""
    copy = fact.copy()
    copy.event.at_ns = 0
    return copy


# ---- complete.recording ----

@incomplete("recording-end-missing", "complete.recording")
def _(f):
    """The log ends before its RecordingEnd."""
    f.remove(f.of("recording_end"))


@incomplete("recording-partial", "complete.recording")
def _(f):
    """The receipt says that the recording was interrupted."""
    f.receipt.partial = True


@incomplete("recording-end-counts-wrong", "complete.recording")
def _(f):
    """RecordingEnd tells one event more than there are."""
    def one_more(new):
        edited(new, new.one("recording_end")).event_count += 1
    f.late.append(one_more)


@incomplete("recording-goes-on-after-its-end", "complete.recording")
def _(f):
    """A drop counter stands after the RecordingEnd: it is not the last event."""
    f.put(len(f.facts), event("drops", source="SOURCE_LISTENER", protocol=schema.PROTOCOL_UDP))


@incomplete("trigger-overdue", "complete.recording")
def _(f):
    """The step was sent although the planned rows never came."""
    edited(f, step(f, tree(f))).trigger = schema.TRIGGER_OVERDUE


@incomplete("trigger-time-for-first-step", "complete.recording")
def _(f):
    """The first step came by time, not by rows."""
    edited(f, step(f, tree(f))).trigger = schema.TRIGGER_TIME


@incomplete("trigger-overdue-in-baseline", "complete.recording")
def _(f):
    edited(f, step(f, f.run("tree", "baseline"))).trigger = schema.TRIGGER_OVERDUE


@incomplete("step-errno", "complete.recording")
def _(f):
    """The step's system call failed."""
    edited(f, step(f, tree(f))).errno_value = 3


@incomplete("step-never-sent", "complete.recording")
def _(f):
    """Without a step nothing is asked of the cancellation, so the recording is incomplete alone."""
    f.remove(f.of("step", tree(f)))


@incomplete("step-other-signal", "complete.recording")
def _(f):
    edited(f, step(f, tree(f))).signal = 9


@incomplete("step-other-target", "complete.recording")
def _(f):
    edited(f, step(f, tree(f))).target = schema.STEP_LAUNCHER


@incomplete("step-twice", "complete.recording")
def _(f):
    """A second step that was not planned; the roles had ended by the bound after it all the same."""
    first = step(f, tree(f))
    more = first.copy()
    more.what.index, more.what.trigger = 2, schema.TRIGGER_TIME
    f.put_after(first, more)


@incomplete("step-index-two", "complete.recording")
def _(f):
    edited(f, step(f, tree(f))).index = 2


@incomplete("step-told-twice", "complete.recording")
def _(f):
    """The same step once more, and later: the first of one index counts, but it was not planned twice."""
    first = step(f, tree(f))
    f.put_before(f.one("all_gone", tree(f)), again(first))


@incomplete("case-never-started", "complete.recording", "useful.contract")
def _(f):
    """The strict run of a case could not be started."""
    run = f.run("syntax", "strict")
    start = f.one("run_start", run)
    f.remove([fact for fact in f.facts if fact.run == run and fact is not start])
    f.put_after(start, event("spawn_failed", run, stage="exec", errno_value=2))


@incomplete("case-exit-unseen", "complete.recording", "complete.baseline", "complete.cleanup")
def _(f):
    """Nobody saw how a case ended in baseline, so no AllGone comes after that."""
    f.remove(f.of("run_exit", f.run("suite", "baseline")))


@incomplete("control-run-missing", "complete.recording", unbound="tree/control 2")
def _(f):
    """The control after the strict run is gone; what else needs it is passed over."""
    run = f.run("tree", "control", 2)
    f.remove([fact for fact in f.facts if fact.run == run])


@incomplete("role-not-assigned", "complete.recording", "complete.spoke", unbound="roles")
def _(f):
    """The strict run's assignment does not list the child: its lines are nobody's, its identity stays."""
    probe = edited(f, f.one("run_start", tree(f))).probe
    del probe.roles[1]


@incomplete("effect-not-assigned", "complete.recording", "complete.spoke", unbound="effects")
def _(f):
    """The strict run's assignment does not list udp: no row has the form any more."""
    edited(f, f.one("run_start", tree(f))).probe.effects.remove("udp")


# ---- complete.pins ----

def pin(f, seen):
    """The plan pins a file, the recording tells what it saw."""
    start = edited(f, f.one("recording_start"))
    expected = pack.digest_of(b"pinned")
    text = f.objects[start.plan_sha256].decode() + f"\npins:\n  - {{path: /etc/pinned, sha256: {expected.hex()}}}\n"
    start.plan_sha256 = f.hold(text.encode())
    start.pins.add(path=b"/etc/pinned", expected_sha256=expected, seen_sha256=seen)


@incomplete("pin-differs", "complete.pins")
def _(f):
    pin(f, pack.digest_of(b"other"))


@go("pin-as-expected", same=True)
def _(f):
    pin(f, pack.digest_of(b"pinned"))


@incomplete("freeze-after-baseline-differs", "complete.pins")
def _(f):
    """The sources changed under the baseline."""
    what = edited(f, f.one("freeze", moment=schema.FREEZE_AFTER_BASELINE))
    what.list_sha256 = other_list(f, what.list_sha256)


@incomplete("freeze-after-baseline-missing", "complete.pins")
def _(f):
    f.remove(f.of("freeze", moment=schema.FREEZE_AFTER_BASELINE))


@incomplete("freeze-told-twice", "complete.pins")
def _(f):
    """Of two freezes of one moment the first counts: here the one that differs."""
    right = f.one("freeze", moment=schema.FREEZE_AFTER_BASELINE)
    other = right.copy()
    other.what.list_sha256 = other_list(f, right.what.list_sha256)
    f.put_before(right, other)


@go("freeze-told-again", same=True)
def _(f):
    """... and here the right one."""
    right = f.one("freeze", moment=schema.FREEZE_AFTER_BASELINE)
    other = right.copy()
    other.what.list_sha256 = other_list(f, right.what.list_sha256)
    f.put_after(right, other)


@go("freeze-of-a-run-told-as-the-sources", same=True)
def _(f):
    """It is not the first of its moment, and a baseline run's own freeze is asked for by no rule."""
    edited(f, f.one("freeze", f.run("syntax", "baseline"), moment=schema.FREEZE_RUN_BEFORE)).moment = \
        schema.FREEZE_BEFORE


@incomplete("nothing-frozen", "complete.pins")
def _(f):
    """Without any freeze of a source there is nothing that could have stayed the same."""
    f.remove([fact for fact in f.of("freeze") if fact.run == 0])


# ---- complete.cleanup ----

@incomplete("process-remains", "complete.cleanup")
def _(f):
    edited(f, f.one("all_gone", tree(f))).remaining = 1


@incomplete("process-remains-of-a-case", "complete.cleanup")
def _(f):
    edited(f, f.one("all_gone", f.run("pack", "baseline", 2))).remaining = 2


@incomplete("all-gone-missing", "complete.cleanup")
def _(f):
    """Nobody looked whether a case's processes were gone."""
    f.remove(f.of("all_gone", f.run("syntax", "strict")))


@incomplete("launcher-exit-unseen", "complete.cleanup")
def _(f):
    """complete.recording does not ask for the launcher's own run; that it ended is asked for here."""
    f.remove(f.of("run_exit", f.run("launcher", "strict")))


@incomplete("all-gone-before-exit", "complete.cleanup")
def _(f):
    """All were told to be gone while the launcher still ran, and never again."""
    run = f.run("syntax", "strict")
    gone = f.one("all_gone", run)
    f.remove([gone])
    early = gone.copy()
    early.event.at_ns = 0
    f.put_before(f.one("run_exit", run), early)


@go("all-gone-at-last", same=True)
def _(f):
    """The last AllGone counts: an earlier one told of a process left."""
    gone = f.one("all_gone", tree(f))
    f.put_before(gone, event("all_gone", gone.run, remaining=1))


def cleanup(f, run, fact, reason="REASON_BOUND"):
    f.put_before(fact, event("cleanup", run, reason=getattr(schema, reason)))


@incomplete("cleanup-too-early", "complete.cleanup")
def _(f):
    """The bound's cleanup started long before every self-exit; all roles had ended by then."""
    cleanup(f, tree(f), f.one("all_gone", tree(f)))


@incomplete("cleanup-too-early-in-baseline", "complete.cleanup")
def _(f):
    cleanup(f, f.run("bootstrap", "baseline"), f.one("all_gone", f.run("bootstrap", "baseline")))


@incomplete("cleanup-ended-the-roles", "complete.cleanup")
def _(f):
    """An early cleanup before the roles ended: they count as ended by it."""
    cleanup(f, tree(f), f.end_of(tree(f), "parent"))


def late_cleanup(f, more_ns):
    run = tree(f)
    probe = f.start(run).probe
    latest = max(f.identities(run, role)[0].event.at_ns for role in ("parent", "child", "grandchild"))
    gone = f.one("all_gone", run)
    f.delay(f.place(gone), latest + probe.lifetime_ms * 1_000_000 + SECOND_NS + more_ns)
    gone = f.one("all_gone", run)
    f.put_before(gone, event("cleanup", run, gone.event.at_ns, reason=schema.REASON_BOUND))


@go("cleanup-at-its-time", same=True)
def _(f):
    """A cleanup exactly at the last role's bound plus 1 s is not early."""
    late_cleanup(f, 0)


@incomplete("cleanup-a-nanosecond-early", "complete.cleanup")
def _(f):
    late_cleanup(f, -1)


@go("cleanup-by-interrupt", same=True)
def _(f):
    """The bound is for the bound's cleanup alone."""
    cleanup(f, tree(f), f.one("all_gone", tree(f)), "REASON_INTERRUPT")
