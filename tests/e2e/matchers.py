#!/usr/bin/env python3
"""Each matcher of the oracle's language holds, just does not hold or cannot be evaluated; each judge says so alike.

Two recordings, and one small oracle for each line of the tables; docs/ORACLE.md says what each line must come to, and
docs/DECISION.md 6.5 how a failure is told. usage: matchers.py BUILD SOURCE
"""
import concurrent.futures
import functools
import hashlib
import itertools
import json
import re
import sys
import threading
import unittest

import hostile
from hostile import SOURCE, Place, STRICT, shell

sys.path.insert(0, str(SOURCE / "tests" / "independent"))
import judge as independent_judge  # noqa: E402
import oracle as independent_oracle  # noqa: E402
from records import Bundle  # noqa: E402

HOLDS, FAILS, CANNOT = "holds", "expected ", "cannot be evaluated: "


# ---- the judges: each gives the claim that it makes of a bundle under an oracle -------------------------------------

def by_record(bundle, oracle):
    return json.loads(output(hostile.run("rejudge", bundle, oracle)))


def by_replay(bundle, oracle):
    return json.loads(output(hostile.run("exhibit-replay", bundle, "--json", "--oracle", oracle)))


def by_verify(bundle, oracle):
    return json.loads(output(hostile.run("exhibit-verify", bundle, "--json", "--oracle", oracle)))["claim"]


def by_independent(bundle, oracle):
    """In this process: starting another for each line would take longer than all else."""
    raw = oracle.read_bytes()
    with ALONE:
        return independent_judge.judge(bundle_read(bundle), independent_oracle.read(raw), hashlib.sha256(raw).digest())


ALONE = threading.Lock()  # a bundle that is read is one for all threads


@functools.lru_cache(maxsize=None)
def bundle_read(bundle):
    return Bundle(bundle)


def output(done):
    if not done.stdout:
        raise AssertionError(f"{done.args}: exit {done.returncode}: {done.stderr}")
    return done.stdout


JUDGES = [by_record, by_replay, by_verify, by_independent]


# ---- what is recorded -----------------------------------------------------------------------------------------------

TEXT = b"one\ntwo\0\nthree"
JSON = rb'{"a": {"b": [1, 1.5, "x", true, null, {}]}, "n": null, "~/": 7}'
TAP = b"TAP version 13\nok 1\n    # tests 9\n# tests 3\n# pass 2\n# fail 1\n"
LARGE = 1 << 20
LARGEST = 16 << 20


def octal(content):
    return "".join(f"\\{byte:03o}" for byte in content)


FILES = """cd {scratch}
printf 1 >a.txt; mkdir d empty; printf 22 >d/b.txt; printf '' >d/.tmp
ln -s a.txt link; ln -s nowhere dangling; mkfifo pipe; printf 3 >hard; ln hard hard-too; truncate -s 80M large"""
ARCHIVES = """cd {scratch}; mkdir s; printf 1 >s/a; printf 2 >s/b; printf 3 >s/c
made() { out=$1; shift; tar -C s --format=ustar --sort=name --mode=644 "$@" -cf $out a b $more; }
usual='--mtime=@1000 --owner=al:7 --group=gr:8'; more=
made same.tar $usual
if [ "$STRICT" ]; then
  made mtime.tar --mtime=@1001 --owner=al:7 --group=gr:8
  made owner.tar --mtime=@1000 --owner=al:9 --group=gr:8
  made name.tar --mtime=@1000 --owner=al:7 --group=other:8
  made both.tar --mtime=@1001 --owner=al:9 --group=gr:8
  made padded.tar $usual -b 40
  more=c; made extra.tar $usual; more=; printf 0 >s/b; made content.tar $usual; made mode.tar $usual --mode=600
else
  for name in mtime owner name both padded extra content mode; do made $name.tar $usual; done
fi
printf %s $$ >s/b; made own.tar $usual; made two-1.tar $usual; made two-2.tar $usual; echo no >none.tar"""

