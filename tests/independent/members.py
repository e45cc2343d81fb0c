"""Lists a kept archive again, by other readers than the recorder's, and compares it with the recorded members.

An archive is what docs/ORACLE.md section 5 calls one. A member that these readers tell otherwise by their nature (of a
zip all, of a tar what is neither file, folder nor link) is counted, and not compared.
"""
import bz2
import gzip
import hashlib
import io
import itertools
import lzma
import stat
import tarfile
import zipfile
import zlib

import zstandard

from pack import Refused

LIMIT_ARTIFACT = 64 << 20
LIMIT_CONTENT = 1 << 30
LIMIT_MEMBERS = 100000
LIMIT_XZ_MEMORY = 80 << 20
LIMIT_LISTED = 64
LISTED = {}  # by digest, and how many members were asked for
TYPES = {tarfile.REGTYPE: stat.S_IFREG, tarfile.AREGTYPE: stat.S_IFREG, tarfile.DIRTYPE: stat.S_IFDIR,
         tarfile.SYMTYPE: stat.S_IFLNK}
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
BROKEN = (tarfile.TarError, EOFError, OSError, ValueError, NotImplementedError, RuntimeError, lzma.LZMAError,
          zlib.error, zipfile.BadZipFile, zstandard.ZstdError)


def listed(content, most=LIMIT_MEMBERS):
    """What is compared of each plain member, None for others, of `most` at most; None: no archive that can be read."""
    try:
        if content.startswith(b"PK"):
            return _zip(content, most)
        with tarfile.open(fileobj=_undone(content), mode="r|", errors="surrogateescape") as archive:
            return [_member(archive, member) for member in itertools.islice(archive, most)]
    except BROKEN:
        return None


def _zip(content, most):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        infos = archive.infolist()[:most]
        for info in infos:
            if info.compress_type not in METHODS or info.file_size > LIMIT_CONTENT:
                raise ValueError("a method or a size that is not read")
            if len(archive.read(info)) != info.file_size:
                raise ValueError("a member is not of its size")
        return [None] * len(infos)


def _undone(content):
    """A reader of a tar that may be packed."""
    raw = io.BytesIO(content)
    if content.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=raw)
    if content.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    if content.startswith(b"\xfd7zXZ\0"):
        return io.BytesIO(lzma.LZMADecompressor(memlimit=LIMIT_XZ_MEMORY).decompress(content, LIMIT_CONTENT))
    if content.startswith(b"\x28\xb5\x2f\xfd"):
        return zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
    return raw


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


def _listed_once(bundle, digest, most):
    """The same content is listed once, in whatever bundle it is."""
    if (digest, most) not in LISTED:
        if len(LISTED) == LIMIT_LISTED:
            LISTED.clear()
        LISTED[digest, most] = listed(bundle.pack.read(digest, LIMIT_ARTIFACT), most)
    return LISTED[digest, most]


def check(bundle):
    """Compares every kept archive with what the recorder listed."""
    for event in bundle.of("artifact"):
        artifact = event.artifact
        if not artifact.kept or not artifact.is_archive:
            continue
        found = _listed_once(bundle, artifact.sha256, len(artifact.members) + 1)
        if found is None:
            raise Refused("7.4", f"{artifact.path!r} (event {event.seq}) is no archive that can be read")
        if len(found) != len(artifact.members) or not all(map(_is_told, found, artifact.members)):
            raise Refused("7.4", f"the members of {artifact.path!r} (event {event.seq}) are not those of the archive")
