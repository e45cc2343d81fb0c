#!/usr/bin/python3
"""An explanation of exhibit-replay leads to the bytes that it tells: usage: explain.py BUILD SOURCE (after bundles.py)

Each chain is followed by hand (by_hand.py), each command that is printed is run in a shell.
"""
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "tests" / "tamper"))

import by_hand  # noqa: E402
import changes  # noqa: E402
import edits  # noqa: E402
import facts as facts_module  # noqa: E402
import pack  # noqa: E402
import tamper  # noqa: E402
from facts import SCRATCH, STDERR, STDOUT, Facts  # noqa: E402
import fourth  # noqa: E402: last, its modules have the names of some of these

PROTO = SOURCE / "proto" / "exhibit.proto"
WRONG = SOURCE / "experiments" / "hook-confinement" / "oracle-wrong.yaml"
RULES = ["complete.recording", "complete.pins", "complete.observers", "complete.controls", "complete.spoke",
         "complete.outcomes", "complete.baseline", "complete.cleanup", "boundary.attempts", "boundary.traces",
         "useful.contract", "useful.archives", "cancel.ended", "cancel.quiet"]


def bundle(name):
    return BUILD / "test-bundles" / f"{name}.exhibit"


def replay(path, *words):
    return subprocess.run([BUILD / "bin" / "exhibit-replay", path, *words], capture_output=True, timeout=60,
                          stdin=subprocess.DEVNULL)


def explained(path, name, *words):
    """The explanation, and its facts after every step was followed."""
    done = replay(path, "--explain", name, "--json", *words)
    assert done.returncode in (0, 3), done.stderr
    explanation = json.loads(done.stdout)
    assert (explanation["schema"], explanation["explains"]) == ("exhibit.explanation/1", name)
    return explanation, by_hand.Hand(path, explanation, PROTO).follow(explanation)


def says(explanation):
    return [statement["says"] for statement in explanation["chain"]]


def events(facts, kind):
    return [fact["event"] for fact in facts if fact.get("event", {}).get("kind") == kind]