CASES = {
    "text": (shell(f"printf '{octal(TEXT)}'; printf 'warn' >&2; exit 3"), {"exit": 3}),
    "silent": (shell(":"), {"exit": 0}),
    "json": (shell(f"printf '{octal(JSON)}'"), {"exit": 0}),
    "tap": (shell(f"printf '{octal(TAP)}'"), {"exit": 0}),
    "killed": (shell("kill -TERM $$"), {"signal": "TERM"}),
    "slow": (shell("sleep 0.2"), {"exit": 0}),
    "overran": (shell("exec sleep 20", watchdog_ms=100), {"exit": 0}),
    "files": (shell(FILES), {"exit": 0}),
    "arch": (shell(ARCHIVES), {"archives": [{"path": "same.tar"}]}),
}
# Apart, since whoever judges one case of a bundle reads all of it.
HEAVY = {
    "large": (shell(f"head -c {LARGE} /dev/zero"), {"exit": 0}),
    "larger": (shell(f"head -c {LARGE + 1} /dev/zero"), {"exit": 0}),
    "deep": (shell("cd {scratch}; mkdir -p $(printf 'e/%.0s' $(seq 300))"), {"exit": 0}),
}
HEAVIEST = {"largest": (shell(f"head -c {LARGEST + 1} /dev/zero"), {"exit": 0})}


def sha(content):
    return hashlib.sha256(content).hexdigest()


# ---- (case, what its oracle asks for, how DECISION 6.5 names it, what it comes to in both modes) --------------------

