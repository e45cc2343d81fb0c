"""The container as bytes (docs/FORMAT.md sections 1 to 5): all objects of a pack in memory, and a new pack from them.

Knows parts, objects, blocks and tables; no message and no meaning. It trusts what it reads (a bundle that a test made),
but what it writes is canonical in every byte.
"""
import dataclasses
import hashlib
import struct

import zstandard

OBSERVATIONS, INPUTS = 1, 2
HEADER_MAGIC, JOURNAL_MAGIC, INDEX_MAGIC, FOOTER_MAGIC = 0x184D2A50, 0x184D2A51, 0x184D2A52, 0x184D2A53
BLOCK_BYTES = 4 << 20
FOOTER_BYTES = 208
NO_DIGEST = bytes(32)

# A window of a whole block makes libzstd write a single segment (3.5).
PARAMETERS = zstandard.ZstdCompressionParameters.from_level(3, window_log=22, write_checksum=True,
                                                           write_content_size=True, write_dict_id=False)


def digest_of(content):
    return hashlib.sha256(content).digest()


@dataclasses.dataclass
class Pack:
    receipt: bytes        # digest
    claim: bytes | None   # digest
    observations: dict    # digest: content
    inputs: dict          # digest: content


def skippable(magic, payload):
    return struct.pack("<II", magic, len(payload)) + payload


def index_read(data, at, part):
    """The objects and blocks of the index at this position, as tuples of their fields."""
    magic, _, found, objects, blocks, _ = struct.unpack_from("<6I", data, at)
    if (magic, found) != (INDEX_MAGIC, part):
        raise ValueError(f"no index of part {part} at {at}")
    at += 24
    table = [struct.unpack_from("<32sQII", data, at + 48 * i) for i in range(objects)]
    at += 48 * objects
    return table, [struct.unpack_from("<QII32s", data, at + 48 * i) for i in range(blocks)]


def part_read(data, at, part):
    """All objects of a part by digest."""
    table, blocks = index_read(data, at, part)
    content, starts = bytearray(), []
    for place, frame_bytes, content_bytes, _ in blocks:
        starts.append(len(content))
        content += zstandard.ZstdDecompressor().decompress(data[place:place + frame_bytes], content_bytes)
    objects = {}
    for digest, size, block, offset in table:
        start = starts[block] + offset if size else 0
        objects[digest] = bytes(content[start:start + size])
        if digest_of(objects[digest]) != digest:
            raise ValueError(f"object {digest.hex()} has other content")
    return objects


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    footer = data[-FOOTER_BYTES:]
    magic, _, observations_at, _, _, inputs_at, _, _, receipt, claim = struct.unpack_from("<IIQQ32sQQ32s32s32s", footer)
    if magic != FOOTER_MAGIC or footer[168:200] != digest_of(footer[:168]) or footer[200:] != b"EXHIBEND":
        raise ValueError(f"{path}: no footer")
    return Pack(receipt, None if claim == NO_DIGEST else claim, part_read(data, observations_at, OBSERVATIONS),
                part_read(data, inputs_at, INPUTS))


def block_compress(content):
    """One zstd frame of the one canonical form (3.5)."""
    frame = zstandard.ZstdCompressor(compression_params=PARAMETERS).compress(content)
    size = len(content)
    if size <= 255:
        head = struct.pack("<BB", 0x24, size)
    elif size <= 65791:
        head = struct.pack("<BH", 0x64, size - 256)
    else:
        head = struct.pack("<BI", 0xA4, size)
    assert frame.startswith(struct.pack("<I", 0xFD2FB528) + head), "libzstd wrote another form"
    return frame


def groups_write(out, part, objects):
    """Appends the part's groups to `out` (a bytearray); gives its tables of objects and of blocks."""
    table, entries, at = [], {}, 0
    for digest, content in objects.items():
        size = len(content)
        if size == 0:
            table.append((digest, 0, 0, 0))
            continue
        table.append((digest, size, at // BLOCK_BYTES, at % BLOCK_BYTES))
        at += size
        entries.setdefault((at - 1) // BLOCK_BYTES, []).append(struct.pack("<32sQ", digest, size))
    content = b"".join(objects.values())
    blocks = []
    for number, start in enumerate(range(0, len(content), BLOCK_BYTES)):
        piece = content[start:start + BLOCK_BYTES]
        listed = entries.get(number, [])
        out += skippable(JOURNAL_MAGIC, struct.pack("<II", part, len(listed)) + b"".join(listed))
        frame = block_compress(piece)
        blocks.append((len(out), len(frame), len(piece), digest_of(frame)))
        out += frame
    return sorted(table), blocks


def index_bytes(part, table, blocks):
    return skippable(INDEX_MAGIC, struct.pack("<4I", part, len(table), len(blocks), 0) +
                     b"".join(struct.pack("<32sQII", *row) for row in table) +
                     b"".join(struct.pack("<QII32s", *row) for row in blocks))


def write(path, pack):
    """Writes the pack to a file; what was there is replaced."""
    out = bytearray(skippable(HEADER_MAGIC, b"EXHIBIT\n" + struct.pack("<II", 1, 0)))
    tables = [(part, *groups_write(out, part, objects))
              for part, objects in ((OBSERVATIONS, pack.observations), (INPUTS, pack.inputs))]
    footer = b""
    for part, table, blocks in tables:
        index = index_bytes(part, table, blocks)
        footer += struct.pack("<QQ", len(out), len(index)) + digest_of(index)
        out += index
    footer = struct.pack("<II", FOOTER_MAGIC, FOOTER_BYTES - 8) + footer + pack.receipt + (pack.claim or NO_DIGEST)
    out += footer + digest_of(footer) + b"EXHIBEND"
    with open(path, "wb") as file:
        file.write(out)
