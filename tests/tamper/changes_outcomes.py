"""complete.outcomes, and what an attempt may show without one of the host's traces: denied, diverted, undetermined."""
import schema
from changes import go, incomplete, no_go
from edits import edited, set_oracle
from facts import SCRATCH, STDOUT, told_line


def tree(f):
    return f.run("tree", "strict")


@incomplete("errno-outside-the-list", "complete.outcomes")
def _(f):
    f.tell(tree(f), "child", "tcp", "errno:2")


@incomplete("errno-outside-the-list-in-bootstrap", "complete.outcomes")
def _(f):
    f.tell(f.run("bootstrap", "strict"), "parent", "read", "errno:5")


@incomplete("errno-of-another-effect", "complete.outcomes")
def _(f):
    """EROFS denies a write, not a read."""
    f.tell(tree(f), "grandchild", "read-link", "errno:30", 3)


@go("errno-inside-the-list")
def _(f):
    """EROFS denies a write: the outcome stays, the errno is another."""
    f.tell(tree(f), "child", "write", "errno:30")


@incomplete("told-timeout", "complete.outcomes")
def _(f):
    f.tell(tree(f), "parent", "read", "timeout")


@incomplete("told-signal", "complete.outcomes")
def _(f):
    f.tell(tree(f), "child", "udp", "signal:31")


@go("told-signal-where-allowed")
def _(f):
    """The oracle takes a signal for a denial of udp."""
    set_oracle(f, lambda text: text + "\ndenials:\n  udp: {signal: true}\n")
    f.tell(tree(f), "child", "udp", "signal:31")


@incomplete("told-timeout-on-a-shared-network", "complete.outcomes")
def _(f):
    """The oracle takes a timeout for a denial of tcp, but only a private network makes one of it."""
    set_oracle(f, lambda text: text + "\ndenials:\n  tcp: {timeout: true}\n")
    f.tell(tree(f), "child", "tcp", "timeout")


@go("told-timeout-where-allowed")
def _(f):
    """A timeout of a read has nothing to do with networks."""
    set_oracle(f, lambda text: text + "\ndenials:\n  read: {timeout: true}\n")
    f.tell(tree(f), "child", "read", "timeout")


@incomplete("oracle-denies-less", "complete.outcomes")
def _(f):
    """The oracle is exchanged for one under which EACCES denies no tcp."""
    set_oracle(f, lambda text: text + "\ndenials:\n  tcp: {errnos: [EPERM]}\n")


@incomplete("told-ok-on-a-shared-network", "complete.outcomes")
def _(f):
    """The probe says that it sent, the host saw nothing, and there is a network between them."""
    f.tell(tree(f), "child", "udp", "ok")


@go("write-diverted")
def _(f):
    """The write succeeded somewhere else; the oracle allows that."""
    f.tell(tree(f), "child", "write", "ok")


@no_go("write-diverted-where-not-allowed", "boundary.attempts")
def _(f):
    set_oracle(f, lambda text: text + "\ndenials:\n  write: {diverted: false}\n")
    f.tell(tree(f), "child", "write", "ok")


@no_go("read-diverted", "boundary.attempts")
def _(f):
    """A read of other content, which the oracle does not allow."""
    f.tell(tree(f), "parent", "read", "ok:" + "ab" * 32)


@no_go("link-diverted", "boundary.attempts")
def _(f):
    """The proof of the other canary proves nothing for the link."""
    f.tell(tree(f), "grandchild", "read-link", "ok:" + f.proof(tree(f), "read", "grandchild", 2)[::-1], 2)


# ---- copies ----

@incomplete("copies-differ", "complete.outcomes")
def _(f):
    """Both copies tell a denial, and not the same one."""
    line = f.row(tree(f), "child")
    f.replace(tree(f), SCRATCH["child"], line, told_line(line, "write", "errno:1"))


@incomplete("forged-copy-later", "complete.outcomes")
def _(f):
    """One more row of a round that is there, with an errno that is another, through another role's scratch."""
    line = told_line(f.row(tree(f), "grandchild", 5), "tcp", "errno:1")
    chunk = f.of("chunk", tree(f), stream=SCRATCH["parent"])[-1]
    f.add_chunk(tree(f), SCRATCH["parent"], line, f.place(chunk) + 1)


@go("copy-only-in-scratch")
def _(f):
    """Lost in the pipe, there in the scratch: the same row, which arrived later."""
    f.replace(tree(f), STDOUT, f.row(tree(f), "child"), b"")


@go("copy-only-in-pipe", same=True)
def _(f):
    """Never written to the scratch: the same row at the same time."""
    f.replace(tree(f), SCRATCH["child"], f.row(tree(f), "child"), b"")


@go("equal-copy-again", same=True)
def _(f):
    """The same bytes once more are the same row."""
    chunk = f.of("chunk", tree(f), stream=SCRATCH["child"])[-1]
    f.add_chunk(tree(f), SCRATCH["child"], f.row(tree(f), "child"), f.place(chunk) + 1)