TABLE = [
    ("text", "exit: 3", "exit", HOLDS),
    ("text", "exit: 0", "exit", FAILS),
    ("text", "signal: TERM", "signal", FAILS),
    ("killed", "signal: TERM", "signal", HOLDS),
    ("killed", "signal: KILL", "signal", FAILS),
    ("killed", "exit: 15", "exit", FAILS),

    ("silent", "stdout: {empty: true}", "stdout empty", HOLDS),
    ("text", "stdout: {empty: true}", "stdout empty", FAILS),
    ("text", "stderr: {empty: true}", "stderr empty", FAILS),
    ("largest", "stdout: {empty: true}", "stdout empty", FAILS),
    ("text", "stderr: {equals: warn}", "stderr equals", HOLDS),
    ("text", 'stderr: {equals: "warn\\n"}', "stderr equals", FAILS),
    ("text", "stderr: {equals: war}", "stderr equals", FAILS),
    ("text", "stdout: {equals: {base64: b25lCnR3bwAKdGhyZWU=}}", "stdout equals", HOLDS),
    ("text", "stdout: {contains: {base64: AAp0}}", "stdout contains", HOLDS),
    ("text", 'stdout: {contains: "two\\n"}', "stdout contains", FAILS),
    ("silent", "stdout: {contains: x}", "stdout contains", FAILS),
    ("largest", "stdout: {contains: x}", "stdout contains", CANNOT),
    ("largest", "stdout: {equals: x}", "stdout equals", CANNOT),

    ("text", r"stdout: {matches: '^one\ntwo\x00\nthree$'}", "stdout matches", HOLDS),
    ("text", "stdout: {matches: 'e.t'}", "stdout matches", HOLDS),
    ("text", "stdout: {matches: 'e.n'}", "stdout matches", FAILS),
    ("text", "stdout: {matches: 'two[^a-z]{2}t'}", "stdout matches", HOLDS),
    ("text", "stdout: {matches: 'two[^a-z]{3}t'}", "stdout matches", FAILS),
    ("text", "stdout: {matches: '^two'}", "stdout matches", FAILS),
    ("text", "stdout: {matches: 'e$'}", "stdout matches", HOLDS),
    ("text", "stdout: {matches: 'two$'}", "stdout matches", FAILS),
    ("text", "stdout: {matches: 'four|thr(e{2})'}", "stdout matches", HOLDS),
    ("text", "stdout: {matches: 'four|thre{3}'}", "stdout matches", FAILS),
    ("text", "stdout: {matches: '^(one|two|.)+$'}", "stdout matches", HOLDS),
    ("text", "stdout: {matches: ONE}", "stdout matches", FAILS),
    ("text", "stderr: {matches: '^w?a+r{1,2}n*$'}", "stderr matches", HOLDS),
    ("text", "stderr: {matches: '^wa{2,}rn$'}", "stderr matches", FAILS),
    ("silent", "stdout: {matches: '^a*$'}", "stdout matches", HOLDS),
    ("silent", "stdout: {matches: '.'}", "stdout matches", FAILS),
    ("large", r"stdout: {matches: '\x00$'}", "stdout matches", HOLDS),
    ("large", r"stdout: {matches: '[^\x00]'}", "stdout matches", FAILS),
    ("larger", r"stdout: {matches: '\x00'}", "stdout matches", CANNOT),

    ("text", f"stdout: {{sha256: {sha(TEXT)}}}", "stdout sha256", HOLDS),
    ("text", f"stdout: {{sha256: {sha(TEXT[:-1])}}}", "stdout sha256", FAILS),
    ("silent", f"stderr: {{sha256: {sha(b'')}}}", "stderr sha256", HOLDS),
    ("largest", f"stdout: {{sha256: {sha(bytes(LARGEST + 1))}}}", "stdout sha256", HOLDS),

    ("text", "stdout: {lines: 3}", "stdout lines", HOLDS),
    ("text", "stdout: {lines: 2}", "stdout lines", FAILS),
    ("text", "stderr: {lines: 1}", "stderr lines", HOLDS),
    ("tap", "stdout: {lines: 6}", "stdout lines", HOLDS),
    ("tap", "stdout: {lines: 7}", "stdout lines", FAILS),
    ("silent", "stdout: {lines: 0}", "stdout lines", HOLDS),
    ("text", "stdout: {lines: {at_least: 3}}", "stdout lines", HOLDS),
    ("text", "stdout: {lines: {at_least: 4}}", "stdout lines", FAILS),
    ("text", "stdout: {lines: {at_most: 3}}", "stdout lines", HOLDS),
    ("text", "stdout: {lines: {at_most: 2}}", "stdout lines", FAILS),
    ("largest", "stdout: {lines: 1}", "stdout lines", CANNOT),

    ("json", "stdout: {json: [{pointer: /a/b/0, equals: 1}]}", "stdout json", HOLDS),
    ("json", "stdout: {json: [{pointer: /a/b/0, equals: 2}]}", "stdout json", FAILS),
    ("json", "stdout: {json: [{pointer: /a/b/0, equals: 1.0}]}", "stdout json", FAILS),
    ("json", "stdout: {json: [{pointer: /a/c, equals: 1}]}", "stdout json", CANNOT),
    ("json", "stdout: {json: [{pointer: /~0~1, equals: 7}]}", "stdout json", HOLDS),
    ("text", "stdout: {json: [{pointer: /a, equals: 1}]}", "stdout json", CANNOT),
    ("silent", "stdout: {json: [{pointer: /a, equals: 1}]}", "stdout json", CANNOT),
    *[("json", f'stdout: {{json: [{{pointer: {pointer}, type: "{kind}"}}]}}', "stdout json",
       HOLDS if kind in kinds else FAILS)
      for pointer, kinds in [("/a", ["object"]), ("/a/b", ["array"]), ("/a/b/0", ["integer", "number"]),
                             ("/a/b/1", ["real", "number"]), ("/a/b/2", ["string"]), ("/a/b/3", ["boolean"]),
                             ("/n", ["null"]), ("/a/b/5", ["object"])]
      for kind in ["object", "array", "string", "number", "integer", "real", "boolean", "null"]],
    ("json", "stdout: {json: [{pointer: /x, type: object}]}", "stdout json", CANNOT),
    ("text", "stdout: {json: [{pointer: '', type: object}]}", "stdout json", CANNOT),
    ("json", "stdout: {json: [{pointer: /x, absent: true}]}", "stdout json", HOLDS),
    ("json", "stdout: {json: [{pointer: /a/b/6, absent: true}]}", "stdout json", HOLDS),
    ("json", "stdout: {json: [{pointer: /a/b/5/x, absent: true}]}", "stdout json", HOLDS),
    ("json", "stdout: {json: [{pointer: /n, absent: true}]}", "stdout json", FAILS),
    ("json", "stdout: {json: [{pointer: /a/b/5, absent: true}]}", "stdout json", FAILS),
    ("json", "stdout: {json: [{pointer: /x/y, absent: true}]}", "stdout json", CANNOT),
    ("json", "stdout: {json: [{pointer: /n/x, absent: true}]}", "stdout json", CANNOT),
    ("json", "stdout: {json: [{pointer: /a/b/x, absent: true}]}", "stdout json", CANNOT),
    ("json", "stdout: {json: [{pointer: /a/b/-, absent: true}]}", "stdout json", CANNOT),
    ("json", "stdout: {json: [{pointer: /a/b/06, absent: true}]}", "stdout json", CANNOT),
    ("text", "stdout: {json: [{pointer: /x, absent: true}]}", "stdout json", CANNOT),

    ("tap", "stdout: {tap: {tests: 3}}", "stdout tap", HOLDS),
    ("tap", "stdout: {tap: {fail: 1}}", "stdout tap", HOLDS),
    ("tap", "stdout: {tap: {pass: 3}}", "stdout tap", FAILS),
    ("text", "stdout: {tap: {tests: 3}}", "stdout tap", CANNOT),

    ("slow", "duration_ms: {at_least: 150}", "duration_ms", HOLDS),
    ("slow", "duration_ms: {at_most: 20000}", "duration_ms", HOLDS),
    ("slow", "duration_ms: {at_least: 20000}", "duration_ms", FAILS),
    ("slow", "duration_ms: {at_least: 1, at_most: 150}", "duration_ms", FAILS),

    ("files", "files: [{path: a.txt, exists: true}]", "files exists", HOLDS),
    ("files", "files: [{path: d/b.txt, exists: true}]", "files exists", HOLDS),
    ("files", "files: [{path: 'd/*', exists: true}]", "files exists", HOLDS),
    ("files", "files: [{path: large, exists: true}]", "files exists", HOLDS),
    ("files", "files: [{path: hard, exists: true}]", "files exists", HOLDS),
    ("files", "files: [{path: b.txt, exists: true}]", "files exists", FAILS),
    ("files", "files: [{path: 'b*', exists: true}]", "files exists", FAILS),
    ("files", "files: [{path: link, exists: true}]", "files exists", FAILS),
    ("files", "files: [{path: pipe, exists: true}]", "files exists", FAILS),
    ("files", "files: [{path: empty, exists: true}]", "files exists", FAILS),
    ("files", "files: [{path: d, exists: true}]", "files exists", FAILS),
    ("files", "files: [{path: b.txt, absent: true}]", "files absent", HOLDS),
    ("files", "files: [{path: empty, absent: true}]", "files absent", HOLDS),
    ("files", "files: [{path: '*.tmp', absent: true}]", "files absent", HOLDS),
    ("files", "files: [{path: 'd/*.tmp', absent: true}]", "files absent", FAILS),
    ("files", "files: [{path: a.txt, absent: true}]", "files absent", FAILS),
    ("files", "files: [{path: dangling, absent: true}]", "files absent", FAILS),
    ("files", "files: [{path: pipe, absent: true}]", "files absent", FAILS),
    ("files", "files: [{path: large, absent: true}]", "files absent", FAILS),
    ("deep", "files: [{path: x, absent: true}]", "files absent", CANNOT),
    ("files", f"files: [{{path: a.txt, sha256: {sha(b'1')}}}]", "files sha256", HOLDS),
    ("files", f"files: [{{path: 'd/b.*', sha256: {sha(b'22')}}}]", "files sha256", HOLDS),
    ("files", f"files: [{{path: a.txt, sha256: {sha(b'2')}}}]", "files sha256", FAILS),
    ("files", f"files: [{{path: 'd/*', sha256: {sha(b'22')}}}]", "files sha256", CANNOT),
    ("files", f"files: [{{path: x, sha256: {sha(b'')}}}]", "files sha256", CANNOT),
    ("files", f"files: [{{path: link, sha256: {sha(b'a.txt')}}}]", "files sha256", CANNOT),
    ("files", f"files: [{{path: hard, sha256: {sha(b'3')}}}]", "files sha256", CANNOT),
    ("files", f"files: [{{path: large, sha256: {sha(bytes(80 << 20))}}}]", "files sha256", CANNOT),
]

