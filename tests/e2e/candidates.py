#!/usr/bin/env python3
"""The shipped candidates: bubblewrap and landlock measured with two endings, as root and as an ordinary user; what is
missing is said with how to get it; all of them have the same grants. usage: candidates.py BUILD SOURCE
"""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import hostile
from hostile import FOR_TREE, Place, claim_of, facts_of, failing, met

CANDIDATES = hostile.SOURCE / "candidates"
NAMES = sorted(path.parent.name for path in CANDIDATES.glob("*/candidate.yaml"))
GRANTED = [name for name in NAMES if name != "open"]
USER = 65534
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--"]
TREE = {"kind": "tree", "rounds": 15, "interval_ms": 100, "lifetime_ms": 3200}
EFFECTS = ["read", "read-link", "write", "tcp", "udp"]
DENIED = {effect: {"denied"} for effect in EFFECTS}
CASES = {"user": ({"command": ["/usr/bin/node", "-e", "require('os').userInfo()"]}, {"exit": 0}),
         "scratch": ({"command": ["/usr/bin/node", "-e", "require('fs').writeFileSync(process.argv[1], '')",
                                  "{scratch}/made"]}, {"exit": 0})}
PLACES = {}


def place(name, use, policy, endings=("term", "kill"), **more):
    trials = [{**TREE, "name": name, "ending": {"steps": [
        {"after": {"role": "grandchild", "rounds": 2}, "signal": signal, "to": "group"}]}}
        for name, signal in (("term", "TERM"), ("kill", "KILL")) if name in endings]
    oracle = [{**FOR_TREE[0], "name": trial["name"]} for trial in trials]
    PLACES[name] = Place(name, CASES, trials, oracle, {"use": use, "policy": f"{policy}.yaml"}, **more)
    return PLACES[name]


def for_user(item):
    """Gives the place to an ordinary user; words of a toolkit that this user can reach."""
    toolkit = hostile.ROOT / "toolkit"
    (toolkit / "share" / "exhibit").mkdir(parents=True)
    (toolkit / "bin").mkdir()
    for program in ("exhibit-record", "exhibit-probe", "exhibit-confine"):
        shutil.copy2(hostile.BUILD / "bin" / program, toolkit / "bin" / program)
    shutil.copytree(CANDIDATES, toolkit / "share" / "exhibit" / "candidates")
    for path in (item.folder, item.folder / "work"):
        os.chown(path, USER, USER)
    return item.words(program=toolkit / "bin" / "exhibit-record")


def setUpModule():
    # Landlock's are apart, for in them the detached are waited for.
    items = [(place(f"landlock-{ending}", "landlock", "deny-default", [ending]), {}) for ending in ("term", "kill")]
    if shutil.which("bwrap"):
        items += [(place("strict", "bubblewrap", "deny-default"), {}), (place("usable", "bubblewrap", "usable"), {})]
        if os.geteuid() == 0:
            user = place("user", "bubblewrap", "usable")
            items.append((user, {"before": AS_USER, "words": for_user(user)}))
    hostile.record_all(items, 5)


def tearDownModule():
    found = hostile.leftovers()
    assert not found, found


def outcomes(claim):
    found = {}
    for one in claim["attempts"]:
        if one["mode"] == "strict":
            found.setdefault(one["effect"], set()).add(one["outcome"])
    return found


def survivors(claim):
    return sorted((one["trial"], one["role"]) for one in claim["tree"]
                  if one["mode"] == "strict" and one["ended_by"] != "step")