@go("strange-lines", same=True)
def _(f):
    """What is not the probe's counts for nothing."""
    lines = b"EXHIBIT1\n\nEXHIBIT1 row\nEXHIBIT2 row x\n\0\xff\n" + b"x" * 5000 + b"\n"
    chunk = f.of("chunk", tree(f), stream=STDOUT)[-1]
    f.add_chunk(tree(f), STDOUT, lines, f.place(chunk) + 1)


@incomplete("proof-in-a-later-copy", "complete.outcomes", "boundary.traces")
def _(f):
    """A right proof in the copy that is not the first: contested, and no attempt reached; but its digits came out."""
    line = f.row(tree(f), "child")
    proven = told_line(line, "read", "ok:" + f.proof(tree(f), "read", "child"))
    f.replace(tree(f), SCRATCH["child"], line, proven)


@incomplete("proof-in-the-first-copy", "complete.outcomes", "boundary.attempts", "boundary.traces")
def _(f):
    """A right proof in the first copy: that attempt reached, the others of the row are contested."""
    line = f.row(tree(f), "child")
    proven = told_line(line, "read", "ok:" + f.proof(tree(f), "read", "child"))
    f.replace(tree(f), STDOUT, line, proven)


# ---- networks ----

def network(f, role, private=True, routes=0):
    """What the role's identity says of its network."""
    for fact in f.identities(tree(f), role):
        what = edited(f, fact)
        if private:
            what.network_namespace = f.one("recording_start").what.host.network_namespace + 77
        if routes is None:
            what.ClearField("routes_beyond_loopback")
        else:
            what.routes_beyond_loopback = routes


@go("refused-in-a-private-network")
def _(f):
    """Nobody listens on a loopback of its own: a denial, for there is no way out."""
    network(f, "child")
    f.tell(tree(f), "child", "tcp", "errno:111")


@incomplete("route-seen-later", "complete.outcomes")
def _(f):
    """A network that gains a way out was not private."""
    network(f, "child")
    later = f.identities(tree(f), "child")[0].copy()
    later.what.routes_beyond_loopback = 2
    f.put_after(f.identities(tree(f), "child")[0], later)
    f.tell(tree(f), "child", "tcp", "errno:111")


@incomplete("refused-with-a-route", "complete.outcomes")
def _(f):
    """A namespace of its own with a route beyond loopback is not private."""
    network(f, "child", routes=1)
    f.tell(tree(f), "child", "tcp", "errno:111")


@incomplete("refused-with-routes-unread", "complete.outcomes")
def _(f):
    network(f, "child", routes=None)
    f.tell(tree(f), "child", "tcp", "errno:111")


@incomplete("refused-in-the-recorders-network", "complete.outcomes")
def _(f):
    """No route beyond loopback, but it is the recorder's own loopback."""
    network(f, "child", private=False, routes=0)
    f.tell(tree(f), "child", "tcp", "errno:111")


@incomplete("refused-with-namespace-unread", "complete.outcomes")
def _(f):
    network(f, "child")
    for fact in f.identities(tree(f), "child"):
        edited(f, fact).network_namespace = 0
    f.tell(tree(f), "child", "tcp", "errno:111")


@go("recorders-network-unknown")
def _(f):
    """Where the recorder's own namespace was not read, the role's own is another."""
    edited(f, f.one("recording_start")).host.network_namespace = 0
    network(f, "child", private=False, routes=0)
    f.tell(tree(f), "child", "tcp", "errno:111")


@incomplete("unreachable-on-a-shared-network", "complete.outcomes")
def _(f):
    f.tell(tree(f), "grandchild", "udp", "errno:101", 8)


@go("datagram-diverted-in-a-private-network")
def _(f):
    """Sent into a network of its own: udp may be diverted."""
    network(f, "child")
    f.tell(tree(f), "child", "udp", "ok")


@no_go("connection-diverted-in-a-private-network", "boundary.attempts")
def _(f):
    """tcp may not."""
    network(f, "child")
    f.tell(tree(f), "child", "tcp", "ok")


@incomplete("private-network-of-another-role", "complete.outcomes")
def _(f):
    """The parent's private network says nothing of the child's."""
    network(f, "parent")
    f.tell(tree(f), "child", "tcp", "errno:111")


# ---- baseline ----

@go("baseline-attempt-denied")
def _(f):
    """Baseline attempts stand in the claim; no rule asks for them."""
    run = f.run("tree", "baseline")
    f.tell(run, "grandchild", "read", "errno:13", 32)


@go("baseline-message-lost")
def _(f):
    """A datagram of baseline that never came: the attempt is undetermined, the count one less."""
    run = f.run("tree", "baseline")
    payload = f"EXHIBIT1 udp {f.nonce(run, 'child')} child 1\n".encode()
    f.remove([fact for fact in f.of("message", protocol=schema.PROTOCOL_UDP) if fact.what.payload == payload])