# (an archive of the case "arch", whether both modes are equal, what is told where not)
EQUAL = [
    ("{path: same.tar}", True, ""),
    ("{path: same.tar, bytes: true}", True, ""),
    ("{path: 'sam*'}", True, ""),
    ("{path: padded.tar}", True, ""),
    ("{path: padded.tar, bytes: true}", False, ""),
    ("{path: mtime.tar}", False, "a"),
    ("{path: mtime.tar, except: {owner: true}}", False, "a"),
    ("{path: mtime.tar, except: {mtime: true}}", True, ""),
    ("{path: owner.tar}", False, "a"),
    ("{path: owner.tar, except: {mtime: true}}", False, "a"),
    ("{path: owner.tar, except: {owner: true}}", True, ""),
    ("{path: name.tar}", False, "a"),
    ("{path: name.tar, except: {owner: true}}", True, ""),
    ("{path: both.tar, except: {owner: true}}", False, "a"),
    ("{path: both.tar, except: {owner: true, mtime: true}}", True, ""),
    ("{path: extra.tar, except: {owner: true, mtime: true}}", False, "c"),
    ("{path: extra.tar, except: {paths: [c]}}", True, ""),
    ("{path: extra.tar, except: {paths: [a, b]}}", False, ""),
    ("{path: content.tar, except: {owner: true, mtime: true}}", False, "b"),
    ("{path: content.tar, except: {paths: ['b*']}}", True, ""),
    ("{path: content.tar, except: {paths: [./b]}}", False, "b"),
    ("{path: content.tar, except: {paths: ['*']}}", False, ""),
    ("{path: mode.tar, except: {owner: true, mtime: true}}", False, "a"),
    ("{path: own.tar}", True, ""),
    ("{path: own.tar, bytes: true}", True, ""),
    ("{path: 'two-*'}", False, ""),
    ("{path: none.tar}", False, ""),
    ("{path: no.tar}", False, ""),
]
# (the archive, its exceptions, what the baseline has in the field in which a member differs, what strict has)
VALUES = [("mtime", "", "1000", "1001"), ("owner", "", "7", "9"), ("name", "", "gr", "other"),
          ("mode", ", except: {owner: true, mtime: true}", "0?644", "0?600"),
          ("content", ", except: {owner: true}", hashlib.sha256(b"2").hexdigest(), hashlib.sha256(b"0").hexdigest())]


