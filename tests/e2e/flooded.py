#!/usr/bin/env python3
"""A flood on the pipes starves no observer: usage: flooded.py BUILD SOURCE"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import fourth

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
FLOOD_BYTES = 200_000_000
PIPE_BYTES = 65536

PLAN = f"""\
version: 1
name: flooded
candidate:
  name: flood
  argv: [/bin/sh, -c, '(head -c {FLOOD_BYTES} /dev/zero >&2 &); exec "$@"', sh, "{{command}}"]
environment: {{PATH: "/usr/bin:/bin"}}
trials:
  - {{name: bootstrap, kind: bootstrap}}
  - name: tree
    kind: tree
    rounds: 24
    interval_ms: 100
    lifetime_ms: 4000
    ending: {{steps: [{{after: {{role: grandchild, rounds: 6}}, signal: TERM, to: group}}]}}
"""


class Flooded(unittest.TestCase):
    def flood_was_there(self, bundle):
        """It had begun before the ending, which may be its own; and processes were told by events where there are any."""
        with fourth.opened(bundle) as opened:
            (tree,) = [run for run in fourth.runs.read_runs(opened) if (run.name, run.mode) == ("tree", "strict")]
            before = sum(event.chunk.size_bytes for event in tree.of("chunk") if event.seq < tree.first_step().seq
                         and fourth.schema.name_of(event.chunk, "stream") == "STREAM_STDERR")
            self.assertGreater(before, 20 * PIPE_BYTES)
            if fourth.schema.name_of(opened.start, "process_observer") != "SOURCE_PROCESS_EVENTS":
                self.skipTest("no process events here: snapshots were not starved")

    def test_every_process_row_and_message_is_seen_beside_a_flood(self):
        with tempfile.TemporaryDirectory() as folder:
            plan, bundle = pathlib.Path(folder, "plan.yaml"), pathlib.Path(folder, "flooded.exhibit")
            plan.write_text(PLAN)
            done = subprocess.run([BUILD / "bin" / "exhibit-record", "run", plan, "-o", bundle], capture_output=True,
                                  text=True, timeout=150, check=False)
            self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
            said = subprocess.run([BUILD / "bin" / "exhibit-replay", bundle, "--json"], capture_output=True,
                                  text=True, timeout=60, check=True)
            claim = json.loads(said.stdout)
            failing = [r["rule"] for r in claim["rules"] if not r["holds"]]
            self.assertEqual(failing, ["boundary.attempts", "boundary.traces", "cancel.ended", "cancel.quiet"])
            rows = {(r["trial"], r["mode"]): r["count"] for r in claim["rows"]}
            self.assertEqual(rows[("tree", "strict")], 26)
            messages = [(m["tcp"], m["udp"]) for m in claim["messages"] if m["trial"] == "tree"]
            self.assertEqual(messages, [(26, 26), (26, 26)])
            self.assertTrue(all(m["pid"] > 0 for m in claim["tree"]), claim["tree"])
            self.assertLess(bundle.stat().st_size, 4_000_000)
            self.flood_was_there(bundle)
            self.assertEqual(fourth.differences(bundle, claim), [])


unittest.main(argv=sys.argv[:1], verbosity=2)