class Explained(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def changed(self, *names, base="usable", rework=None):
        """A bundle with changed facts and no claim."""
        facts = tamper.tampered(Facts.read(bundle(base)), *names)
        if rework:
            rework(facts)
        path = self.folder / "changed.exhibit"
        pack.write(path, facts.build(None))
        self.assertEqual(fourth.differs_from_replay(BUILD, path), [])
        return path

    def run_as(self, path, name, mode):
        return Facts.read(path).run(name, mode)

    def test_of_a_folder_nothing_is_explained_and_that_is_said(self):
        (self.folder / "one.exhibit").write_bytes(bundle("usable").read_bytes())
        done = replay(self.folder, "--explain", "cancel.ended")
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"--explain takes one bundle, and this is a folder; name a file in it", done.stderr)

    # ---- attempts ----

    def stream_of(self, row, run):
        """The stream that holds the child's row as told: of its two copies that which arrived first (DECISION 2.5)."""
        recorded = Facts.read(bundle("default"))
        line = recorded.row(run, "child")
        copies = {name: [fact.event.seq for fact in recorded.of("chunk", run, stream=stream) if line in
                         recorded.stream(run, stream) and fact.what.offset_bytes + fact.what.size_bytes >=
                         recorded.stream(run, stream).index(line) + len(line)][0]
                  for name, stream in (("stdout", STDOUT), ("scratch-child", SCRATCH["child"]))}
        self.assertEqual((row["run"], row["stream"]), (run, min(copies, key=copies.get)))
        return {"stdout": STDOUT, "scratch-child": SCRATCH["child"]}[row["stream"]]

    def test_an_attempt_leads_to_its_row_and_to_the_end_of_its_process(self):
        for mode, told in (("strict", "denied"), ("baseline", "reached")):
            explanation, facts = explained(bundle("default"), f"tree/{mode}/child/1/read")
            self.assertIn(f"trial tree, {mode}: read of child, round 1, is {told}", says(explanation))
            run = self.run_as(bundle("default"), "tree", mode)
            (row,) = [fact["bytes"] for fact in facts if "bytes" in fact]
            self.stream_of(row, run)
            self.assertEqual(row["text"], by_hand.escaped(Facts.read(bundle("default")).row(run, "child")))
            (who,), (end,) = events(facts, "process_identity"), events(facts, "process_exit")
            self.assertEqual(who["fields"]["pid"], end["fields"]["pid"])
            self.assertEqual(who["fields"]["argv"][2], "child")
            self.assertEqual({who["run"], end["run"]}, {run})

    def test_without_a_mode_both_are_explained_baseline_first(self):
        explanation, _ = explained(bundle("open"), "tree/parent/1/udp")
        told = [text for text in says(explanation) if text.startswith("trial ")]
        self.assertEqual(told, [f"trial tree, {mode}: udp of parent, round 1, is reached"
                                for mode in ("baseline", "strict")])

    def test_an_attempt_that_was_heard_leads_to_its_message_and_connection(self):
        for mode in ("strict", "baseline", "control"):
            _, facts = explained(bundle("open"), f"tree/{mode}/child/1/tcp")
            heard, accepted = events(facts, "message"), events(facts, "accept")
            self.assertEqual(len(heard), 1)
            self.assertRegex(heard[0]["fields"]["payload"], r"^EXHIBIT1 tcp [0-9a-f]{32} child 1\\x0a$")
            self.assertEqual(heard[0]["fields"]["connection"], accepted[0]["fields"]["connection"])
            self.assertEqual(heard[0]["source"], "SOURCE_LISTENER")

    def test_an_attempt_on_a_file_leads_to_inotify_and_to_the_target(self):
        for mode in ("strict", "baseline"):
            _, facts = explained(bundle("open"), f"tree/{mode}/parent/1/read")
            self.assertEqual([event["fields"]["target"] for event in events(facts, "file_event")],
                             ["TARGET_CANARY_READ"])
            ((set_to,), (row,)) = events(facts, "targets"), [fact["bytes"]["text"] for fact in facts if "bytes" in fact]
            proof = hashlib.sha256(f"{set_to['fields']['canary_read']} {row.split()[2]} 1".encode()).hexdigest()
            self.assertIn(f" read=ok:{proof} ", row)
            _, facts = explained(bundle("open"), f"tree/{mode}/parent/1/write")
            (line,) = [fact["content"] for fact in facts if "content" in fact]
            self.assertRegex(line["text"], r"^EXHIBIT1 write [0-9a-f]{32} parent 1\\x0a$")
            self.assertEqual({event["fields"]["target"] for event in events(facts, "target_state")}, {"TARGET_WRITE"})
            self.assertTrue(events(facts, "file_event"))

    def test_where_snapshots_saw_the_processes_their_end_is_found_too(self):
        _, facts = explained(bundle("snapshots"), "tree/strict/parent/1/read")
        (gone,) = events(facts, "process_gone")
        self.assertEqual(gone["source"], "SOURCE_SNAPSHOT")

    def test_every_copy_of_a_contested_row_is_shown(self):
        path = self.changed("copies-differ")
        detail = json.loads(replay(path, "--json").stdout)["rules"][RULES.index("complete.outcomes")]["detail"]
        effect, role, number = re.search(r"strict: (\S+) of (\S+), round (\d+), is undetermined", detail).groups()
        explanation, facts = explained(path, f"tree/strict/{role}/{number}/{effect}")
        self.assertTrue(any("so it is contested" in text for text in says(explanation)))
        self.assertEqual(len({fact["bytes"]["text"] for fact in facts if "bytes" in fact}), 2)

    # ---- cases ----

    def test_an_unmet_case_shows_what_was_expected_what_was_seen_and_its_output(self):
        words = ("--oracle", WRONG)
        explanation, facts = explained(bundle("usable"), "inspect-benign/strict", *words)
        run = self.run_as(bundle("usable"), "inspect-benign", "strict")
        stdout = Facts.read(bundle("usable")).stream(run, STDOUT)
        seen, shown = [fact["bytes"] for fact in facts if fact.get("bytes", {}).get("stream") == "stdout"]
        self.assertTrue(by_hand.escaped(stdout).startswith(seen["text"]))
        self.assertTrue(stdout and by_hand.escaped(stdout).endswith(shown["text"]))
        self.assertEqual((events(facts, "run_exit")[0]["run"], shown["run"]), (run, run))
        self.assertTrue(any(re.search('^oracle line [0-9]+: stdout json: expected "allow", seen a string, "[a-z]+", '
                                      'at stdout "/result/action"$', text)
                            for text in says(explanation)), says(explanation))
        self.assertTrue(explanation["prospective"])
        _, of_rule = explained(bundle("usable"), "useful.contract", *words)
        self.assertIn(shown, [fact.get("bytes") for fact in of_rule])
        _, baseline = explained(bundle("usable"), "inspect-benign/baseline", *words)
        self.assertTrue([fact for fact in baseline if fact.get("bytes", {}).get("stream") == "stdout"])

    def test_only_the_last_lines_of_a_long_stream_are_shown(self):
        def talk(facts):
            run = facts.run("syntax", "strict")
            lines = b"".join(b"line %d\n" % i for i in range(300000))
            facts.add_chunk(run, STDERR, lines, facts.place(facts.one("run_exit", run)))
        _, facts = explained(self.changed(rework=talk), "syntax/strict")
        (shown,) = [fact["bytes"] for fact in facts if fact.get("bytes", {}).get("stream") == "stderr"]
        self.assertEqual(shown["text"].replace("\\x0a", "\n").split(), [word for i in range(299990, 300000)
                                                                        for word in ("line", str(i))])

    def test_an_unmet_case_is_hinted_at_by_record_replay_and_verify(self):
        hint = "exhibit-replay BUNDLE --explain inspect-benign/"
        recorded = json.loads((BUILD / "test-bundles" / "default.json").read_text())["stdout"]
        self.assertIn(hint + "strict", recorded)
        self.assertIn(hint + "strict", replay(bundle("default")).stdout.decode())
        self.assertIn(hint + "baseline", replay(bundle("wrong")).stdout.decode())
        self.assertNotIn("--explain", replay(bundle("usable")).stdout.decode())

    # ---- rules ----

    def test_every_rule_is_explained_where_it_holds(self):
        for name in ("usable", "default", "open"):
            claim = json.loads(replay(bundle(name), "--json").stdout)
            for rule in claim["rules"]:
                explanation, facts = explained(bundle(name), rule["rule"])
                held = [text.startswith("it holds: nothing speaks against it") for text in says(explanation)]
                self.assertEqual(any(held), rule["holds"], rule["rule"])
                self.assertEqual(any(text.startswith("against it: ") for text in says(explanation)),
                                 not rule["holds"])
                self.assertTrue(facts, rule["rule"])

    def test_every_rule_is_explained_where_it_fails_by_what_the_claim_names(self):
        for rule in RULES:
            change = next(change for change in changes.CATALOGUE.values()
                          if rule in change.fails and change.malformed is None)
            path = self.changed(change.name, base=change.base)
            (result,) = [result for result in json.loads(replay(path, "--json").stdout)["rules"]
                         if result["rule"] == rule]
            explanation, facts = explained(path, rule)
            self.assertTrue(any(text.startswith("so it does not hold: ") for text in says(explanation)), rule)
            self.assertIn("against it: " + result["detail"].split("; ")[0], says(explanation))
            named = {int(text.split()[1]) for text in result["evidence"] if re.fullmatch(r"event \d+", text)}
            shown = {fact[key]["seq"] for fact in facts for key in ("event", "arrived") if key in fact}
            self.assertLessEqual(named, shown, rule)

    def test_a_canary_that_came_through_is_found_where_it_lies(self):
        for change, kind in (("canary-over-two-chunks", "bytes"), ("canary-in-stderr", "bytes"),
                             ("canary-in-an-artifact", "content")):
            path = self.changed(change)
            _, facts = explained(path, "boundary.traces")
            canaries = {by_hand.escaped(content) for fact in Facts.read(path).of("targets")
                        for content in (fact.what.canary_read, fact.what.canary_link)}
            found = {fact[kind]["text"] for fact in facts if kind in fact}
            self.assertTrue(found & canaries, change)

    def test_a_canary_is_found_beyond_the_first_segment_of_a_stream(self):
        def leak(facts):
            run = facts.run("syntax", "strict")
            leaked = b"x" * (5 << 18) + facts.canary(run, "canary_read")
            facts.add_chunk(run, STDERR, leaked, facts.place(facts.one("run_exit", run)))
        path = self.changed(rework=leak)
        canary = Facts.read(path).canary(self.run_as(path, "syntax", "strict"), "canary_read")
        _, facts = explained(path, "boundary.traces")
        (found,) = [fact["bytes"] for fact in facts if "bytes" in fact]
        self.assertEqual((found["text"], found["place"]["offset"]), (by_hand.escaped(canary), 5 << 18))

    def test_a_proof_that_came_out_is_found_where_it_lies(self):
        for change, kind in (("proof-over-two-segments", "bytes"), ("proof-in-an-artifact", "content")):
            path = self.changed(change)
            facts, run = Facts.read(path), self.run_as(path, "tree", "strict")
            proofs = {facts.proof(run, "read", role, number) for role, number in (("grandchild", 2), ("child", 1))}
            _, shown = explained(path, "boundary.traces")
            found = {fact[kind]["text"] for fact in shown if kind in fact}
            self.assertTrue(found & proofs, change)

    def test_a_late_line_is_found_in_its_stream(self):
        explanation, _ = explained(self.changed("late-heartbeat"), "cancel.quiet")
        against = [statement["facts"] for statement in explanation["chain"]
                   if statement["says"].startswith("against it: ")]
        for facts in against:
            self.assertTrue([fact for fact in facts if fact["what"].startswith(("the row, in ", "the try, in "))])
        self.assertTrue(against)

    def test_an_explanation_is_bounded_and_counts_what_it_leaves_out(self):
        explanation, _ = explained(bundle("default"), "cancel.quiet")
        against = [text for text in says(explanation) if text.startswith("against it")]
        whole = next(int(re.search(r"hold: (\d+)", text)[1]) for text in says(explanation) if "so it does" in text)
        self.assertEqual((len(against) + explanation["left_out"], explanation["left_out"] > 0), (whole, True))
        self.assertLessEqual(len(explanation["chain"]), 64)

    # ---- the file ----

    def test_ranges_are_followed_over_segments_and_blocks(self):
        kept = facts_module.SEGMENT_BYTES, pack.BLOCK_BYTES
        facts_module.SEGMENT_BYTES, pack.BLOCK_BYTES = 2000, 1500
        try:
            path = self.changed()
        finally:
            facts_module.SEGMENT_BYTES, pack.BLOCK_BYTES = kept
        several = set()
        for name in ("tree/strict/parent/1/read", "complete.recording", "inspect-benign/strict"):
            _, facts = explained(path, name)
            for fact in facts:
                several |= {(len({piece["segment"] for piece in fact[key]["place"]["pieces"]}) > 1,
                             len(fact[key]["place"]["pieces"]) > 1) for key in ("event", "arrived") if key in fact}
        self.assertIn((True, True), several)

    def test_every_printed_command_gives_the_bytes(self):
        for name, file in (("tree/strict/child/1/tcp", "it's a bundle.exhibit"),
                           ("inspect-benign/strict", "it's \x1b[2J 100% of \\t \"ärger\" $HOME`.exhibit")):
            path = self.folder / file
            path.write_bytes(bundle("open").read_bytes())
            explanation, _ = explained(path, name)
            hand = by_hand.Hand(path, explanation, PROTO)
            hand.follow(explanation)
            text = replay(path, "--explain", name).stdout.decode()
            lines = [line.strip()[2:] for line in text.splitlines() if line.strip().startswith("$ ")]
            self.assertTrue(lines[0].startswith("F="))
            self.assertTrue(lines[0].isascii() and lines[0].isprintable(), lines[0])
            printed = set()
            for line in lines[1:]:
                first, size, offset, count = map(int, re.findall(r"-c \+?(\d+)", line))
                printed.add((first - 1, size, offset - 1, count))
                done = subprocess.run(["sh", "-c", lines[0] + "\n" + line], capture_output=True, timeout=30)
                self.assertEqual((done.stdout, done.stderr), (hand.pieces[first - 1, size, offset - 1, count], b""))
            self.assertEqual(printed, set(hand.pieces), "a place is not printed")

    def test_the_text_tells_the_places_that_json_tells(self):
        """Number, kind, time, stream and offset of each row, message and event, as the facts have them."""
        explanation, facts = explained(bundle("default"), "tree/strict/child/1/read")
        text = replay(bundle("default"), "--explain", "tree/strict/child/1/read").stdout.decode()
        start = Facts.read(bundle("default")).facts[0].event.at_ns
        told = [fact[key] for fact in facts for key in ("event", "arrived") if key in fact]
        self.assertGreater(len(told), 4)
        for event in told:
            since = (event["at_ns"] - start) // 1000
            self.assertIn(f"event {event['seq']}, {event['kind']} ({event['source']}, {event['vantage']}, "
                          f"run {event['run']}) at {event['at_ns']} ns, {since // 1000000}.{since % 1000000:06} s "
                          "into the recording\n", text)
        (row,) = [fact["bytes"] for fact in facts if "bytes" in fact]
        run = self.run_as(bundle("default"), "tree", "strict")
        recorded = Facts.read(bundle("default"))
        which, line = self.stream_of(row, run), recorded.row(run, "child")
        source = "SOURCE_PIPE" if which == STDOUT else "SOURCE_SCRATCH"
        offset = recorded.stream(run, which).index(line)
        self.assertIn(f"bytes {offset} to {offset + len(line) - 1} of {row['stream']} of run {run}: {len(line)}\n", text)
        (chunk,) = [fact for fact in recorded.of("chunk", run, stream=which)
                    if fact.what.offset_bytes <= offset + len(line) - 1 < fact.what.offset_bytes + fact.what.size_bytes]
        at, size = chunk.what.offset_bytes, chunk.what.size_bytes
        self.assertRegex(text, rf"it came with event \d+, chunk \({source}, VANTAGE_SUBJECT, run {run}\) at "
                               rf"{chunk.event.at_ns} ns, .*\n"
                               rf" +stream: STREAM_{row['stream'].upper().replace('-', '_')}\n" +
                         (rf" +offset_bytes: {at}\n" if at else "") + rf" +size_bytes: {size}\n")  # no 0 is told

    def test_the_commands_of_the_document_work(self):
        explanation, facts = explained(bundle("open"), "tree/strict/child/1/tcp")
        (message,) = events(facts, "message")
        (piece,) = message["place"]["pieces"]
        section = (SOURCE / "docs" / "FORMAT.md").read_text().split("## 10.")[1]
        script = "".join(re.findall(r"```sh\n(.*?)```", section, re.S))
        values = {"F": bundle("open"), "E": piece["object_entry_at"], "B": piece["block_entry_at"],
                  "P": piece["frame_at"], "N": piece["frame_size"], "K": piece["content_offset"],
                  "LENGTH": piece["size"]}
        setting = "".join(f"{name}='{value}'\n" for name, value in values.items())
        done = subprocess.run(["bash", "-euc", setting + script], capture_output=True, timeout=30, cwd=SOURCE)
        self.assertEqual(done.stderr, b"")
        out = done.stdout
        payload = message["fields"]["payload"].removesuffix("\\x0a").encode()
        self.assertIn(b"payload: \"" + payload + b"\\n\"\n", out)
        self.assertEqual(out.count(payload), 2, "as it is, and decoded")
        for digest in (piece["object"], explanation["receipt"]):
            self.assertIn(digest.encode(), out)
        self.assertEqual(out.count(piece["object"].encode()), 2, "in the index, and as the digest of the content")
        self.assertRegex(out.decode(errors="replace"), rf"\b{piece['frame_at']}\s+{piece['frame_size']}\b")

    # ---- the command line, and hostile bundles ----

    def test_an_unknown_name_is_refused_with_what_there_is(self):
        for name in ("complete.nothing", "", "tree", "tree/strict", "tree/strict/parent/0/read", "syntax/control",
                     "tree/strict/parent/01/read", "tree/strict/parent/99/read", "tree/parent/1/nothing",
                     "syntax/strict/2", "tree/strict/parent/1/read/", "tree//parent/1/read", "/" * 100, "a" * 100000, "\x1b[31m/x"):
            done = replay(bundle("default"), "--explain", name)
            text = done.stderr.decode()
            self.assertEqual((done.returncode, done.stdout), (2, b""), name[:50])
            self.assertIn("there is no such rule, attempt or case", text)
            for there in (*RULES, "syntax/strict/1", "pack/baseline/2", "tree/control/parent/ROUND/EFFECT",
                          "tree/strict/grandchild/ROUND/EFFECT, ROUND 1 to 32, EFFECT read read-link write tcp udp"):
                self.assertIn(f"  {there}", text)
            self.assertRegex(text, r"\A[\n -~]*\Z")
        done = replay(bundle("default"), "--explain")
        self.assertEqual((done.returncode, done.stderr), (2, b"exhibit-replay: --explain needs a value; see --help\n"))

    def test_the_exit_code_is_that_of_the_replay(self):
        for name, code in (("default", 0), ("wrong", 3)):
            self.assertEqual(replay(bundle(name), "--explain", "complete.pins").returncode, code)
        self.assertEqual(replay(bundle("default"), "--explain", "complete.pins", "--require", "go").returncode, 4)

    def test_nothing_of_a_bundle_can_steer_a_terminal(self):
        evil = b"\x1b]0;owned\x07\r\n\xff\\x0a\x9b31m"

        def rework(facts):
            run = facts.run("tree", "strict")
            edits.edited(facts, facts.one("run_start", run)).environment.append(b"EVIL=" + evil * 2000)
            for mode in ("strict", "baseline"):
                case = facts.run("inspect-benign", mode)
                facts.add_chunk(case, STDERR, evil * 50, facts.place(facts.one("run_exit", case)))
            edits.edited(facts, facts.one("recording_start")).candidate_version = "\x1b[2J\u202e"
        path = self.changed("copies-differ", rework=rework)
        for name in (*RULES, "tree/parent/1/read", "inspect-benign/strict"):
            _, facts = explained(path, name)
            for words in ((), ("--json",)):
                done = replay(path, "--explain", name, *words)
                self.assertRegex(done.stdout.decode(), r"\A[\n -~]*\Z", name)
        self.assertTrue(any(fact.get("bytes", {}).get("stream") == "stderr" and "\\x1b]0;owned" in
                            fact["bytes"]["text"] for fact in facts))


unittest.main(argv=sys.argv[:1])
