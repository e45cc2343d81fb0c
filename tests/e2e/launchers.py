#!/usr/bin/env python3
"""Launchers that do something by themselves: what they do is told as theirs, never a hang, and never a false denial.
Networks of their own, with and without a way out. usage: launchers.py BUILD SOURCE
"""
import hashlib
import json
import os
import shutil
import stat
import sys
import unittest

import hostile
from hostile import BOOTSTRAP, FOR_BOOTSTRAP, FOR_TREE, GROUP, Place, claim_of, facts_of, failing, met, shell

import judge as independent_judge  # noqa: E402: hostile has set its path
import oracle as independent_oracle  # noqa: E402
from records import Bundle  # noqa: E402

LAUNCHER = hostile.SOURCE / "tests" / "subjects" / "launcher.sh"
CONFINE = ["{tools}/exhibit-confine", "--policy", "{policy}", "--set", "workspace={workspace}", "--set",
           "scratch={scratch}", "--set", "tools={tools}", "--pid-namespace", "--"]
POLICY = """version: 1
read: [/usr/lib, {optional: /lib}, {optional: /lib64}, {optional: /etc/ld.so.cache}, "{workspace}", "{tools}"]
execute: [/bin/sh, /usr/bin/env, {optional: /lib64/ld-linux-x86-64.so.2}, {optional: /lib/ld-linux-aarch64.so.1},
          "{tools}/exhibit-probe", "{scratch}"]
write: [/dev/null, "{scratch}"]
network: none
"""
EFFECTS = ["read", "read-link", "write", "tcp", "udp"]
ENDING = {"after": {"role": "grandchild", "rounds": 2}, "signal": "TERM", "to": "group"}
TREE = {"name": "tree", "kind": "tree", "rounds": 15, "interval_ms": 100, "lifetime_ms": 3200}
SURVIVED = ["cancel.ended", "cancel.quiet"]
UNSURE = ["complete.outcomes"]
REACHED = ["boundary.attempts", "boundary.traces"]
HAS_NETWORKS = os.geteuid() == 0 and shutil.which("ip") is not None
PLACES = {}


