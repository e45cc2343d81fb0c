"""The container of docs/FORMAT.md sections 1 to 5: reads it and checks every clause. Knows bytes only, no record.

Written from the document alone. Memory is bounded by the indexes and a few blocks, never by what a file claims.
"""
import hashlib
import os
import struct
import threading

import zstandard

HEADER, JOURNAL, INDEX, FOOTER, ZSTD = 0x184D2A50, 0x184D2A51, 0x184D2A52, 0x184D2A53, 0xFD2FB528
HEADER_BYTES, FOOTER_BYTES, JOURNAL_HEAD, INDEX_HEAD, ENTRY = 24, 208, 16, 24, 48
OBSERVATIONS, INPUTS = 1, 2
LIMIT_CONTENT = 4194304
LIMIT_FRAME = 4210688
LIMIT_JOURNAL = 16 << 20
LIMIT_OBJECT = 1 << 40
LIMIT_COUNT = 4194304
LIMIT_ALL, LIMIT_RATIO = 32 << 30, 256
NOTHING = hashlib.sha256(b"").digest()
OF_THREAD = threading.local()


def _decompressor():
    """One for all blocks of a thread: two must not use it at once."""
    if not hasattr(OF_THREAD, "decompressor"):
        OF_THREAD.decompressor = zstandard.ZstdDecompressor()
    return OF_THREAD.decompressor


class Refused(Exception):
    """The file breaks a clause. `begin` and `end` are the byte range, None where it is about no place in the file."""

    def __init__(self, clause, text, begin=None, end=None):
        self.clause, self.begin, self.end = clause, begin, end
        place = "" if begin is None else f" (bytes {begin} to {end})"
        super().__init__(f"{'' if clause.startswith('DECISION') else 'FORMAT '}{clause}: {text}{place}")


class Part:
    """One part of the content: its objects by digest, as (size, block, offset), and its blocks in order."""

    def __init__(self, number):
        self.number = number
        self.objects = {}
        self.blocks = []  # (position, frame bytes, content bytes, digest)
        self.starts = []  # of each block's content within the part's


class Walk:
    """How far the groups of one part have come, going through the file."""

    def __init__(self):
        self.block = 0        # the next one
        self.content = 0      # where it begins in the content of the part
        self.next = 0         # where the next object begins in that content
        self.began = (0, 0)   # the same as block and offset
        self.listed = 0       # objects seen in journals
        self.tail = hashlib.sha256()  # of what there is already of the next object


