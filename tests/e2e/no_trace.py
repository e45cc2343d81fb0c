#!/usr/bin/env python3
"""The look for traces that ends script/test finds each kind of them: usage: no_trace.py BUILD SOURCE"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])


def control_group():
    """The group that this process is in, as a folder that can be written; None where the machine gives none."""
    lines = [line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
    points = [words[4] for words in lines if words[words.index("-") + 1] == "cgroup2"]
    own = [line[3:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")]
    folder = pathlib.Path(points[0] + own[0]) if points and own else None
    return folder if folder and os.access(folder, os.W_OK) else None


def names_made():
    """Beginnings of the names of all temporary folders that the sources of tests and programs make."""
    sources = [path for folder in ("tests", "record", "replay", "verify", "base", "formats")
               for path in (SOURCE / folder).rglob("*") if path.suffix in (".c", ".h", ".py", ".sh")]
    text = "\n".join(path.read_text() for path in sources if path.name != "no_trace.py")
    made = re.findall(r'"(?:/tmp/)?([-.\w]+)XXXXXX"', text) + re.findall(r'(?:mkdtemp|Directory)\(prefix="(.*?)"', text)
    return sorted(set(made))


class NoTrace(unittest.TestCase):
    def look(self, script, *, wait="0.1", before=()):
        done = subprocess.run([*before, sys.executable, "-B", SOURCE / "tests" / "traces.py", "--wait", wait, BUILD,
                               "/bin/sh", "-c", script], capture_output=True, text=True, timeout=30, check=False,
                              stdin=subprocess.DEVNULL)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout

    def test_a_command_that_leaves_nothing_keeps_its_status(self):
        for status in (0, 3):
            self.assertEqual(self.look(f"exit {status}", wait="20"), (status, ""))

    def test_what_goes_away_in_time_is_not_left(self):
        folder = pathlib.Path(tempfile.gettempdir(), f"exhibit-brief{os.getpid()}")
        script = f"mkdir {folder}; (sleep 0.5; rmdir {folder}) >/dev/null 2>&1 &"
        self.assertEqual(self.look(script, wait="20"), (0, ""))

    def left(self, script, text, **more):
        status, out = self.look(script, **more)
        self.assertEqual(status, 1, out)
        self.assertRegex(out, f"(?m)^left behind: {text}")
        return out

    @staticmethod
    def ended(out):
        """Ends the process that was told of, where that has not been done."""
        try:
            os.kill(int(re.search(r"process (\d+): ", out)[1]), signal.SIGKILL)
        except ProcessLookupError:
            pass

    def left_of(self, folders):
        """Those of these folders that are told when a command has left them all, and its status."""
        try:
            status, out = self.look("mkdir " + " ".join(map(str, folders)))
        finally:
            for folder in folders:
                folder.rmdir()
        return status, [folder for folder in folders if f"left behind: folder: {folder}\n" in out]

    def test_a_folder_that_is_left(self):
        folders = [pathlib.Path(place, f"{name}{os.getpid()}") for place in ("/tmp", "/var/tmp")
                   for name in ("exhibit-aB3dE6", "hostile-x_1y2z", "tmp.aB3dE6", "tmpab12_z")]
        self.assertEqual(self.left_of(folders), (1, folders))

    def test_a_folder_of_every_name_that_is_made_anywhere(self):
        made = [f"{name}aB3d_{os.getpid()}" for name in names_made()]
        self.assertGreater(len(made), 15, made)
        folders = [pathlib.Path("/var/tmp", name) for name in made]
        self.assertEqual(self.left_of(folders), (1, folders))

    def test_a_command_that_fails_and_leaves_something_keeps_its_status_and_is_told(self):
        folder = pathlib.Path(tempfile.gettempdir(), f"exhibit-failed-{os.getpid()}")
        try:
            status, out = self.look(f"mkdir {folder}; exit 3")
        finally:
            folder.rmdir()
        self.assertEqual(status, 3)
        self.assertIn(f"left behind: folder: {folder}\n", out)

    def test_script_test_runs_all_tests_under_the_look(self):
        self.assertRegex((SOURCE / "script" / "test").read_text(), r'(?m)^tests/traces\.py "\$folder" ctest ')

    def test_a_process_that_was_started_from_the_build_folder(self):
        program = BUILD / "bin" / "storm"
        out = self.left(f"{program} 1 >/dev/null; cp /usr/bin/sleep {BUILD}/left-sleep; "
                        f"{BUILD}/left-sleep 30 >/dev/null 2>&1 &", f"process [0-9]+: {BUILD}/left-sleep 30 $")
        self.ended(out)
        (BUILD / "left-sleep").unlink()

    def test_any_other_process_where_there_are_control_groups(self):
        if not control_group():
            self.skipTest("no control groups here")
        self.ended(self.left("setsid sleep 31 >/dev/null 2>&1 &", "process [0-9]+: sleep 31 $"))

    def test_a_control_group(self):
        if not control_group():
            self.skipTest("no control groups here")
        name = "exhibit-0123456789abcdef-1"
        self.left(f"mkdir {control_group()}/exhibit-tests-$PPID/{name}", f"control group: .*/{name}$")
        self.assertEqual(list(control_group().glob(f"exhibit-tests-*/{name}")), [], "it is removed after that")

    def test_a_mount(self):
        if os.geteuid() != 0 or not shutil.which("unshare"):
            self.skipTest("only root may mount")
        with tempfile.TemporaryDirectory(prefix="exhibit-no-trace-") as folder:
            self.left(f"mount -t tmpfs none {folder}", f"mount: {folder}$", before=["unshare", "-m"])


unittest.main(argv=sys.argv[:1], verbosity=2)
