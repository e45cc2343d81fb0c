"""Running and timing commands, and the table that comes out. Knows no command of ours."""

import os
import pathlib
import statistics
import subprocess
import threading
import time
from typing import NamedTuple


class Took(NamedTuple):
    seconds: float
    cpu_seconds: float
    anonymous_bytes: int  # the peak of RssAnon; sampled
    output: str


class Watch(threading.Thread):
    """Samples a process's anonymous memory until it ends."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.path, self.peak, self.over = f"/proc/{pid}/status", 0, threading.Event()

    def run(self):
        while not self.over.wait(0.005):
            try:
                status = pathlib.Path(self.path).read_text()
            except OSError:
                return
            for line in status.splitlines():
                if line.startswith("RssAnon:"):
                    self.peak = max(self.peak, int(line.split()[1]) * 1024)


def run(words, ok=(0,), environment=None, folder=None, watch=True, shell=False):
    """Runs a command with its output thrown away or (stdout of at most a little) kept; wall time and memory."""
    words = words if shell else [str(word) for word in words]
    before, started = os.times(), time.monotonic()
    process = subprocess.Popen(words, shell=shell, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment,
                               cwd=folder)
    watcher = Watch(process.pid) if watch else None
    if watcher:
        watcher.start()
    said = process.stderr.read()
    process.wait()
    seconds, after = time.monotonic() - started, os.times()
    if watcher:
        watcher.over.set()
    if process.returncode not in ok:
        raise SystemExit(f"bench: {words}: ended with {process.returncode}: {said.decode(errors='replace')[-500:]}")
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return Took(seconds, cpu, watcher.peak if watcher else 0, said.decode(errors="replace"))


def interleaved(rounds, things, of=statistics.median):
    """things: name -> function that gives seconds, run once in each round. Gives name -> their median, or what `of` is."""
    times = {name: [] for name in things}
    for _ in range(rounds):
        for name, thing in things.items():
            times[name].append(thing())
    return {name: of(values) for name, values in times.items()}


def make_text(path, size_bytes):
    """A file of that many bytes of text, line by line different; left as it is where it is there."""
    path = pathlib.Path(path)
    if path.exists() and path.stat().st_size == size_bytes:
        return
    with open(path, "wb") as out:
        number = 0
        while out.tell() < size_bytes:
            lines = "".join(f"{i:09d} const value = require('./module-{i * 7919 % 10007}');\n"
                            for i in range(number, number + 20000)).encode()
            out.write(lines[:size_bytes - out.tell()])
            number += 20000


class Table:
    """Rows of text, printed as they come."""

    def __init__(self):
        self.print("what", "measured", "ratio", "target")
        self.print("---", "---", "---", "---")

    @staticmethod
    def print(*cells):
        print("| " + " | ".join(cells) + " |", flush=True)

    def row(self, what, measured, ratio="", target=""):
        self.print(what, measured, ratio, target)

    def memory(self, what, took):
        """The peak of a run that was watched."""
        self.row(f"{what}: anonymous memory", f"{took.anonymous_bytes / 2**20:.1f} MiB", "", "64 MiB")
