#!/usr/bin/python3
"""Unit tests of what the independent judge reads and evaluates of ORACLE.md sections 4 and 5, and DECISION.md 6.4."""
import hashlib
import random
import re
import unittest

import archived
import cases
import json_text
import oracle
import schema
from expressions import BadExpression, Expression
from records import Event
from runs import Run

HOLDS = [("e.t", b"e\nt"), (r"\x00", b"a\0b"), (r"^a$", b"a"), ("a$", b"ba"), ("^a*$", b""), ("^(a|b)$", b"b"),
         ("^(a|b)*$", b"abba"), ("a{2}", b"xaa"), ("^a{2,}$", b"aaaa"), ("^a{0,2}$", b"aa"), ("^a{0,}$", b"aaa"),
         ("[^a-c]", b"abcd"), (r"[\]\-\^\\]", b"-"), ("[.$(]", b"$"), (r"\$", b"$"), (r"^\$$", b"$"),
         (r"\\$", b"a\\"), ("a|bc", b"xbc"), ("^.$", b"\n"), ("(ab?)+c", b"xabaabc"), ("^(a{0,2}){2}b$", b"aaaab"),
         ("[\\x80-\\xff]", b"\xfe"), ("-", b"-"), ("^(a?b?){2}$", b"ba")]
FAILS = [("e.t", b"et"), ("^a$", b"a\n"), ("a$", b"a\n"), ("^b", b"ab"), ("^b", b"a\nb"), ("A", b"a"),
         ("^a{2}$", b"aaa"), ("^a{0,2}$", b"aaa"), ("^a{2,}$", b"a"), ("[^a-c]", b"abc"), ("[.]", b"a"), (".", b""),
         ("[^\\x00-\\xff]", b"a"), ("^(a{0,2}){2}b$", b"aaaaab"), ("^(ab|c)$", b"abc")]
REFUSED = ["", "^", "$", "^$", "a*", "^x?", "x?$", "(a|b*)", "a|", "|a", "()", "a**", "a*?", "a{1}{2}", "a{0}",
           "a{0,0}", "a{01}", "a{1,0}", "a{,2}", "a{ 1}", "a{256}", "a{1,256}", "a{", "{1}a", "*a", "a]", "a}", ")",
           "(a", "[a", "[]", "[^]", "[b-a]", "[a-]", "[-a]", "[a^]", "[a[]", r"\d", r"\b", r"\ ", r"\x1", r"\xg0",
           "\\", "a^", "$a", "^a|b", "a|b$", "a^b", "é", "a\n", "a" * 513, "a{200}b{57}", "(a{16}){17}",
           "(" * 17 + "a" + ")" * 17]
TAKEN = ["a{255}", "a{0,255}b", "(a{16}){16}", "(" * 16 + "a" + ")" * 16, "a" * 256, "^(a*)*$", r"[^\]]"]


class Expressions(unittest.TestCase):
    def test_what_an_expression_describes_is_found_and_else_is_not(self):
        for table, wanted in ((HOLDS, True), (FAILS, False)):
            for text, content in table:
                with self.subTest(text):
                    self.assertIs(Expression(text).describes(content), wanted)

    def test_what_is_not_of_the_language_is_refused(self):
        for text in REFUSED:
            with self.subTest(text), self.assertRaises(BadExpression):
                Expression(text)
        for text in TAKEN:
            Expression(text)

    def test_it_agrees_with_another_engine(self):
        draw, compared = random.Random(8), 0

        def one(deep):
            atom = draw.choice(["a", "b", ".", "[^a]", "[ab]", r"\n"] + (["("] if deep else []))
            times = draw.choice(["", "", "*", "+", "?", "{2}", "{1,2}", "{2,}"])
            return (f"({choice(deep - 1)})" if atom == "(" else atom) + times

        def choice(deep):
            return "|".join("".join(one(deep) for _ in range(draw.randint(1, 3)))
                            for _ in range(draw.choice([1, 1, 2])))

        while compared < 500:
            tied, text = draw.choice([("", ""), ("^", ""), ("", "$"), ("^", "$")]), choice(2)
            try:
                mine = Expression(tied[0] + text + tied[1])
            except BadExpression:
                continue
            theirs = re.compile((tied[0] + text + tied[1].replace("$", r"\Z")).encode(), re.DOTALL)
            for _ in range(10):
                content = bytes(draw.choices(b"ab\n", k=draw.randint(0, 6)))
                with self.subTest(text=text, tied=tied, content=content):
                    self.assertIs(mine.describes(content), theirs.search(content) is not None)
            compared += 1

    def test_time_is_in_proportion_to_the_bytes(self):
        for text in ("((a*)*)*b", "(a?){100}a{100}", "(a|aa)+b", "(.*a){20}b"):
            self.assertFalse(Expression(text).describes(b"a" * 99 + b"c" * 20000))
        self.assertFalse(Expression("[ab]*a[ab]{200}c").describes(bytes(random.Random(1).choices(b"ab", k=20000))))


