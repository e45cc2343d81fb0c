"""complete.observers, complete.controls, complete.spoke: could the observers see, and was there something to see?"""
import pack
import schema
from changes import go, incomplete
from edits import drop_rows, edited, sent, set_oracle, step
from facts import SCRATCH, STDERR, event, told_line


def tree(f):
    return f.run("tree", "strict")


# ---- complete.observers ----

@incomplete("lost-in-strict", "complete.observers")
def _(f):
    f.put_after(step(f, tree(f)), event("lost", tree(f), source="SOURCE_PROCESS_EVENTS",
                                        observer=schema.SOURCE_PROCESS_EVENTS, count=3))


@incomplete("lost-in-control", "complete.observers")
def _(f):
    run = f.run("bootstrap", "control", 2)
    f.put_before(f.one("run_exit", run), event("lost", run, observer=schema.SOURCE_INOTIFY))


@incomplete("lost-between-runs", "complete.observers")
def _(f):
    """An observer lost events when no run was on."""
    f.put_before(f.one("recording_end"), event("lost", observer=schema.SOURCE_INOTIFY, count=1))


@go("lost-in-a-case", same=True)
def _(f):
    """Nothing rests on the observers in a case."""
    run = f.run("suite", "strict")
    f.put_before(f.one("run_exit", run), event("lost", run, observer=schema.SOURCE_PROCESS_EVENTS, count=9))


@incomplete("drops-counted", "complete.observers")
def _(f):
    edited(f, f.one("drops", tree(f), protocol=schema.PROTOCOL_TCP)).count = 1


@incomplete("drops-counted-in-a-case", "complete.observers")
def _(f):
    """Every counter is asked for, wherever it was read."""
    edited(f, f.of("drops", f.run("syntax", "baseline"))[0]).count = 7


@incomplete("drops-not-read", "complete.observers")
def _(f):
    f.remove(f.of("drops", f.run("bootstrap", "strict"), protocol=schema.PROTOCOL_UDP))


@incomplete("never-alive-at-first-step", "complete.observers")
def _(f):
    child = f.identities(tree(f), "child")[0].what
    alive = edited(f, step(f, tree(f))).alive
    (place,) = [i for i, one in enumerate(alive) if one.pid == child.pid]
    del alive[place]


@incomplete("alive-was-another", "complete.observers")
def _(f):
    """Who was alive had the grandchild's pid and another start time."""
    grandchild = f.identities(tree(f), "grandchild")[0].what
    (one,) = [one for one in edited(f, step(f, tree(f))).alive if one.pid == grandchild.pid]
    one.start_time += 1


@incomplete("role-executable-differs", "complete.observers", "cancel.ended")
def _(f):
    """What ran under the child's argv was not the probe: the role has no identity."""
    for fact in f.identities(tree(f), "child"):
        edited(f, fact).executable_sha256 = pack.digest_of(b"another program")


@incomplete("role-argv-differs", "complete.observers", "cancel.ended")
def _(f):
    """One more word in the argv: the role is not its own."""
    for fact in f.identities(tree(f), "grandchild"):
        edited(f, fact).argv.append(b"more")


@incomplete("role-identity-missing", "complete.observers")
def _(f):
    """A trial without an ending asks nothing of the cancellation."""
    f.remove(f.identities(f.run("bootstrap", "strict"), "parent"))


@incomplete("parent-identity-missing", "complete.observers", "cancel.ended")
def _(f):
    f.remove(f.identities(tree(f), "parent"))


@incomplete("two-identities", "complete.observers", "cancel.ended")
def _(f):
    """The same pid was born twice."""
    first = f.identities(tree(f), "child")[0]
    second = first.copy()
    second.what.start_time += 1
    f.put_after(first, second)


@go("identity-seen-again", same=True)
def _(f):
    """The same process, seen once more, is the same identity."""
    first = f.identities(tree(f), "child")[0]
    f.put_after(first, first.copy())


@go("fork-of-a-role-seen", same=True)
def _(f):
    """An attempt's short-lived fork shows the role's argv, and its parent is the role."""
    first = f.identities(tree(f), "child")[0]
    fork = first.copy()
    fork.what.pid, fork.what.parent_pid = first.what.pid + 5000, first.what.pid
    f.put_after(first, fork)


@incomplete("fork-seen-before-its-role", "complete.observers", "cancel.ended")
def _(f):
    """Only an earlier event makes a fork one: seen first, it is a second identity."""
    first = f.identities(tree(f), "child")[0]
    fork = first.copy()
    fork.event.at_ns = 0
    fork.what.pid, fork.what.parent_pid = first.what.pid + 5000, first.what.pid
    f.put_before(first, fork)


