#!/usr/bin/env python3
"""Small bundles that ask for endless work: usage: bombs.py BUILD SOURCE (after bundles.py)

Each is right in every digest, so that only a bound can stop it. exhibit-verify and exhibit-replay refuse it for that
reason, within 256 MiB of address space and a few seconds of the processor. The judge in Python refuses what replay does.
"""
import io
import pathlib
import resource
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
import zlib

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "tests" / "tamper"))

import pack
import schema
import zstandard
from facts import STDOUT, Facts
from memory import Memory
import fourth  # last: its modules have the names of some of these

SANITIZED = "EXHIBIT_SANITIZE:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text()
FOLDER = tempfile.TemporaryDirectory(prefix="exhibit-bombs-")
BOMB = pathlib.Path(FOLDER.name) / "bomb.exhibit"
GOOD = BUILD / "test-bundles" / "default.exhibit"
JUDGES = ("exhibit-verify", "exhibit-replay")
BLOCK, SEGMENT = 4 << 20, 1 << 20
SECONDS = 40 if SANITIZED else 10


def bounded():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))


def edited(facts, kind, **fields):
    return facts.edit(facts.of(kind, **fields)[0])


class Bombs(unittest.TestCase):
    def setUp(self):
        self.facts = Facts.read(GOOD)

    def refused(self, *texts, judges=JUDGES, facts=None):
        if facts is not None:
            pack.write(BOMB, facts.build())
        for judge in judges:
            with self.subTest(judge):
                done = subprocess.run([BUILD / "bin" / judge, BOMB], capture_output=True, text=True, preexec_fn=bounded,
                                      stdin=subprocess.DEVNULL)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertTrue(any(text in done.stderr for text in texts), done.stderr)
        self.assertEqual(bool(fourth.refusal(BOMB)), "exhibit-replay" in judges)

    def agreed(self):
        """The judge in Python makes replay's claim of it."""
        self.assertEqual(fourth.differs_from_replay(BUILD, BOMB), [])

    def test_the_bundle_itself_is_within_the_bounds(self):
        pack.write(BOMB, self.facts.build())
        for judge in JUDGES:
            done = subprocess.run([BUILD / "bin" / judge, BOMB], capture_output=True, text=True, preexec_fn=bounded)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.agreed()

    def test_ratio_a_file_of_two_megabytes_with_40_gib_of_zeros(self):
        whole, blocks_more = self.facts.build(), (40 << 30) // BLOCK
        out = bytearray(pack.skippable(pack.HEADER_MAGIC, b"EXHIBIT\n" + struct.pack("<II", 1, 0)))
        table, blocks = pack.groups_write(out, 1, whole.observations)
        frame, digest = pack.block_compress(bytes(BLOCK)), pack.digest_of(b"whatever 40 GiB of zeros have")
        table.append((digest, BLOCK * blocks_more, len(blocks), 0))
        for number in range(blocks_more):
            listed = [struct.pack("<32sQ", digest, BLOCK * blocks_more)] if number == blocks_more - 1 else []
            out += pack.skippable(pack.JOURNAL_MAGIC, struct.pack("<II", 1, len(listed)) + b"".join(listed))
            blocks.append((len(out), len(frame), BLOCK, pack.digest_of(frame)))
            out += frame
        inputs = pack.groups_write(out, 2, whole.inputs)
        places = b""
        for part, rows in ((1, (sorted(table), blocks)), (2, inputs)):
            index = pack.index_bytes(part, *rows)
            places += struct.pack("<QQ", len(out), len(index)) + pack.digest_of(index)
            out += index
        body = struct.pack("<II", pack.FOOTER_MAGIC, 200) + places + whole.receipt + pack.NO_DIGEST
        BOMB.write_bytes(out + body + pack.digest_of(body) + b"EXHIBEND")
        self.assertLess(BOMB.stat().st_size, 3 << 20)
        self.refused("FORMAT 1.9: ")

    def test_count_streams_that_name_one_segment_over_and_over(self):
        digest = self.facts.hold(bytes(SEGMENT))
        for fact in self.facts.of("stream_end", stream=STDOUT)[:5]:
            content = self.facts.edit(fact).what.content
            del content.segments[:]
            for _ in range(16 << 10):
                content.segments.add(sha256=digest, size_bytes=SEGMENT)
            content.size_bytes, content.sha256 = 16 << 30, bytes(32)
        # Replay counts what arrived before it looks at the whole.
        self.refused("FORMAT 6.2: the streams have more than", "a stream of 17179869184 bytes, of which",
                     facts=self.facts)

    def test_count_what_is_offered_on_stdin(self):
        stream = edited(self.facts, "run_start").what.stdin_stream
        for _ in range(17):
            stream.segments.add(sha256=self.facts.hold(bytes(SEGMENT)), size_bytes=SEGMENT)
        stream.size_bytes, stream.sha256 = 17 << 20, pack.digest_of(bytes(17 << 20))
        self.refused("FORMAT 6.2: 17825792 bytes on stdin", facts=self.facts)

    def test_length_an_event_of_2_to_the_62_bytes(self):
        self.facts.log_end = b"\xff" * 8 + b"\x3f"
        self.refused("FORMAT 7.1: 4611686018427387903 bytes", facts=self.facts)

    def test_length_a_message_that_asks_for_far_more_memory_than_it_has_bytes(self):
        """Two bytes of an event are a whole archive member, empty; they are some hundred in memory."""
        members = edited(self.facts, "artifact").what.members
        for _ in range(500000):
            members.add()
        self.refused("Event of 10", facts=self.facts)

    def judged_in_little_memory(self, judge, code):
        """It needs more address space than others: what lies in a file is mapped."""
        memory = Memory()
        process = subprocess.Popen([BUILD / "bin" / judge, BOMB], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        memory.pid = process.pid
        memory.start()
        self.assertEqual(process.wait(timeout=100), code)
        memory.over.set()
        self.assertGreater(memory.looks, 20)
        if not SANITIZED:  # they keep what was freed
            self.assertLess(memory.most, 64 << 20)

    def test_count_a_claim_of_three_million_statements(self):
        """60 MB, which are 800 in memory when they are unpacked and told."""
        whole = pack.read(GOOD)
        claim = schema.Claim.FromString(whole.observations.pop(whole.claim))
        row = claim.rows[0].SerializeToString(deterministic=True)
        before, rest = schema.Claim(), schema.Claim()
        before.CopyFrom(claim)
        rest.CopyFrom(claim)
        for part, cleared in ((before, ("messages", "tree", "not_measured", "endings")),
                              (rest, ("version", "receipt_sha256", "oracle_sha256", "prospective", "decision", "rules",
                                      "cases", "attempts", "rows"))):
            for name in cleared:
                part.ClearField(name)
        tag = bytes([9 << 3 | 2, len(row)])
        large = (before.SerializeToString(deterministic=True) + (tag + row) * (60000000 // (len(row) + 2)) +
                 rest.SerializeToString(deterministic=True))
        whole.claim = pack.digest_of(large)
        whole.observations[whole.claim] = large
        pack.write(BOMB, whole)
        for judge in JUDGES:
            with self.subTest(judge):
                self.judged_in_little_memory(judge, 1)

    def test_count_a_message_that_came_600000_times(self):
        """Every judge keeps each of them: 180 and 350 MiB in memory. A datagram, for a connection has one message."""
        one = self.facts.of("message", protocol=schema.PROTOCOL_UDP)[0]
        at = self.facts.facts.index(one)
        self.facts.facts[at:at] = [one] * 600000
        pack.write(BOMB, self.facts.build())
        for judge in JUDGES:
            with self.subTest(judge):
                self.judged_in_little_memory(judge, 0)

    def test_nesting_and_count_plans_and_oracles_that_never_end(self):
        bombs = ((b"[" * 1000000, "nested more than 16 deep"), (b"{a: " * 200000, "nested more than 16 deep"),
                 (b"a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "an anchor or a tag"),
                 (b"[" + b"a," * 400000 + b"]", "more than 65536 values"), (b"a: b\n" * 209716, "1048576"))
        for which, judges in (("plan_sha256", ["exhibit-verify"]), ("oracle_sha256", JUDGES)):
            for text, why in bombs:
                with self.subTest(f"{which} {text[:10]}"):
                    facts = self.facts.copy()
                    setattr(edited(facts, "recording_start").what, which, facts.hold(text))
                    self.refused(why, judges=judges, facts=facts)

    def test_nesting_json_a_million_deep_says_nothing_of_the_decision_but_that_it_is_not_met(self):
        run = self.facts.run("inspect-benign", "baseline")
        chunk = self.facts.of("chunk", run, stream=STDOUT)[0]
        self.facts.set_data(chunk, b"[" * 1000000)
        pack.write(BOMB, self.facts.build())
        for judge in JUDGES:
            done = subprocess.run([BUILD / "bin" / judge, BOMB], capture_output=True, text=True, preexec_fn=bounded)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("decision: INCOMPLETE", done.stdout)
        self.agreed()

    # ---- archives: a kept artifact that was recorded as one ----

    def archive(self, content, name=b"a.tar"):
        fact = [fact for fact in self.facts.of("artifact") if fact.what.is_archive][0]
        artifact = self.facts.edit(fact).what
        artifact.size_bytes, artifact.sha256 = len(content), self.facts.hold(content)
        self.refused("is recorded as an archive, and is ", "though it was recorded as one", facts=self.facts)

    def test_archive_a_hole_of_a_pebibyte(self):
        head = tarfile.TarInfo("hole")
        head.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "hole",
                            "GNU.sparse.realsize": str(1 << 50)}
        head.size = 512
        self.archive(head.tobuf(tarfile.PAX_FORMAT) + b"0\n".ljust(512, b"\0") + bytes(1024))

    def test_archive_of_more_members_than_are_listed(self):
        member = tarfile.TarInfo("m").tobuf(tarfile.USTAR_FORMAT)
        self.archive(zstandard.ZstdCompressor(level=1).compress(member * 100001 + bytes(1024)))

    def test_archive_zip_with_a_dictionary_of_4_gib(self):
        self.archive((SOURCE / "tests/fuzz/corpus/archive/zip-lzma-with-a-dictionary-of-4-gib.zip").read_bytes())

    def test_archive_zip_that_says_it_is_large(self):
        raw = io.BytesIO()
        with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr(zipfile.ZipInfo("zeros"), bytes(1 << 20), zipfile.ZIP_DEFLATED)
        content = raw.getvalue()
        self.archive(content.replace(struct.pack("<I", 1 << 20), struct.pack("<I", 0xFFFFFFFE)))

    def test_archive_xz_with_a_dictionary_larger_than_the_address_space(self):
        """Of the stream's block header the size of the dictionary alone is another: 4 GiB less one."""
        import lzma
        content = bytearray(lzma.compress(tarfile.TarInfo("m").tobuf() + bytes(1024), check=lzma.CHECK_CRC32))
        self.assertEqual(content[14:17], b"\x21\x01\x16")
        content[16] = 40
        content[20:24] = struct.pack("<I", zlib.crc32(content[12:20]))
        self.archive(bytes(content), b"a.tar.xz")


unittest.main(argv=sys.argv[:1], verbosity=2)
