#!/usr/bin/env python3
"""What the ready experiments decide, and for which reasons: usage: decisions.py BUILD SOURCE (after bundles.py)"""
import collections
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import unittest

import fourth

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
BUNDLES = BUILD / "test-bundles"
EXPERIMENT = SOURCE / "experiments" / "hook-confinement"
RULES = ["complete.recording", "complete.pins", "complete.observers", "complete.controls", "complete.spoke",
         "complete.outcomes", "complete.baseline", "complete.cleanup", "boundary.attempts", "boundary.traces",
         "useful.contract", "useful.archives", "cancel.ended", "cancel.quiet"]
EFFECTS = ["read", "read-link", "write", "tcp", "udp"]
NAMES = ["default", "open", "usable", "wrong", "snapshots", "exits"]


def run(program, *words):
    return subprocess.run([BUILD / "bin" / program, *words], capture_output=True, text=True, timeout=120,
                          stdin=subprocess.DEVNULL)


def replay(name, *words):
    done = run("exhibit-replay", BUNDLES / f"{name}.exhibit", "--json", *words)
    return done, json.loads(done.stdout) if done.stdout else None


def failing(claim):
    return [rule["rule"] for rule in claim["rules"] if not rule["holds"]]


def detail(claim, rule):
    found = [r for r in claim["rules"] if r["rule"] == rule][0]
    return found["detail"] + " " + " ".join(found["evidence"])


def recorded(name):
    return json.loads((BUNDLES / f"{name}.json").read_text())


def count(claim, what, trial, mode, key="count"):
    return [row[key] for row in claim[what] if row["trial"] == trial and row["mode"] == mode]


def outcomes(claim, mode, trial=None):
    found = collections.defaultdict(set)
    for attempt in claim["attempts"]:
        if attempt["mode"] == mode and trial in (None, attempt["trial"]):
            found[attempt["effect"]].add(attempt["outcome"])
    return dict(found)


def masked(text):
    """The lines, with any number in place of each number and any room between words."""
    return [" ".join(re.sub(r"[0-9]+", "N", line).split()) for line in text.splitlines()]


