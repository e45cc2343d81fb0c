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


class Kept:
    """Bundles that replay is asked about in one call at the end: whether their claims follow, and what it decides."""

    def __init__(self, judges):
        self.judges, self.kept = judges, {}

    def keep(self, container, title, decision, differs):
        path = self.judges.write(container, f"kept-{len(self.kept)}")
        self.kept[path] = title, decision, differs
        return path

    def faults(self):
        """Those of which replay says otherwise than was told when they were kept."""
        done = shell(self.judges.build / "bin" / "exhibit-replay", *self.kept, "--json", "-j", "1")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        said = {pathlib.Path(line["bundle"]): line for line in lines if isinstance(line.get("bundle"), str)}
        for path, (title, decision, differs) in self.kept.items():
            line = said.get(path, {})
            if "differing" not in line or bool(line["differing"]) != differs or line["decision"] != decision:
                yield f"{title}: replay says {line}"