class Oracle(unittest.TestCase):
    def read(self, asked):
        return oracle.read(f"version: 1\ncases:\n  - {{name: a, {asked}}}\n".encode()).cases[0]

    def test_what_asks_for_nothing_or_for_what_cannot_be_is_refused(self):
        for asked in ("duration_ms: {}", "duration_ms: {at_least: 2, at_most: 1}", "duration_ms: 5",
                      "duration_ms: {at_most: 3600001}", "stdout: {}", "stdout: {lines: {}}", "stdout: {lines: -1}",
                      "stdout: {sha256: AA}", f"stdout: {{sha256: {'A' * 64}}}", "stdout: {matches: []}",
                      "stdout: {matches: 'a*'}", "stdout: {json: [{pointer: /a}]}",
                      "stdout: {json: [{pointer: /a, type: text}]}", "stdout: {json: [{pointer: '', absent: true}]}",
                      "stdout: {json: [{pointer: /a, absent: false}]}",
                      "stdout: {json: [{pointer: /a, equals: 1, type: real}]}", "files: []", "files: [{path: a}]",
                      "files: [{path: a, exists: false}]", "files: [{path: a, exists: true, absent: true}]",
                      "files: [{path: /a, exists: true}]", "files: [{path: 'a*/b', exists: true}]",
                      "archives: [{path: a, except: {}}]", "archives: [{path: a, except: {mtime: false}}]",
                      "archives: [{path: a, bytes: true, except: {mtime: true}}]",
                      "archives: [{path: a, except: {paths: []}}]",
                      "archives: [{path: a, except: {paths: ['a**']}}]",
                      f"archives: [{{path: a, except: {{paths: {list(range(65))}}}}}]"):
            with self.subTest(asked), self.assertRaises(oracle.BadOracle):
                self.read(asked)

    def test_all_expressions_together_have_a_bound(self):
        self.read(f"stdout: {{matches: {['a{255}'] * 16}}}")
        with self.assertRaisesRegex(oracle.BadOracle, "expressions of 4335 places"):
            self.read(f"stdout: {{matches: {['a{255}'] * 17}}}")

    def test_matchers_keep_their_order_and_their_lines(self):
        text = (b"version: 1\ncases:\n  - name: a\n    files:\n      - path: b\n        exists: true\n    exit: 1\n"
                b"    stdout:\n      contains:\n        - x\n        - y\n")
        found = oracle.read(text).cases[0].matchers
        self.assertEqual([(str(m), m.line) for m in found],
                         [("files exists", 5), ("exit", 7), ("stdout contains", 10), ("stdout contains", 11)])


class Json(unittest.TestCase):
    def test_types(self):
        for text, types in ((b"{}", {"object"}), (b"[]", {"array"}), (b'""', {"string"}), (b"true", {"boolean"}),
                            (b"null", {"null"}), (b"1", {"integer", "number"}), (b"1e2", {"real", "number"})):
            self.assertEqual(json_text.types_of(json_text.one_json(text)), types)

    def test_what_is_absent_must_have_a_place(self):
        value = {"a": [1], "n": None, "~": {}}
        for pointer, wanted in (("/b", True), ("/a/1", True), ("/a/0", False), ("/n", False), ("/~0/x", True),
                                ("/", True)):
            self.assertIs(json_text.is_absent(value, pointer), wanted, pointer)
        for pointer in ("/n/x", "/b/c", "/a/-", "/a/01", "/a/x", "/a/0/x"):
            with self.subTest(pointer), self.assertRaises(json_text.Unreadable):
                json_text.is_absent(value, pointer)


class Scene(unittest.TestCase):
    """A run put together by hand."""

    def setUp(self):
        self.events, self.run = [], None
        self.add("run_start", kind=2, mode=2, repeat=1, name="a")
        self.run = Run(self.events[0])

    def add(self, what, number=1, at_ns=0, **fields):
        said = getattr(schema.CLASSES["Event"](), what)
        for name, value in fields.items():
            setattr(said, name, value)
        event = Event(len(self.events) + 1, at_ns, {"run": number, "kind": what, what: said})
        self.events.append(event)
        if self.run is not None:
            self.run.events.setdefault(what, []).append(event)
        return said

    def told(self, asked):
        """What is told of one matcher: nothing where it holds."""
        bundle = type("Bundle", (), {"events": self.events})
        read = oracle.read(f"version: 1\ncases:\n  - {{name: a, {asked}}}\n".encode())
        return "".join(cases.case_fails(bundle, read.cases[0], self.run))


