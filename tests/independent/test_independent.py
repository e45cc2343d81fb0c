#!/usr/bin/python3
"""Unit tests of the independent judge: its reader of packs and records, its oracle and its matchers."""
import ast
import pathlib
import struct
import sys
import tempfile
import unittest

import archived
import cases
import json_text
import oracle
import packer
import records
import runs
import schema
from pack import Pack, Refused
from records import Bundle

OBJECTS = [b"one", b"", b"two of them" * 20, bytes(range(256)) * 2, b"receipt"]
INPUTS = [b"input", b"one"]


class OnDisk(unittest.TestCase):
    """Gives each test a file to write bytes to."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name) / "a.exhibit"

    def opened(self, raw, kind=Pack):
        self.path.write_bytes(raw)
        opened = kind(self.path)
        self.addCleanup(getattr(opened, "pack", opened).close)
        return opened

    def assert_refused(self, raw, text, kind=Pack):
        with self.assertRaises(Refused) as caught:
            self.opened(raw, kind)
        self.assertIn(text, str(caught.exception))


class Alone(unittest.TestCase):
    def test_nothing_is_imported_but_the_standard_library_three_packages_and_these_files(self):
        folder = pathlib.Path(__file__).resolve().parent
        files = list(folder.glob("*.py"))
        allowed = sys.stdlib_module_names | {"zstandard", "google.protobuf", "yaml"} | {file.stem for file in files}
        self.assertGreater(len(files), 10)
        for file in files:
            for node in ast.walk(ast.parse(file.read_text())):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom):
                    self.assertEqual(node.level, 0, file)
                    names.append(node.module)
                self.assertNotIn("importlib", names, file)
                self.assertNotIn("ctypes", names, file)
                for name in names:
                    self.assertTrue({name, name.split(".")[0]} & allowed, f"{file.name} imports {name}")


class Container(OnDisk):
    def setUp(self):
        super().setUp()
        self.raw = packer.pack_of(OBJECTS, INPUTS, packer.sha256(b"receipt"), block_bytes=300)

    def test_every_object_is_read_back_over_the_borders_of_blocks(self):
        opened = self.opened(self.raw)
        self.assertEqual(len(opened.parts[1].blocks), 3)
        for content in OBJECTS:
            self.assertEqual(opened.read(packer.sha256(content), 1000), content)
        self.assertEqual(opened.read(packer.sha256(b"input"), 5, 2), b"input")
        with self.assertRaises(Refused):
            opened.read(packer.sha256(OBJECTS[3]), 100)

    def test_every_flip_of_every_byte_is_refused(self):
        for place in range(len(self.raw)):
            for mask in (0x01, 0x80, 0xFF):
                damaged = bytearray(self.raw)
                damaged[place] ^= mask
                with self.subTest(place=place, mask=mask), self.assertRaises(Refused):
                    self.opened(damaged)

    def test_every_truncation_and_every_byte_more_is_refused(self):
        for size in range(len(self.raw)):
            with self.subTest(size=size), self.assertRaises(Refused):
                self.opened(self.raw[:size])
        self.assert_refused(self.raw + b"\0", "FORMAT 1.8: the file has no footer at its end")
        self.assert_refused(b"\0" + self.raw, "FORMAT 2.1: the header's frame is another (bytes 0 to 8)")
        self.assert_refused(self.raw[:60], "partial or cut short")

    def test_a_later_version_is_refused_by_name(self):
        self.assert_refused(self.raw[:16] + b"\x02" + self.raw[17:], "FORMAT 2.2: version 2 is not known")

    def test_a_part_without_objects_has_its_index_all_the_same(self):
        opened = self.opened(packer.pack_of([b"receipt", b""], [], packer.sha256(b"receipt")))
        self.assertEqual(opened.parts[2].objects, {})

    def test_a_receipt_that_is_only_an_input_is_refused(self):
        self.assert_refused(packer.pack_of([b"a"], [b"r"], packer.sha256(b"r")), "FORMAT 5.3: the receipt")

    def forged(self, change):
        """The pack with something changed before its digests were made."""
        writer = packer.Writer(300)
        writer.part(1, OBJECTS)
        writer.part(2, INPUTS)
        change(writer)
        return writer.finish(packer.sha256(b"receipt"))

    def index_entry(self, part, place, form, *values):
        def change(writer):
            index = bytearray(writer.indexes[part])
            struct.pack_into(form, index, place, *values)
            writer.indexes[part] = bytes(index)
        return change

    def test_what_is_forged_with_fitting_digests_is_refused_for_its_reason(self):
        objects, entry = 24, 48
        blocks = objects + len(OBJECTS) * entry
        one = objects + sorted(map(packer.sha256, OBJECTS)).index(packer.sha256(b"one")) * entry
        for text, change in (
                ("FORMAT 4.1: an index of part 2", self.index_entry(1, 8, "<I", 2)),
                ("FORMAT 1.7: reserved bytes", self.index_entry(1, 20, "<I", 1)),
                ("FORMAT 4.1: an index's frame", self.index_entry(1, 12, "<I", 4)),
                ("FORMAT 4.3: digests do not ascend", self.index_entry(1, objects, "<32s", b"\xff" * 32)),
                ("FORMAT 1.9: an object of", self.index_entry(1, objects + 32, "<Q", 1 << 41)),
                ("FORMAT 1.9: a block of", self.index_entry(1, blocks + 12, "<I", 5 << 20)),
                ("FORMAT 3.3: journal and index do not agree", self.index_entry(1, one + 44, "<I", 1)),
                ("FORMAT 4.6: a block at", self.index_entry(1, blocks, "<Q", 24)),
                ("FORMAT 4.6: a block at", self.index_entry(1, blocks, "<Q", 2**64 - 1)),
                ("FORMAT 3.6: a block has not the digest", self.index_entry(1, blocks + 16, "<B", 1))):
            with self.subTest(text):
                self.assert_refused(self.forged(change), text)

    def test_content_of_another_digest_is_refused_though_all_else_fits(self):
        writer = packer.Writer()
        writer.part(1, [b"receipt", b"abcd"])
        writer.part(2, [])
        other = packer.Writer()
        other.part(1, [b"receipt", b"abce"])
        other.part(2, [])
        wrong, right = packer.sha256(b"abce"), packer.sha256(b"abcd")
        forged = bytes(writer.raw).replace(right, wrong)
        writer.raw = bytearray(forged)
        begin = other.indexes[1].index(wrong)
        self.assertGreater(begin, 0)
        frame = writer.indexes[1][-48:]
        writer.indexes[1] = other.indexes[1][:-48] + frame
        self.assert_refused(writer.finish(packer.sha256(b"receipt")), "FORMAT 4.8: the content of")

    def test_a_frame_that_is_not_canonical_is_refused(self):
        def change(writer):
            at, size = struct.unpack_from("<QI", writer.indexes[2], 24 + 2 * 48)
            frame = bytearray(writer.raw[at:at + size])
            frame[4] |= 0x10  # the bit that a decoder does not look at
            writer.raw[at:at + size] = frame
            index = bytearray(writer.indexes[2])
            struct.pack_into("<32s", index, 24 + 2 * 48 + 16, packer.sha256(bytes(frame)))
            writer.indexes[2] = bytes(index)
        self.assert_refused(self.forged(change), "FORMAT 3.5: a block's frame header")


class Messages(unittest.TestCase):
    def refused(self, name, raw, text):
        with self.assertRaises(schema.NotPlain) as caught:
            schema.unpack(name, raw)
        self.assertIn(text, str(caught.exception))

    def test_a_plain_message_is_read(self):
        event = schema.CLASSES["Event"](seq=1, at_ns=300, source=1, vantage=1)
        event.run_exit.exit_status = 0
        self.assertEqual(schema.unpack("Event", event.SerializeToString()), event)

    def test_what_is_not_plain_is_refused_for_its_reason(self):
        self.refused("Segment", b"\x18\x01", "Segment: unknown field 3")
        self.refused("Segment", b"\x10\x01\x10\x02", "Segment.size_bytes stands twice")
        self.refused("Segment", b"\x10\x81\x00", "shortest form")
        self.refused("Segment", b"\x10\x00", "Segment.size_bytes: its default")
        self.refused("Segment", b"\x0a\x00", "Segment.sha256: its default")
        self.refused("Segment", b"\x0a\x01a", "Segment.sha256 has 1 bytes")
        self.refused("Segment", b"\x10\x80", "cut short")
        self.refused("Segment", b"\x0a\x05a", "Segment.sha256 is cut short")
        self.refused("Segment", b"\x12\x00", "Segment.size_bytes: wire type 2")
        self.refused("Drops", b"\x08\x03", "Drops.protocol: a value that is not known: 3")
        self.refused("Drops", b"\x08\x00", "Drops.protocol: a value that is not known: 0")
        self.refused("Drops", b"\x10\x01", "Drops.protocol was never set")
        self.refused("Receipt", b"\x20\x02", "Receipt.partial is out of its range")
        self.refused("AllGone", b"\x08\xff\xff\xff\xff\xff\x01", "AllGone.remaining is out of its range")
        self.refused("SpawnFailed", b"\x0a\x01\xff", "SpawnFailed.stage is not UTF-8")
        self.refused("SpawnFailed", b"\x0a\x01\x00", "SpawnFailed.stage has a NUL")
        self.refused("Segment", b"\x10\x01\x0a\x20" + b"a" * 32, "Segment: field 1 behind field 2")
        self.refused("ProcessIdentity", b"\x30\x01", "ProcessIdentity.namespace_pids: wire type 0")
        self.refused("RunExit", b"\x08\x00\x10\x01", "two members of one choice")

    def test_an_event_whose_rest_is_known_is_looked_at_all_the_same_in_front_of_it(self):
        rest = b"\x18\x01\x20\x01\x5a\x02\x08\x02"
        for seq, at_ns in ((1, 5), (2, 2**40)):
            made = schema.CLASSES["Event"](seq=seq, at_ns=at_ns, source=1, vantage=1)
            made.recording_end.event_count = 2
            event = records.event_of(made.SerializeToString())
            self.assertEqual((event.seq, event.at_ns, event.kind), (seq, at_ns, "recording_end"))
            self.assertEqual(event.as_message(), made)
        said = schema.CLASSES["Event"](seq=1, at_ns=1, source=1, vantage=1)
        said.message.protocol = 1
        self.assertEqual(records.event_of(said.SerializeToString()).as_message(), said)
        self.assertEqual(records.event_of(b"\x08\x01" + rest).at_ns, 0)
        for text, front in (("field 1 behind field 2", b"\x08\x01\x10\x05\x08\x01"),
                            ("stands twice", b"\x08\x01\x08\x01"),
                            ("stands twice", b"\x08\x01\x10\x05\x10\x05"), ("its default", b"\x08\x00\x10\x05"),
                            ("its default", b"\x08\x01\x10\x00"), ("field 1 behind field 2", b"\x10\x05\x08\x01"),
                            ("shortest form", b"\x08\x81\x00\x10\x05"), ("unknown field", b"\x08\x01\x30\x05")):
            with self.subTest(front), self.assertRaises(schema.NotPlain) as caught:
                records.event_of(front + rest)
            self.assertIn(text, str(caught.exception))

    def test_the_zero_of_after_role_alone_is_a_value(self):
        self.assertEqual(schema.unpack("StepPlan", b"\x08\x0f\x10\x01").after_role, 0)


class Records(OnDisk):
    """The smallest recording: a start and an end."""

    def setUp(self):
        super().setUp()
        new = schema.CLASSES
        self.start = new["Event"](seq=1, at_ns=5, source=1, vantage=1)
        recording = self.start.recording_start
        recording.run_id, recording.process_observer = b"r" * 16, 2
        recording.plan_sha256 = recording.oracle_sha256 = packer.sha256(b"plan")
        self.end = new["Event"](seq=2, at_ns=6, source=1, vantage=1)
        self.end.recording_end.event_count = 2

    def bundle(self, events=None, log=None, others=(b"plan",), inputs=()):
        if log is None:
            log = b"".join(packer.framed(event) for event in events)
        receipt = schema.CLASSES["Receipt"](version=1, run_id=b"r" * 16)
        receipt.events.segments.add(sha256=packer.sha256(log), size_bytes=len(log))
        receipt.events.size_bytes, receipt.events.sha256 = len(log), packer.sha256(log)
        raw = receipt.SerializeToString()
        return packer.pack_of([raw, log, *others], inputs, packer.sha256(raw))

    def test_the_smallest_recording_is_read(self):
        self.assertEqual(len(self.opened(self.bundle([self.start, self.end]), Bundle).events), 2)

    def test_a_log_that_breaks_a_clause_is_refused_for_it(self):
        self.end.seq = 3
        self.assert_refused(self.bundle([self.start, self.end]), "FORMAT 7.2: event 2 has seq 3", Bundle)
        self.end.seq, self.end.at_ns = 2, 4
        self.assert_refused(self.bundle([self.start, self.end]), "FORMAT 7.2: event 2 is earlier", Bundle)
        self.end.at_ns, self.end.run = 6, 1
        self.assert_refused(self.bundle([self.start, self.end]), "FORMAT 7.3: event 2 of run 1", Bundle)
        self.end.ClearField("run")
        log = packer.framed(self.start) + packer.framed(self.end)
        self.assert_refused(self.bundle(log=log + b"\x05"), "FORMAT 7.1: the event log ends within", Bundle)
        self.assert_refused(self.bundle(log=log + b"\0"), "FORMAT 7.1: an event of 0 bytes", Bundle)
        self.assert_refused(self.bundle(log=packer.framed(self.end)), "FORMAT 7.2: event 1 has seq 2", Bundle)

    def test_objects_that_nothing_names_and_names_without_object_are_refused(self):
        events = [self.start, self.end]
        self.assert_refused(self.bundle(events, others=(b"plan", b"stray")), "FORMAT 7.9: observation object", Bundle)
        self.assert_refused(self.bundle(events, others=()), "FORMAT 7.9: event 1 names", Bundle)
        self.assert_refused(self.bundle(events, inputs=(b"stray",)), "FORMAT 7.8: input object", Bundle)


class Lines(unittest.TestCase):
    def test_what_a_row_tells_has_exactly_one_form(self):
        proof = "a" * 64
        for effect, word, told in (("tcp", "ok", ("ok", None)), ("read", "ok:" + proof, ("ok", proof)),
                                   ("read", "ok", None), ("tcp", "ok:" + proof, None), ("read", "ok:AA", None),
                                   ("tcp", "errno:13", ("errno", 13)), ("tcp", "errno:013", None),
                                   ("tcp", "errno:4096", None), ("tcp", "errno:0", None),
                                   ("tcp", "signal:64", ("signal", 64)), ("tcp", "signal:65", None),
                                   ("tcp", "timeout", ("timeout", None)), ("tcp", "timeout:1", None)):
            with self.subTest(word):
                self.assertEqual(runs.parse_told(effect, word.encode()), told)


class Oracle(unittest.TestCase):
    def refused(self, text, reason):
        with self.assertRaises(oracle.BadOracle) as caught:
            oracle.read(text.encode())
        self.assertIn(reason, str(caught.exception))

    def test_the_shipped_oracle_is_the_default(self):
        shipped = pathlib.Path(__file__).resolve().parents[2] / "experiments" / "oracle-default.yaml"
        self.assertEqual(oracle.read(shipped.read_bytes()), oracle.read(b"version: 1\n"))

    def test_what_is_not_given_keeps_its_default(self):
        read = oracle.read(b"version: 1\nbounds: {grace_ms: 0}\ndenials: {write: {diverted: false}}\n")
        self.assertEqual((read.ended_ms, read.grace_ms), (2000, 0))
        self.assertEqual((read.denials["write"].diverted, read.denials["udp"].diverted), (False, True))
        self.assertEqual(read.denials["write"].errnos, {1, 2, 13, 30})

    def test_what_is_no_oracle_is_refused_for_its_reason(self):
        self.refused("", "empty")
        self.refused("trials: []\nversion: 1\n", "version must stand first")
        self.refused("version: 1\nbound: {}\n", "'bound'")
        self.refused("version: 1\nbounds: {ended_ms: 0}\n", "a number from 1 to 60000")
        self.refused("version: 1\nbounds: &a {}\n", "an alias, anchor or tag")
        self.refused("version: 1\n---\nversion: 1\n", "document")
        self.refused("version: 1\ndenials: {read: {errnos: [EPERM, EPERM]}}\n", "stands twice")
        self.refused("version: 1\ncases: [{name: a}]\n", "0 matchers")
        self.refused("version: 1\ncases: [{name: a, exit: 1, signal: TERM}]\n", "exit or signal")
        self.refused("version: 1\ncases: [{name: a, stdout: {empty: false}}]\n", "only be true")
        self.refused("version: 1\ncases: [{name: a, archives: [{path: 'a*/b'}]}]\n", "in the last part")
        self.refused("version: 1\ncases: [{name: a, stdout: {json: [{pointer: a, equals: 1}]}}]\n", "JSON pointer")

    def test_plain_scalars_are_what_json_reads_them_as(self):
        text = "version: 1\ncases:\n  - name: a\n    stdout: {json: [{pointer: '', equals: %s}]}\n"

        def value(word):
            return oracle.read((text % word).encode()).cases[0].matchers[0].value[2]

        self.assertEqual([value(w) for w in ("1", "-0.5", "true", "null", "yes", "'1'", "7zip", "{a: [1, b]}")],
                         [1, -0.5, True, None, "yes", "1", "7zip", {"a": [1, "b"]}])
        for word in ("01", "1.2.3", "2026-01-31", "1e999", "9223372036854775808"):
            self.refused(text % word, "not a number that JSON knows")


class Matchers(unittest.TestCase):
    def test_json_that_cannot_be_evaluated(self):
        for raw in (b"", b"{", b"1 2", b'{"a":1,"a":1}', b'[{"b":{"c":1,"c":2}}]', b"NaN", b"\xff", b'"\\u0000"',
                    b"9223372036854775808", b"1e999", b"[" * 2049 + b"]" * 2049, b"\xef\xbb\xbf1"):
            with self.subTest(raw[:20]), self.assertRaises(json_text.Unreadable):
                json_text.one_json(raw)
        json_text.one_json(b" [" * 2048 + b"]" * 2048 + b"\n")

    def test_pointers(self):
        value = {"a/b": [1, {"~": 2}], "": 3, "0": 4}
        for pointer, wanted in (("", value), ("/a~1b/0", 1), ("/a~1b/1/~0", 2), ("/", 3), ("/0", 4)):
            self.assertEqual(json_text.pointed(value, pointer), wanted)
        for pointer in ("/a~1b/-", "/a~1b/00", "/a~1b/2", "/x", "/a~1b/0/x"):
            with self.subTest(pointer), self.assertRaises(json_text.Unreadable):
                json_text.pointed(value, pointer)

    def test_equality_is_of_type_and_value(self):
        for left, right in ((1, True), (1, 1.0), ("1", 1), ([1], [1, 2]), ({"a": 1}, {"a": True}), (None, False)):
            self.assertFalse(json_text.same(left, right))
        self.assertTrue(json_text.same({"a": [1, None], "b": 1.0}, {"b": 1.0, "a": [1, None]}))

    def test_a_counter_line_stands_exactly_once(self):
        self.assertEqual(cases.tap_count(b"ok 1\n# tests 41\n    # tests 3\n# pass 41", "tests"), 41)
        for raw in (b"", b"# tests 1\n# tests 1\n", b"# tests 1\r\n", b" # tests 1\n", b"# tests x\n", b"# tests\t1\n"):
            with self.subTest(raw), self.assertRaises(json_text.Unreadable):
                cases.tap_count(raw, "tests")

    def test_paths_of_archives(self):
        for pattern, path, wanted in (("a*.tgz", b"a.tgz", True), ("a*.tgz", b"a-1.tgz", True), ("a*a", b"a", False),
                                      ("a*.tgz", b"a/b.tgz", False), ("d/a*", b"d/a.zip", True), ("a", b"b", False),
                                      ("a*", b"d/a", False)):
            with self.subTest(pattern=pattern, path=path):
                self.assertEqual(archived.path_matches(pattern, path), wanted)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
