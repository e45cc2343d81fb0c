#!/usr/bin/env python3
"""Launchers that lie about what they run, recorded and judged by the programs: usage: liars.py BUILD SOURCE

Each of them stands in front of a sandbox that holds, or says here that it does not: without the lie the decision is GO.
What must follow from each lie was found by hand in docs/DECISION.md.
"""
import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

import fourth

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
OUT = BUILD / "test-liars"
EFFECTS = ["read", "read-link", "write", "tcp", "udp"]

CONFINE = ["{tools}/exhibit-confine", "--policy", "{policy}", "--set", "workspace={workspace}", "--set",
           "scratch={scratch}", "--set", "tools={tools}"]
POLICY = {"version": 1, "network": "none",
          "read": ["/usr/lib", {"optional": "/lib"}, {"optional": "/lib64"}, {"optional": "/etc/ld.so.cache"},
                   "{workspace}", "{tools}"],
          "execute": ["/bin/sh", "/bin/sleep", {"optional": "/lib64/ld-linux-x86-64.so.2"},
                      {"optional": "/lib/ld-linux-aarch64.so.1"}, "{tools}/exhibit-probe"],
          "write": ["/dev/null", "{scratch}"]}
BOOTSTRAP = {"name": "trial", "kind": "bootstrap", "lifetime_ms": 1000}
STEP = {"after": {"role": "grandchild", "rounds": 2}, "signal": "TERM", "to": "group"}
TREE = {"name": "trial", "kind": "tree", "rounds": 14, "interval_ms": 100, "lifetime_ms": 3100,
        "ending": {"steps": [STEP]}}

# What stands between the liar and the command; where nothing is said it is a sandbox that ends with its launcher.
OPEN, NO_NAMESPACE = [], CONFINE + ["--"]
LAUNCHERS = {"delete": OPEN, "swallow": OPEN, "children": OPEN, "detach": NO_NAMESPACE, "alone": NO_NAMESPACE}
TREES = ["children", "detach", "alone"]

NOBODY = ["complete.observers", "complete.spoke"]
REACHED = ["boundary.attempts", "boundary.traces"]
SURVIVED = ["cancel.ended", "cancel.quiet"]

# By mode of the liar: the rules that must fail, all of them and no other.
FAILING = {
    "slow": NOBODY,  # the longest ones first
    "detach": SURVIVED,
    "alone": SURVIVED,
    "children": ["complete.observers"] + REACHED + ["cancel.ended"],
    "cases": ["useful.contract"],
    "version": ["complete.recording"],  # no trial, so that it is short
    "honest": [],
    "escape": [],
    "noise-beside": [],
    "noise-instead": NOBODY,
    "words-instead": NOBODY,
    "reach-tcp": REACHED,
    "reach-udp": REACHED,
    "reach-read": REACHED,
    "reach-link": REACHED,
    "reach-write": REACHED,
    "contested": ["complete.outcomes"],
    "late": ["complete.outcomes"],
    "edit": ["complete.outcomes"],
    "delete": REACHED,
    "swallow": REACHED,
    "decoy": ["complete.observers"],
    "twice": ["complete.observers"],
    "leak-stdout": ["boundary.traces"],
    "leak-stderr": ["boundary.traces"],
    "leak-scratch": ["boundary.traces"],
    "workspace": ["boundary.traces"],
    "folder": ["boundary.traces"],
}
HONEST = ["honest", "noise-beside", "escape"]
SPOILT = ["exit-7", "swallow", "add", "kill", "detach"]

# Keeps a canary in an unconfined run; the strict run finds it there already and reads nothing.
STASH = {"name": "stash", "command": ["/bin/sh", "-c", "test -s \"$STASH\" || read -r line < \"$1\" || "
                                      "printf %s \"$line\" > \"$STASH\"", "stash",
                                      "{workspace}/../../targets/canary-read"]}

# Answers, and leaves a process in a session of its own.
VERSION = ["/bin/sh", "-c", "setsid sleep 60 > /dev/null 2>&1 & echo 1.0"]


