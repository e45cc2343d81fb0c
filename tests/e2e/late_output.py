#!/usr/bin/env python3
"""Much output of a case is kept later, and lost nowhere: usage: late_output.py BUILD SOURCE"""
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
sys.path.insert(0, str(SOURCE / "tests" / "independent"))
sys.dont_write_bytecode = True
import fourth  # noqa: E402
from records import Bundle  # noqa: E402

LONG_BYTES, MIDDLE_BYTES = 30_000_000, 9_000_000  # more and less than a matcher looks at

PLAN = """\
version: 1
name: late
oracle: oracle.yaml
candidate: {{name: env, argv: [/usr/bin/env, "{{command}}"]}}
environment: {{PATH: "/usr/bin:/bin"}}
trials: []
cases:
  - {{name: late, command: [/bin/sh, -c, "cat {long}; cat {middle} >&2; echo needle >&2"]}}
  - {{name: long, command: [/bin/sh, -c, "cat {long}; echo needle"]}}
"""
ORACLE = """\
version: 1
trials: []
cases:
  - {name: late, stderr: {contains: "needle\\n"}}
  - {name: long, stdout: {contains: "needle\\n"}}
"""


class LateOutput(unittest.TestCase):
    def run_program(self, name, *words):
        return subprocess.run([BUILD / "bin" / f"exhibit-{name}", *words], capture_output=True, text=True, timeout=120,
                              check=False)

    def test_every_byte_is_kept_and_the_judges_agree(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            long, middle, bundle = folder / "long", folder / "middle", folder / "late.exhibit"
            long.write_bytes(b"".join(b"%d\n" % (i * i) for i in range(3_000_000))[:LONG_BYTES])
            middle.write_bytes(long.read_bytes()[-MIDDLE_BYTES:])
            (folder / "plan.yaml").write_text(PLAN.format(long=long, middle=middle))
            (folder / "oracle.yaml").write_text(ORACLE)
            done = self.run_program("record", "run", folder / "plan.yaml", "-o", bundle, "--work", folder)
            self.assertEqual(done.returncode, 3, done.stdout[-2000:] + done.stderr)  # no trial: no decision
            self.assertEqual(sorted(p.name for p in folder.iterdir()),
                             ["late.exhibit", "long", "middle", "oracle.yaml", "plan.yaml"])
            replayed = self.run_program("replay", bundle, "--json")
            self.assertEqual(replayed.returncode, 3, replayed.stderr)  # 1: the recorder's claim is another
            met = {(c["name"], c["mode"]): c["met"] for c in json.loads(replayed.stdout)["cases"]}
            self.assertEqual(met, {("late", "baseline"): True, ("late", "strict"): True,
                                   ("long", "baseline"): False, ("long", "strict"): False})
            verified = self.run_program("verify", bundle)
            self.assertEqual(verified.returncode, 3, verified.stdout[-2000:] + verified.stderr)
            sizes = [(e.stream_end.content.size_bytes, e.stream_end.content.sha256)
                     for e in Bundle(str(bundle)).of("stream_end")]
            self.assertEqual(fourth.differences(bundle, json.loads(replayed.stdout)), [])
            for content in (long.read_bytes(), middle.read_bytes() + b"needle\n", long.read_bytes() + b"needle\n"):
                self.assertEqual(sizes.count((len(content), hashlib.sha256(content).digest())), 2)


unittest.main(argv=sys.argv[:1], verbosity=2)
