#!/usr/bin/env python3
"""Bad bundles, given to exhibit-verify and exhibit-replay: usage: bad_bundles.py BUILD SOURCE

"Could not read" (5), "is malformed or false" (1) and "wrong usage" (2) are three answers, whatever the bytes are.
"""
import hashlib
import os
import pathlib
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import fourth
from records import Bundle
from container import FOOTER, HEADER, INDEX_HEAD, RECORD, blocks_of, indexes, parts, put, reseal, u32, u64

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
SANITIZED = "EXHIBIT_SANITIZE:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text()
STRACE = None if SANITIZED else shutil.which("strace")
JUDGES = ("exhibit-verify", "exhibit-replay")
BLOCK_MAX = 4210688
NOBODY = 65534

PLAN = """version: 1
name: small
oracle: oracle.yaml
candidate: {name: env, argv: [/usr/bin/env, --, "{command}"]}
workspace: workspace
cases: [{name: hello, command: [/bin/echo, hello]}]
trials: [{name: bootstrap, kind: bootstrap, lifetime_ms: 1000}]
"""
ORACLE = """version: 1
trials: [{name: bootstrap, roles: [parent]}]
cases: [{name: hello, exit: 0}]
"""

FOLDER = tempfile.TemporaryDirectory(prefix="exhibit-bad-bundles-")
PLACE = pathlib.Path(FOLDER.name)
GOOD = PLACE / "good.exhibit"
BAD = PLACE / "bad.exhibit"


def setUpModule():
    (PLACE / "plan.yaml").write_text(PLAN)
    (PLACE / "oracle.yaml").write_text(ORACLE)
    for name in ("workspace", "work"):
        (PLACE / name).mkdir()
    (PLACE / "workspace" / "noise").write_bytes(os.urandom(3000))
    subprocess.run([BUILD / "bin" / "exhibit-record", "run", PLACE / "plan.yaml", "-o", GOOD, "--work", PLACE / "work"],
                   check=True, capture_output=True, timeout=60)
    os.chmod(PLACE, 0o755)


def tearDownModule():
    FOLDER.cleanup()


def ask(judge, *words, before=(), **more):
    return subprocess.run([*before, BUILD / "bin" / judge, *words], capture_output=True, text=True, timeout=20,
                          stdin=subprocess.DEVNULL, **more)


def ask_of(judge, content, *words, **more):
    BAD.write_bytes(content)
    return ask(judge, BAD, *words, **more)


def lists_of(content):
    """The positions of the blocks in which nothing begins but lists of freezes, which replay does not read."""
    bundle = Bundle(GOOD)
    lists = {event.freeze.list_sha256 for event in bundle.of("freeze")}
    bundle.pack.close()
    found = set()
    for name, at, size in parts(content):
        if name == "journal":
            listed = {content[at + 16 + 40 * i:][:32] for i in range(u32(content, at + 12))}
            if listed and listed <= lists:
                found.add(at + size)
    return found


def range_in(text):
    """The last range that a text names, and its size in bytes."""
    found = re.findall(r"\(bytes (\d+) to (\d+)\)", text)
    return (int(found[-1][0]), int(found[-1][1])) if found else None