def setUpModule():
    global LIGHT_PLACE, PLACE_OF
    groups = {"light": CASES, "heavy": HEAVY, "heaviest": HEAVIEST}
    places = {group: Place(group, cases, candidate=STRICT) for group, cases in groups.items()}
    hostile.record_all(list(places.values()))
    for place in places.values():
        assert place.bundle.exists(), place.done
    LIGHT_PLACE = places["light"]
    PLACE_OF = {name: places[group] for group, cases in groups.items() for name in cases}
    for name, wanted in [line[:2] for line in TABLE] + [("arch", f"archives: [{line[0]}]") for line in EQUAL]:
        asked(name, wanted)


def tearDownModule():
    POOL.shutdown(cancel_futures=True)
    found = hostile.leftovers()
    assert not found, found


# Each line takes a process of each judge: they run side by side, and each claim is made once.
POOL = concurrent.futures.ThreadPoolExecutor(2)
NUMBER = itertools.count()


@functools.lru_cache(maxsize=None)
def asked(name, wanted):
    """The claims of all judges under an oracle in which one case asks for this, on line 4, as they come."""
    place = PLACE_OF[name]
    oracle = place.folder / f"other-{next(NUMBER)}.yaml"
    oracle.write_text(f"version: 1\ntrials: []\ncases:\n  - {{name: {name}, {wanted}}}\n")
    return [(judge.__name__, POOL.submit(judge, place.bundle, oracle)) for judge in JUDGES]