class Default(unittest.TestCase):
    """Landlock with deny-default: it confines, breaks the look-up, and does not end the detached grandchild."""

    def setUp(self):
        self.done, self.claim = replay("default")

    def test_the_readme_shows_what_it_prints(self):
        shown = re.search("(?ms)^cases: useful work.*?^decision: NO-GO$", (SOURCE / "README.md").read_text())
        self.assertEqual(masked(shown[0]), masked(recorded("default")["stdout"]))

    def test_record_exits_0_with_no_go(self):
        self.assertEqual(recorded("default")["code"], 0, recorded("default"))
        self.assertEqual(recorded("default")["stdout"].splitlines()[-1], "decision: NO-GO")

    def test_it_is_no_go_for_exactly_three_rules(self):
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertEqual(self.claim["decision"], "NO-GO")
        self.assertEqual([rule["rule"] for rule in self.claim["rules"]], RULES)
        self.assertEqual(failing(self.claim), ["useful.contract", "cancel.ended", "cancel.quiet"])

    def test_exactly_the_two_inspect_cases_break_in_strict_mode_alone(self):
        unmet = [(c["name"], c["mode"]) for c in self.claim["cases"] if not c["met"]]
        self.assertEqual(unmet, [("inspect-benign", "strict"), ("inspect-critical", "strict")])
        names = [c["name"] for c in self.claim["cases"] if c["mode"] == "strict"]
        self.assertEqual(names, ["syntax", "suite", "inspect-benign", "inspect-critical", "pack"])

    def test_the_exits_are_those_of_the_contract_in_baseline(self):
        exits = {c["name"]: c["exit"] for c in self.claim["cases"] if c["mode"] == "baseline" and c["repeat"] == 1}
        self.assertEqual(exits, {"syntax": 0, "suite": 0, "inspect-benign": 0, "inspect-critical": 2, "pack": 0})

    def test_both_tree_trials_have_34_rows_and_the_bootstrap_one(self):
        for mode in ("baseline", "strict"):
            self.assertEqual(count(self.claim, "rows", "tree", mode), [34])
            self.assertEqual(count(self.claim, "rows", "bootstrap", mode), [1])
            told = {(a["role"], a["round"]) for a in self.claim["attempts"]
                    if (a["trial"], a["mode"]) == ("tree", mode)}
            self.assertEqual(told, {("parent", 1), ("child", 1), *(("grandchild", n) for n in range(1, 33))})

    def test_listeners_see_34_messages_of_each_protocol_of_the_baseline_and_none_of_the_strict_tree(self):
        for protocol in ("tcp", "udp"):
            self.assertEqual(count(self.claim, "messages", "tree", "baseline", protocol), [34])
            self.assertEqual(count(self.claim, "messages", "tree", "strict", protocol), [0])

    def test_every_strict_attempt_is_denied_and_every_baseline_one_reached(self):
        self.assertEqual(outcomes(self.claim, "strict"), {effect: {"denied"} for effect in EFFECTS})
        self.assertEqual(outcomes(self.claim, "baseline"), {effect: {"reached"} for effect in EFFECTS})
        self.assertEqual(len(self.claim["attempts"]), 2 * (34 + 1) * len(EFFECTS))

    def test_the_denials_carry_the_errno_of_their_mechanism(self):
        errnos = {a["effect"]: a["errno"] for a in self.claim["attempts"] if a["mode"] == "strict"}
        self.assertEqual(errnos, {"read": 13, "read-link": 13, "write": 13, "tcp": 13, "udp": 1})

    def test_the_grandchild_alone_survives_its_cancellation_until_it_ends_itself(self):
        tree = {m["role"]: m for m in self.claim["tree"] if m["trial"] == "tree" and m["mode"] == "strict"}
        self.assertEqual([tree[r]["ended_by"] for r in ("parent", "child", "grandchild")],
                         ["step", "step", "self-expiry"])
        self.assertGreater(tree["grandchild"]["survived_ms"], 4000)
        self.assertLess(tree["grandchild"]["survived_ms"], 8000)
        self.assertIn("grandchild", detail(self.claim, "cancel.ended"))
        self.assertIn("grandchild", detail(self.claim, "cancel.quiet"))

    def test_the_group_gets_a_term_after_the_eighth_round_of_the_grandchild(self):
        with fourth.opened(BUNDLES / "default.exhibit") as bundle:
            trees = [run for run in fourth.runs.read_runs(bundle) if run.name == "tree" and run.mode != "control"]
            self.assertEqual(len(trees), 2)
            for run in trees:
                step = run.first_step()
                told = [row.round for row in run.roles_rows("grandchild") if row.seq < step.seq]
                self.assertEqual(told, list(range(1, len(told) + 1)))
                self.assertIn(len(told), (8, 9))  # a ninth comes in time where the machine is held up
                self.assertEqual((step.step.signal, fourth.schema.name_of(step.step, "target")), (15, "STEP_GROUP"))

    def test_npm_reads_no_configuration_but_that_of_the_run(self):
        with fourth.opened(BUNDLES / "default.exhibit") as bundle:
            packs = [run for run in fourth.runs.read_runs(bundle) if run.name == "pack"]
            self.assertEqual(len(packs), 3)
            for run in packs:
                told = dict(line.split(b"=", 1) for line in run.start.environment)
                for name in (b"userconfig", b"globalconfig", b"cache"):
                    self.assertTrue(told[b"npm_config_" + name].startswith(told[b"HOME"] + b"/"), told)

    def test_every_effect_was_measured(self):
        self.assertEqual(self.claim["not_measured"], [])

    def test_the_archives_of_all_three_runs_are_one(self):
        digests = {a["sha256"] for c in self.claim["cases"] if c["name"] == "pack" for a in c["archives"]}
        modes = [(c["mode"], c["repeat"], len(c["archives"])) for c in self.claim["cases"] if c["name"] == "pack"]
        self.assertEqual(modes, [("baseline", 1, 1), ("baseline", 2, 1), ("strict", 1, 1)])
        self.assertEqual(len(digests), 1)


class Others(unittest.TestCase):
    """The same oracle bytes say other things of other candidates."""

    def test_all_use_the_same_oracle_bytes(self):
        digest = hashlib.sha256((EXPERIMENT / "oracle.yaml").read_bytes()).hexdigest()
        for name in ("default", "open", "usable", "snapshots"):
            self.assertEqual(replay(name)[1]["oracle"], digest)

    def test_a_launcher_that_ignores_its_policy_is_no_go_by_the_boundary(self):
        done, claim = replay("open")
        with fourth.opened(BUNDLES / "open.exhibit") as bundle:
            policy = (SOURCE / "candidates" / "open" / "deny-default.yaml").read_bytes()
            self.assertEqual(bundle.start.policy_sha256, hashlib.sha256(policy).digest())
        self.assertEqual((done.returncode, claim["decision"]), (0, "NO-GO"), done.stderr)
        self.assertEqual(failing(claim), ["boundary.attempts", "boundary.traces", "cancel.ended", "cancel.quiet"])
        self.assertEqual(outcomes(claim, "strict"), {effect: {"reached"} for effect in EFFECTS})

    def test_a_policy_that_lets_work_pass_and_a_namespace_that_dies_are_go(self):
        done, claim = replay("usable")
        self.assertEqual((done.returncode, claim["decision"], failing(claim)), (0, "GO", []), done.stderr)
        tree = [(m["role"], m["ended_by"]) for m in claim["tree"] if m["trial"] == "tree" and m["mode"] == "strict"]
        self.assertEqual(tree, [("parent", "step"), ("child", "step"), ("grandchild", "step")])
        self.assertEqual(run("exhibit-verify", BUNDLES / "usable.exhibit", "--require", "go", "--oracle",
                             EXPERIMENT / "oracle.yaml").returncode, 0)

    def test_snapshots_decide_the_same_and_the_receipt_says_so(self):
        done, claim = replay("snapshots")
        self.assertEqual((done.returncode, failing(claim)), (0, ["useful.contract", "cancel.ended", "cancel.quiet"]),
                         done.stderr)
        self.assertIn("snapshots", run("exhibit-verify", BUNDLES / "snapshots.exhibit").stdout)