def place(name, mode, confined=True, trials=None, oracle=None, cases=None, ending=ENDING, **more):
    """`oracle`: keys beside its trials and cases."""
    whole = trials or [{**TREE, "ending": {"steps": [ending]}}]
    group = {"GROUP_OF_TEST": str(GROUP)} if mode == "group" else {}
    candidate = {"name": "launcher", "argv": [str(LAUNCHER), mode, "{workspace}", "{scratch}", "--",
                                              *(CONFINE if confined else []), "{command}"]}
    if confined:
        candidate["policy"] = "policy.yaml"
    made = Place(name, cases, whole, FOR_BOOTSTRAP if trials == BOOTSTRAP else FOR_TREE, candidate,
                 environment={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", **group}, **more)
    (made.folder / "policy.yaml").write_text(POLICY)
    if oracle:
        path = made.folder / "oracle.yaml"
        path.write_text(path.read_text()[:-1] + ', ' + oracle + '}')
    PLACES[name] = made
    return made


def cases_in(**named):
    return {name: (shell(script), expected) for name, (script, expected) in named.items()}


def setUpModule():
    for mode in ("relay", "swallow"):
        place(mode, mode, cases=cases_in(says=("echo said", {"exit": 0, "stdout": {"equals": "said\n"}})))
    place("litter", "litter", trials=BOOTSTRAP, cases=cases_in(
        clean=("exit 0", {"exit": 0, "files": [{"path": ".launcher/*", "absent": True}]}),
        makes=("cd {scratch} && (test -d .launcher || mkdir .launcher) && echo trace >.launcher/file && "
               "echo >.launcher/own", {"files": [{"path": ".launcher/own", "exists": True}]})))
    place("passes", "passes", trials=BOOTSTRAP)
    place("flood", "flood", trials=BOOTSTRAP)
    place("session", "session", confined=False,
          trials=[{**TREE, "ending": {"steps": [ENDING]}}])
    place("lock", "lock", ending={**ENDING, "signal": "KILL"})
    place("link", "link", trials=BOOTSTRAP,
          cases=cases_in(here=("test -e lib/f && pwd -P", {"exit": 0})), workspace="workspace")
    (PLACES["link"].folder / "workspace" / "lib").mkdir(parents=True)
    (PLACES["link"].folder / "workspace" / "lib" / "f").touch()
    place("folder", "folder", trials=BOOTSTRAP, cases=cases_in(here=("test -e .exhibit-link || test -L .exhibit-link",
                                                                   {"exit": 0})))
    place("variables", "variables", trials=BOOTSTRAP,
          cases=cases_in(temporary=('echo x >"$TMPDIR/x"', {"exit": 0}), other=("exit 0", {"exit": 0})))
    place("removes", "removes", trials=BOOTSTRAP)
    place("guest", "guest", oracle='"identities": "optional"')
    if GROUP:
        place("group", "group")
    if HAS_NETWORKS:
        for mode in ("private", "uplink", "table", "later", "blink"):
            place(mode, mode, confined=False, trials=BOOTSTRAP)
        place("tmpfs", "tmpfs", confined=False, trials=BOOTSTRAP)
    through = hostile.ROOT / "through"
    through.symlink_to(PLACES["removes"].folder)
    words = PLACES["removes"].words()
    words[-1] = through / "work"
    items = sorted(PLACES.values(), key=lambda item: "kind\": \"tree" not in (item.folder / "plan.yaml").read_text())
    hostile.record_all([(item, {"words": words} if item.name == "removes" else {}) for item in items], 16)


def tearDownModule():
    if GROUP and (GROUP / "moved").exists():
        (GROUP / "moved").rmdir()
    found = hostile.leftovers()
    assert not found, found


def outcomes(name):
    found = {}
    for one in claim_of(PLACES[name].bundle)["attempts"]:
        if one["mode"] == "strict":
            found.setdefault(one["effect"], set()).add(one["outcome"])
    return found


def ends(name):
    return {one["role"]: one["ended_by"] for one in claim_of(PLACES[name].bundle)["tree"]
            if one["trial"] == "tree" and one["mode"] == "strict"}


def launcher_of(name):
    return hostile.verified(PLACES[name].bundle)[1]["launcher"]


DENIED = {effect: {"denied"} for effect in EFFECTS}
QUIET = {"told": True, "folder": None, "sets": [], "changes": [], "removes": [], "leaves": [],
         "passing": [], "unseen": False}


class Case(unittest.TestCase):
    def fails(self, name, rules):
        """Exactly these rules fail, and the three judges agree."""
        made = PLACES[name]
        claim = claim_of(made.bundle)
        self.assertEqual(failing(claim), rules, [(one["rule"], one["detail"]) for one in claim["rules"]])
        incomplete = any(rule.startswith("complete.") for rule in rules)
        self.assertEqual(made.done.code, 3 if incomplete else 0, made.done)
        code, verdict = hostile.verified(made.bundle)
        self.assertEqual((code, verdict["verdict"]), (made.done.code, "verified"), verdict["findings"])
        self.assertEqual(claim["decision"], "INCOMPLETE" if incomplete else "NO-GO" if rules else "GO")


class Output(Case):
    def test_a_relayed_output_is_the_same_output(self):
        self.fails("relay", [])
        self.assertEqual(outcomes("relay"), DENIED)
        self.assertEqual(launcher_of("relay"), QUIET)

    def test_a_swallowed_output_breaks_the_case_that_needs_it_and_no_trial(self):
        self.fails("swallow", ["useful.contract"])
        self.assertEqual(outcomes("swallow"), DENIED)
        self.assertEqual(set(ends("swallow").values()), {"step"}, "the ending came by the copies of the rows")
        self.assertEqual(launcher_of("swallow"), {**QUIET, "told": False})
        self.assertIn("it passes no output on", hostile.run("exhibit-verify", PLACES["swallow"].bundle).stdout)


class Lives(Case):
    def test_a_session_of_its_own_escapes_the_signal_to_the_group_and_is_seen_to_live(self):
        self.fails("session", [*REACHED, *SURVIVED])
        self.assertEqual(set(ends("session").values()), {"self-expiry"})

    @unittest.skipUnless(GROUP, "no control groups here")
    def test_a_task_in_another_control_group_is_still_followed(self):
        self.fails("group", [])
        self.assertEqual(set(ends("group").values()), {"step"})
        self.assertEqual(outcomes("group"), DENIED)

    def test_a_guest_without_host_processes_is_judged_by_its_rows_where_the_oracle_says_so(self):
        self.fails("guest", [])
        self.assertEqual(set(ends("guest").values()), {"none"})
        self.assertEqual(outcomes("guest"), DENIED)
        strict = PLACES["guest"].folder / "required.yaml"
        strict.write_text((PLACES["guest"].folder / "oracle.yaml").read_text().replace("optional", "required"))
        done = hostile.run("exhibit-replay", PLACES["guest"].bundle, "--oracle", strict)
        self.assertEqual(done.returncode, 3, done)
        self.assertIn("grandchild has no identity", done.stdout)


class ByItself(Case):
    """What the launcher leaves, sets and changes is told as its own."""

    def test_files_and_folders_that_it_leaves_in_scratch(self):
        self.fails("litter", [])
        left = ["", "bootstrap: "]
        self.assertEqual(launcher_of("litter")["leaves"],
                         [run + path for run in left for path in (".launcher/", ".launcher/file", "empty/")])
        mode = facts_of(PLACES["litter"].bundle).artifacts(("launcher", "strict"))[b"empty"].mode
        self.assertTrue(stat.S_ISDIR(mode))
        self.assertIn("leaves in scratch .launcher/, .launcher/file, empty/, bootstrap: .launcher/,",
                      hostile.run("exhibit-verify", PLACES["litter"].bundle).stdout)

    def test_a_file_that_it_leaves_is_never_the_commands(self):
        """A path that its own run left, too, is not looked at in strict runs, and is in those without it."""
        bundle, oracle = PLACES["litter"].bundle, PLACES["litter"].folder / "other.yaml"
        digest = "{path: .launcher/file, sha256: %s}" % hashlib.sha256(b"trace\n").hexdigest()
        for case, wanted, baseline, strict in (
                ("makes", "{path: .launcher/file, absent: true}", False, True),
                ("makes", "{path: .launcher/file, exists: true}", True, False),
                ("makes", digest, True, False), ("clean", digest, False, False),
                ("makes", "{path: '.launcher/*', absent: true}", False, False),
                ("makes", "{path: '.launcher/*', exists: true}", True, True)):
            oracle.write_text(f"version: 1\ntrials: []\ncases: [{{name: {case}, files: [{wanted}]}}]\n")
            raw = oracle.read_bytes()
            claims = {"independent": independent_judge.judge(Bundle(bundle), independent_oracle.read(raw),
                                                             hashlib.sha256(raw).digest())}
            for judge, words in (("rejudge", [bundle, oracle]),
                                 ("exhibit-replay", [bundle, "--json", "--oracle", oracle]),
                                 ("exhibit-verify", [bundle, "--json", "--oracle", oracle])):
                told = json.loads(hostile.run(judge, *words).stdout)
                claims[judge] = told.get("claim", told)
            for judge, claim in claims.items():
                with self.subTest(judge=judge, case=case, wanted=wanted):
                    self.assertEqual([met(claim, mode)[case] for mode in ("baseline", "strict")], [baseline, strict])

    def test_a_folder_that_it_removes_and_that_stays_only_when_it_is_killed(self):
        self.fails("lock", [])
        self.assertEqual(launcher_of("lock"), {**QUIET, "passing": ["lock/"], "leaves": ["tree: lock/"]})

    def test_what_it_makes_and_removes_again_is_seen_and_is_its_own(self):
        self.fails("passes", [])
        self.assertEqual(launcher_of("passes"), {**QUIET, "passing": ["home/two", "passing/", "three", "tmp/one"],
                                                 "leaves": ["kept", "bootstrap: kept"]})
        self.assertIn("makes in scratch and removes again home/two, passing/, three, tmp/one\n",
                      hostile.run("exhibit-verify", PLACES["passes"].bundle).stdout)
        facts = facts_of(PLACES["passes"].bundle)
        self.assertEqual({event.run for event, _ in facts.all("scratch_event")}, {facts.runs[("launcher", "strict", 1)]})

    def test_the_explanation_leads_to_the_events_that_tell_of_it(self):
        for name, made in (("passes", "home/two"), ("lock", "lock/")):
            told = json.loads(hostile.run("exhibit-replay", PLACES[name].bundle, "--explain", "launcher",
                                          "--json").stdout)
            chain = {one["says"]: one["facts"] for one in told["chain"]}
            facts = chain[f"made and removed by the launcher: {made}"]
            self.assertEqual([one["what"] for one in facts], ["it was made", "it was removed"])
            self.assertEqual({(one["event"]["kind"], one["event"]["source"]) for one in facts},
                             {("scratch_event", "SOURCE_INOTIFY")})
            self.assertTrue(set(chain) >= {"left by the launcher in launcher: kept", "left by the launcher in bootstrap: "
                                           "kept"} if name == "passes" else {"left by the launcher in tree: lock/"}, chain)

    def test_more_than_is_written_down_is_told_to_be_unseen_and_changes_nothing(self):
        self.fails("flood", [])
        told = launcher_of("flood")
        self.assertEqual((told["unseen"], len(told["passing"]), told["leaves"]), (True, 64, []))
        self.assertEqual(len(facts_of(PLACES["flood"].bundle).all("scratch_event", ("launcher", "strict"))), 4096)
        self.assertIn("may make and remove more in scratch than was seen",
                      hostile.run("exhibit-verify", PLACES["flood"].bundle).stdout)

    def test_variables_that_it_sets_changes_and_removes(self):
        self.assertEqual(launcher_of("variables"), {**QUIET, "sets": ["LAUNCHED"], "changes": ["TMPDIR"]})
        self.assertEqual(launcher_of("removes"), {**QUIET, "removes": ["LANG"]})

    def test_a_temporary_folder_that_is_not_there_breaks_the_case_that_needs_it_alone(self):
        self.fails("variables", ["useful.contract"])
        self.assertEqual(met(claim_of(PLACES["variables"].bundle), "strict"), {"temporary": False, "other": True})

    def test_another_current_folder(self):
        self.fails("folder", ["useful.contract"])
        self.assertEqual(launcher_of("folder"), {**QUIET, "folder": "/"})
        self.assertIn("runs the command in /\n", hostile.run("exhibit-verify", PLACES["folder"].bundle).stdout)

    def test_a_workspace_that_is_reached_through_a_link_above_it_is_the_same_one(self):
        self.fails("link", [])
        self.assertEqual(launcher_of("link"), {**QUIET, "sets": ["PWD"]})
        self.assertEqual(outcomes("link"), DENIED)

    def test_a_work_folder_that_is_reached_through_a_link_is_resolved(self):
        self.fails("removes", [])
        work = facts_of(PLACES["removes"].bundle).start.work_dir.decode()
        self.assertTrue(work.startswith(str(PLACES["removes"].folder)), work)


@unittest.skipUnless(HAS_NETWORKS, "network namespaces and ip(8) are needed")
class Networks(Case):
    """A network of its own, of which the routes tell whether it has a way out."""

    def routes(self, name):
        facts = facts_of(PLACES[name].bundle)
        return [(what.network_namespace != facts.start.host.network_namespace, what.routes_beyond_loopback)
                for _, what in facts.all("process_identity", ("bootstrap", "strict"))
                if what.executable.endswith(b"exhibit-probe") and what.argv[1] == b"run"]

    def test_without_a_way_out_a_refusal_is_a_denial_and_a_datagram_is_diverted(self):
        self.fails("private", REACHED)
        self.assertEqual(outcomes("private"), {**{e: {"reached"} for e in EFFECTS[:3]}, "tcp": {"denied"},
                                               "udp": {"diverted"}})
        self.assertEqual(set(self.routes("private")), {(True, 0)})

    def unsure(self, name):
        self.fails(name, [*UNSURE, *REACHED])
        self.assertEqual((outcomes(name)["tcp"], outcomes(name)["udp"]), ({"undetermined"}, {"undetermined"}))

    def test_with_an_uplink_neither_is(self):
        self.unsure("uplink")
        self.assertEqual({(own, routes > 0) for own, routes in self.routes("uplink")}, {(True, True)})

    def test_nor_with_an_uplink_in_a_routing_table_of_its_own(self):
        self.unsure("table")
        self.assertEqual({(own, routes > 0) for own, routes in self.routes("table")}, {(True, True)})

    def test_nor_with_an_uplink_that_comes_when_the_command_runs_already(self):
        self.unsure("later")
        routes = self.routes("later")
        self.assertEqual((routes[0], routes[-1][0], routes[-1][1] > 0), ((True, 0), True, True))

    def test_nor_with_an_uplink_that_is_there_for_a_moment_alone(self):
        self.unsure("blink")
        routes = self.routes("blink")
        self.assertEqual((routes[0], any(own and count > 0 for own, count in routes)), ((True, 0), True))

    def test_a_write_into_a_file_system_of_its_own_is_diverted(self):
        self.fails("tmpfs", REACHED)
        self.assertEqual(outcomes("tmpfs"), {"read": {"denied"}, "read-link": {"denied"}, "write": {"diverted"},
                                             "tcp": {"reached"}, "udp": {"reached"}})


unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
