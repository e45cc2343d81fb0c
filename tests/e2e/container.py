"""The container of a bundle as docs/FORMAT.md sections 1 to 5 have it: enough to find its parts, and to damage them."""
import hashlib
import struct

HEADER, FOOTER, INDEX_HEAD, RECORD = 24, 208, 24, 48


def u32(content, at):
    return struct.unpack_from("<I", content, at)[0]


def u64(content, at):
    return struct.unpack_from("<Q", content, at)[0]


def put(content, at, form, *values):
    changed = bytearray(content)
    struct.pack_into("<" + form, changed, at, *values)
    return bytes(changed)


def indexes(content):
    """Position and size of the two indexes."""
    footer = len(content) - FOOTER
    return [(u64(content, footer + at), u64(content, footer + at + 8)) for at in (8, 56)]


def parts(content):
    """Name, position and size of each part."""
    blocks = {}
    for part, (at, _) in enumerate(indexes(content), 1):
        objects, count = u32(content, at + 12), u32(content, at + 16)
        for record in range(count):
            place = at + INDEX_HEAD + RECORD * (objects + record)
            blocks[u64(content, place)] = (f"block of part {part}", u32(content, place + 8))
    found, at = [("header", 0, HEADER)], HEADER
    while at < indexes(content)[0][0]:
        found.append(("journal", at, u32(content, at + 4) + 8))
        at += found[-1][2]
        found.append((blocks[at][0], at, blocks[at][1]))
        at += found[-1][2]
    (first, first_bytes), (second, second_bytes) = indexes(content)
    return found + [("observations index", first, first_bytes), ("inputs index", second, second_bytes),
                    ("footer", len(content) - FOOTER, FOOTER)]


def blocks_of(content):
    """For each block, by its position: its part, its number, and the object that its first byte is of."""
    found = {}
    for part, (at, _) in zip(("observation", "input"), indexes(content)):
        objects, count = u32(content, at + 12), u32(content, at + 16)
        records = [at + INDEX_HEAD + RECORD * number for number in range(objects + count)]
        starts = [0]
        for place in records[objects:]:
            starts.append(starts[-1] + u32(content, place + 12))
        spans = []
        for place in records[:objects]:
            start = starts[u32(content, place + 40)] + u32(content, place + 44) if count else 0
            spans.append((start, start + u64(content, place + 32), content[place:place + 32].hex()))
        for number, place in enumerate(records[objects:]):
            (digest,) = [digest for start, end, digest in spans if start <= starts[number] < end]
            found[u64(content, place)] = (part, number, digest)
    return found


def reseal(content):
    """Makes the digests of the indexes in the footer, and the footer's own, right again."""
    footer = len(content) - FOOTER
    for at in (8, 56):
        place, size = u64(content, footer + at), u64(content, footer + at + 8)
        if place + size <= len(content):
            digest = hashlib.sha256(content[place:place + size]).digest()
            content = content[:footer + at + 16] + digest + content[footer + at + 48:]
    digest = hashlib.sha256(content[footer:footer + 168]).digest()
    return content[:footer + 168] + digest + content[footer + 200:]