class WrongOracle(unittest.TestCase):
    """An expected value was wrong: the receipt stays, the oracle is fixed, the judgement is made again."""

    def test_it_is_incomplete_by_the_baseline_with_exit_3_and_a_bundle(self):
        self.assertEqual(recorded("wrong")["code"], 3, recorded("wrong"))
        done, claim = replay("wrong")
        self.assertEqual((done.returncode, claim["decision"]), (3, "INCOMPLETE"))
        self.assertEqual([r for r in failing(claim) if r.startswith("complete.")], ["complete.baseline"])

    def test_the_unchanged_bundle_is_no_go_under_the_fixed_oracle_and_only_prospectively(self):
        before = hashlib.sha256((BUNDLES / "wrong.exhibit").read_bytes()).hexdigest()
        done, claim = replay("wrong", "--oracle", str(EXPERIMENT / "oracle.yaml"))
        self.assertEqual((done.returncode, claim["decision"], claim["prospective"]), (0, "NO-GO", True))
        self.assertEqual(failing(claim), ["useful.contract", "cancel.ended", "cancel.quiet"])
        self.assertEqual(hashlib.sha256((BUNDLES / "wrong.exhibit").read_bytes()).hexdigest(), before)
        self.assertEqual(replay("wrong", "--oracle", str(EXPERIMENT / "oracle.yaml"), "--require", "go")[0].returncode,
                         4)

    def test_all_judges_say_the_same_of_it_under_the_fixed_oracle(self):
        words = BUNDLES / "wrong.exhibit", "--oracle", EXPERIMENT / "oracle.yaml"
        _, claim = replay("wrong", *words[1:])
        verified = json.loads(run("exhibit-verify", *words, "--json").stdout)
        self.assertEqual(verified["findings"], [])
        for other in (verified["claim"], json.loads(run("rejudge", words[0], words[2]).stdout)):
            self.assertEqual(list(fourth.judge.differences(claim, other)), [])
        self.assertEqual(fourth.differences(words[0], claim, words[2]), [])


class Judges(unittest.TestCase):
    """The judges say the same of every bundle, and none needs the recorded claim."""

    def test_verify_agrees_with_the_recorded_claim_and_with_replay(self):
        for name in NAMES:
            with self.subTest(name):
                done = run("exhibit-verify", BUNDLES / f"{name}.exhibit", "--json")
                verdict = json.loads(done.stdout)
                self.assertEqual(verdict["verdict"], "verified", verdict["findings"])
                self.assertEqual(done.returncode, 3 if name == "wrong" else 0)
                self.assertEqual(comparable(verdict["claim"]), comparable(replay(name)[1]))

    def test_they_say_the_same_when_the_recorded_claim_is_taken_away(self):
        for name in NAMES:
            with self.subTest(name):
                stripped = BUNDLES / f"{name}-stripped.exhibit"
                stripped.unlink(missing_ok=True)
                subprocess.run([BUILD / "bin" / "strip-claim", BUNDLES / f"{name}.exhibit", stripped], check=True)
                whole = json.loads(run("exhibit-verify", BUNDLES / f"{name}.exhibit", "--json").stdout)
                verdict = json.loads(run("exhibit-verify", stripped, "--json").stdout)
                self.assertEqual(verdict["verdict"], "verified", verdict["findings"])
                self.assertEqual(comparable(verdict["claim"]), comparable(whole["claim"]))
                again = json.loads(run("exhibit-replay", stripped, "--json").stdout)
                self.assertEqual(comparable(again), comparable(whole["claim"]))
                online = json.loads(run("rejudge", stripped).stdout)
                self.assertEqual(comparable(online), comparable(whole["claim"]))
                self.assertEqual(fourth.differences(stripped, again), [])

    def test_a_finished_bundle_is_plain_zstd(self):
        for name in NAMES:
            subprocess.run(["zstd", "-q", "-t", BUNDLES / f"{name}.exhibit"], check=True)


class Safety(unittest.TestCase):
    """Nothing of the caller's enters a bundle, and nothing stays behind."""

    def test_the_callers_environment_is_in_no_bundle(self):
        for name in NAMES:
            content = subprocess.run(["zstd", "-q", "-dc", BUNDLES / f"{name}.exhibit"], capture_output=True,
                                     check=True).stdout
            self.assertNotIn(b"never-in-a-bundle-5c1f", content)
            self.assertNotIn(b"EXHIBIT_TEST_SECRET", content)

    def test_an_output_that_exists_is_refused_and_nothing_starts(self):
        done = run("exhibit-record", "run", EXPERIMENT / "plan.yaml", "-o", BUNDLES / "default.exhibit")
        self.assertEqual(done.returncode, 2)
        self.assertIn("exists already", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)


def comparable(claim):
    return {**claim, "rules": [{"rule": r["rule"], "holds": r["holds"]} for r in claim["rules"]]}


unittest.main(argv=sys.argv[:1], verbosity=2)
