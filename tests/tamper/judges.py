"""exhibit-replay, exhibit-verify and the recorder's own judge, run on a bundle for a test."""
import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile

import pack
from facts import Facts

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import fourth  # noqa: E402


@dataclasses.dataclass
class Said:
    code: int
    claim: dict | None   # the program's own
    told: str            # findings and complaints
    verdict: str | None = None


def shell(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


class Judges:
    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.room = tempfile.TemporaryDirectory(prefix="exhibit-tamper-")

    def base(self, name):
        """One of the bundles of bundles.py."""
        return Facts.read(self.build / "test-bundles" / f"{name}.exhibit")

    def write(self, container, name="bundle"):
        path = pathlib.Path(self.room.name) / f"{name}.exhibit"
        pack.write(path, container)
        return path

    def replay(self, path):
        done = shell(self.build / "bin" / "exhibit-replay", path, "--json")
        return Said(done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr)

    def replay_many(self, paths):
        """What one call says of many, by path: its line, as JSON. Its exit code is not looked at."""
        done = shell(self.build / "bin" / "exhibit-replay", *paths, "--json", "-j", "1")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return {pathlib.Path(line["bundle"]): line for line in lines if isinstance(line.get("bundle"), str)}

    def verify(self, path):
        done = shell(self.build / "bin" / "exhibit-verify", path, "--json")
        told = json.loads(done.stdout)
        return Said(done.returncode, told["claim"], "\n".join([*told["findings"], done.stderr]), told["verdict"])

    def record(self, path):
        """The recorder's judge, fed with the bundle's facts. It has no receipt before it: only whole recordings."""
        done = shell(self.build / "bin" / "rejudge", path)
        return Said(done.returncode, json.loads(done.stdout) if done.returncode == 0 else None, done.stderr)

    def fourth(self, path, claim):
        """Where the judge in Python says otherwise than a claim."""
        return fourth.differences(path, claim)

    def fourth_refuses(self, path):
        """Why it takes the file for no bundle; nothing where it takes it."""
        return fourth.refusal(path)

    def verify_text(self, path):
        """Its exit code, and what it prints for people of findings and decision."""
        done = shell(self.build / "bin" / "exhibit-verify", path)
        return done.returncode, "\n".join(line for line in done.stdout.splitlines()
                                          if line.startswith(("refuted:", "decision:")))
