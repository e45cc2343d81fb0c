#!/usr/bin/env python3
"""The table of candidates, from bundles alone: usage: table.py BUILD SOURCE (after bundles.py)"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
sys.path.insert(0, str(SOURCE / "tests" / "tamper"))
import pack  # noqa: E402
from facts import Facts  # noqa: E402
import fourth  # noqa: E402: last, its modules have the names of some of these

BUNDLES = BUILD / "test-bundles"
EFFECTS = ["read", "read-link", "write", "tcp", "udp"]
ROLES = ["parent", "child", "grandchild"]
CASES = ["syntax", "suite", "inspect-benign", "inspect-critical", "pack"]
FOLDER = tempfile.TemporaryDirectory(prefix="exhibit-table-")
PLACE = pathlib.Path(FOLDER.name)


def tearDownModule():
    FOLDER.cleanup()


def ask(*words):
    return subprocess.run([BUILD / "bin" / "exhibit-replay", *words], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)


def bundle(name):
    return BUNDLES / f"{name}.exhibit"


ALL = [bundle(name) for name in ("default", "open", "snapshots", "usable", "wrong")]


def rows_of(*words):
    done = ask("--table=json", *words)
    told = json.loads(done.stdout)
    assert told["schema"] == "exhibit.table/1"
    return done, told["rows"]


def changed(name, change):
    """The usable bundle with other facts, and without a claim."""
    facts = Facts.read(bundle("usable"))
    change(facts)
    pack.write(PLACE / f"{name}.exhibit", facts.build())
    assert fourth.differs_from_replay(BUILD, PLACE / f"{name}.exhibit") == []
    return PLACE / f"{name}.exhibit"


def break_suite(facts):
    run = facts.run("suite", "strict")
    facts.edit(facts.one("run_exit", run)).what.exit_status = 1
    facts.tell(facts.run("tree", "strict"), "child", "tcp", "errno:5")


def effects_of(row):
    return {(seen["role"], seen["effect"]): {"+".join(one["outcomes"]): one["recordings"] for one in seen["seen"]}
            for seen in row["effects"]}


class Recorded(unittest.TestCase):
    """The bundles of the ready experiments."""

    def test_a_row_for_each_candidate_policy_and_oracle(self):
        done, rows = rows_of(*ALL)
        self.assertEqual((done.returncode, done.stderr), (3, ""))
        self.assertEqual([(row["candidate"], row["recordings"], row["decisions"]) for row in rows],
                         [("landlock", 1, {"INCOMPLETE": 1}), ("landlock", 2, {"NO-GO": 2}),
                          ("landlock-pidns", 1, {"GO": 1}), ("open", 1, {"NO-GO": 1})]
                         if rows[0]["recordings"] == 1 else
                         [("landlock", 2, {"NO-GO": 2}), ("landlock", 1, {"INCOMPLETE": 1}),
                          ("landlock-pidns", 1, {"GO": 1}), ("open", 1, {"NO-GO": 1})])
        self.assertEqual({row["experiment"] for row in rows}, {"hook-confinement"})

    def test_effects_by_role_endings_cases_and_rules_are_those_of_the_claims(self):
        for name, outcome, unmet in (("default", "denied", CASES[2:4]), ("open", "reached", []),
                                     ("usable", "denied", [])):
            with self.subTest(name):
                _, (row,) = rows_of(bundle(name))
                claim = json.loads(ask(bundle(name), "--json").stdout)
                self.assertEqual(effects_of(row),
                                 {(role, effect): {outcome: 1} for role in ROLES for effect in EFFECTS})
                self.assertEqual([(case["name"], case["met"]) for case in row["cases"]],
                                 [(case, int(case not in unmet)) for case in CASES])
                tree = [m for m in claim["tree"] if m["trial"] == "tree" and m["mode"] == "strict"]
                self.assertEqual([(end["trial"], end["role"], end["ended_by"], end["survived_ms"])
                                  for end in row["tree"]],
                                 [("tree", m["role"], {m["ended_by"]: 1}, [m["survived_ms"]] * 2) for m in tree])
                self.assertEqual(row["endings"], [{"trial": end["trial"], "recordings": 1, "ended": int(end["ended"]),
                                                   "quiet": int(end["quiet"])} for end in claim["endings"]])
                self.assertEqual(len(row["endings"]), 1)
                self.assertEqual(row["rules_failed"], {r["rule"]: 1 for r in claim["rules"] if not r["holds"]})
                self.assertFalse(row["varies"])

    def test_the_text_says_the_same_in_words(self):
        done = ask("--table", bundle("open"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for words in ("candidate", "effects", "endings", "cases", "decision", "parent: all reached",
                      "grandchild: all reached", "tree: not gone in time, not quiet", "tree: grandchild self-expiry +",
                      "all 5 met", "NO-GO", "fails: boundary.attempts", "fails: cancel.quiet"):
            self.assertIn(words, done.stdout)
        self.assertNotIn("varies", done.stdout)
        self.assertIn("tree: gone in time, quiet", ask("--table", bundle("usable")).stdout)
        self.assertIn("not met: inspect-benign, inspect-critical", ask("--table", bundle("default")).stdout)

    def test_markdown_has_a_line_for_each_row(self):
        done = ask("--table=markdown", *ALL)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[:2], ["| candidate | effects | endings | cases | decision |",
                                     "| --- | --- | --- | --- | --- |"])
        self.assertEqual(len(lines), 2 + 4)
        self.assertTrue(all(line.count("|") == 6 for line in lines), done.stdout)
        self.assertIn("parent: all reached<br>child: all reached<br>grandchild: all reached", done.stdout)

    def test_of_a_folder_it_tells_every_bundle_below_it_and_each_ending_in_words_of_its_own(self):
        below = PLACE / "some" / "results"
        below.mkdir(parents=True)
        for name in ("exits", "open"):
            shutil.copy(bundle(name), below)
        (below / "plan.yaml").write_text("no bundle\n")
        done, rows = rows_of(PLACE / "some")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([(row["candidate"], row["experiment"], row["endings"][0]["ended"]) for row in rows],
                         [("landlock-pidns", "exits", 1), ("open", "hook-confinement", 0)])
        self.assertEqual([(end["role"], end["ended_by"]) for end in rows[0]["tree"]],
                         [("parent", {"exit": 1}), ("child", {"step": 1}), ("grandchild", {"step": 1})])
        self.assertEqual(rows_of(below / "exits.exhibit", below / "open.exhibit")[1], rows)
        lines = ask("--table=markdown", PLACE / "some").stdout.splitlines()[2:]
        self.assertEqual([line.split(" | ")[2].split("<br>")[0] for line in lines],
                         ["tree: gone in time, quiet", "tree: not gone in time, not quiet"])

    def test_another_oracle_judges_all_and_is_said_to_be_prospective(self):
        oracle = SOURCE / "experiments" / "hook-confinement" / "oracle-wrong.yaml"
        done, rows = rows_of(*ALL, "--oracle", oracle)
        self.assertEqual(done.returncode, 3)
        self.assertEqual([(row["candidate"], row["decisions"], row["prospective"]) for row in rows],
                         [("landlock", {"INCOMPLETE": 3}, 2), ("landlock-pidns", {"INCOMPLETE": 1}, 1),
                          ("open", {"INCOMPLETE": 1}, 1)])
        self.assertIn("INCOMPLETE (prospective)", ask("--table", *ALL, "--oracle", oracle).stdout)

    def test_a_bad_bundle_is_named_and_the_others_make_the_table(self):
        bad = PLACE / "bad"
        bad.write_text("no bundle, whatever its name says\n")
        done, rows = rows_of(bundle("open"), bad)
        self.assertEqual((done.returncode, len(rows)), (1, 1))
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn(f"exhibit-replay: {bad}: FORMAT 1.3", done.stderr)


class Changed(unittest.TestCase):
    """Several recordings of one candidate that do not agree."""

    def test_one_row_that_says_what_varies(self):
        other = changed("broken", break_suite)
        words = (bundle("usable"), changed("same", lambda facts: None), other)
        done, (row,) = rows_of(*words)
        self.assertEqual((done.returncode, row["recordings"], row["varies"]), (3, 3, True))
        seen = effects_of(row)
        self.assertEqual(seen.pop(("child", "tcp")), {"denied": 2, "undetermined": 1})
        self.assertEqual(set(map(str, seen.values())), {"{'denied': 3}"})
        self.assertEqual([(case["name"], case["met"]) for case in row["cases"] if case["met"] < 3], [("suite", 2)])
        self.assertEqual(row["decisions"], {"GO": 2, "INCOMPLETE": 1})
        self.assertEqual(row["rules_failed"], {"complete.outcomes": 1, "useful.contract": 1})
        text = ask("--table", *words).stdout
        for told in ("3 recordings", "child: tcp varies: undetermined 1, denied 2",
                     "child: read, read-link, write, udp denied", "parent: all denied",
                     "varies: suite met in 2 of 3", "varies: GO 2, INCOMPLETE 1",
                     "varies: useful.contract fails in 1 of 3"):
            self.assertIn(told, text)

    def test_another_version_policy_or_user_is_another_row(self):
        def user(facts):
            facts.edit(facts.one("recording_start")).what.host.uid = 1000

        def version(facts):
            facts.edit(facts.one("recording_start")).what.candidate_version = "exhibit-confine 9"

        def policy(facts):
            facts.edit(facts.one("recording_start")).what.policy_sha256 = facts.hold(b"version: 1\n")

        _, rows = rows_of(bundle("usable"), changed("user", user), changed("version", version),
                          changed("policy", policy))
        self.assertEqual([row["recordings"] for row in rows], [1, 1, 1, 1])
        self.assertEqual(sorted(row["as"] for row in rows), ["root", "root", "root", "user"])

    def test_a_name_cannot_break_the_table_or_steer_a_terminal(self):
        def name(facts):
            facts.edit(facts.one("recording_start")).what.candidate = "a|b\n<i>\x1b[2J`\\"

        path = changed("name", name)
        self.assertIn("a|b\\x0a<i>\\x1b[2J`\\\\", ask("--table", path).stdout)
        lines = ask("--table=markdown", path).stdout.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertTrue(lines[2].startswith("| a\\|b\\\\x0a\\<i\\>\\\\x1b\\[2J\\`\\\\\\\\<br>"), lines[2])
        _, (row,) = rows_of(path)
        self.assertEqual(row["candidate"], "a|b\n<i>\x1b[2J`\\")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