class Measured(unittest.TestCase):
    def fails(self, name, rules):
        item = PLACES[name]
        claim = claim_of(item.bundle)
        self.assertEqual(failing(claim), rules, [(one["rule"], one["detail"]) for one in claim["rules"]])
        self.assertEqual((item.done.code, hostile.verified(item.bundle)[0]), (0, 0), item.done)
        return claim

    def test_landlock_confines_hides_the_user_and_leaves_the_detached_after_both_endings(self):
        for ending in ("term", "kill"):
            claim = self.fails(f"landlock-{ending}", ["useful.contract", "cancel.ended", "cancel.quiet"])
            self.assertEqual(outcomes(claim), DENIED)
            self.assertEqual(met(claim, "strict"), {"user": False, "scratch": True})
            self.assertEqual(survivors(claim), [(ending, "grandchild")])

    @unittest.skipUnless(shutil.which("bwrap"), "bwrap is not installed")
    def test_bubblewrap_confines_hides_the_user_and_ends_all_after_both_endings(self):
        claim = self.fails("strict", ["useful.contract"])
        self.assertEqual(outcomes(claim), {**DENIED, "udp": {"diverted"}})
        self.assertEqual(met(claim, "strict"), {"user": False, "scratch": True})
        self.assertEqual(survivors(claim), [])

    @unittest.skipUnless(shutil.which("bwrap"), "bwrap is not installed")
    def test_bubblewrap_is_go_where_the_user_database_is_granted_too(self):
        claim = self.fails("usable", [])
        self.assertEqual(claim["decision"], "GO")
        self.assertEqual(outcomes(claim), {**DENIED, "udp": {"diverted"}})

    @unittest.skipUnless(shutil.which("bwrap") and os.geteuid() == 0, "bwrap and root are needed")
    def test_the_same_as_an_ordinary_user_and_the_receipt_says_who(self):
        self.fails("user", [])
        self.assertEqual([facts_of(PLACES[name].bundle).start.host.uid for name in ("usable", "user")], [0, USER])
        self.assertIn(f"uid {USER}, gid {USER}", hostile.run("exhibit-verify", PLACES["user"].bundle).stdout)

    @unittest.skipUnless(shutil.which("bwrap"), "bwrap is not installed")
    def test_the_programs_that_the_launcher_starts_are_identified(self):
        binaries = {one.name: one.path for one in facts_of(PLACES["usable"].bundle).start.binaries}
        self.assertEqual(binaries["bwrap"], str(pathlib.Path("/usr/bin/bwrap").resolve()).encode())
        self.assertTrue(binaries["launcher"].endswith(b"/box/candidate/launch"), binaries["launcher"])


