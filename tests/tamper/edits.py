"""Edits that several changes share. Each keeps the bundle true to itself in all that the change is not about."""
import gzip
import io
import tarfile

import pack
import schema
from facts import SCRATCH, STDOUT, event

SECOND_NS = 1_000_000_000


def step(f, run):
    """The first step of a run."""
    return f.of("step", run)[0]


def edited(f, fact):
    return f.edit(fact).what


def set_oracle(f, rework):
    """Exchanges the oracle: `rework` makes the new text from the old one. Once only, for keys must not stand twice."""
    if f.oracle_is_other:
        raise ValueError("the oracle is another already")
    f.oracle_is_other = True
    start = edited(f, f.one("recording_start"))
    start.oracle_sha256 = f.hold(rework(f.objects[start.oracle_sha256].decode()).encode())


def message(run, protocol, payload, connection=0, peer=b"127.0.0.1:40999", **fields):
    return event("message", run, source="SOURCE_LISTENER", protocol=getattr(schema, f"PROTOCOL_{protocol}"),
                 payload=payload, connection=connection, peer=peer, **fields)


def accept(f, place, run, at_ns=0):
    """A connection at this place; those after it count on. Gives its number."""
    number = 1 + sum(fact.kind == "accept" for fact in f.facts[:place])
    for fact in f.facts[place:]:
        if fact.kind in ("accept", "message") and fact.what.connection >= number:
            edited(f, fact).connection += 1
    f.put(place, event("accept", run, at_ns, "SOURCE_LISTENER", connection=number, peer=b"127.0.0.1:40999"))
    return number


def told_payload(f, run, protocol, role, number=1):
    return f"EXHIBIT1 {protocol} {f.nonce(run, role)} {role} {number}\n".encode()


def sent(f, run, protocol, role, number=1):
    """The message of an attempt."""
    (found,) = [fact for fact in f.of("message") if fact.what.payload == told_payload(f, run, protocol, role, number)]
    return found


def late_row(f, run, role, number, at_ns, effects=None):
    """A row (and nothing of it in the scratch) that arrives right before the role's own end, at a time."""
    told = effects or "read=errno:13 read-link=errno:13 write=errno:13 tcp=errno:13 udp=errno:1"
    line = f"EXHIBIT1 row {f.nonce(run, role)} {role} {number} {told}\n".encode()
    f.add_chunk(run, STDOUT, line, f.place(f.end_of(run, role)), at_ns=at_ns)


def end_at(f, run, role, at_ns):
    """Lets a role live until then (or end as it did, if that is later)."""
    f.delay(f.place(f.end_of(run, role)), at_ns)


def end_last_at(f, run, role, at_ns):
    """Lets a role live until then, and the others not longer: one signal ends them within microseconds, in any order."""
    end = f.end_of(run, role)
    last = max((f.end_of(run, other) for other in SCRATCH), key=f.place)
    if last is not end:
        f.remove([end])
        moved = end.copy()
        moved.event.at_ns = 0
        f.put_after(last, moved)
    end_at(f, run, role, at_ns)


def drop_rows(f, run, role, numbers=None):
    """Takes a role's rows and tries away (of some rounds), in all copies."""
    head = b"EXHIBIT1 "
    for line in set(f.stream(run, SCRATCH[role]).splitlines(keepends=True)):
        words = line.split()
        if line.startswith(head) and len(words) > 4 and (numbers is None or int(words[4]) in numbers):
            f.rewrite(run, line, b"")


def other_list(f, digest):
    """A FreezeList with one file more; gives its digest."""
    listed = schema.FreezeList.FromString(f.objects[digest])
    listed.entries.add(path=b"zzz-more", mode=0o100644, size_bytes=5, sha256=pack.digest_of(b"more\n"))
    return f.hold(schema.pack(listed))


def archive(f, run):
    """The artifact that the oracle's archive names."""
    (found,) = [fact for fact in f.of("artifact", run) if fact.what.is_archive]
    return found


def repack_archive(f, run, rework):
    """Makes the archive of a run anew from its members, [(TarInfo, content, ArchiveMember)] that `rework` changes."""
    told = edited(f, archive(f, run))
    with tarfile.open(fileobj=io.BytesIO(f.objects[told.sha256])) as tar:
        members = [(info, tar.extractfile(info).read(), told.members[i]) for i, info in enumerate(tar.getmembers())]
    members = rework(members) or members
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as zipped, \
            tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for info, content, _ in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    kept = []
    for info, content, member in members:
        kept.append(schema.ArchiveMember())
        kept[-1].CopyFrom(member)
        kept[-1].mtime_s, kept[-1].mode = int(info.mtime), info.mode & 0o7777
        kept[-1].size_bytes, kept[-1].sha256 = len(content), pack.digest_of(content)
    del told.members[:]
    told.members.extend(kept)
    told.sha256, told.size_bytes = f.hold(out.getvalue()), len(out.getvalue())


def set_member(f, run, place, content):
    """Gives one member of a run's archive other content."""
    def rework(members):
        info, _, member = members[place]
        members[place] = (info, content, member)
    repack_archive(f, run, rework)
