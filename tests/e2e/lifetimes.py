#!/usr/bin/python3
"""Who survives which ending, in three candidates: usage: lifetimes.py BUILD SOURCE [shipped]

Each trial of experiments/lifetimes is recorded by itself, all at the same time: they mostly wait. With `shipped` the
plan as it stands, whole, which takes as long as its trials one after the other. What is expected was written by hand: a launcher that becomes its command (open, landlock) ends nobody; in the pid
namespace of landlock-pidns all end with the launcher and with the command.
"""
import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "tests" / "tamper"))

import claims
import judges
from facts import Facts

import fourth  # after those, as it has modules of the same names

PLAN = (SOURCE / "experiments" / "lifetimes" / "plan.yaml").read_text()
ROLES = ["parent", "child", "grandchild"]
EFFECTS = "[read, tcp]"  # the endings are the matter here
CANDIDATES = ["open", "landlock", "landlock-pidns"]
SURVIVORS = {  # where the launcher is the command itself; none in the pid namespace
    "term-group": ["grandchild"],
    "term-launcher": ["child", "grandchild"],
    "kill-group": ["grandchild"],
    "parent-exits": ["child", "grandchild"],
    "ignores-term": ROLES,
    "cgroup-kill": [],
}
NO_GROUP = "this machine gives the recorder no control group"
ROOT = pathlib.Path(tempfile.mkdtemp(prefix="lifetimes-", dir="/var/tmp"))
ROOT.chmod(0o755)
SHIPPED = ROOT / "shipped" / "whole.exhibit"


def run(program, *words, timeout=60):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)


def trials():
    """The text of each trial of the shipped plan, by name, and what stands before them."""
    head, *blocks = re.split(r"^  - name: ", PLAN, flags=re.M)
    return head, {block.split()[0]: "  - name: " + block for block in blocks}


def write(folder, candidate, names):
    """A plan of these trials alone, and its oracle."""
    head, blocks = trials()
    head = re.sub(r"use: [a-z-]+", f"use: {candidate}", head)
    (folder / "work").mkdir(parents=True)
    (folder / "plan.yaml").write_text(head + "".join(blocks[name] + f"    effects: {EFFECTS}\n" for name in names))
    (folder / "oracle.yaml").write_text("version: 1\ntrials:\n" + "".join(
        f"  - {{name: {name}, roles: [parent, child, grandchild], effects: {EFFECTS}}}\n" for name in names))
    return folder / "plan.yaml"


class Recorded:
    """One ending of one candidate: what was recorded, and what replay makes of it."""

    def __init__(self, candidate, ending):
        self.folder = ROOT / f"{candidate}-{ending}"
        self.bundle = self.folder / "out.exhibit"
        plan = write(self.folder, candidate, [ending])
        self.done = run(BUILD / "bin" / "exhibit-record", "run", plan, "-o", self.bundle, "--work",
                        self.folder / "work")
        self.left = [path.name for path in (self.folder / "work").iterdir()]
        replayed = run(BUILD / "bin" / "exhibit-replay", self.bundle, "--json")
        self.claim = json.loads(replayed.stdout) if replayed.stdout else None

    def tree(self, mode):
        return {member["role"]: member for member in self.claim["tree"] if member["mode"] == mode}

    def failing(self):
        return [rule["rule"] for rule in self.claim["rules"] if not rule["holds"]]


def record_shipped():
    """experiments/lifetimes as it stands, with its own oracle."""
    (ROOT / "shipped" / "work").mkdir(parents=True)
    plan = SOURCE / "experiments" / "lifetimes" / "plan.yaml"
    return run(BUILD / "bin" / "exhibit-record", "run", plan, "-o", SHIPPED, "--work", ROOT / "shipped" / "work",
               timeout=150)


def record_all():
    pairs = [(candidate, ending) for ending in SURVIVORS for candidate in CANDIDATES]
    with concurrent.futures.ThreadPoolExecutor(len(pairs)) as pool:
        return dict(zip(pairs, pool.map(lambda pair: Recorded(*pair), pairs)))