class NotOurs(unittest.TestCase):
    """What is no bundle at all."""

    def each(self, content, code, *texts):
        for judge in JUDGES:
            with self.subTest(judge):
                done = ask_of(judge, content)
                self.assertEqual(done.returncode, code, done.stderr)
                for text in texts:
                    self.assertIn(text, done.stderr)
        self.assertEqual(bool(fourth.refusal(BAD)), code == 1)

    def test_an_empty_file_is_refuted(self):
        self.each(b"", 1, "FORMAT 2.1", "0 bytes")

    def test_of_what_is_no_bundle_verify_says_no_more_than_that(self):
        done = ask_of("exhibit-verify", b"no bundle at all, but long enough for a header\n")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stdout.splitlines()), 1, done.stdout)
        self.assertIn("refuted: the container: malformed: FORMAT 1.3", done.stdout)

    def test_a_text_is_refuted(self):
        self.each(b"This is a text of more than 24 bytes.\n" * 20, 1, "FORMAT 1.3", "no header", "(bytes 0 to 7)")

    def test_a_zstd_file_is_refuted(self):
        self.each(subprocess.run(["zstd", "-q", "-c"], input=PLAN.encode(), capture_output=True, check=True).stdout, 1,
                  "FORMAT 1.3", "0xFD2FB528")

    def test_a_bundle_with_a_byte_more_and_one_twice_are_refuted(self):
        self.each(GOOD.read_bytes() + b"\n", 1, "FORMAT 1.8")
        self.each(GOOD.read_bytes() * 2, 1, "FORMAT 5.2")

    def test_a_bundle_after_a_byte_is_refuted(self):
        self.each(b"\n" + GOOD.read_bytes(), 1, "FORMAT 1.3")

    def test_what_is_no_regular_file_could_not_be_read_and_nobody_waits(self):
        fifo = PLACE / "fifo"
        os.mkfifo(fifo)
        for judge in JUDGES:
            for path in (fifo, "/dev/null", "/dev/zero", *([PLACE] if judge == "exhibit-verify" else [])):
                with self.subTest(f"{judge} {path}"):
                    done = ask(judge, path)
                    self.assertEqual(done.returncode, 5, done.stderr)
                    self.assertIn("not a regular file", done.stderr)

    def test_a_missing_file_could_not_be_read(self):
        for judge in JUDGES:
            done = ask(judge, PLACE / "none")
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn("No such file", done.stderr)


