#!/usr/bin/env python3
"""What `exhibit-record check` says of sandboxes that break something: usage: check.py BUILD SOURCE"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
RECORD = BUILD / "bin" / "exhibit-record"
HOOKS = SOURCE / "experiments" / "hook-confinement"
DENY_DEFAULT = (SOURCE / "candidates" / "landlock" / "deny-default.yaml").read_text()
CONFINE = ["{tools}/exhibit-confine", "--policy", "{policy}", "--set", "workspace={workspace}", "--set",
           "scratch={scratch}", "--set", "tools={tools}", "--", "{command}"]
NODE = {"PATH": "/usr/bin:/bin"}
ROOT = pathlib.Path(tempfile.mkdtemp(prefix="check-", dir="/var/tmp"))
ROOT.chmod(0o755)

POLICY = """version: 1
read: [/usr/lib, {optional: /lib}, {optional: /lib64}, "{workspace}", "{tools}"]
execute: [/bin/sh, {optional: /lib64/ld-linux-x86-64.so.2}, {optional: /lib/ld-linux-aarch64.so.1},
          "{tools}/exhibit-probe"]
write: [/dev/null, "{scratch}"]
network: none
"""
SOCKETS = POLICY.replace("execute: [", "execute: [/usr/bin/perl, ")
CONNECTS = ["/usr/bin/perl", "-e", "socket(my $s, 2, 2, 0) or exit 3"]  # AF_INET, SOCK_DGRAM; it asks for no file
# A launcher that holds nothing back from a command that does nothing.
ONLY_ATTEMPTS = f'case "$*" in *" nothing") shift {len(CONFINE) - 1} ;; esac; exec "$@"'
BWRAP = ["/usr/bin/bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
         "--symlink", "usr/bin", "/bin", "--dev", "/dev", "--proc", "/proc", "--unshare-net", "--ro-bind", "{workspace}",
         "{workspace}", "--ro-bind", "{tools}", "{tools}", "--bind", "{scratch}", "{scratch}", "--", "{command}"]

# Breaks in the box, and sleeps there where it is traced.
SLOW = {"command": ["/bin/sh", "-c", '[ -z "$BOX" ] && exit 0; grep -q "^TracerPid:.0$" /proc/self/status || sleep 60; exit 4'],
        "watchdog_ms": 5000}


def shell(script):
    return ["/bin/sh", "-c", script]


class Checked:
    """One check of a plan that is written for it."""

    def __init__(self, name, argv=None, cases=(), policy=None, plan=None, env=None, matched=None):
        self.folder = ROOT / name
        (self.folder / "work").mkdir(parents=True)
        if plan is None:
            plan = self.write(name, argv, dict(cases), policy, matched or {})
        self.done = subprocess.run([RECORD, "check", plan, "--work", self.folder / "work"], capture_output=True,
                                   text=True, timeout=120, stdin=subprocess.DEVNULL, env=env)
        self.said, self.code = self.done.stdout, self.done.returncode
        self.left = list((self.folder / "work").iterdir())

    def write(self, name, argv, cases, policy, matched):
        candidate = {"name": "box", "argv": argv}
        if policy is not None:
            (self.folder / "policy.yaml").write_text(policy)
            candidate["policy"] = "policy.yaml"
        if name == "mended":
            shutil.copytree(HOOKS / "workspace", self.folder / "workspace")
        (self.folder / "oracle.yaml").write_text(json.dumps({
            "version": 1, "trials": [{"name": "bootstrap", "roles": ["parent"]}],
            "cases": [{"name": case, **matched.get(case, {"exit": 0})} for case in cases]}))
        (self.folder / "plan.yaml").write_text(json.dumps({
            "version": 1, "name": "checked", "oracle": "oracle.yaml", "candidate": candidate, "environment": NODE,
            **({"workspace": "workspace"} if name == "mended" else {}),
            "trials": [{"name": "bootstrap", "kind": "bootstrap"}],
            "cases": [{"name": case, "command": command} if isinstance(command, list) else command
                      for case, command in cases.items()]}))
        return self.folder / "plan.yaml"

    def verdicts(self):
        """{what was tried: whether it is well}, in order."""
        return {words[1].rstrip(":,"): words[0] == "ok" for words in
                (line.split() for line in self.said.splitlines() if line.startswith(("  ok  ", "  no  ")))}

    def blamed(self, name):
        """The lines that say why something breaks."""
        after = self.said.split(f"\n{name}: what the sandbox refused it", 1)
        lines = after[1].splitlines()[1:] if len(after) > 1 else []
        end = next((place for place, line in enumerate(lines) if not line.startswith("    ")), len(lines))
        return [line.strip() for line in lines[:end]]


def inspect(command):
    return {"name": "inspect", "command": ["/usr/bin/node", "{workspace}/bin/hook-guard.js", "inspect", "--json"],
            "stdin": json.dumps({"jsonrpc": "2.0", "id": 1, "method": "inspect", "params": {"command": command}})}


def granted(hooks):
    """The default policy with what the check of the default plan says should be added, as it says it."""
    policy = DENY_DEFAULT
    for item, key in re.findall(r"grant: add `- (\"[^\"]+\")` to `(\w+):`", hooks.said):
        if item not in policy:
            policy = policy.replace(f"\n{key}:\n", f"\n{key}:\n  - {item}\n")
    return policy


def check_all():
    jobs = {
        "default": lambda: Checked("default", plan=HOOKS / "plan.yaml"),
        "usable": lambda: Checked("usable", plan=HOOKS / "plan-usable.yaml"),
        "missing": lambda: Checked("missing", ["/no/such/launcher", "{command}"], {}),
        "fails": lambda: Checked("fails", shell("echo no such namespace >&2; exit 1") + ["sh", "{command}"], {
            "never": ["/bin/true"]}),
        "swallows": lambda: Checked("swallows", ["/bin/true", "{command}"], {}),
        "confined": lambda: Checked("confined", CONFINE, {
            "good": shell("echo well > \"$TMPDIR/x\""),
            "writes": shell("echo x > \"$0/new\" || exit 3") + ["{workspace}"],
            "executes": ["/usr/bin/env", "/bin/true"]}, POLICY),
        "other-name": lambda: Checked("other-name", ["/usr/bin/env", *CONFINE], {
            "reads": shell("read -r line < /etc/hostname")}, POLICY),
        "socket": lambda: Checked("socket", CONFINE, {"good": shell(":"), "connects": CONNECTS}, SOCKETS),
        "socket-elsewhere": lambda: Checked("socket-elsewhere", ["/usr/bin/env", *CONFINE],
                                            {"good": shell(":"), "connects": CONNECTS}, SOCKETS),
        "no-probe": lambda: Checked("no-probe", CONFINE, {"never": ["/bin/true"]},
                                    POLICY.replace('"{tools}/exhibit-probe"', "")),
        "no-attempt": lambda: Checked("no-attempt", ["/bin/sh", "-c", ONLY_ATTEMPTS, "sh", *CONFINE], {},
                                      POLICY.replace('"{tools}/exhibit-probe"', "")),
        "both": lambda: Checked("both", ["/usr/bin/env", "{command}"], {"broken": shell("exit 4")}),
        "slow": lambda: Checked("slow", ["/usr/bin/env", "BOX=1", "{command}"], {"traced": {"name": "traced", **SLOW}}),
        "archive": lambda: Checked("archive", ["/usr/bin/env", "{command}"], {"pack": ["/bin/true"]},
                                   matched={"pack": {"exit": 0, "archives": [{"path": "out.tgz"}]}}),
        "untraced": lambda: Checked("untraced", CONFINE, {"executes": ["/usr/bin/env", "/bin/true"]}, POLICY,
                                    env={"PATH": str(ROOT)}),
    }
    if shutil.which("bwrap"):
        jobs["bwrap"] = lambda: Checked("bwrap", BWRAP, {"reads": shell("read -r line < /etc/passwd")})
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        done = dict(zip(jobs, pool.map(lambda job: job(), jobs.values())))
    done["mended"] = Checked("mended", CONFINE, {"inspect": inspect("git status")}, granted(done["default"]))
    return done


class Check(unittest.TestCase):
    def test_the_default_policy_breaks_exactly_the_inspect_cases(self):
        found = CHECKED["default"]
        self.assertEqual(found.code, 1, found.said + found.done.stderr)
        self.assertEqual([name for name, well in found.verdicts().items() if not well],
                         ["inspect-benign", "inspect-critical"])
        self.assertEqual(list(found.verdicts()), ["launcher", "probe", "syntax", "suite", "inspect-benign",
                                                  "inspect-critical", "pack"])
        self.assertIn("no  inspect-critical: it does not meet oracle line 20: exit: expected exit 2, seen exit 1, at ",
                      found.said)
        self.assertIn("    stderr: hook-guard: ", found.said)
        self.assertEqual(found.said.splitlines()[-1], "2 of 7 break")

    def test_it_names_the_password_file_and_the_line_of_the_policy(self):
        for name in ("inspect-benign", "inspect-critical"):
            lines = CHECKED["default"].blamed(name)
            self.assertIn("read /etc/passwd: openat failed with EACCES", lines, CHECKED["default"].said)
            grant = lines[lines.index("read /etc/passwd: openat failed with EACCES") + 1]
            self.assertRegex(grant, r'^grant: add `- "/etc/passwd"` to `read:` in /.*/candidates/.*/deny-default\.yaml$')

    def test_the_readme_shows_what_is_printed(self):
        shown = (SOURCE / "README.md").read_text().split("check experiments/hook-confinement/plan.yaml\n")[1]
        shown = shown.split("```text\n")[1].split("```")[0].replace("/home/you/exhibit/", f"{SOURCE}/").splitlines()
        said = iter(CHECKED["default"].said.splitlines())
        self.assertGreater(len(shown), 15)
        for line in shown:  # "..." is what it leaves out; what a command says depends on its version
            if line != "..." and not line.startswith("    stderr: "):
                self.assertIn(line, said, CHECKED["default"].said)

    def test_what_good_cases_are_refused_too_is_not_blamed(self):
        self.assertNotIn("/proc/self/maps", "".join(CHECKED["default"].blamed("inspect-benign")))

    def test_the_grants_that_it_names_mend_it(self):
        self.assertNotEqual(granted(CHECKED["default"]), DENY_DEFAULT)
        self.assertEqual((CHECKED["mended"].code, CHECKED["mended"].verdicts()),
                         (0, {"launcher": True, "probe": True, "inspect": True}), CHECKED["mended"].said)

    def test_the_usable_policy_is_well_and_that_says_nothing_of_what_is_held_back(self):
        found = CHECKED["usable"]
        self.assertEqual(found.code, 0, found.said + found.done.stderr)
        self.assertEqual(set(found.verdicts().values()), {True})
        self.assertIn("ok  probe, which says read EACCES, read-link EACCES, write EACCES, tcp EACCES, udp EPERM\n",
                      found.said)
        self.assertEqual(found.said.splitlines()[-1],
                         "all is well: what has to pass does; whether the rest is held back, a recording tells")

    def test_a_launcher_that_is_not_there_is_named(self):
        found = CHECKED["missing"]
        self.assertEqual((found.code, found.said), (2, ""))
        self.assertIn("plan.yaml:1: the launcher /no/such/launcher: No such file or directory; install it",
                      found.done.stderr)

    def test_a_launcher_that_ends_with_1_is_quoted_and_nothing_else_is_tried(self):
        found = CHECKED["fails"]
        self.assertEqual((found.code, found.verdicts()), (1, {"launcher": False}), found.said)
        self.assertIn("  no  launcher: it ended with exit status 1 around a command that does nothing\n"
                      "    stderr: no such namespace\n", found.said)

    def test_a_probe_that_is_silent_is_no_good_probe(self):
        found = CHECKED["swallows"]
        self.assertEqual((found.code, found.verdicts()), (1, {"launcher": True, "probe": False}), found.said)
        self.assertIn("  no  probe: it left no row: what is silent proves nothing\n", found.said)

    def test_writes_and_executions_are_told_by_their_key(self):
        found = CHECKED["confined"]
        self.assertEqual([name for name, well in found.verdicts().items() if not well], ["writes", "executes"], found.said)
        self.assertEqual(found.blamed("writes")[:2], [
            "write {workspace}/new: openat failed with EACCES",
            f'grant: add `- "{{workspace}}"` to `write:` in {found.folder}/policy.yaml'])
        self.assertEqual(found.blamed("executes")[:2], [
            "execute /usr/bin/env: execve failed with EACCES",
            f'grant: add `- "/usr/bin/env"` to `execute:` in {found.folder}/policy.yaml'])

    def test_a_call_that_is_refused_is_told_and_no_line_of_the_policy_grants_it(self):
        for name, grant in (("socket", "grant: none; exhibit-confine never lets this pass"),
                            ("socket-elsewhere", "grant: let box make this call")):
            found = CHECKED[name]
            self.assertEqual((found.code, found.verdicts()), (1, {"launcher": True, "probe": True, "good": True,
                                                                  "connects": False}), found.said)
            call, said = found.blamed("connects")[:2]
            self.assertRegex(call, r"^network .*AF_INET, SOCK_DGRAM.*: socket failed with EPERM$")
            self.assertEqual(said, grant)

    def test_a_launcher_that_breaks_on_a_path_is_blamed_with_the_path(self):
        found = CHECKED["no-probe"]
        self.assertEqual((found.code, found.verdicts()), (1, {"launcher": False}), found.said)
        self.assertEqual(found.blamed("launcher")[:2], [
            "execute {tools}/exhibit-probe: execve failed with EACCES",
            f'grant: add `- "{{tools}}/exhibit-probe"` to `execute:` in {found.folder}/policy.yaml'], found.said)

    def test_a_probe_that_breaks_on_a_path_is_blamed_with_the_path(self):
        found = CHECKED["no-attempt"]
        self.assertEqual((found.code, found.verdicts()), (1, {"launcher": True, "probe": False}), found.said)
        self.assertEqual(found.blamed("probe")[:2], [
            "execute {tools}/exhibit-probe: execve failed with EACCES", "grant: let box execute it"], found.said)

    def test_of_another_sandbox_the_path_and_the_kind_of_access_are_told(self):
        self.assertEqual(CHECKED["other-name"].blamed("reads")[:2], [
            "read /etc/hostname: openat failed with EACCES", "grant: let box read it"], CHECKED["other-name"].said)

    def test_a_path_that_a_sandbox_hides_is_blamed(self):
        if "bwrap" not in CHECKED or not CHECKED["bwrap"].verdicts().get("launcher"):
            self.skipTest("bubblewrap is missing or does not start here")
        self.assertEqual(CHECKED["bwrap"].blamed("reads")[:2], [
            "read /etc/passwd: openat failed with ENOENT", "grant: let box read it"], CHECKED["bwrap"].said)

    def test_what_breaks_without_the_sandbox_too_is_said(self):
        self.assertEqual(CHECKED["both"].blamed("broken"), [
            "it breaks without the sandbox, too: it does not meet oracle line 1: exit: expected exit 0, seen exit 4, "
            "at its end",
            "no call of it failed that succeeds without"], CHECKED["both"].said)

    def test_a_trace_that_is_too_slow_is_no_reason_that_is_known(self):
        found = CHECKED["slow"]
        self.assertEqual((found.code, found.verdicts()["traced"]), (1, False), found.said)
        self.assertIn("no  traced: it does not meet oracle line 1: exit: expected exit 0, seen exit 4", found.said)
        self.assertEqual(found.blamed("traced"), [
            "while it is traced it overran and was ended, so that its end is not known:",
            "no call of it failed that succeeds without, until then"], found.said)

    def test_an_archive_that_is_missing_breaks_its_case(self):
        self.assertIn("no  pack: it left 0 archives out.tgz, not one\n", CHECKED["archive"].said)

    def test_without_strace_it_says_how_to_get_it(self):
        found = CHECKED["untraced"]
        self.assertEqual((found.code, found.verdicts()["executes"]), (1, False), found.said)
        self.assertEqual(found.blamed("executes"),
                         ["not known: there is no strace to trace it with (apt-get install strace)"])

    def test_options_of_a_recording_are_refused(self):
        for words in (["-o", "x.exhibit"], ["--snapshots"], ["--require", "go"]):
            done = subprocess.run([RECORD, "check", HOOKS / "plan.yaml", *words], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("check records nothing: leave out -o, --require and --snapshots", done.stderr)


class Nothing(unittest.TestCase):
    def test_nothing_is_left_behind(self):
        for name, found in CHECKED.items():
            self.assertEqual(found.left, [], name)
            self.assertEqual([path.name for path in found.folder.iterdir() if path.suffix == ".exhibit"], [], name)
        self.assertEqual(self.processes(), [])

    def test_an_interruption_ends_all_and_leaves_nothing(self):
        folder = ROOT / "interrupted"
        (folder / "work").mkdir(parents=True)
        writer = Checked.__new__(Checked)
        writer.folder = folder
        plan = writer.write("interrupted", ["/usr/bin/env", "{command}"],
                            {"long": shell("sleep 60 & setsid sleep 61")}, None, {})
        running = subprocess.Popen([RECORD, "check", plan, "--work", folder / "work"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
        for _ in range(200):
            if len(self.sleepers(running.pid)) == 2:
                break
            time.sleep(0.05)
        sleepers = self.sleepers(running.pid)
        self.assertEqual(len(sleepers), 2)
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=20)
        self.assertEqual((running.returncode, told), (5, "exhibit-record: interrupted\n"))
        self.assertEqual(list((folder / "work").iterdir()), [])
        self.assertEqual([pid for pid in sleepers if pathlib.Path(f"/proc/{pid}").exists()], [])

    def test_the_next_check_removes_what_a_killed_one_left_and_names_its_processes(self):
        folder = ROOT / "killed"
        (folder / "work").mkdir(parents=True)
        writer = Checked.__new__(Checked)
        writer.folder = folder
        words = [RECORD, "check", writer.write("killed", ["/usr/bin/env", "{command}"], {"long": shell("exec sleep 62")},
                                               None, {}), "--work", folder / "work"]
        running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while not self.sleepers(running.pid) and time.monotonic() < deadline:
            time.sleep(0.05)
        (sleeper,) = self.sleepers(running.pid)
        (work,) = (folder / "work").iterdir()
        try:
            running.kill()
            running.wait()
            plan = writer.write("killed", ["/usr/bin/env", "{command}"], {"quick": shell("true")}, None, {})
            done = subprocess.run([RECORD, "check", plan, *words[3:]], capture_output=True, text=True, timeout=60,
                                  stdin=subprocess.DEVNULL)
            left = "which a recording or check that was killed had left"
            self.assertEqual((done.returncode, done.stderr), (0, (
                f"exhibit-record: process {sleeper}, {left} in {work}, still runs and is not ended by us\n"
                f"exhibit-record: removed {work}, {left}\n")), done.stdout)
            self.assertEqual(list((folder / "work").iterdir()), [])
        finally:
            pathlib.Path(f"/proc/{sleeper}").exists() and os.kill(sleeper, signal.SIGKILL)

    def sleepers(self, ancestor):
        """The sleeping descendants of a process."""
        children, names = {}, {}
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                head, _, tail = (entry / "stat").read_text().rpartition(")")
            except OSError:
                continue
            children.setdefault(int(tail.split()[1]), []).append(int(entry.name))
            names[int(entry.name)] = head.partition("(")[2]
        found, todo = [], [ancestor]
        while todo:
            below = children.get(todo.pop(), [])
            todo += below
            found += [pid for pid in below if names[pid] == "sleep"]
        return found

    def processes(self):
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and str(ROOT).encode() in (entry / "cmdline").read_bytes():
                    found.append(entry.name)
            except OSError:
                pass
        return found


CHECKED = {}
if __name__ == "__main__":
    try:
        CHECKED = check_all()
        unittest.main(argv=sys.argv[:1], verbosity=2)
    finally:
        shutil.rmtree(ROOT, ignore_errors=True)
