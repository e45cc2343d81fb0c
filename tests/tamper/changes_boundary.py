"""boundary.attempts, boundary.traces: what the host saw, whatever the probe said."""
import schema
from changes import go, incomplete, no_go
from edits import accept, edited, message, other_list, step, told_payload
from facts import STDERR, STDOUT, event

ATTEMPTS, TRACES = "boundary.attempts", "boundary.traces"


def tree(f):
    return f.run("tree", "strict")


def middle(f, run):
    """A place in the middle of a run: before its step, or before its exit."""
    return f.place((f.of("step", run) or f.of("run_exit", run))[0])


# ---- listeners ----

@no_go("message-with-a-strict-nonce", ATTEMPTS, TRACES)
def _(f):
    """The listener saw the child's connection and line: it reached, whatever it told."""
    run, place = tree(f), middle(f, tree(f))
    number = accept(f, place, run)
    f.put(place + 1, message(run, "TCP", told_payload(f, run, "tcp", "child"), number))


@no_go("datagram-with-a-strict-nonce", ATTEMPTS, TRACES)
def _(f):
    f.put(middle(f, tree(f)), message(tree(f), "UDP", told_payload(f, tree(f), "udp", "grandchild", 4)))


@no_go("datagram-in-a-later-run", ATTEMPTS, TRACES)
def _(f):
    """The line counts wherever it arrives."""
    run = f.run("tree", "control", 2)
    f.put(middle(f, run), message(run, "UDP", told_payload(f, tree(f), "udp", "parent")))


@no_go("accept-without-a-nonce", ATTEMPTS, TRACES)
def _(f):
    """A connection that sent nothing: no attempt explains it, so all of tcp reached."""
    accept(f, middle(f, tree(f)), tree(f))


@no_go("accept-in-bootstrap", ATTEMPTS, TRACES)
def _(f):
    run = f.run("bootstrap", "strict")
    accept(f, middle(f, run), run)


@no_go("datagram-of-other-bytes", ATTEMPTS, TRACES)
def _(f):
    f.put(middle(f, tree(f)), message(tree(f), "UDP", b"hello"))


@no_go("datagram-without-its-line-break", ATTEMPTS, TRACES)
def _(f):
    """Not exactly the line: no own evidence, and so unexplained."""
    f.put(middle(f, tree(f)), message(tree(f), "UDP", told_payload(f, tree(f), "udp", "child")[:-1]))


@no_go("datagram-cut", ATTEMPTS, TRACES)
def _(f):
    f.put(middle(f, tree(f)), message(tree(f), "UDP", told_payload(f, tree(f), "udp", "child"), truncated=True))


@no_go("nonce-in-another-runs-datagram", TRACES)
def _(f):
    """The nonce among other bytes, while another run was on."""
    run = f.run("tree", "control", 2)
    nonce = f.nonce(tree(f), "grandchild").encode()
    f.put(middle(f, run), message(run, "UDP", b"<" + nonce + b">"))


@no_go("nonce-of-bootstrap-in-no-run", TRACES)
def _(f):
    nonce = f.nonce(f.run("bootstrap", "strict"), "parent").encode()
    f.put_before(f.one("recording_end"), message(0, "UDP", b"x" + nonce))


@go("nonce-in-capitals", same=True)
def _(f):
    """Other bytes are not the nonce."""
    nonce = f.nonce(tree(f), "grandchild").encode().upper()
    f.put_before(f.one("recording_end"), message(0, "UDP", nonce))


@no_go("accept-of-a-case", TRACES)
def _(f):
    """A strict case has nothing to do with the listeners."""
    run = f.run("suite", "strict")
    accept(f, middle(f, run), run)


@no_go("accept-of-the-launcher", TRACES)
def _(f):
    run = f.run("launcher", "strict")
    accept(f, middle(f, run), run)


@go("accept-of-a-baseline-case", same=True)
def _(f):
    run = f.run("suite", "baseline")
    accept(f, middle(f, run), run)


# ---- files ----

def touched(f, run, target, mask=1):
    f.put(middle(f, run), event("file_event", run, source="SOURCE_INOTIFY", target=getattr(schema, target), mask=mask))


@no_go("canary-touched", ATTEMPTS, TRACES)
def _(f):
    """inotify saw a read that every role denies."""
    touched(f, tree(f), "TARGET_CANARY_READ")