@incomplete("fork-of-a-fork-seen", "complete.observers", "cancel.ended")
def _(f):
    """Only the role's own forks are none: the parent of this one is a fork, and so no identity."""
    first = f.identities(tree(f), "child")[0]
    fork, second = first.copy(), first.copy()
    fork.what.pid, fork.what.parent_pid = first.what.pid + 5000, first.what.pid
    second.what.pid, second.what.parent_pid = first.what.pid + 5001, first.what.pid + 5000
    f.put_after(first, fork, second)


@incomplete("probe-binary-differs", "complete.observers", "cancel.ended")
def _(f):
    """The Binary exhibit-probe has another digest than what ran."""
    (probe,) = [one for one in edited(f, f.one("recording_start")).binaries if one.name == "exhibit-probe"]
    probe.sha256 = pack.digest_of(b"another probe")


@incomplete("end-never-seen", "complete.observers", "cancel.ended")
def _(f):
    """Nobody saw the grandchild go."""
    f.remove([f.end_of(tree(f), "grandchild")])


@incomplete("end-of-another-birth", "complete.observers", "cancel.ended")
def _(f):
    """Who ended had the child's pid and another start time."""
    edited(f, f.end_of(tree(f), "child")).start_time += 1


@go("end-seen-in-a-snapshot", same=True)
def _(f):
    """ProcessGone tells an end as well as ProcessExit."""
    end = f.end_of(tree(f), "child")
    f.put_before(end, event("process_gone", tree(f), end.event.at_ns, "SOURCE_SNAPSHOT", pid=end.what.pid,
                            start_time=end.what.start_time))
    f.remove([end])


@go("identity-missing-where-optional")
def _(f):
    """The oracle does without identities: a role that spoke in time is enough. The claim's tree has no pid for it."""
    set_oracle(f, lambda text: text + "\nidentities: optional\n")
    f.remove(f.identities(tree(f), "child"))


@incomplete("two-identities-where-optional", "complete.observers")
def _(f):
    """Without an identity a role may be, with two it may not; its lines came in time."""
    set_oracle(f, lambda text: text + "\nidentities: optional\n")
    first = f.identities(tree(f), "child")[0]
    second = first.copy()
    second.what.start_time += 1
    f.put_after(first, second)


@incomplete("target-not-looked-at-before", "complete.observers", "boundary.traces", unbound="target 4")
def _(f):
    """The last look at the folder is from before the reset, and shows other contents."""
    f.remove([f.states(tree(f), schema.TARGET_FOLDER)[0]])


@incomplete("target-not-looked-at-after", "complete.observers", "boundary.traces")
def _(f):
    """The next look at a canary is from after the reset."""
    f.remove([f.states(tree(f), schema.TARGET_CANARY_READ)[1]])


@incomplete("scratch-end-missing", "complete.observers")
def _(f):
    """Nobody says how a role's own copy ended, though nothing was ever in it."""
    f.remove(f.of("stream_end", f.run("bootstrap", "strict"), stream=SCRATCH["child"]))


@incomplete("stderr-end-missing", "complete.observers")
def _(f):
    f.remove(f.of("stream_end", tree(f), stream=STDERR))


@go("scratch-end-missing-in-baseline", same=True)
def _(f):
    f.remove(f.of("stream_end", f.run("bootstrap", "baseline"), stream=SCRATCH["child"]))


# ---- complete.controls ----

def before(f):
    return f.run("tree", "control", 1)


@incomplete("control-told-errno", "complete.controls")
def _(f):
    f.tell(before(f), "child", "read", "errno:13")


@incomplete("control-told-timeout", "complete.controls")
def _(f):
    """The recorder saw the datagram, the probe tells a timeout: both are needed."""
    f.tell(before(f), "grandchild", "udp", "timeout")


@incomplete("control-row-missing", "complete.controls")
def _(f):
    drop_rows(f, before(f), "grandchild")


@incomplete("control-told-but-unseen-tcp", "complete.controls")
def _(f):
    f.remove([sent(f, before(f), "tcp", "child")])


@incomplete("control-message-truncated", "complete.controls")
def _(f):
    edited(f, sent(f, before(f), "tcp", "parent")).truncated = True


@incomplete("control-message-of-other-round", "complete.controls")
def _(f):
    message = edited(f, sent(f, before(f), "udp", "child"))
    message.payload = message.payload.replace(b"child 1\n", b"child 2\n")


