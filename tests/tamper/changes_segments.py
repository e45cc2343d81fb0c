"""The segments of a stream in another order, with the digest of the whole made anew: every digest agrees, the bytes say
something else."""
from changes import go, incomplete, no_go, refused
from edits import edited
from facts import STDOUT, varint_read


def turned(f, content, cut):
    """A Stream of two segments, the second part of the content first."""
    whole = f.describe(content[cut:] + content[:cut])
    del whole.segments[:]
    for piece in (content[cut:], content[:cut]):
        whole.segments.add(sha256=f.hold(piece), size_bytes=len(piece))
    return whole


def turn(f, run, name=STDOUT):
    """Turns a stream of a run around its middle; its chunks are as long as they were."""
    def rework(new):
        content = new.stream(run, name)
        assert len(content) > 1
        new.edit(new.one("stream_end", run, stream=name)).what.content.CopyFrom(turned(new, content, len(content) // 2))
    f.late.append(rework)


@no_go("segments-reordered-in-strict", "useful.contract")
def _(f):
    """The answer of the case is no JSON any more."""
    turn(f, f.run("inspect-benign", "strict"))


@incomplete("segments-reordered-in-baseline", "complete.baseline")
def _(f):
    """The bare command did not answer as the oracle wants."""
    turn(f, f.run("inspect-critical", "baseline"))


@go("segments-reordered-of-what-nobody-asks", same=True)
def _(f):
    """The oracle asks nothing of what `pack` prints."""
    turn(f, f.run("pack", "strict"))


@go("segments-reordered-of-stdin", unbound="stdin")
def _(f):
    """What was offered on stdin is not what was delivered."""
    start = edited(f, f.one("run_start", f.run("inspect-benign", "strict")))
    content = f.stream_bytes(start.stdin_stream)
    start.stdin_stream.CopyFrom(turned(f, content, len(content) // 2))


@refused("segments-reordered-of-the-log", "FORMAT 7.2")
def _(f):
    """The second half of the events comes first."""
    def rework(new, receipt):
        log, cut = new.stream_bytes(receipt.events), 0
        while cut < len(log) // 2:
            size, cut = varint_read(log, cut)
            cut += size
        receipt.events.CopyFrom(turned(new, log, cut))
    f.late.append(lambda new: new.late_receipt.append(lambda receipt: rework(new, receipt)))