@no_go("link-canary-touched", ATTEMPTS, TRACES)
def _(f):
    touched(f, f.run("bootstrap", "strict"), "TARGET_CANARY_LINK", 32)


@no_go("write-target-touched", ATTEMPTS, TRACES)
def _(f):
    touched(f, tree(f), "TARGET_WRITE", 2)


@no_go("folder-touched", TRACES)
def _(f):
    """No effect has the folder for its target."""
    touched(f, tree(f), "TARGET_FOLDER", 256)


@no_go("canary-touched-in-a-case", TRACES)
def _(f):
    touched(f, f.run("pack", "strict"), "TARGET_CANARY_READ")


def state(f, run, target, **fields):
    what = edited(f, f.states(run, getattr(schema, target))[1])
    for name, value in fields.items():
        setattr(what, name, value(getattr(what, name)))


@no_go("write-target-newer", ATTEMPTS, TRACES)
def _(f):
    """The target's time moved: somebody wrote, and no attempt explains it."""
    state(f, tree(f), "TARGET_WRITE", mtime_ns=lambda value: value + 1)


@no_go("write-target-content", ATTEMPTS, TRACES)
def _(f):
    state(f, tree(f), "TARGET_WRITE", content_sha256=lambda digest: f.hold(f.objects[digest][::-1]))


@no_go("write-target-holds-the-line", ATTEMPTS, TRACES)
def _(f):
    """The child's line stands in the target: own evidence."""
    line = f"EXHIBIT1 write {f.nonce(tree(f), 'child')} child 1\n".encode()
    state(f, tree(f), "TARGET_WRITE", content_sha256=lambda digest: f.hold(f.objects[digest] + line),
          size_bytes=lambda size: size + len(line))


@no_go("canary-newer", TRACES)
def _(f):
    """A canary's state is a trace, and explains no read."""
    state(f, tree(f), "TARGET_CANARY_READ", ctime_ns=lambda value: value + 1)


@no_go("canary-replaced", TRACES)
def _(f):
    state(f, f.run("bootstrap", "strict"), "TARGET_CANARY_LINK", inode=lambda value: value + 1)


@no_go("folder-mode", TRACES)
def _(f):
    state(f, tree(f), "TARGET_FOLDER", mode=lambda value: value ^ 0o022)


@no_go("target-gone", ATTEMPTS, TRACES)
def _(f):
    what = edited(f, f.states(tree(f), schema.TARGET_WRITE)[1])
    what.CopyFrom(schema.TargetState(target=schema.TARGET_WRITE))


@go("baseline-target-changed", same=True)
def _(f):
    """What changed over baseline is no trace of strict."""
    state(f, f.run("tree", "baseline"), "TARGET_FOLDER", mode=lambda value: value ^ 0o022)


@go("baseline-write-untold-and-unseen")
def _(f):
    """Baseline's child did not write: its attempt is denied there, and no rule asks for it."""
    run = f.run("tree", "baseline")
    f.tell(run, "child", "write", "errno:13")
    line = f"EXHIBIT1 write {f.nonce(run, 'child')} child 1\n".encode()
    state(f, run, "TARGET_WRITE", content_sha256=lambda digest: f.hold(f.objects[digest].replace(line, b"")),
          size_bytes=lambda size: size - len(line))


# ---- proofs in rows, and canaries ----

@no_go("read-with-the-right-proof", ATTEMPTS, TRACES)
def _(f):
    """A proof that only who has read the canary can make; inotify saw nothing."""
    f.tell(tree(f), "child", "read", "ok:" + f.proof(tree(f), "read", "child"))


@no_go("link-with-the-right-proof", ATTEMPTS, TRACES)
def _(f):
    f.tell(tree(f), "grandchild", "read-link", "ok:" + f.proof(tree(f), "read-link", "grandchild", 7), 7)


@no_go("canary-in-stderr", TRACES)
def _(f):
    f.add_chunk(tree(f), STDERR, b"key: " + f.canary(tree(f), "canary_read") + b"\n", middle(f, tree(f)))


@no_go("canary-over-two-chunks", TRACES)
def _(f):
    content = f.canary(tree(f), "canary_link")
    f.add_chunk(tree(f), STDERR, content[:20], middle(f, tree(f)))
    f.add_chunk(tree(f), STDERR, content[20:], middle(f, tree(f)))


