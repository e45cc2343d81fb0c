"""Follows an explanation of exhibit-replay to its bytes, as docs/FORMAT.md section 10 tells a reader to.

Nothing of the project's code is used: bytes of the file, the `zstd` command line tool, SHA-256, and the text of the
schema. Whatever the explanation says of a byte is compared with the file; what differs is an AssertionError.
"""
import hashlib
import re
import struct
import subprocess

FOOTER_BYTES, ENTRY_BYTES, FIELD_BYTES, FIELD_ITEMS = 208, 48, 512, 32


def same(seen, wanted, what):
    assert seen == wanted, f"{what}: {seen!r} in the file, {wanted!r} in the explanation"


def escaped(data):
    """Bytes in the one way in which they are told."""
    return "".join("\\\\" if byte == 92 else chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in data)


def bounded(value):
    """What is told of a field: of a list its first items."""
    if isinstance(value, dict):
        return {name: bounded(inner) for name, inner in value.items()}
    if not isinstance(value, list):
        return value
    left = [{"left_out": len(value) - FIELD_ITEMS}] if len(value) > FIELD_ITEMS else []
    return [bounded(inner) for inner in value[:FIELD_ITEMS]] + left


class Schema:
    """The messages and enumerations of a .proto file, by their last names."""

    def __init__(self, text):
        self.messages, self.enums = {}, {}
        words = re.findall(r"[A-Za-z_]\w*|\d+|[{}=;]", re.sub(r"//[^\n]*|\"[^\"]*\"", "", text))
        at = 0
        while at < len(words):
            at = self.block(words, at, None) if words[at] in ("message", "enum") else at + 1

    def block(self, words, at, fields):
        """One message, enum or oneof; gives the place after it."""
        kind, name, at = words[at], words[at + 1], at + 3
        if kind == "enum":
            values = self.enums[name] = {}
            while words[at] != "}":
                values[int(words[at + 2])] = words[at]
                at += 4
            return at + 1
        if kind == "message":
            fields = self.messages[name] = {}
        while words[at] != "}":
            if words[at] in ("message", "enum", "oneof"):
                at = self.block(words, at, fields)
            elif words[at] == "reserved":
                at = words.index(";", at) + 1
            else:
                repeated = words[at] == "repeated"
                sort, field, _, number = words[at + repeated:at + repeated + 4]
                fields[int(number)] = (field, sort, repeated)
                at += repeated + 5
        return at + 1


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return number, at


class Reader:
    """Packed messages as the explanation tells them."""

    def __init__(self, schema):
        self.schema = schema

    def number(self, sort, number):
        if sort in self.schema.enums:
            return self.schema.enums[sort][number]
        if sort == "bool":
            return bool(number)
        return number - (1 << 64) if sort == "int64" and number >= 1 << 63 else number

    def string(self, name, data):
        if name.endswith("sha256") or name in ("nonce", "run_id"):
            return data.hex()
        return escaped(data) if len(data) <= FIELD_BYTES else {"size": len(data), "begins": escaped(data[:FIELD_BYTES])}

    def items(self, name, sort, value):
        """What one field of the wire holds: a number, or bytes."""
        if isinstance(value, int):
            return [self.number(sort, value)]
        if sort in self.schema.messages:
            return [self.message(sort, value)]
        if sort in ("string", "bytes"):
            return [self.string(name, value)]
        found, at = [], 0
        while at < len(value):
            number, at = varint(value, at)
            found.append(self.number(sort, number))
        return found

    def message(self, sort, data):
        told, at = {}, 0
        while at < len(data):
            tag, at = varint(data, at)
            value, at = varint(data, at)
            if tag & 7 == 2:
                value, at = data[at:at + value], at + value
            name, inner, repeated = self.schema.messages[sort][tag >> 3]
            items = self.items(name, inner, value)
            told[name] = told.get(name, []) + items if repeated else items[0]
        return told


