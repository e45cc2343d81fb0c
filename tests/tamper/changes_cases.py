"""complete.baseline, useful.contract, useful.archives: does real work still pass, and is it the same work?"""
import schema
from changes import go, incomplete, no_go
from edits import archive, edited, repack_archive, set_member, set_oracle
from facts import STDERR, STDOUT, event


def exit_with(f, name, mode, status, repeat=1):
    edited(f, f.one("run_exit", f.run(name, mode, repeat))).exit_status = status


def write_instead(f, name, mode, old, new):
    f.replace(f.run(name, mode), STDOUT, old, new)


def asking(f, asked):
    """The oracle asks one thing more of the case syntax."""
    set_oracle(f, lambda text: text.replace("name: syntax\n", f"name: syntax\n    {asked}\n", 1))


# ---- complete.baseline ----

@incomplete("baseline-exit-differs", "complete.baseline")
def _(f):
    exit_with(f, "syntax", "baseline", 1)


@incomplete("baseline-repeat-exit-differs", "complete.baseline")
def _(f):
    """The second baseline counts as well."""
    exit_with(f, "pack", "baseline", 1, 2)


@incomplete("baseline-stdout-differs", "complete.baseline")
def _(f):
    write_instead(f, "inspect-critical", "baseline", b'"block"', b'"pass"')


@incomplete("baseline-by-signal", "complete.baseline")
def _(f):
    edited(f, f.one("run_exit", f.run("suite", "baseline"))).term_signal = 11


@incomplete("baseline-stream-cut", "complete.baseline")
def _(f):
    """A stream of which more was written than is kept shows nothing."""
    edited(f, f.one("stream_end", f.run("syntax", "baseline"), stream=STDOUT)).how = schema.StreamEnd.HOW_LIMIT


@incomplete("oracle-expects-other", "complete.baseline", "useful.contract")
def _(f):
    set_oracle(f, lambda text: text.replace("equals: pass", "equals: allow"))


@go("oracle-expects-less")
def _(f):
    """A case less in the oracle is a case less in the claim."""
    set_oracle(f, lambda text: text.replace("  - name: syntax\n    exit: 0\n    stdout: {empty: true}\n", ""))


# ---- useful.contract ----

@no_go("strict-exit-differs", "useful.contract")
def _(f):
    exit_with(f, "syntax", "strict", 1)


@no_go("strict-by-signal", "useful.contract")
def _(f):
    edited(f, f.one("run_exit", f.run("syntax", "strict"))).term_signal = 9


@no_go("strict-watchdog", "useful.contract")
def _(f):
    """The right exit status of a case that the watchdog ended is not one."""
    edited(f, f.one("run_exit", f.run("suite", "strict"))).watchdog = True


@no_go("strict-json-differs", "useful.contract")
def _(f):
    write_instead(f, "inspect-benign", "strict", b'"pass"', b'"block"')


@no_go("strict-json-broken", "useful.contract")
def _(f):
    write_instead(f, "inspect-benign", "strict", b"}\n", b"\n")


@no_go("strict-json-twice", "useful.contract")
def _(f):
    """Two JSON texts are not one."""
    text = f.stream(f.run("inspect-critical", "strict"), STDOUT)
    write_instead(f, "inspect-critical", "strict", text, text + text)


@no_go("strict-test-fails", "useful.contract")
def _(f):
    write_instead(f, "suite", "strict", b"\n# pass 41\n", b"\n# pass 40\n")


@no_go("strict-stdout-not-empty", "useful.contract")
def _(f):
    run = f.run("syntax", "strict")
    f.add_chunk(run, STDOUT, b"\n", f.place(f.one("run_exit", run)))


@no_go("strict-stream-cut", "useful.contract")
def _(f):
    edited(f, f.one("stream_end", f.run("suite", "strict"), stream=STDOUT)).how = schema.StreamEnd.HOW_LIMIT


@go("strict-stderr-not-asked-for", same=True)
def _(f):
    run = f.run("syntax", "strict")
    f.add_chunk(run, STDERR, b"(node:3) Warning\n", f.place(f.one("run_exit", run)))


@no_go("contract-kept-by-replacement", "cancel.ended", "cancel.quiet", base="default")
def _(f):
    """What baseline wrote, put in place of what strict wrote: the contract is kept, the cancellation is not."""
    for name in ("inspect-benign", "inspect-critical"):
        strict, baseline = f.run(name, "strict"), f.run(name, "baseline")
        exit_with(f, name, "strict", f.one("run_exit", baseline).what.exit_status)
        for fact in f.of("chunk", strict, stream=STDOUT):
            f.set_data(fact, b"")
        f.add_chunk(strict, STDOUT, f.stream(baseline, STDOUT), f.place(f.one("run_exit", strict)))


@no_go("oracle-without-the-broken-cases", "cancel.ended", "cancel.quiet", base="default")
def _(f):
    def rework(text):
        head, tail = text.index("  - name: inspect-benign"), text.index("  - name: pack")
        return text[:head] + text[tail:]
    set_oracle(f, rework)


# ---- useful.archives ----

BASELINE, STRICT = ("pack", "baseline"), ("pack", "strict")


@no_go("archive-content-differs", "useful.archives")
def _(f):
    set_member(f, f.run(*STRICT), 3, b"other content\n")