class Shipped(unittest.TestCase):
    def test_each_is_read_and_has_a_note(self):
        taken = hostile.ROOT / "taken.exhibit"
        taken.touch()
        for name in NAMES:
            with self.subTest(name):
                self.assertTrue(any((CANDIDATES / name / note).exists() for note in ("NOTE.md", "README.md")))
                plan = hostile.ROOT / f"{name}.yaml"
                plan.write_text(f"version: 1\nname: x\ncandidate: {{use: {name}}}\n")
                done = hostile.run("exhibit-record", "run", plan, "-o", taken)
                self.assertEqual((done.returncode, "exists already" in done.stderr), (2, True), done.stderr)

    def test_all_have_the_same_two_policies(self):
        for name in GRANTED:
            for policy in ("deny-default.yaml", "usable.yaml"):
                self.assertTrue((CANDIDATES / name / policy).samefile(CANDIDATES / "grants" / policy), (name, policy))

    def test_usable_grants_the_user_database_more_and_nothing_else(self):
        strict, usable = ([re.sub(r"\s*#.*", "", line) for line in (CANDIDATES / "grants" / name).read_text().split("\n")]
                          for name in ("deny-default.yaml", "usable.yaml"))
        self.assertEqual([line for line in usable if line not in strict],
                         ["  - /etc/passwd", "  - optional: /etc/nsswitch.conf"])
        self.assertEqual([line for line in strict if line not in usable], [])

    def test_what_each_says_to_get_is_what_the_script_installs(self):
        script = (hostile.SOURCE / "script" / "candidates").read_text()
        debian, npm, prefix = (re.search(rf"^{name}=\(?([^)#\n]*)", script, re.M)[1].split()
                               for name in ("debian", "npm", "npm_prefix"))
        self.assertTrue(all(re.fullmatch(r"@[a-z-]+/[a-z-]+@[0-9.]+", package) for package in npm), npm)
        for name, _, version in (package.rpartition("@") for package in npm):
            self.assertIn(f"`{name}` {version} ", (hostile.SOURCE / "docs" / "CANDIDATES.md").read_text())
        told = set()
        for name in set(NAMES) - {"seatbelt"}:
            for get in re.findall(r"get: ([^}\n]+)\}", (CANDIDATES / name / "candidate.yaml").read_text()):
                *words, package = get.split()
                self.assertIn((words, package), [(["apt-get", "install"], each) for each in debian] + [
                    (["npm", "install", "--global", "--prefix", *prefix], each) for each in npm], name)
                told.add(package)
        self.assertEqual(told, {*debian, *npm})

    def test_another_experiment_is_refused_where_there_is_none_and_measured_where_there_is(self):
        script = [hostile.SOURCE / "script" / "candidates", "--record", "--build", hostile.BUILD, "--experiment"]
        wrong = subprocess.run([*script, "none", "seatbelt"], capture_output=True, text=True, timeout=60)
        self.assertEqual((wrong.returncode, "usage: script/candidates" in wrong.stderr), (2, True), wrong)
        done = subprocess.run([*script, "lifetimes", "seatbelt"], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout.count("skipped")), (0, 2), done)
        self.assertTrue((hostile.BUILD / "candidates" / "lifetimes").is_dir())

    def test_what_is_not_measured_is_called_so_wherever_it_is_named(self):
        seatbelt = CANDIDATES / "seatbelt"
        for path in (seatbelt / "NOTE.md", seatbelt / "candidate.yaml", hostile.SOURCE / "README.md",
                     hostile.SOURCE / "docs" / "CANDIDATES.md"):
            self.assertRegex(path.read_text(), r"(?si)(seatbelt|sandbox-exec)[^#]{,200}\bunmeasured\b|"
                             r"\bunmeasured\b[^#]{,200}(seatbelt|sandbox-exec)", path)

    def test_one_whose_program_is_missing_is_skipped_with_how_to_get_it(self):
        done = subprocess.run([hostile.SOURCE / "script" / "candidates", "--record", "--build", hostile.BUILD,
                               "seatbelt"], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout.count("skipped")), (0, 2), done)
        self.assertIn("needs /usr/bin/sandbox-exec: No such file or directory; to get it: it comes with macOS",
                      done.stdout)

    def test_one_that_is_measured_has_a_bundle_of_its_name_and_a_row_of_the_table_at_the_end(self):
        """The script beside a small experiment of ours: a case, and a trial that is over in a second."""
        top = hostile.ROOT / "measured"
        place = Place("measured-plan", {"scratch": CASES["scratch"]}, hostile.BOOTSTRAP, hostile.FOR_BOOTSTRAP)
        small = top / "experiments" / "small"
        for folder in (small, top / "script", top / "build"):
            folder.mkdir(parents=True)
        shutil.copy2(hostile.SOURCE / "script" / "candidates", top / "script")
        (top / "candidates").symlink_to(CANDIDATES)
        (top / "build" / "bin").symlink_to(hostile.BUILD / "bin")
        plan = json.loads((place.folder / "plan.yaml").read_text())
        (small / "plan.yaml").write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in plan.items()))
        shutil.copy2(place.folder / "oracle.yaml", small)
        done = subprocess.run([top / "script" / "candidates", "--record", "--build", top / "build", "--experiment",
                               "small", "--times", "1", "--work", place.folder / "work", "landlock"],
                              capture_output=True, text=True, timeout=100)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        out = top / "build" / "candidates" / "small"
        names = [f"landlock-{policy}" for policy in ("deny-default", "usable")]
        self.assertEqual(sorted(path.name for path in out.iterdir()), [f"{name}.exhibit" for name in names])
        lines = done.stdout.splitlines()
        for name in names:
            claim = claim_of(out / f"{name}.exhibit")
            self.assertEqual(claim["decision"], "GO", [rule for rule in claim["rules"] if not rule["holds"]])
            self.assertEqual([line for line in lines if line.startswith(f"{name}: ")], [f"{name}: decision: GO"])
        table = hostile.run("exhibit-replay", "--table", *(out / f"{name}.exhibit" for name in names)).stdout
        self.assertTrue(done.stdout.endswith(table) and table.count("landlock") >= 2, done.stdout)

    def test_one_that_cannot_be_recorded_for_another_reason_is_not_called_skipped(self):
        done = subprocess.run([hostile.SOURCE / "script" / "candidates", "--record", "--build", hostile.BUILD, "--work",
                               hostile.ROOT / "nowhere", "--policy", "deny-default", "open"], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual((done.returncode, "skipped" in done.stdout), (1, False), done)
        self.assertRegex(done.stdout, r"^open-deny-default: could not be recorded \(exit 2\): .*nowhere")

    def test_an_ordinary_user_without_sudo_is_told_what_to_install_as_root(self):
        """With an empty PATH of its own: no dpkg-query knows a package, no npm folder has a module, no sudo is there."""
        tools = hostile.ROOT / "tools"
        tools.mkdir()
        for name, script in (("id", "echo 1000"), ("dpkg-query", "exit 1"), ("grep", "exit 1"), ("sed", "exit 0")):
            (tools / name).write_text(f"#!/bin/sh\n{script}\n")
            (tools / name).chmod(0o755)
        for name in ("dirname", "true"):
            (tools / name).symlink_to(shutil.which(name))
        copy = hostile.ROOT / "copy" / "script"
        copy.mkdir(parents=True)
        shutil.copy2(hostile.SOURCE / "script" / "candidates", copy)
        (copy / "bootstrap").symlink_to(tools / "true")
        done = subprocess.run(["/bin/bash", copy / "candidates"], env={"PATH": str(tools)}, capture_output=True,
                              text=True, timeout=20)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertRegex(done.stderr, r"(?s)not root and no sudo; as root:\n    apt-get install --no-install-recommends "
                         r".*\bfirejail\b.*\n    npm install --global --prefix /opt/exhibit @.*/codex@[0-9.]+\n$")


class Seatbelt(unittest.TestCase):
    """Unmeasured: that its profile denies by default, and that unknown startup rules stop it, is all that is known."""

    def setUp(self):
        self.folder = hostile.ROOT / self.id().rpartition(".")[2][:40]
        at_root = re.match("/(etc|tmp|var)/", str(self.folder))  # what is a link into /private there
        self.private = f"/private{self.folder}" if at_root else self.folder
        shutil.copytree(CANDIDATES / "seatbelt", self.folder)
        for name in ("w", "s"):
            (self.folder / name).mkdir()
        fake = self.folder / "sandbox-exec"
        fake.write_text('#!/bin/sh\ncat "$2"; echo "$@"\n')
        fake.chmod(0o755)
        launch = (self.folder / "launch").read_text()
        for path, at in (("profiles=/System/Library/Sandbox/Profiles", f"profiles={self.folder}"),
                         ("/usr/bin/sandbox-exec", str(self.folder / "sandbox-exec"))):
            self.assertEqual(launch.count(path), 1)
            launch = launch.replace(path, at)
        (self.folder / "launch").write_text(launch)
        self.plant("system.sb", '(version 1) ; (import "no.sb")\n(import "dyld-support.sb")\n')
        self.plant("dyld-support.sb", "(version 1)\n")

    def plant(self, name, text, known=True):
        """A file of the system; `known`: its digest is listed, under that name or another."""
        (self.folder / name).write_text(text)
        if known:
            with open(self.folder / "startup.sha256", "a") as listed:
                listed.write(f"{hashlib.sha256(text.encode()).hexdigest()} {name if known is True else known} 0.0\n")

    def launch(self, policy="deny-default"):
        return subprocess.run([self.folder / "launch", hostile.BUILD / "bin", self.folder / f"{policy}.yaml",
                               self.folder / "w", self.folder / "s", "--", "/bin/true", "one"], capture_output=True,
                              text=True, timeout=20)

    def stops(self, why):
        done = self.launch()
        self.assertEqual((done.returncode, done.stdout), (125, ""), done)
        self.assertIn(why, done.stderr)
        self.assertIn("so nothing is started", done.stderr)

    def test_unknown_startup_rules_stop_it(self):
        rules = "(version 1)\n(allow default)\n"
        self.plant("system.sb", rules, known=False)
        self.stops(f"{self.folder}/system.sb has the SHA-256 {hashlib.sha256(rules.encode()).hexdigest()}, which")

    def test_one_byte_more_stops_it(self):
        with open(self.folder / "system.sb", "a") as end:
            end.write("\n")
        self.stops("which startup.sha256 does not list")

    def test_unknown_rules_that_they_import_stop_it(self):
        self.plant("dyld-support.sb", "(version 1)\n(allow default)\n", known=False)
        self.stops(f"{self.folder}/dyld-support.sb has the SHA-256")

    def test_known_bytes_under_another_name_are_not_known(self):
        self.plant("dyld-support.sb", "(version 3)\n", known="system.sb")
        self.stops(f"{self.folder}/dyld-support.sb has the SHA-256")

    def test_an_import_of_a_file_elsewhere_or_of_none_stops_it(self):
        for text, why in (('(import "../other.sb")', "which names no file beside it"),
                          ("(import\n (param X))", "which names no file beside it"),
                          ('(if x ( import "missing.sb"))', "missing.sb has the SHA-256 (it cannot be read)")):
            with self.subTest(text):
                self.plant("system.sb", f"(version 1)\n{text}\n")
                self.stops(why)

    def test_known_ones_are_imported_into_a_profile_that_denies_by_default_and_allows_the_grants(self):
        lines = self.launch().stdout.splitlines()
        self.assertEqual(lines[:5], ["(version 1)", "(deny default)", f'(import "{self.folder}/system.sb")',
                                     "(deny network*)", '(deny file-read* (literal "/private/etc/passwd") '
                                     '(literal "/private/etc/master.passwd"))'])
        self.assertIn(f'(allow file-write* (subpath "{self.private}/s"))', lines)
        self.assertIn('(allow process-exec (subpath "/usr/bin/env"))', lines)
        self.assertEqual([line for line in lines if "file-write" in line and "/w\"" in line], [])
        self.assertTrue(lines[-1].endswith("-- /bin/true one"), lines[-1])
        granted = '(allow file-read* (subpath "/private/etc/passwd"))'
        self.assertNotIn(granted, lines)
        self.assertEqual(self.launch("usable").stdout.splitlines().count(granted), 1)

    def test_the_list_has_a_digest_a_name_and_versions_in_each_line(self):
        lines = [line for line in (CANDIDATES / "seatbelt" / "startup.sha256").read_text().splitlines()
                 if not line.startswith("#")]
        for line in lines:
            self.assertRegex(line, r"^[0-9a-f]{64} (system|dyld-support)\.sb [0-9.]+ .*\(\w+")
        self.assertEqual({line.split()[1] for line in lines}, {"system.sb", "dyld-support.sb"})


unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