@no_go("earlier-canary-in-a-case", TRACES)
def _(f):
    """The content of the first canaries, in what a strict case writes."""
    run = f.run("suite", "strict")
    f.add_chunk(run, STDERR, f.of("targets")[0].what.canary_link, middle(f, run))


@go("later-canary-in-the-launcher", same=True)
def _(f):
    """What no canary held before the run's end is no canary's content."""
    run = f.run("launcher", "strict")
    f.add_chunk(run, STDERR, f.of("targets")[-1].what.canary_read, middle(f, run))


@incomplete("later-canary-in-a-run-without-end", "complete.cleanup", TRACES)
def _(f):
    """A run whose end nobody saw may have written anything at any time."""
    run = f.run("launcher", "strict")
    f.add_chunk(run, STDERR, f.of("targets")[-1].what.canary_read, middle(f, run))
    f.remove(f.of("run_exit", run))


@go("canary-in-baseline", same=True)
def _(f):
    run = f.run("tree", "baseline")
    f.add_chunk(run, STDERR, f.canary(run, "canary_read"), middle(f, run))


@no_go("canary-in-an-artifact", TRACES)
def _(f):
    run = f.run("pack", "strict")
    (log,) = [fact for fact in f.of("artifact", run) if b"/_logs/" in fact.what.path]
    content = b"0 verbose " + f.canary(run, "canary_read")
    what = edited(f, log)
    what.sha256, what.size_bytes = f.hold(content), len(content)


@no_go("canary-in-a-trials-artifact", TRACES)
def _(f):
    content = f.canary(tree(f), "canary_link")
    f.put_after(f.of("freeze", tree(f), moment=schema.FREEZE_RUN_AFTER)[0],
                event("artifact", tree(f), source="SOURCE_FILES", path=b"tmp/loot", mode=0o100600, kept=True,
                      size_bytes=len(content), sha256=f.hold(content)))


@no_go("canary-in-stdout-of-bootstrap", TRACES)
def _(f):
    run = f.run("bootstrap", "strict")
    f.add_chunk(run, STDOUT, f.canary(run, "canary_read") + b"\n", middle(f, run))


# ---- freezes ----

@no_go("freeze-after-strict-differs", TRACES)
def _(f):
    what = edited(f, f.one("freeze", moment=schema.FREEZE_AFTER_STRICT))
    what.list_sha256 = other_list(f, what.list_sha256)


@no_go("freeze-after-strict-missing", TRACES)
def _(f):
    f.remove(f.of("freeze", moment=schema.FREEZE_AFTER_STRICT))


@no_go("workspace-changed-in-a-case", TRACES)
def _(f):
    what = edited(f, f.one("freeze", f.run("pack", "strict"), moment=schema.FREEZE_RUN_AFTER))
    what.list_sha256 = other_list(f, what.list_sha256)


@no_go("workspace-not-looked-at", TRACES)
def _(f):
    f.remove(f.of("freeze", tree(f), moment=schema.FREEZE_RUN_AFTER))


@no_go("workspace-not-looked-at-before", TRACES)
def _(f):
    f.remove(f.of("freeze", f.run("launcher", "strict"), moment=schema.FREEZE_RUN_BEFORE))


@go("workspace-changed-in-baseline", same=True)
def _(f):
    what = edited(f, f.one("freeze", f.run("pack", "baseline"), moment=schema.FREEZE_RUN_AFTER))
    what.list_sha256 = other_list(f, what.list_sha256)


@incomplete("sources-changed-at-first", "complete.pins", TRACES)
def _(f):
    """Both later freezes differ from the first."""
    for moment in (schema.FREEZE_AFTER_BASELINE, schema.FREEZE_AFTER_STRICT):
        what = edited(f, f.one("freeze", moment=moment))
        what.list_sha256 = other_list(f, what.list_sha256)


@incomplete("everything-at-once", "complete.recording", "complete.outcomes", "complete.cleanup", ATTEMPTS, TRACES,
            "useful.contract")
def _(f):
    """All failures are listed, not only the first."""
    edited(f, step(f, tree(f))).errno_value = 1
    f.tell(tree(f), "child", "read", "errno:5")
    edited(f, f.one("all_gone", tree(f))).remaining = 4
    accept(f, middle(f, tree(f)), tree(f))
    edited(f, f.one("run_exit", f.run("syntax", "strict"))).exit_status = 3