class Endings(unittest.TestCase):
    def each(self, check):
        """Calls check(candidate, ending, who must survive, what was recorded), but for what this machine cannot do."""
        for (candidate, ending), recorded in RECORDED.items():
            with self.subTest(candidate=candidate, ending=ending):
                if ending == "cgroup-kill" and NO_GROUP in recorded.done.stderr:
                    self.skipTest(NO_GROUP)
                check(candidate, ending, [] if candidate == "landlock-pidns" else SURVIVORS[ending], recorded)

    def test_the_shipped_plan_has_exactly_these_endings(self):
        self.assertEqual(list(trials()[1]), list(SURVIVORS))

    def test_every_recording_is_measured_to_its_end(self):
        def check(_candidate, _ending, _survivors, recorded):
            self.assertEqual(recorded.done.returncode, 0, recorded.done.stdout[-1500:] + recorded.done.stderr)

        self.each(check)

    def test_exactly_the_expected_roles_survive_until_they_end_themselves(self):
        def check(_candidate, ending, survivors, recorded):
            for mode, expected in (("strict", survivors), ("baseline", SURVIVORS[ending])):
                tree = recorded.tree(mode)
                own = "exit" if ending == "parent-exits" else "step"
                self.assertEqual({role: tree[role]["ended_by"] for role in ROLES}, {
                    role: "self-expiry" if role in expected else own if role == "parent" else "step"
                    for role in ROLES}, mode)
                for role in ROLES:
                    survived_ms = tree[role]["survived_ms"]
                    self.assertTrue(2000 < survived_ms < 4300 if role in expected else survived_ms < 2000, tree[role])

        self.each(check)

    def test_each_ending_has_its_own_verdict_and_it_is_that_of_the_rules(self):
        def check(candidate, ending, survivors, recorded):
            quiet = "grandchild" not in survivors  # the child has said all that it has to say
            self.assertEqual(recorded.claim["endings"],
                             [{"trial": ending, "ended": survivors == [], "quiet": quiet}])
            reached = ["boundary.attempts", "boundary.traces"] if candidate == "open" else []
            self.assertEqual(recorded.failing(), reached + ["cancel.ended"] * bool(survivors) +
                             ["cancel.quiet"] * (not quiet))
            self.assertEqual(recorded.claim["decision"], "NO-GO" if reached or survivors else "GO")

        self.each(check)

    def test_verify_and_the_recorders_own_judge_say_the_same(self):
        def check(_candidate, _ending, _survivors, recorded):
            verified = run(BUILD / "bin" / "exhibit-verify", recorded.bundle)
            self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
            again = run(BUILD / "bin" / "exhibit-replay", recorded.bundle)
            self.assertEqual(again.returncode, 0, again.stderr)

        self.each(check)

    def test_a_fourth_judge_says_the_same(self):
        def check(_candidate, _ending, _survivors, recorded):
            self.assertEqual(fourth.differs_from_recorded(recorded.bundle), [])

        self.each(check)

    def test_endings_that_differ_are_told_apart_and_a_folder_makes_a_row_for_each_candidate(self):
        """The same bundles by a folder: of each ending that of another oracle, so a row for each."""
        done = run(BUILD / "bin" / "exhibit-replay", ROOT, "--table=json")
        told = {(row["candidate"], ending["trial"]): bool(ending["ended"])
                for row in json.loads(done.stdout)["rows"] for ending in row["endings"] if len(row["endings"]) == 1}
        self.assertEqual(told, {(candidate, ending): candidate == "landlock-pidns" or not survivors
                                for ending, survivors in SURVIVORS.items() for candidate in CANDIDATES})

    def test_nothing_is_left_of_any_of_them(self):
        def check(_candidate, _ending, _survivors, recorded):
            self.assertEqual(recorded.left, [])

        self.each(check)
        for entry in pathlib.Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    self.assertNotIn(str(ROOT).encode(), (entry / "cmdline").read_bytes(), entry.name)
                except OSError:
                    pass