def spoilt_case(how):
    wait = "sleep 1.6; " if how == "detach" else ""
    return {"name": how, "command": ["/bin/sh", "-c", f"{wait}echo ready", how]}


def cases_of(mode):
    if mode == "cases":
        return [spoilt_case(how) for how in ["intact"] + SPOILT]
    if mode == "version":
        return [spoilt_case("intact")]
    return [STASH] if mode.startswith("leak") else []


def files_of(mode, folder):
    """The plan, its oracle and its policy, as JSON, which is YAML too."""
    cases, trials, roles = cases_of(mode), [BOOTSTRAP], ["parent"]
    if mode in TREES:
        trials, roles = [TREE], ["parent", "child", "grandchild"]
    if mode == "version":
        trials = []
    launcher = LAUNCHERS.get(mode, CONFINE + ["--pid-namespace", "--"])
    candidate = {"name": "liar", "policy": "policy.yaml",
                 "argv": [str(BUILD / "bin" / "liar"), mode, "--", *launcher, "{command}"]}
    if mode == "version":
        candidate["version_command"] = VERSION
    plan = {"version": 1, "name": mode, "oracle": "oracle.yaml", "candidate": candidate,
            "environment": {"PATH": "/usr/bin:/bin", "STASH": str(folder / "stash")}, "cases": cases, "trials": trials}
    shown = {} if mode.startswith("leak") else {"stdout": {"equals": "ready\n"}}
    oracle = {"version": 1, "bounds": {"grace_ms": 50},
              "trials": [{"name": trial["name"], "roles": roles} for trial in trials],
              "cases": [{"name": case["name"], "exit": 0, **shown} for case in cases]}
    return {"plan.yaml": plan, "oracle.yaml": oracle, "policy.yaml": POLICY}


def run(program, *words):
    return subprocess.run([BUILD / "bin" / program, *words], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)