def claims(name, wanted):
    return [(judge, claim.result()) for judge, claim in asked(name, wanted)]


def rule(claim, name):
    return next(rule for rule in claim["rules"] if rule["rule"] == name)


class Matchers(unittest.TestCase):
    def test_each_matcher_comes_to_what_the_document_says(self):
        for name, wanted, word, comes_to in TABLE:
            for judge, claim in claims(name, wanted):
                with self.subTest(judge=judge, case=name, matcher=wanted):
                    met = {(case["mode"], case["met"]) for case in claim["cases"]}
                    self.assertEqual(met, {("baseline", comes_to == HOLDS), ("strict", comes_to == HOLDS)})
                    for which, mode in (("complete.baseline", "baseline"), ("useful.contract", "strict")):
                        told = rule(claim, which)
                        self.assertEqual(told["holds"], comes_to == HOLDS)
                        if comes_to != HOLDS:
                            sentence = f"{name} {mode} 1: oracle line 4: {word}: {comes_to}"
                            self.assertIn(sentence, told["detail"])
                        if comes_to == FAILS:
                            self.assertRegex(told["detail"], "expected .+, seen .+, at .+")

    def test_what_was_ended_by_its_watchdog_is_not_met(self):
        for judge, claim in claims("overran", "signal: KILL"):
            with self.subTest(judge):
                self.assertEqual({case["met"] for case in claim["cases"]}, {False})
                self.assertRegex(rule(claim, "useful.contract")["detail"], "^overran strict 1: .*watchdog")

    def test_archives_are_equal_but_for_what_is_excepted(self):
        for wanted, equal, member in EQUAL:
            for judge, claim in claims("arch", f"archives: [{wanted}]"):
                with self.subTest(judge=judge, archive=wanted):
                    told = rule(claim, "useful.archives")
                    self.assertEqual(told["holds"], equal, told["detail"])
                    if not equal:
                        pattern = re.search(r"path: '?([^',}]*)", wanted)[1]
                        self.assertIn(f"arch: oracle line 4: archive {pattern}: ", told["detail"])
                        self.assertRegex(told["detail"], rf"\b{member}\b")

    def test_of_an_archive_that_differs_the_values_of_both_modes_are_told(self):
        for name, exceptions, baseline, strict in VALUES:
            for judge, claim in claims("arch", f"archives: [{{path: {name}.tar{exceptions}}}]"):
                if judge != "by_independent":  # which tells the fields alone
                    with self.subTest(judge=judge, archive=name):
                        words = rule(claim, "useful.archives")["detail"].split("archive", 1)[1]
                        self.assertRegex(words, rf"\b{baseline}\b.*\b{strict}\b")

    def test_verify_marks_an_exception_as_wider_than_the_default(self):
        oracle = LIGHT_PLACE.folder / "other.yaml"
        for exception, told in (("", None), (", except: {mtime: true, paths: [x]}", "wider  .*without: mtime x")):
            oracle.write_text(f"version: 1\ncases: [{{name: arch, archives: [{{path: same.tar{exception}}}]}}]\n")
            out = hostile.run("exhibit-verify", LIGHT_PLACE.bundle, "--oracle", oracle).stdout
            with self.subTest(exception):
                self.assertIn("denied by", out)
                if told:
                    self.assertRegex(out, told)
                else:
                    self.assertNotIn("same.tar", out[out.index("denied by"):out.index("host identities")])

    def test_judges_agree_on_all_but_words(self):
        for name, wanted, _, _ in TABLE[::7]:
            first, *others = [claim for _, claim in claims(name, wanted)]
            for claim in others:
                with self.subTest(matcher=wanted):
                    self.assertEqual(list(independent_judge.differences(first, claim)), [])


unittest.main(argv=sys.argv[:1], verbosity=2)