class Hand:
    """One bundle, and an explanation (as JSON) of it. `pieces` are all that were read, by where they lie."""

    def __init__(self, path, explanation, proto):
        self.data, self.blocks, self.pieces = path.read_bytes(), {}, {}
        self.schema = Schema(proto.read_text())
        self.reader = Reader(self.schema)
        footer = self.data[-FOOTER_BYTES:]
        self.index_at = struct.unpack_from("<Q", footer, 8)[0]
        self.object_count, self.block_count = struct.unpack_from("<II", self.data, self.index_at + 12)
        self.roots(explanation, footer)

    # ---- the container ----

    def block(self, at, size):
        """What a frame of the file decompresses to, by the command line tool."""
        if (at, size) not in self.blocks:
            self.blocks[at, size] = subprocess.run(["zstd", "-dc"], input=self.data[at:at + size], check=True,
                                                   capture_output=True, timeout=30).stdout
        return self.blocks[at, size]

    def block_entry(self, number):
        assert number < self.block_count
        at = self.index_at + 24 + ENTRY_BYTES * (self.object_count + number)
        return at, struct.unpack_from("<QII", self.data, at)

    def object_at(self, entry_at):
        """The object that an entry of the index tells of: (digest, content), read over as many blocks as it takes."""
        digest, size, block, offset = struct.unpack_from("<32sQII", self.data, entry_at)
        content = b""
        while len(content) < offset + size:
            at, frame_bytes, _ = self.block_entry(block)[1]
            content, block = content + self.block(at, frame_bytes), block + 1
        content = content[offset:offset + size]
        assert hashlib.sha256(content).digest() == digest, "the object has another digest"
        return digest.hex(), content

    def piece(self, piece):
        """The bytes of a piece, which all that is told of it leads to."""
        digest, content = self.object_at(piece["object_entry_at"])
        same(digest, piece["object"], "digest in the entry of the object")
        number = (piece["block_entry_at"] - self.index_at - 24) // ENTRY_BYTES - self.object_count
        at, (frame_at, frame_bytes, _) = self.block_entry(number)
        same(at, piece["block_entry_at"], "entry of the block")
        same((frame_at, frame_bytes), (piece["frame_at"], piece["frame_size"]), "frame in the entry of the block")
        first = piece["content_offset"]
        read = self.block(frame_at, frame_bytes)[first:first + piece["size"]]
        same(len(read), piece["size"], "size of the piece")
        same(read, content[piece["object_offset"]:piece["object_offset"] + piece["size"]], "bytes of the piece")
        self.pieces[frame_at, frame_bytes, first, piece["size"]] = read
        return read

    def place(self, place, segments=None):
        """The bytes of a range; `segments` are those of its stream, [(digest, size)], None for an object."""
        read, at = b"", place["offset"]
        for piece in place["pieces"]:
            start = 0
            if segments is None:
                same(piece["object"], place["object"], "object")
            else:
                same(segments[piece["segment"] - 1][0], piece["object"], "digest of the segment")
                start = sum(size for _, size in segments[:piece["segment"] - 1])
            same(start + piece["object_offset"], at + len(read), "offset of the piece")
            read += self.piece(piece)
        same(len(read), place["size"], "size of the range")
        return read

    # ---- what it means ----

    def roots(self, explanation, footer):
        roots = explanation["roots"]
        same((len(self.data) - FOOTER_BYTES, FOOTER_BYTES), (roots["footer"]["at"], roots["footer"]["size"]), "footer")
        same(footer[104:136].hex(), explanation["receipt"], "receipt in the footer")
        receipt = self.place(roots["receipt"])
        same(hashlib.sha256(receipt).hexdigest(), explanation["receipt"], "digest of the receipt")
        log = self.reader.message("Receipt", receipt)["events"]
        same((log["sha256"], log["size_bytes"], len(log["segments"])),
             tuple(roots["log"][name] for name in ("sha256", "size", "segments")), "log in the receipt")
        self.log_segments = self.segments(log)
        entries = {self.data[at:at + 32].hex(): at for at in
                   range(self.index_at + 24, self.index_at + 24 + ENTRY_BYTES * self.object_count, ENTRY_BYTES)}
        self.log = b"".join(self.object_at(entries[digest])[1] for digest, _ in self.log_segments)
        same(hashlib.sha256(self.log).hexdigest(), roots["log"]["sha256"], "digest of the log")

    @staticmethod
    def segments(stream):
        return [(segment["sha256"], segment["size_bytes"]) for segment in stream["segments"]]

    def event(self, told):
        """An event is in the log, and says what is told of it; gives all that it says."""
        packed = self.place(told["place"], self.log_segments)
        at = told["place"]["offset"]
        length = b""
        rest = len(packed)
        while rest >= 128:
            length, rest = length + bytes([rest & 127 | 128]), rest >> 7
        length += bytes([rest])
        same(self.log[at - len(length):at + len(packed)], length + packed, "place in the log")
        seen = self.reader.message("Event", packed)
        for name in ("seq", "at_ns", "source", "vantage"):
            same(seen[name], told[name], name)
        same(seen.get("run", 0), told["run"], "run")
        same(bounded(seen.get(told["kind"])), told.get("fields"), told["kind"])
        return seen[told["kind"]]

    def fact(self, fact):
        if "event" in fact:
            self.event(fact["event"])
        if "content" in fact:
            told = fact["content"]
            read = self.place(told["place"])
            same(escaped(read[:told.get("shown", len(read))]), told["text"], fact["what"])
        if "bytes" in fact:
            self.stream_bytes(fact)

    def stream_bytes(self, fact):
        told, listed, arrived = fact["bytes"], fact["listed"], fact["arrived"]
        content, _ = self.event(listed)["content"], self.event(arrived)
        read = self.place(told["place"], self.segments(content))
        same(escaped(read[:told.get("shown", len(read))]), told["text"], fact["what"])
        same(listed["kind"], "stream_end", "what lists a stream")
        same(content["sha256"], told["place"]["sha256"], "digest of the stream")
        same(arrived["kind"], "chunk", "what brings bytes")
        last = told["place"]["offset"] + told["place"]["size"] - 1
        first = arrived["fields"].get("offset_bytes", 0)
        assert first <= last < first + arrived["fields"]["size_bytes"], "the chunk brought other bytes"
        for event in (listed, arrived):
            same(event["run"], told["run"], "run of the stream")
            same(event["fields"]["stream"], "STREAM_" + told["stream"].upper().replace("-", "_"), "stream")

    def follow(self, explanation):
        """Follows every step of the chain; gives its facts."""
        facts = [fact for statement in explanation["chain"] for fact in statement["facts"]]
        for fact in facts:
            self.fact(fact)
        return facts
