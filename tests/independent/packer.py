"""Writes a pack, for tests alone: docs/FORMAT.md sections 1 to 5 read as instructions for a writer."""
import hashlib
import struct

import zstandard

from pack import FOOTER, HEADER, INDEX, INPUTS, JOURNAL, OBSERVATIONS

BLOCK_BYTES = 1 << 20


def sha256(content):
    return hashlib.sha256(content).digest()


def framed(message):
    """A message of an event log, its length before it (7.1)."""
    raw, head = message.SerializeToString(deterministic=True), bytearray()
    left = len(raw)
    while left > 127:
        head.append(left & 127 | 128)
        left >>= 7
    return bytes(head) + bytes([left]) + raw


def skippable(magic, payload):
    return struct.pack("<II", magic, len(payload)) + payload


def block_of(content):
    """A zstd frame of the one form of FORMAT 3.5."""
    parameters = zstandard.ZstdCompressionParameters.from_level(3, write_content_size=True, write_checksum=True,
                                                                write_dict_id=False)
    frame = zstandard.ZstdCompressor(compression_params=parameters).compress(content)
    return bytes(frame)


class Writer:
    """Lays objects into blocks of a given size and gives the whole file."""

    def __init__(self, block_bytes=BLOCK_BYTES):
        self.block_bytes = block_bytes
        self.raw = bytearray(skippable(HEADER, b"EXHIBIT\n" + struct.pack("<II", 1, 0)))
        self.indexes = {}

    def part(self, number, contents):
        """The groups of one part; the index goes in by finish."""
        objects = {sha256(content): content for content in contents}
        whole, entries, ends, at = b"".join(objects.values()), {}, [], 0
        for digest, content in objects.items():
            place = divmod(at, self.block_bytes) if content else (0, 0)
            entries[digest] = struct.pack("<32sQII", digest, len(content), *place)
            at += len(content)
            if content:
                ends.append((at, digest, len(content)))
        blocks = b""
        for begin in range(0, len(whole), self.block_bytes):
            content = whole[begin:begin + self.block_bytes]
            listed = b"".join(struct.pack("<32sQ", digest, size) for end, digest, size in ends
                              if begin < end <= begin + len(content))
            self.raw += skippable(JOURNAL, struct.pack("<II", number, len(listed) // 40) + listed)
            frame = block_of(content)
            blocks += struct.pack("<QII32s", len(self.raw), len(frame), len(content), sha256(frame))
            self.raw += frame
        head = struct.pack("<IIII", number, len(entries), len(blocks) // 48, 0)
        self.indexes[number] = skippable(INDEX, head + b"".join(entries[key] for key in sorted(entries)) + blocks)

    def finish(self, receipt, claim=bytes(32)):
        tail = b""
        for number in (OBSERVATIONS, INPUTS):
            index = self.indexes[number]
            tail += struct.pack("<QQ32s", len(self.raw), len(index), sha256(index))
            self.raw += index
        body = struct.pack("<II", FOOTER, 200) + tail + receipt + claim
        return bytes(self.raw) + body + sha256(body) + b"EXHIBEND"


def pack_of(observations, inputs, receipt, claim=bytes(32), block_bytes=BLOCK_BYTES):
    """A whole file; receipt and claim are digests."""
    writer = Writer(block_bytes)
    writer.part(OBSERVATIONS, observations)
    writer.part(INPUTS, inputs)
    return writer.finish(receipt, claim)