class Damaged(unittest.TestCase):
    """A bundle that was one."""

    def test_the_good_one_is_verified_and_replayed(self):
        for judge in JUDGES:
            done = ask(judge, GOOD)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_each_truncation_is_refuted_with_a_range(self):
        content = GOOD.read_bytes()
        edges = [at for _, start, size in parts(content) for at in (start, start + 1, start + size - 1)]
        for kept in sorted({at for at in edges + [23, 231, 232, 233] if at < len(content)}):
            for judge in JUDGES:
                with self.subTest(f"{judge} {kept}"):
                    done = ask_of(judge, content[:kept])
                    self.assertEqual(done.returncode, 1, done.stderr)
                    if kept < HEADER:
                        self.assertIn(f"cut short within its header: {kept} bytes", done.stderr)
                    else:
                        self.assertIn("FORMAT 1.8: partial or cut short", done.stderr)
                        first, last = range_in(done.stderr)
                        self.assertLess(last, kept)
                        self.assertLessEqual(last - first + 1, BLOCK_MAX)
            self.assertTrue(fourth.refusal(BAD), f"the fourth judge takes the first {kept} bytes")

    def test_a_flipped_bit_anywhere_is_refuted_with_a_range_of_at_most_a_block_and_the_object_that_begins_there(self):
        content = GOOD.read_bytes()
        blocks = blocks_of(content)
        for name, start, size in parts(content):
            for at in sorted({*range(start, start + size, max(1, size // 12)), start + size - 1}):
                with self.subTest(f"{name} {at - start}"):
                    done = ask_of("exhibit-verify", put(content, at, "B", content[at] ^ 1))
                    self.assertEqual(done.returncode, 1, done.stderr)
                    first, last = range_in(done.stderr)
                    self.assertTrue(first <= at <= last, done.stderr)
                    self.assertLessEqual(last - first + 1, BLOCK_MAX)
                    if start in blocks:
                        self.assertEqual((first, last), (start, start + size - 1))
                        named = "{} block {}, first object {}".format(*blocks[start])
                        self.assertIn(f"malformed: {named}: FORMAT 3.6", done.stderr)
                    self.assertTrue(fourth.refusal(BAD))

    def test_each_group_that_is_dropped_doubled_or_swapped_with_the_next_is_refused_by_both(self):
        content = GOOD.read_bytes()
        edges = [start for name, start, _ in parts(content) if name in ("journal", "observations index")]
        groups = [content[start:end] for start, end in zip(edges, edges[1:])]
        self.assertGreater(len(groups), 2)
        unread = {journal for (_, journal, _), (name, at, _) in zip(parts(content), parts(content)[1:])
                  if name == "block of part 2" or at in lists_of(content)}  # by replay
        for i, group in enumerate(groups):
            damaged = {"dropped": groups[:i] + groups[i + 1:], "doubled": groups[:i] + [group] + groups[i:]}
            if i + 1 < len(groups):
                damaged["swapped"] = groups[:i] + [groups[i + 1], group] + groups[i + 2:]
            for how, those in damaged.items():
                for judge in JUDGES:
                    with self.subTest(f"{judge} group {i} {how}"):
                        done = ask_of(judge, content[:HEADER] + b"".join(those) + content[edges[-1]:])
                        if judge == "exhibit-replay" and how == "swapped" and {edges[i], edges[i + 1]} <= unread:
                            self.assertEqual(done.returncode, 0, done.stderr)
                            continue
                        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                        first, last = range_in(done.stderr)
                        self.assertLessEqual(last - first + 1, max(size for _, _, size in parts(content)))
                self.assertTrue(fourth.refusal(BAD))

    def test_replay_refuses_a_flip_in_all_that_it_reads_and_is_not_misled_by_one_elsewhere(self):
        content, claim = GOOD.read_bytes(), ask("exhibit-replay", GOOD, "--json").stdout
        for name, start, size in parts(content):
            read = name not in ("journal", "block of part 2", "inputs index") and start not in lists_of(content)
            for at in (start, start + size // 2, start + size - 1):
                with self.subTest(f"{name} {at - start}"):
                    done = ask_of("exhibit-replay", put(content, at, "B", content[at] ^ 0x80), "--json")
                    self.assertEqual(done.returncode, 1 if read else 0, done.stderr)
                    self.assertEqual(done.stdout, "" if read else claim)
                    self.assertEqual(range_in(done.stderr) is not None, read, done.stderr)

    def test_a_later_version_is_refuted_by_name(self):
        for judge in JUDGES:
            done = ask_of(judge, put(GOOD.read_bytes(), 16, "I", 2))
            self.assertEqual(done.returncode, 1)
            self.assertIn("version 2 is not known", done.stderr)

    def test_the_digest_of_another_file_refutes(self):
        digest = hashlib.sha256(GOOD.read_bytes()).hexdigest()
        self.assertEqual(ask("exhibit-verify", GOOD, "--sha256", digest).returncode, 0)
        done = ask("exhibit-verify", GOOD, "--sha256", hashlib.sha256(b"another").hexdigest())
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"the file has the SHA-256 {digest}", done.stderr)


class Usage(unittest.TestCase):
    """Wrong options, of which nothing follows about the bundle."""

    def refused(self, judge, *words, says=""):
        with self.subTest(f"{judge} {words}"):
            done = ask(judge, *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("", 1))
            self.assertIn(says, done.stderr)

    def test_wrong_options_exit_with_2_and_one_line(self):
        (PLACE / "bad.yaml").write_text("version: 1\ncolour: red\n")
        for judge in JUDGES:
            self.refused(judge)
            self.refused(judge, GOOD, "--colour", says="unknown option --colour; see --help")
            self.refused(judge, GOOD, "--require", "maybe", says="go")
            self.refused(judge, "-xyz", GOOD, says="unknown option -x")
            self.refused(judge, GOOD, "--oracle", says="value")
            self.refused(judge, GOOD, "--oracle", PLACE / "bad.yaml",
                         says=f"{judge}: {PLACE / 'bad.yaml'}:2: an oracle has no key `colour`")

    def test_a_name_of_any_bytes_is_told_in_one_line(self):
        for judge in JUDGES:
            done = ask(judge, PLACE / "a\nb\x1b[31m")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (5, 1), done)
            self.assertIn(r"/a\x0ab\x1b[31m: ", done.stderr)
        self.refused("exhibit-replay", GOOD, "", says="a bundle's name is empty")

    def test_an_oracle_that_is_not_there_is_wrong_usage_for_each_program(self):
        for judge in JUDGES:
            self.refused(judge, GOOD, "--oracle", PLACE / "none.yaml",
                         says=f"{judge}: open {PLACE / 'none.yaml'}: No such file")
            self.refused(judge, GOOD, "--oracle", PLACE, says="not a regular file")

    def test_a_value_may_follow_an_equals_sign(self):
        for judge in JUDGES:
            self.assertEqual(ask(judge, GOOD, f"--oracle={PLACE / 'oracle.yaml'}").returncode, 0)
            self.refused(judge, GOOD, f"--oracle={PLACE / 'none.yaml'}", says="No such file")
            self.refused(judge, GOOD, "--json=7", says="--json")

    def test_each_program_tells_its_version(self):
        for judge in JUDGES:
            done = ask(judge, "--version")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, rf"^{judge} [0-9]+\.[0-9]+\.[0-9]+\n$")

    def test_wrong_values_of_replay(self):
        (PLACE / "no-bundles").mkdir()
        self.refused("exhibit-replay", PLACE / "no-bundles", says="no *.exhibit is beneath this folder")
        for value in ("", "0", "65", "-1", "2x"):
            self.refused("exhibit-replay", GOOD, "-j", value, says="-j takes a number from 1 to 64")
        self.refused("exhibit-replay", GOOD, "--table=html", says="--table is text, markdown or json")

    def test_wrong_values_of_verify(self):
        self.refused("exhibit-verify", GOOD, GOOD, says="one bundle")
        for option in ("--sha256", "--expect-policy"):
            for value in ("", "00", "g" * 64, "A" * 64, "0" * 65):
                self.refused("exhibit-verify", GOOD, option, value, says="64 lower-case hexadecimal digits")
        self.refused("exhibit-verify", GOOD, "--require", "go", says="--oracle")


class CouldNot(unittest.TestCase):
    """A read that fails says nothing about the bundle: always 5, never 1."""

    @unittest.skipUnless(os.geteuid() == 0, "root reads everything, so another user is needed")
    def test_a_file_that_another_user_may_not_read(self):
        secret = PLACE / "secret.exhibit"
        shutil.copy(GOOD, secret)
        secret.chmod(0o600)
        for judge in JUDGES:
            program = pathlib.Path(PLACE, judge)  # the build folder may be closed to others
            shutil.copy(BUILD / "bin" / judge, program)
            done = subprocess.run([program, secret], capture_output=True, text=True, timeout=20, user=NOBODY,
                                  group=NOBODY, extra_groups=[])
            self.assertEqual(done.returncode, 5, done.stderr)
            self.assertIn("Permission denied", done.stderr)

    @unittest.skipUnless(STRACE, "needs strace, and a program without sanitizers")
    def test_each_read_that_fails(self):
        for judge in JUDGES:
            failed = 0
            for number in range(1, 41):
                with self.subTest(f"{judge} read {number}"):
                    done = ask(judge, GOOD, before=[STRACE, "-qq", "-o", PLACE / "trace", "-P", GOOD, "-e",
                                                    f"inject=pread64:error=EIO:when={number}"])
                    if "INJECTED" not in (PLACE / "trace").read_text():
                        self.assertEqual(done.returncode, 0, done.stderr)
                        break
                    failed += 1
                    self.assertEqual(done.returncode, 5, done.stderr)
                    self.assertIn("Input/output error", done.stderr)
            self.assertGreaterEqual(failed, 5)

    @unittest.skipIf(SANITIZED, "the sanitizers have their own allocations")
    def test_no_allocation_that_fails_is_told_as_a_fault_of_the_bundle_or_crashes(self):
        for judge in JUDGES:
            preload, found = {"LD_PRELOAD": str(BUILD / "lib" / "libfail_malloc.so")}, {}
            count = int(ask(judge, GOOD, env={**preload, "FAIL_AT": "0"}).stderr.split()[0])
            for number in range(1, count, max(1, count // 60)):
                done = ask(judge, GOOD, env={**preload, "FAIL_AT": str(number)}, preexec_fn=lambda: resource.setrlimit(
                    resource.RLIMIT_CORE, (0, 0)))
                found.setdefault(done.returncode, []).append(f"allocation {number} of {count}: {done.stderr.strip()}")
            with self.subTest(judge):
                self.assertEqual(list(found), [5], {code: texts[0] for code, texts in found.items()})

    @unittest.skipIf(SANITIZED, "the sanitizers need room of their own")
    def test_too_little_memory(self):
        found = set()
        for judge in JUDGES:
            for kib in range(3600, 20000, 400):
                with self.subTest(f"{judge} {kib} KiB"):
                    done = ask(judge, GOOD, preexec_fn=lambda size=kib << 10: resource.setrlimit(
                        resource.RLIMIT_AS, (size, size)))
                    if done.returncode != 127:  # not even the libraries could be loaded
                        self.assertIn(done.returncode, (0, 5), done.stderr)
                        found.add(done.returncode)
        self.assertEqual(found, {0, 5})


class Absurd(unittest.TestCase):
    """Counts and sizes that nobody could hold, with digests that are right."""

    def refuted(self, content, *texts):
        for judge in JUDGES:
            with self.subTest(judge):
                done = ask_of(judge, content, preexec_fn=None if SANITIZED else lambda: resource.setrlimit(
                    resource.RLIMIT_AS, (128 << 20, 128 << 20)))
                self.assertEqual(done.returncode, 1, done.stderr)
                for text in texts:
                    self.assertIn(text, done.stderr)
        self.assertTrue(fourth.refusal(BAD))

    def setUp(self):
        self.good = GOOD.read_bytes()
        (self.first, self.first_bytes), (self.second, _) = indexes(self.good)
        self.footer = len(self.good) - FOOTER
        self.objects = u32(self.good, self.first + 12)
        self.block = self.first + INDEX_HEAD + RECORD * self.objects

    def changed(self, at, form, *values):
        return reseal(put(self.good, at, form, *values))

    def test_reseal_leaves_a_good_bundle_as_it_is(self):
        self.assertEqual(reseal(self.good), self.good)

    def test_numbers_of_objects_and_blocks(self):
        for objects, blocks in ((0xFFFFFFFF, 1), (self.objects, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x55555556, 0)):
            self.refuted(self.changed(self.first + 12, "II", objects, blocks), "FORMAT 1.9: an index of")
        for objects, blocks in ((4194304, 4194304), (0, 0), (self.objects + 1, 1)):
            self.refuted(self.changed(self.first + 12, "II", objects, blocks), "FORMAT 4.1: the index's counts")

    def test_the_size_of_an_index(self):
        self.refuted(self.changed(self.first + 4, "I", 0xFFFFFFFF), "FORMAT 4.1")
        self.refuted(self.changed(self.footer + 16, "Q", 1 << 63), "FORMAT 5.2")
        self.refuted(self.changed(self.footer + 16, "Q", self.first_bytes - 1), "FORMAT 5.2")

    def test_the_position_of_an_index(self):
        for position in (0, 8, self.second, 1 << 63, (1 << 64) - 1):
            self.refuted(self.changed(self.footer + 8, "Q", position), "FORMAT 5.2")
        wrapped = (1 << 64) - 100  # position and size together come round to where the next index begins
        self.refuted(self.changed(self.footer + 8, "QQ", wrapped, self.second + 100), "FORMAT 5.2")

    def test_the_size_of_an_object(self):
        for size in ((1 << 40) + 1, (1 << 64) - 1):
            self.refuted(self.changed(self.first + INDEX_HEAD + 32, "Q", size), "FORMAT 1.9: object 0")
        self.refuted(self.changed(self.first + INDEX_HEAD + 32, "Q", 1 << 40), "FORMAT 4.4: object 0 ends outside")

    def test_the_place_of_an_object(self):
        self.refuted(self.changed(self.first + INDEX_HEAD + 40, "I", 0xFFFFFFFF), "FORMAT 4.4: object 0 begins outside")
        self.refuted(self.changed(self.first + INDEX_HEAD + 44, "I", 0xFFFFFFFF), "FORMAT 4.4: object 0 begins outside")

    def test_objects_that_overlap(self):
        """The entry of one tells where the next one lies. Replay may not need it; verify reads all."""
        places = [struct.unpack_from("<II", self.good, self.first + INDEX_HEAD + RECORD * i + 40)
                  for i in range(self.objects)]
        for i in range(self.objects - 1):
            bad = self.changed(self.first + INDEX_HEAD + RECORD * i + 40, "II", *places[i + 1])
            done = ask_of("exhibit-verify", bad)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), f"object {i}: {done}")

    def test_the_size_of_a_block(self):
        self.refuted(self.changed(self.block + 8, "I", 0xFFFFFFFF), "FORMAT 1.9: block 0")
        self.refuted(self.changed(self.block + 12, "I", 0xFFFFFFFF), "FORMAT 1.9: block 0")
        self.refuted(self.changed(self.block + 12, "I", 0), "FORMAT 1.9: block 0")

    def test_the_position_of_a_block(self):
        for position in (0, HEADER, self.first, 1 << 63, (1 << 64) - 1):
            self.refuted(self.changed(self.block, "Q", position), "FORMAT 4.6: block 0")

    def test_a_blocks_own_content_size(self):
        """The content size in the zstd frame itself, with the digest of the frame right."""
        at, size = u64(self.good, self.block), u32(self.good, self.block + 8)
        self.assertEqual(self.good[at + 4], 0x64)
        content = put(self.good, at + 5, "H", 0xFFFF)
        content = content[:self.block + 16] + hashlib.sha256(content[at:at + size]).digest() + content[self.block + 48:]
        self.refuted(reseal(content), "FORMAT 3.6: the block's content size")

    def test_a_journals_count(self):
        for size, count in ((0xFFFFFFFF, 1), (u32(self.good, HEADER + 4), 0xFFFFFFFF), (0xFFFFFFF8, 0x06666666)):
            content = put(put(self.good, HEADER + 4, "I", size), HEADER + 12, "I", count)
            BAD.write_bytes(content)
            done = ask("exhibit-verify", BAD)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertRegex(done.stderr, r"FORMAT (1\.9|3\.[12])")

    @unittest.skipIf(SANITIZED, "the sanitizers need room of their own")
    def test_the_largest_index_in_a_file_with_holes_takes_no_memory_that_is_not_there(self):
        objects = blocks = 2097152
        size = INDEX_HEAD + RECORD * (objects + blocks)
        empty = struct.pack("<IIIIII", 0x184D2A52, 16, 2, 0, 0, 0)
        head = struct.pack("<IIIIII", 0x184D2A52, size - 8, 1, objects, blocks, 0)
        footer = (struct.pack("<II", 0x184D2A53, 200) + struct.pack("<QQ32x", HEADER, size) +
                  struct.pack("<QQ", HEADER + size, len(empty)) + hashlib.sha256(empty).digest() + bytes(64))
        footer += hashlib.sha256(footer).digest() + b"EXHIBEND"
        with BAD.open("wb") as to:
            to.write(self.good[:HEADER] + head)
            to.seek(HEADER + size)
            to.write(empty + footer)
        for judge in JUDGES:
            with self.subTest(judge):
                done = ask(judge, BAD, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (96 << 20, 96 << 20)))
                self.assertIn(done.returncode, (1, 5), done.stderr)
                self.assertRegex(done.stderr, "memory|FORMAT")


unittest.main(argv=sys.argv[:1], verbosity=2)
