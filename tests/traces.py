#!/usr/bin/env python3
"""Runs a command and tells what it left on this machine: processes, mounts, control groups, folders. Processes and
control groups that are left are ended after that.

usage: traces.py [--wait SECONDS] BUILD COMMAND...

Ends with the command's own status, or with 1 where that was 0 and something is left. Others may use the machine at the
same time: what is new by then is left only if it is still there when the time has passed (60 seconds).
"""
import os
import pathlib
import re
import subprocess
import sys
import time

PLACES = {pathlib.Path("/tmp"), pathlib.Path("/var/tmp"), pathlib.Path(os.environ.get("TMPDIR", "/tmp")).resolve()}
# Of folders: the recorder's, the tests', mktemp's, Python's.
NAMES = re.compile(r"(exhibit|hostile|lifetimes|check|verify|tests?)[-._][-.\w]*|tmp[-.\w]*")


def mounts():
    return [line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]


def control_group_trees():
    return [pathlib.Path(words[4]) for words in mounts() if words[words.index("-") + 1] in ("cgroup", "cgroup2")]


class Group:
    """A control group for the command: what is in it at the end came of it. None where the machine gives none."""

    def __init__(self):
        own = [line[3:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines() if line[:3] == "0::"]
        points = [words[4] for words in mounts() if words[words.index("-") + 1] == "cgroup2"]
        self.path = pathlib.Path(points[0] + own[0]) / f"exhibit-tests-{os.getpid()}" if points and own else None
        try:
            if self.path:
                self.path.mkdir()
        except OSError:
            self.path = None

    def enter(self):
        if self.path:
            (self.path / "cgroup.procs").write_text("0")

    def processes(self):
        """The numbers of all processes in it and in groups below it."""
        if not self.path:
            return set()
        return {int(line) for procs in self.path.rglob("cgroup.procs") for line in procs.read_text().split()}

    def remove(self):
        """Removes it, with the groups and processes that are left in it."""
        deadline = time.monotonic() + 2
        while self.path and self.path.exists() and time.monotonic() < deadline:
            try:
                (self.path / "cgroup.kill").write_text("1")
                for folder, _, _ in os.walk(self.path, topdown=False):
                    os.rmdir(folder)
            except OSError:
                time.sleep(0.02)  # what was killed is not gone at once


def started_from(build, copies):
    """The processes whose executable is in the build folder, or with `copies` is one of a tool in any work folder."""
    found = set()
    for entry in pathlib.Path("/proc").iterdir():
        try:
            program = os.readlink(entry / "exe") if entry.name.isdigit() else ""
        except OSError:
            continue
        if program.startswith(f"{build}/") or (copies and re.search(r"/exhibit-\w{6}/box/tools/", program)):
            found.add(int(entry.name))
    return found


def process_described(pid):
    """What it is for as long as it lives, and what it is now; nothing for a zombie."""
    try:
        argv = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
    text = argv.replace(bytes(1), b" ").decode(errors="replace")[:200]
    return [((pid, fields[19]), f"process {pid}: {text}")] if fields[0] != "Z" else []


def processes_seen(build, group):
    return dict(pair for pid in started_from(build, copies=not group.path) | group.processes()
                for pair in process_described(pid))


def things_seen():
    """All else that could be a trace, as {what: text}; others make such things, too."""
    found = {f"mount: {words[4]}" for words in mounts()}
    for tree in control_group_trees():
        for folder, names, _ in os.walk(tree):
            found |= {f"control group: {folder}/{name}" for name in names if re.match("(exhibit|hostile)-", name)}
    for place in PLACES:
        found |= {f"folder: {entry.path}" for entry in os.scandir(place) if NAMES.fullmatch(entry.name)}
    return {text: text for text in found}


def main():
    words = sys.argv[1:]
    wait_s = 60.0
    if words[:1] == ["--wait"]:
        wait_s, words = float(words[1]), words[2:]
    build, command, group = pathlib.Path(words[0]).resolve(), words[1:], Group()
    before = {**things_seen(), **processes_seen(build, group)}
    status = subprocess.run(command, preexec_fn=group.enter, check=False).returncode
    things = things_seen().keys() - before.keys()
    deadline = time.monotonic() + wait_s
    while True:
        now = {**things_seen(), **processes_seen(build, group)}
        left = {key: now[key] for key in now if key in things or (isinstance(key, tuple) and key not in before)}
        if not left or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    for text in sorted(left.values()):
        print(f"left behind: {text}")
    group.remove()
    sys.exit(status if status > 0 else 1 if left or status < 0 else 0)


main()