class Shipped(unittest.TestCase):
    """The shipped plan, as it stands: six endings in one bundle."""

    def setUp(self):
        if NO_GROUP in WHOLE.stderr:
            self.skipTest(NO_GROUP)

    def test_its_own_candidate_is_go_under_its_own_oracle(self):
        self.assertEqual(WHOLE.returncode, 0, WHOLE.stdout[-1500:] + WHOLE.stderr)
        self.assertEqual(list((ROOT / "shipped" / "work").iterdir()), [])
        oracle = SOURCE / "experiments" / "lifetimes" / "oracle.yaml"
        for program in ("exhibit-replay", "exhibit-verify"):
            done = run(BUILD / "bin" / program, SHIPPED, "--oracle", oracle, "--require", "go")
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        claim = json.loads(run(BUILD / "bin" / "exhibit-replay", SHIPPED, "--json").stdout)
        self.assertEqual((claim["decision"], claim["prospective"]), ("GO", False))
        self.assertEqual(fourth.differences(SHIPPED, claim), [])
        self.assertEqual(claim["endings"], [{"trial": name, "ended": True, "quiet": True} for name in SURVIVORS])

    def test_a_control_of_a_later_tree_is_needed_as_much_as_one_of_the_first(self):
        """The facts of one trial's control say that an effect was not reached; those of all others stand."""
        judge = judges.Judges(BUILD)
        self.addCleanup(judge.room.cleanup)
        for name, repeat, role in (("term-launcher", 1, "child"), ("cgroup-kill", 2, "parent")):
            with self.subTest(name):
                facts = Facts.read(SHIPPED)
                facts.tell(facts.run(name, "control", repeat), role, "tcp", "errno:111")
                path = judge.write(facts.builder()())
                replay, verify, record = judge.replay(path), judge.verify(path), judge.record(path)
                self.assertEqual((replay.code, verify.code, verify.verdict), (3, 3, "verified"), verify.told)
                for said in (replay, verify, record):
                    self.assertEqual(claims.failing(said.claim), {"complete.controls"}, said.told)
                    self.assertEqual(said.claim["decision"], "INCOMPLETE")
                    (rule,) = [rule for rule in said.claim["rules"] if not rule["holds"]]
                    self.assertIn(name, rule["detail"])
                self.assertEqual(judge.fourth(path, replay.claim), [])

    def test_each_ending_has_a_cell_of_its_own_in_the_table(self):
        row, = json.loads(run(BUILD / "bin" / "exhibit-replay", SHIPPED, "--table=json").stdout)["rows"]
        self.assertEqual(row["endings"],
                         [{"trial": name, "recordings": 1, "ended": 1, "quiet": 1} for name in SURVIVORS])
        self.assertEqual([(end["trial"], end["role"]) for end in row["tree"]],
                         [(name, role) for name in SURVIVORS for role in ROLES])
        line = run(BUILD / "bin" / "exhibit-replay", SHIPPED, "--table=markdown").stdout.splitlines()[2]
        cell = line.split(" | ")[2].split("<br>")
        self.assertEqual(cell[:len(SURVIVORS)], [f"{name}: gone in time, quiet" for name in SURVIVORS])


class Refused(unittest.TestCase):
    def test_a_step_by_cgroup_kill_is_refused_where_there_is_no_control_group(self):
        plan = write(ROOT / "refused", "open", ["cgroup-kill"])
        covered = "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\""
        done = run("unshare", "-m", "sh", "-c", covered, "sh", BUILD / "bin" / "exhibit-record", "run", plan, "-o",
                   ROOT / "refused" / "out.exhibit", "--work", ROOT / "refused" / "work")
        if "unshare: " in done.stderr or "mount: " in done.stderr:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("plan.yaml:8: the trial `cgroup-kill` ends by cgroup.kill, and " + NO_GROUP, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertEqual([path.name for path in (ROOT / "refused").iterdir() if path.suffix == ".exhibit"], [])
        self.assertEqual(list((ROOT / "refused" / "work").iterdir()), [])

    def test_a_tree_with_nothing_left_to_say_is_refused(self):
        plan = write(ROOT / "mute", "open", ["term-group"])
        plan.write_text(plan.read_text().replace("rounds: 20", "rounds: 14"))
        done = run(BUILD / "bin" / "exhibit-record", "run", plan, "-o", ROOT / "mute" / "out.exhibit")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("plan.yaml:8: the trial `term-group` says nothing any more 1300 ms after its start", done.stderr)


RECORDED, WHOLE = {}, None
if __name__ == "__main__":
    try:
        if sys.argv[3:] == ["shipped"]:
            WHOLE = record_shipped()
            unittest.main(argv=sys.argv[:1], defaultTest=["Shipped"], verbosity=2)
        RECORDED = record_all()
        unittest.main(argv=sys.argv[:1], defaultTest=["Endings", "Refused"], verbosity=2)
    finally:
        shutil.rmtree(ROOT, ignore_errors=True)