@no_go("archive-mode-differs", "useful.archives")
def _(f):
    def rework(members):
        members[0][0].mode ^= 0o111
    repack_archive(f, f.run(*STRICT), rework)


@no_go("archive-mtime-differs", "useful.archives")
def _(f):
    def rework(members):
        members[0][0].mtime += 1
    repack_archive(f, f.run(*STRICT), rework)


@no_go("archive-member-missing", "useful.archives")
def _(f):
    repack_archive(f, f.run(*STRICT), lambda members: members[:-1])


@no_go("archive-bytes-differ", "useful.archives")
def _(f):
    """The same members in another order: the oracle asks for the same bytes."""
    repack_archive(f, f.run(*STRICT), lambda members: members[::-1])


@no_go("archive-of-another-name-wanted", "useful.archives")
def _(f):
    """The oracle names an archive that no run left."""
    set_oracle(f, lambda text: text.replace("hook-guard-*.tgz", "hook-ward-*.tgz"))


@go("archive-bytes-differ-where-allowed")
def _(f):
    set_oracle(f, lambda text: text.replace("bytes: true", "bytes: false"))
    repack_archive(f, f.run(*STRICT), lambda members: members[::-1])


@go("archive-fits-two-patterns", same=True)
def _(f):
    """Named by two patterns, it stands in the claim once."""
    set_oracle(f, lambda text: text.replace("    archives:\n", '    archives:\n      - {path: "hook-*.tgz"}\n'))


@no_go("archive-missing", "useful.archives")
def _(f):
    f.remove([archive(f, f.run(*STRICT))])


@no_go("archive-twice", "useful.archives")
def _(f):
    """Two files fit the oracle's pattern."""
    first = archive(f, f.run(*STRICT))
    more = first.copy()
    more.what.path = b"hook-guard-9.tgz"
    f.put_after(first, more)


@no_go("archive-named-otherwise", "useful.archives")
def _(f):
    edited(f, archive(f, f.run(*STRICT))).path = b"hook-guard-1.3.1.tgz"


@no_go("archive-not-kept", "useful.archives")
def _(f):
    what = edited(f, archive(f, f.run(*STRICT)))
    what.kept, what.is_archive, what.note = False, False, "too large"
    del what.members[:]


@no_go("archive-is-none", "useful.archives")
def _(f):
    """A file of the right name that is no archive."""
    what = edited(f, archive(f, f.run(*STRICT)))
    content = b"not an archive\n"
    what.sha256, what.size_bytes, what.is_archive = f.hold(content), len(content), False
    del what.members[:]


@no_go("archive-missing-in-baseline", "useful.archives")
def _(f):
    f.remove([archive(f, f.run(*BASELINE))])


@go("archive-difference-excused")
def _(f):
    """What differs between the two baselines is the tool's own: so may strict differ there."""
    set_member(f, f.run("pack", "baseline", 2), 3, b"made at another time\n")
    set_member(f, f.run(*STRICT), 3, b"made at yet another time\n")


@no_go("archive-difference-not-excused", "useful.archives")
def _(f):
    """Another member than the one that differs between the baselines."""
    set_member(f, f.run("pack", "baseline", 2), 3, b"made at another time\n")
    set_member(f, f.run(*STRICT), 4, b"made at yet another time\n")


@no_go("archives-of-both-baselines-exchanged", "useful.archives")
def _(f):
    """Both baselines agree, and strict does not agree with them."""
    set_member(f, f.run(*BASELINE), 3, b"other content\n")
    set_member(f, f.run("pack", "baseline", 2), 3, b"other content\n")


@go("archives-exchanged-between-modes")
def _(f):
    """An altered strict archive exchanged with that of the first baseline: the baselines then differ by themselves."""
    set_member(f, f.run(*STRICT), 3, b"other content\n")
    one, other = archive(f, f.run(*BASELINE)), archive(f, f.run(*STRICT))
    edited(f, one).CopyFrom(other.what)
    edited(f, other).CopyFrom(one.what)


@go("other-artifact-differs", same=True)
def _(f):
    """Files that the oracle does not name may be what they are."""
    (log,) = [fact for fact in f.of("artifact", f.run(*STRICT)) if b"/_logs/" in fact.what.path]
    what = edited(f, log)
    what.sha256, what.size_bytes = f.hold(b"another log\n"), 12


# ---- matchers that look at other events than the exit and the streams ----

@no_go("started-behind-its-end", "useful.contract")
def _(f):
    """A start that comes after the end, at the same time, is the start of no duration."""
    asking(f, "duration_ms: {at_least: 0}")
    run = f.run("syntax", "strict")
    ended, started = f.one("run_exit", run), f.edit(f.one("spawned", run))
    started.event.at_ns = ended.event.at_ns
    f.remove([started])
    f.put_after(ended, started)


@no_go("folder-among-what-was-left", "useful.contract")
def _(f):
    """A folder that could not be looked into may hold what is to be absent."""
    asking(f, "files: [{path: x, absent: true}]")
    run = f.run("syntax", "strict")
    listed = f.of("freeze", run)[-1]
    f.put_after(listed, event("artifact", run, listed.event.at_ns, "SOURCE_FILES", path=b"d", mode=0o40755))


@go("nothing-was-left", same=True)
def _(f):
    asking(f, "files: [{path: x, absent: true}]")