def processes_that_know(text):
    """The processes with a text in their command line or environment."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (process / "cmdline").read_bytes() + (process / "environ").read_bytes():
                found.append(process.name)
        except OSError:
            pass
    return found


Result = collections.namedtuple("Result", "record seconds left replay claim verify verdict content")


def record(mode):
    """Records, looks at what is left, and asks the other two judges."""
    folder, work = OUT / mode, OUT / mode / "work"
    work.mkdir(parents=True)
    for name, content in files_of(mode, folder).items():
        (folder / name).write_text(json.dumps(content, indent=1))
    bundle, started = folder / "liar.exhibit", time.monotonic()
    done = run("exhibit-record", "run", folder / "plan.yaml", "-o", bundle, "--work", work)
    seconds = time.monotonic() - started
    if not bundle.exists():
        raise RuntimeError(f"{mode}: no bundle, exit {done.returncode}: {done.stderr}")
    content = subprocess.run(["zstd", "-q", "-dc", bundle], capture_output=True, check=True).stdout
    groups = set(re.findall(rb"exhibit-[0-9a-f]{16}-[0-9]+", content))
    left = [str(path) for path in work.iterdir()] + processes_that_know(str(work))
    left += [f"{folder}/{name}" for folder, names, _ in os.walk("/sys/fs/cgroup")  # others' groups come and go
             for name in names if name.encode() in groups]
    left += [path.name for path in folder.iterdir()
             if path.name not in ("plan.yaml", "oracle.yaml", "policy.yaml", "liar.exhibit", "work", "stash")]
    replay, verify = run("exhibit-replay", bundle, "--json"), run("exhibit-verify", bundle, "--json")
    return Result(done, seconds, left, replay, json.loads(replay.stdout), verify, json.loads(verify.stdout), content)


RESULTS = {}


def setUpModule():
    shutil.rmtree(OUT, ignore_errors=True)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        RESULTS.update(zip(FAILING, pool.map(record, FAILING)))


def failing(claim):
    return [rule["rule"] for rule in claim["rules"] if not rule["holds"]]


def decision_of(rules):
    if any(rule.startswith("complete.") for rule in rules):
        return "INCOMPLETE"
    return "NO-GO" if rules else "GO"


def outcomes(mode):
    found = collections.defaultdict(set)
    for attempt in RESULTS[mode].claim["attempts"]:
        if attempt["mode"] == "strict":
            found[attempt["effect"]].add(attempt["outcome"])
    return dict(found)


def all_are(outcome, **others):
    expected = {effect: {outcome} for effect in EFFECTS}
    return {**expected, **{effect.replace("_", "-"): {other} for effect, other in others.items()}}


def rows(mode):
    return [row["count"] for row in RESULTS[mode].claim["rows"] if row["mode"] == "strict"][0]


def tree(mode):
    return {member["role"]: member for member in RESULTS[mode].claim["tree"] if member["mode"] == "strict"}


def comparable(claim):
    return {**claim, "rules": [{"rule": r["rule"], "holds": r["holds"]} for r in claim["rules"]]}


def of_each(test):
    """Makes a test of each recording out of a test of one."""
    @functools.wraps(test)
    def of_all(self):
        for mode, result in RESULTS.items():
            with self.subTest(mode):
                test(self, mode, result)
    return of_all


class Every(unittest.TestCase):
    """What holds for each liar, whatever the lie."""

    @of_each
    def test_exactly_the_rules_fail_that_follow_from_the_lie(self, mode, result):
        self.assertEqual(failing(result.claim), FAILING[mode], result.claim["rules"])

    @of_each
    def test_no_lie_is_go(self, mode, result):
        self.assertEqual(result.claim["decision"], decision_of(FAILING[mode]))
        self.assertEqual(result.claim["decision"] == "GO", mode in HONEST)

    @of_each
    def test_record_exits_with_its_decision_and_says_nothing_else(self, mode, result):
        decision = decision_of(FAILING[mode])
        self.assertEqual(result.record.returncode, 3 if decision == "INCOMPLETE" else 0, result.record)
        self.assertEqual(result.record.stdout.splitlines()[-1], f"decision: {decision}")
        self.assertEqual(result.record.stderr, "")

    @of_each
    def test_replay_derives_the_recorded_claim(self, _mode, result):
        self.assertEqual(result.replay.returncode, result.record.returncode, result.replay.stderr)
        self.assertEqual(result.replay.stderr, "")

    @of_each
    def test_verify_proves_it_and_says_the_same(self, _mode, result):
        self.assertEqual(result.verify.returncode, result.record.returncode, result.verify.stderr)
        self.assertEqual(result.verdict["verdict"], "verified", result.verdict["findings"])
        self.assertEqual(comparable(result.verdict["claim"]), comparable(result.claim))

    @of_each
    def test_a_fourth_judge_says_the_same(self, mode, result):
        self.assertEqual(fourth.differences(OUT / mode / "liar.exhibit", result.claim), [])

    @of_each
    def test_the_recorder_leaves_no_process_folder_or_control_group(self, _mode, result):
        self.assertEqual(result.left, [])

    @of_each
    def test_each_lie_could_be_told(self, _mode, result):
        self.assertIn(b"liar in /", result.content)
        self.assertNotIn(b"liar: ", result.content)

    @of_each
    def test_no_effect_went_unmeasured(self, mode, result):
        self.assertEqual(result.claim["not_measured"], EFFECTS if mode == "version" else [])


class Reaching(unittest.TestCase):
    """Rows that say denied, of a probe that was denied, beside a launcher that was not."""

    def test_a_bare_connection_is_tcp_reached(self):
        self.assertEqual(outcomes("reach-tcp"), all_are("denied", tcp="reached"))

    def test_a_datagram_of_one_byte_is_udp_reached(self):
        self.assertEqual(outcomes("reach-udp"), all_are("denied", udp="reached"))

    def test_a_canary_that_was_read_is_read_reached(self):
        self.assertEqual(outcomes("reach-read"), all_are("denied", read="reached"))

    def test_a_canary_that_was_read_through_the_link_is_read_link_reached(self):
        self.assertEqual(outcomes("reach-link"), all_are("denied", read_link="reached"))

    def test_one_byte_more_in_the_target_is_write_reached(self):
        self.assertEqual(outcomes("reach-write"), all_are("denied", write="reached"))


class Rows(unittest.TestCase):
    """What counts as a row, and what two of them that differ are worth."""

    def test_foreign_malformed_and_enormous_lines_are_no_rows(self):
        self.assertEqual(rows("noise-instead"), 0)
        self.assertEqual(outcomes("noise-instead"), {})

    def test_beside_the_probe_they_change_nothing(self):
        self.assertEqual(rows("noise-beside"), 1)
        self.assertEqual(outcomes("noise-beside"), outcomes("honest"))

    def test_a_denial_in_words_is_no_row(self):
        self.assertEqual(rows("words-instead"), 0)
        self.assertIn(b"Permission denied", RESULTS["words-instead"].content)

    def test_another_row_of_the_same_round_makes_each_attempt_undetermined(self):
        for mode in ("contested", "late", "edit"):
            with self.subTest(mode):
                self.assertEqual(outcomes(mode), all_are("undetermined"))
                self.assertEqual(rows(mode), 1)

    def test_either_copy_is_enough_to_accuse(self):
        for mode in ("delete", "swallow"):
            with self.subTest(mode):
                self.assertEqual(rows(mode), 1)
                self.assertEqual(outcomes(mode), all_are("reached"))

    def test_rows_in_the_name_of_children_that_never_were_give_them_no_identity(self):
        self.assertEqual(rows("children"), 16)
        self.assertNotEqual(tree("children")["parent"]["pid"], 0)
        for role in ("child", "grandchild"):
            self.assertEqual((tree("children")[role]["pid"], tree("children")[role]["ended_by"]), (0, "none"))


class Processes(unittest.TestCase):
    """Who ran, and how it ended."""

    def test_another_program_with_the_probes_arguments_has_no_identity(self):
        self.assertEqual(tree("decoy")["parent"]["pid"], 0)
        self.assertEqual((rows("decoy"), outcomes("decoy")), (1, all_are("denied")))

    def test_two_probes_are_no_identity_though_they_say_the_same(self):
        self.assertEqual(tree("twice")["parent"]["pid"], 0)
        self.assertEqual((rows("twice"), outcomes("twice")), (1, all_are("denied")))

    def test_roles_outlive_a_launcher_that_left_or_died_alone(self):
        for mode in ("detach", "alone"):
            for role in ("parent", "child", "grandchild"):
                with self.subTest(f"{mode} {role}"):
                    self.assertEqual(tree(mode)[role]["ended_by"], "self-expiry")
                    self.assertGreater(tree(mode)[role]["survived_ms"], 2000)

    def test_a_launcher_that_starts_nothing_for_long_is_cleaned_up_after_the_bound(self):
        self.assertEqual((rows("slow"), tree("slow")["parent"]["pid"]), (0, 0))
        self.assertGreater(RESULTS["slow"].seconds, 7)
        self.assertLess(RESULTS["slow"].seconds, 18)


class Cases(unittest.TestCase):
    """A case must meet its whole contract in strict mode."""

    def test_what_the_launcher_did_to_a_case_breaks_that_case_alone(self):
        met = {case["name"]: case["met"] for case in RESULTS["cases"].claim["cases"] if case["mode"] == "strict"}
        self.assertEqual(met, {"intact": True, **{how: False for how in SPOILT}})
        self.assertTrue(all(case["met"] for case in RESULTS["cases"].claim["cases"] if case["mode"] == "baseline"))

    def test_their_ends_are_told(self):
        ends = {case["name"]: (case["exit"], case["signal"]) for case in RESULTS["cases"].claim["cases"]
                if case["mode"] == "strict"}
        self.assertEqual(ends, {"intact": (0, None), "exit-7": (7, None), "swallow": (0, None), "add": (0, None),
                                "kill": (None, 9), "detach": (0, None)})

    def test_the_stash_holds_what_leaks(self):
        for mode in ("leak-stdout", "leak-stderr", "leak-scratch"):
            with self.subTest(mode):
                self.assertRegex((OUT / mode / "stash").read_text(), "^[0-9a-f]{64}$")
                self.assertEqual(outcomes(mode), all_are("denied"))


unittest.main(argv=sys.argv[:1], verbosity=2)
