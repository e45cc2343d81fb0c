"""The archives of a case, compared between its runs: docs/DECISION.md 6.3, 6.4 and docs/ORACLE.md section 5."""


def path_matches(pattern, path):
    """Whether a path is what a pattern names; its '*' stands for any bytes but '/'."""
    head, star, tail = pattern.encode().partition(b"*")
    if not star:
        return path == head
    middle = path[len(head):len(path) - len(tail)]
    return (len(path) >= max(len(head) + len(tail), 1) and path.startswith(head) and path.endswith(tail)
            and b"/" not in middle)


def artifacts_of(run, path):
    """The artifacts of a run that a path of the oracle names."""
    if run is None:
        return []
    return [event.artifact for event in run.of("artifact") if path_matches(path, event.artifact.path)]


def _owner(member):
    """What is compared of an owner; None where none was recorded."""
    owner = member.owner
    return (owner.uid, owner.gid, owner.uname, owner.gname) if member.HasField("owner") else None


def _members(artifact, wanted):
    """What is compared of each member that is not left out, in order of path, then place."""
    found = [{"path": m.path, "type": m.type, "mode": m.mode, "size": m.size_bytes, "digest": m.sha256, "link": m.link,
              "mtime": None if wanted.mtime else m.mtime_s, "owner": None if wanted.owner else _owner(m)}
             for m in artifact.members if not any(path_matches(pattern, m.path) for pattern in wanted.paths)]
    return sorted(found, key=lambda member: member["path"])


def _by_path(members):
    found = {}
    for member in members:
        found.setdefault(member["path"], []).append(member)
    return found


def _differing(left, right):
    """The paths of members that are not the same in both, as {path: the fields that differ}."""
    one, two, found = _by_path(left), _by_path(right), {}
    for path in sorted(one.keys() | two.keys()):
        here, there = one.get(path, []), two.get(path, [])
        if here != there:
            fields = {key for a, b in zip(here, there) for key in a if a[key] != b[key]}
            found[path] = ", ".join(sorted(fields)) or f"{len(here)} in baseline, {len(there)} in the other"
    return found


def archives_fail(case, wanted, baseline, again, strict):
    """Yields why an archive is not the same in baseline and strict (6.4)."""
    if baseline is None or strict is None:
        return
    what = f"{case.name}: oracle line {wanted.line}: archive {wanted.path}: "
    left, right = artifacts_of(baseline, wanted.path), artifacts_of(strict, wanted.path)
    if len(left) != 1 or len(right) != 1:
        yield f"{what}{len(left)} in baseline, {len(right)} in strict"
        return
    left, right = left[0], right[0]
    if left.path != right.path or not all(a.kept and a.is_archive for a in (left, right)):
        yield f"{what}not two kept archives of one path"
        return
    members = _members(left, wanted)
    if wanted.paths and not members:
        yield f"{what}nothing is left to compare"
        return
    excused, bytes_matter, second = {}, wanted.bytes, artifacts_of(again, wanted.path)
    if len(second) == 1 and second[0].kept and second[0].is_archive:
        excused = _differing(members, _members(second[0], wanted))
        bytes_matter = bytes_matter and left.sha256 == second[0].sha256
    for path, fields in _differing(members, _members(right, wanted)).items():
        if path not in excused:
            yield f"{what}{path.decode(errors='replace')}: {fields}"
    if bytes_matter and left.sha256 != right.sha256:
        yield f"{what}the digests differ"