class Files(Scene):
    def setUp(self):
        super().setUp()
        self.add("run_exit", exit_status=0)

    def test_only_a_listing_that_is_whole_shows_that_nothing_is_there(self):
        asked = "files: [{path: x, absent: true}]"
        cannot = "a strict 1: oracle line 3: files absent: cannot be evaluated"
        self.assertIn(cannot, self.told(asked))
        self.add("freeze", moment=5)
        self.assertIn(cannot, self.told(asked))
        self.add("artifact", path=b"y", mode=0o100644)
        self.assertIn(cannot, self.told(asked))
        self.events.append(Event(len(self.events) + 1, 0, {"run": 2, "kind": "spawned"}))
        self.assertEqual(self.told(asked), "")
        self.add("artifact", path=b"d", mode=0o040755)
        self.assertIn(cannot, self.told(asked))
        self.run.events["artifact"].pop()
        self.add("artifact", path=b"", mode=0o100644)
        self.assertIn(cannot, self.told(asked))

    def test_what_exists_is_a_regular_file(self):
        artifact = self.add("artifact", path=b"x", mode=0o120777)
        self.assertIn("files exists: expected a regular file, seen 1 of other kinds, at x",
                      self.told("files: [{path: x, exists: true}]"))
        artifact.mode = 0o100600
        self.assertEqual(self.told("files: [{path: x, exists: true}]"), "")

    def test_a_digest_is_of_one_kept_regular_file(self):
        digest = hashlib.sha256(b"1").digest()
        asked = f"files: [{{path: '*.x', sha256: {digest.hex()}}}]"
        self.assertIn("cannot be evaluated", self.told(asked))
        artifact = self.add("artifact", path=b"a.x", mode=0o100644, sha256=digest, kept=True)
        self.assertEqual(self.told(asked), "")
        artifact.kept = False
        self.assertIn("cannot be evaluated", self.told(asked))
        artifact.kept, artifact.sha256 = True, bytes(32)
        self.assertIn(f"expected {digest.hex()[:60]}..., seen 000", self.told(asked))
        self.add("artifact", path=b"b.x", mode=0o100644, sha256=digest, kept=True)
        self.assertIn("cannot be evaluated", self.told(asked))


class Duration(Scene):
    def test_it_is_counted_in_nanoseconds_and_needs_a_start(self):
        asked = "duration_ms: {at_least: 2, at_most: 3}"
        self.add("run_exit", at_ns=5_000_000, exit_status=0)
        self.assertIn("duration_ms: cannot be evaluated", self.told(asked))
        for began, holds in ((2_000_000, True), (3_000_000, True), (1_999_999, False), (3_000_001, False)):
            self.run.events["spawned"] = [Event(1, began, {"run": 1, "kind": "spawned"})]
            self.assertEqual(self.told(asked) == "", holds, began)


class Archives(Scene):
    def artifact(self, *members):
        self.add("artifact", path=b"a.tar", kept=True, is_archive=True, sha256=bytes(32))
        for path, fields in members:
            member = self.run.events["artifact"][-1].artifact.members.add(path=path, type=0o100000)
            if "uid" in fields:
                member.owner.uid = fields.pop("uid")
            for name, value in fields.items():
                setattr(member, name, value)
        return self.run

    def compared(self, asked, left, right, again=None):
        runs = []
        for members in (left, again, right):
            if members is not None:
                super().setUp()
            runs.append(None if members is None else self.artifact(*[(path, dict(fields)) for path, fields in members]))
        text = f"version: 1\ncases:\n  - name: a\n    archives: [{{path: a.tar{asked}}}]\n"
        case = oracle.read(text.encode()).cases[0]
        return "; ".join(archived.archives_fail(case, case.archives[0], *runs))

    def test_an_owner_that_is_told_in_one_alone_differs_and_in_neither_does_not(self):
        bare, zero, seven = [(b"x", {})], [(b"x", {"uid": 0})], [(b"x", {"uid": 7})]
        self.assertEqual(self.compared("", bare, bare), "")
        self.assertEqual(self.compared("", seven, seven), "")
        for other in (zero, seven):
            self.assertIn("a: oracle line 4: archive a.tar: x: owner", self.compared("", bare, other))
            self.assertEqual(self.compared(", except: {owner: true}", bare, other), "")

    def test_what_is_excepted_is_left_out_of_all_lists_and_something_must_be_left(self):
        one, two = [(b"x", {}), (b"log/a", {"mtime_s": 1})], [(b"x", {}), (b"log/b", {})]
        self.assertIn("log/a: ", self.compared("", one, two))
        self.assertEqual(self.compared(", except: {paths: ['log/*']}", one, two), "")
        self.assertIn("nothing is left", self.compared(", except: {paths: ['log/*', x]}", one, two))
        self.assertIn("log/a: ", self.compared(", except: {paths: ['*a']}", one, two))

    def test_what_the_baselines_differ_in_is_excused_only_in_what_is_compared(self):
        left, again = [(b"x", {"mtime_s": 1})], [(b"x", {"mtime_s": 2})]
        right = [(b"x", {"mtime_s": 3, "size_bytes": 5})]
        self.assertEqual(self.compared("", left, right, again), "")
        self.assertIn("x: size", self.compared(", except: {mtime: true}", left, right, again))


if __name__ == "__main__":
    unittest.main()