class Pack:
    """A checked pack. Refused where any clause of sections 1 to 5 does not hold, OSError where it cannot read."""

    def __init__(self, path):
        self.file = open(path, "rb", buffering=0)
        self.size = os.fstat(self.file.fileno()).st_size
        self.cache = {}
        try:
            self._check()
        except BaseException:
            self.file.close()
            raise

    def _check(self):
        self._header()
        self._footer()
        self.parts = {OBSERVATIONS: self._index(OBSERVATIONS), INPUTS: self._index(INPUTS)}
        self._totals()
        self._groups()

    def close(self):
        self.file.close()

    def has(self, digest, part=OBSERVATIONS):
        return digest in self.parts[part].objects

    def size_of(self, digest, part=OBSERVATIONS):
        return self.parts[part].objects[digest][0]

    def read(self, digest, limit, part=OBSERVATIONS):
        """The content of an object of at most `limit` bytes; KeyError where there is none of that digest."""
        size, block, offset = self.parts[part].objects[digest]
        if size > limit:
            raise Refused("1.9", f"an object of {size} bytes where at most {limit} are read: {digest.hex()}")
        pieces = [self._block(self.parts[part], block)[offset:offset + size]] if size else []
        left = size - sum(map(len, pieces))
        while left:
            block += 1
            pieces.append(self._block(self.parts[part], block)[:left])
            left -= len(pieces[-1])
        return b"".join(pieces)

    def _at(self, position, count, clause, what):
        if position + count > self.size:
            raise Refused(clause, f"{what} is cut short", position, self.size)
        got = os.pread(self.file.fileno(), count, position)
        while len(got) < count:
            more = os.pread(self.file.fileno(), count - len(got), position + len(got))
            if not more:
                raise OSError(f"the file became shorter than {self.size} bytes while it was read")
            got += more
        return got

    def _header(self):
        raw = self._at(0, HEADER_BYTES, "2.1", "the header")
        magic, payload, name, version, reserved = struct.unpack("<II8sII", raw)
        if magic != HEADER or payload != 16:
            raise Refused("2.1", "the header's frame is another", 0, 8)
        if name != b"EXHIBIT\n":
            raise Refused("2.1", "the header has not the name of the format", 8, 16)
        if version != 1:
            raise Refused("2.2", f"version {version} is not known", 16, 20)
        if reserved:
            raise Refused("1.7", "reserved bytes are not zero", 20, 24)

    def _footer(self):
        begin = self.size - FOOTER_BYTES
        if begin < HEADER_BYTES:
            raise Refused("1.8", "the file has no footer: partial or cut short", 0, self.size)
        raw = self._at(begin, FOOTER_BYTES, "5.1", "the footer")
        magic, payload = struct.unpack_from("<II", raw)
        if magic != FOOTER or raw[200:] != b"EXHIBEND":
            raise Refused("1.8", "the file has no footer at its end: partial or cut short", begin, self.size)
        if payload != 200:
            raise Refused("5.1", "the footer's payload size is another", begin + 4, begin + 8)
        if hashlib.sha256(raw[:168]).digest() != raw[168:200]:
            raise Refused("5.1", "the footer's own digest does not fit", begin, begin + 200)
        self.footer_at = begin
        self.index_at = {OBSERVATIONS: struct.unpack_from("<QQ32s", raw, 8),
                         INPUTS: struct.unpack_from("<QQ32s", raw, 56)}
        self.receipt = raw[104:136]
        self.claim = raw[136:168] if any(raw[136:168]) else None
        first, second = self.index_at[OBSERVATIONS], self.index_at[INPUTS]
        if first[0] < HEADER_BYTES or first[0] + first[1] != second[0] or second[0] + second[1] != begin:
            raise Refused("5.2", "the indexes do not end where the next part begins", begin + 8, begin + 72)

    def _index(self, number):
        position, size, digest = self.index_at[number]
        if size < INDEX_HEAD or size > INDEX_HEAD + 2 * ENTRY * LIMIT_COUNT:
            raise Refused("4.1", f"an index of {size} bytes", position, position + size)
        raw = self._at(position, size, "4.1", "an index")
        if hashlib.sha256(raw).digest() != digest:
            raise Refused("5.1", "an index has not the digest that the footer states", position, position + size)
        magic, payload, part_number, objects, blocks, reserved = struct.unpack_from("<6I", raw)
        if magic != INDEX or payload != size - 8 or size != INDEX_HEAD + ENTRY * (objects + blocks):
            raise Refused("4.1", "an index's frame is another", position, position + 24)
        if part_number != number:
            raise Refused("4.1", f"an index of part {part_number} in the place of part {number}", position + 8,
                          position + 12)
        if reserved:
            raise Refused("1.7", "reserved bytes are not zero", position + 20, position + 24)
        part = Part(number)
        self._index_blocks(part, raw, position, INDEX_HEAD + ENTRY * objects)
        self._index_objects(part, raw, position, objects)
        return part

    def _index_blocks(self, part, raw, position, begin):
        content, before = 0, HEADER_BYTES
        for at in range(begin, len(raw), ENTRY):
            entry = struct.unpack_from("<QII32s", raw, at)
            here = (position + at, position + at + ENTRY)
            if not 1 <= entry[2] <= LIMIT_CONTENT or not 1 <= entry[1] <= LIMIT_FRAME:
                raise Refused("1.9", f"a block of {entry[1]} bytes with {entry[2]} of content", *here)
            if entry[0] < before + JOURNAL_HEAD or entry[0] + entry[1] > self.index_at[OBSERVATIONS][0]:
                raise Refused("4.6", f"a block at {entry[0]} is out of its place", *here)
            part.blocks.append(entry)
            part.starts.append(content)
            content += entry[2]
            before = entry[0] + entry[1]
        part.content = content

    def _index_objects(self, part, raw, position, count):
        total, before = 0, None
        for at in range(INDEX_HEAD, INDEX_HEAD + ENTRY * count, ENTRY):
            digest, size, block, offset = struct.unpack_from("<32sQII", raw, at)
            here = (position + at, position + at + ENTRY)
            if before is not None and digest <= before:
                raise Refused("4.3", "digests do not ascend", *here)
            if size > LIMIT_OBJECT:
                raise Refused("1.9", f"an object of {size} bytes", *here)
            if size == 0 and (block or offset):
                raise Refused("4.4", "the empty object has a place", *here)
            if size and (block >= len(part.blocks) or offset >= part.blocks[block][2]):
                raise Refused("4.4", "an object begins out of its block", *here)
            if size and part.starts[block] + offset + size > part.content:
                raise Refused("4.4", "an object ends out of the content", *here)
            if size == 0 and digest != NOTHING:
                raise Refused("4.8", "the empty object has another digest", *here)
            part.objects[digest] = (size, block, offset)
            total, before = total + size, digest
        if total != part.content:
            raise Refused("4.7", f"objects of {total} bytes in blocks of {part.content}", position,
                          position + len(raw))

    def _totals(self):
        for what in ("objects", "blocks"):
            count = sum(len(getattr(part, what)) for part in self.parts.values())
            if count > LIMIT_COUNT:
                raise Refused("1.9", f"{count} {what}")
        content = sum(part.content for part in self.parts.values())
        if content > LIMIT_ALL + LIMIT_RATIO * self.size:
            raise Refused("1.9", f"{content} bytes of content in a file of {self.size}")
        for name, digest in (("receipt", self.receipt), ("claim", self.claim)):
            if digest is not None and not self.has(digest):
                raise Refused("5.3", f"the {name} is no object of the observations", self.footer_at + 104,
                              self.footer_at + 168)

    def _groups(self):
        walks = {number: Walk() for number in self.parts}
        at, end = HEADER_BYTES, self.index_at[OBSERVATIONS][0]
        while at < end:
            at = self._group(at, end, walks)
        for number, part in self.parts.items():
            walk = walks[number]
            nonempty = sum(1 for size, _, _ in part.objects.values() if size)
            if walk.block != len(part.blocks):
                raise Refused("1.2", f"part {number} has {walk.block} blocks, its index {len(part.blocks)}")
            if walk.next != part.content or walk.listed != nonempty:
                raise Refused("3.3", f"the journals of part {number} do not list what the index does")

    def _group(self, at, end, walks):
        head = self._at(at, JOURNAL_HEAD, "3.2", "a journal")
        magic, payload, number, count = struct.unpack("<4I", head)
        if magic != JOURNAL:
            raise Refused("1.2", "no journal where a group must begin", at, at + 4)
        if payload > LIMIT_JOURNAL:
            raise Refused("1.9", f"a journal of {payload} bytes", at + 4, at + 8)
        if payload != 8 + 40 * count:
            raise Refused("3.2", "a journal's size is not that of its entries", at + 4, at + 16)
        if number not in walks:
            raise Refused("3.2", f"a journal of part {number}", at + 8, at + 12)
        block_at = at + 8 + payload
        part, walk = self.parts[number], walks[number]
        if block_at >= end:
            raise Refused("3.1", "a journal without its block", at, end)
        if walk.block >= len(part.blocks) or part.blocks[walk.block][0] != block_at:
            raise Refused("3.3", "a block that the index does not state here", block_at, end)
        entries = self._at(at + JOURNAL_HEAD, payload - 8, "3.2", "a journal")
        content = self._block(part, walk.block)
        self._listed(part, walk, entries, content, at + JOURNAL_HEAD)
        return block_at + part.blocks[walk.block - 1][1]

    def _listed(self, part, walk, entries, content, at):
        first, last, used = walk.content, walk.content + len(content), max(walk.next - walk.content, 0)
        for place in range(0, len(entries), 40):
            here = (at + place, at + place + 40)
            digest, size = struct.unpack_from("<32sQ", entries, place)
            stop = walk.next + size
            if not size or not first < stop <= last:
                raise Refused("3.3", "an object that does not end in the journal's block", *here)
            if part.objects.get(digest) != (size, *walk.began):
                raise Refused("3.3", "journal and index do not agree on an object", *here)
            walk.tail.update(content[used:stop - first])
            if walk.tail.digest() != digest:
                raise Refused("4.8", f"the content of {digest.hex()} has another digest", *here)
            used, walk.tail, walk.listed, walk.next = stop - first, hashlib.sha256(), walk.listed + 1, stop
            walk.began = (walk.block, used) if stop < last else (walk.block + 1, 0)
        walk.tail.update(content[used:])
        walk.block, walk.content = walk.block + 1, last

    def _block(self, part, number):
        key = (part.number, number)
        if key not in self.cache:
            if len(self.cache) > 8:
                self.cache.clear()
            self.cache[key] = self._block_checked(part, number)
        return self.cache[key]

    def _block_checked(self, part, number):
        position, size, content_size, digest = part.blocks[number]
        here = (position, position + size)
        raw = self._at(position, size, "3.4", "a block")
        if hashlib.sha256(raw).digest() != digest:
            raise Refused("3.6", "a block has not the digest that the index states", *here)
        if content_size <= 255:
            head = struct.pack("<IBB", ZSTD, 0x24, content_size)
        elif content_size <= 65791:
            head = struct.pack("<IBH", ZSTD, 0x64, content_size - 256)
        else:
            head = struct.pack("<IBI", ZSTD, 0xA4, content_size)
        if raw[:len(head)] != head:
            raise Refused("3.5", "a block's frame header is not the one form of its content size", position,
                          position + len(head))
        try:
            content = _decompressor().decompress(raw, allow_extra_data=False)
        except zstandard.ZstdError as error:
            raise Refused("3.4", f"a block does not decode: {error}", *here) from None
        if len(content) != content_size:
            raise Refused("3.4", f"a block holds {len(content)} bytes, not {content_size}", *here)
        return content