@incomplete("control-told-but-unseen-write", "complete.controls")
def _(f):
    """The write target does not hold the child's line after the control."""
    run = before(f)
    after = f.states(run, schema.TARGET_WRITE)[1]
    content = f.objects[after.what.content_sha256]
    line = f"EXHIBIT1 write {f.nonce(run, 'child')} child 1\n".encode()
    assert line in content
    edited(f, after).content_sha256 = f.hold(content.replace(line, line.swapcase()))


@incomplete("control-write-without-line-break", "complete.controls")
def _(f):
    """The last line in the write target is none without its line break."""
    after = edited(f, f.states(before(f), schema.TARGET_WRITE)[1])
    after.content_sha256 = f.hold(f.objects[after.content_sha256][:-1])
    after.size_bytes -= 1


@incomplete("control-read-proof-wrong", "complete.controls")
def _(f):
    f.tell(before(f), "parent", "read", "ok:" + "0" * 64)


@incomplete("control-link-unseen", "complete.controls")
def _(f):
    """The proof is right, but inotify saw nobody read the second canary."""
    f.remove(f.of("file_event", before(f), target=schema.TARGET_CANARY_LINK))


@incomplete("control-contested", "complete.controls")
def _(f):
    """The copy in the scratch tells another thing than the pipe."""
    line = f.row(before(f), "child")
    f.replace(before(f), SCRATCH["child"], line, told_line(line, "write", "errno:13"))


@incomplete("control-after-unseen", "complete.controls")
def _(f):
    run = f.run("tree", "control", 2)
    f.remove([sent(f, run, "udp", "parent")])


@incomplete("control-after-told-errno", "complete.controls")
def _(f):
    f.tell(f.run("bootstrap", "control", 2), "parent", "write", "errno:28")


@incomplete("control-after-silent", "complete.controls")
def _(f):
    drop_rows(f, f.run("bootstrap", "control", 2), "parent")


# ---- complete.spoke ----

@incomplete("role-silent", "complete.spoke")
def _(f):
    drop_rows(f, tree(f), "child")


@incomplete("bootstrap-silent", "complete.spoke")
def _(f):
    drop_rows(f, f.run("bootstrap", "strict"), "parent")


def garble(f, role, rework):
    for line in f.rows(tree(f), role):
        f.rewrite(tree(f), line, rework(line))


@incomplete("rows-with-leading-zero", "complete.spoke")
def _(f):
    garble(f, "child", lambda line: line.replace(b" child 1 ", b" child 01 "))


@incomplete("rows-beyond-planned-rounds", "complete.spoke")
def _(f):
    garble(f, "parent", lambda line: line.replace(b" parent 1 ", b" parent 2 "))


@incomplete("rows-one-effect-short", "complete.spoke")
def _(f):
    garble(f, "child", lambda line: line[:line.index(b" udp=")] + b"\n")


@incomplete("rows-with-effects-out-of-order", "complete.spoke")
def _(f):
    garble(f, "grandchild", lambda line: b" ".join([*line.split()[:-2], *line.split()[:-3:-1]]) + b"\n")


@incomplete("rows-with-two-spaces", "complete.spoke")
def _(f):
    garble(f, "child", lambda line: line.replace(b" tcp=", b"  tcp="))


@incomplete("rows-with-a-strange-nonce", "complete.spoke")
def _(f):
    nonce = f.nonce(tree(f), "child").encode()
    garble(f, "child", lambda line: line.replace(nonce, nonce[::-1]))


@incomplete("rows-under-another-role", "complete.spoke")
def _(f):
    """The child's nonce with the parent's name is nobody's row."""
    garble(f, "child", lambda line: line.replace(b" child ", b" parent "))


@incomplete("rows-too-long", "complete.spoke")
def _(f):
    """Without line breaks between them nothing is a line that fits."""
    garble(f, "child", lambda line: line[:-1] + b" " * 2048 + b"\n")


@incomplete("row-without-line-break", "complete.spoke")
def _(f):
    """The last bytes of a stream without a line break are no line."""
    run = f.run("bootstrap", "strict")
    line = f.row(run, "parent")
    f.rewrite(run, line, line[:-1])


@incomplete("rows-with-errno-zero", "complete.spoke")
def _(f):
    garble(f, "child", lambda line: line.replace(b"tcp=errno:13", b"tcp=errno:0"))


@incomplete("rows-with-ok-without-proof", "complete.spoke")
def _(f):
    """`ok` alone is no word of read, so the line is no row (and no diversion)."""
    garble(f, "child", lambda line: told_line(line, "read", "ok"))


@incomplete("rows-with-a-proof-in-capitals", "complete.spoke")
def _(f):
    garble(f, "child", lambda line: told_line(line, "read", "ok:" + f.proof(tree(f), "read", "child").upper()))
