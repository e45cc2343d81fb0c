"""Lists a kept tar archive again, by another reader than the recorder's, and compares it with the recorded members."""
import hashlib
import io
import stat
import tarfile

from pack import Refused

LIMIT_ARTIFACT = 64 << 20
LIMIT_CONTENT = 1 << 30
LIMIT_LISTED = 64
LISTED = {}  # archives by digest
TYPES = {tarfile.REGTYPE: stat.S_IFREG, tarfile.AREGTYPE: stat.S_IFREG, tarfile.DIRTYPE: stat.S_IFDIR,
         tarfile.SYMTYPE: stat.S_IFLNK}


def listed(content):
    """What is compared of each plain member, None for others; None: not a tar archive."""
    try:
        with tarfile.open(fileobj=io.BytesIO(content), errors="surrogateescape") as archive:
            return [_member(archive, member) for member in archive]
    except (tarfile.TarError, EOFError, OSError, ValueError):
        return None


def _member(archive, member):
    if member.type not in TYPES or member.size > LIMIT_CONTENT:
        return None
    digest = b""
    if member.isreg():
        digest = hashlib.sha256(archive.extractfile(member).read()).digest()
    return (member.name.encode(errors="surrogateescape"), TYPES[member.type], member.mode & 0o7777,
            member.size if member.isreg() else 0, digest, int(member.mtime),
            member.linkname.encode(errors="surrogateescape") if member.issym() else b"",
            (member.uid, member.gid, member.uname.encode(errors="surrogateescape"),
             member.gname.encode(errors="surrogateescape")))


def _is_told(mine, told):
    """A recorded member is the one listed here, where it could be. One recorded before owners were has none."""
    owner = told.owner
    fields = (told.path.rstrip(b"/"), told.type, told.mode, told.size_bytes, told.sha256, told.mtime_s, told.link,
              (owner.uid, owner.gid, owner.uname, owner.gname))
    return mine is None or mine == (fields if told.HasField("owner") else (*fields[:-1], mine[-1]))


def _listed_once(bundle, digest):
    """The same content is listed once, in whatever bundle it is."""
    if digest not in LISTED:
        if len(LISTED) == LIMIT_LISTED:
            LISTED.clear()
        LISTED[digest] = listed(bundle.pack.read(digest, LIMIT_ARTIFACT))
    return LISTED[digest]


def check(bundle):
    """Compares every kept archive that is a tar, packed or not, with what the recorder listed."""
    for event in bundle.of("artifact"):
        artifact = event.artifact
        if not artifact.kept or not artifact.is_archive:
            continue
        found = _listed_once(bundle, artifact.sha256)
        if found is None:
            continue
        if len(found) != len(artifact.members) or not all(map(_is_told, found, artifact.members)):
            raise Refused("7.4", f"the members of {artifact.path!r} (event {event.seq}) are not those of the archive")
