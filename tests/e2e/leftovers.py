#!/usr/bin/env python3
"""What a command leaves behind can neither hang the recorder, nor make it read what is outside of the command's folder,
nor keep its work folder from being removed.

usage: leftovers.py BUILD SOURCE
"""
import hashlib
import os
import stat
import sys
import unittest

import hostile
from hostile import BOOTSTRAP, FOR_BOOTSTRAP, Place, claim_of, facts_of, failing, shell, subject

SECRET = b"what-stands-outside-" + os.urandom(16).hex().encode()
OUTSIDE = hostile.ROOT / "outside" / "secret"
BESIDE = OUTSIDE.parent / "beside"
MODES = ("baseline", "strict")
CHANGES = 'i=0; while :; do i=$((i+1)); echo $i $i $i >{scratch}/busy; done'
# Every name that the recorder itself opens is a trap before the probe is there: the probe's own copies, the link in
# the workspace, the targets and the folder that a run starts in.
PLANTS = """#!/bin/sh
scratch=$1 workspace=$2 outside=$3; shift 3
ln -s "$outside" "$scratch/exhibit-probe-parent.lines"
mkfifo "$scratch/exhibit-probe-child.lines" "$workspace/fifo"
ln -f "$outside" "$scratch/exhibit-probe-grandchild.lines"
ln -sf "$outside" "$workspace/.exhibit-link"
ln -f "$outside" "$workspace/hard-link"
targets=$scratch/../../targets
[ -d "$targets" ] && ln -f "$outside" "$targets/write-here" && ln -sf "$outside" "$targets/canary-read"
exec "$@"
"""


def setUpModule():
    global LITTER, PLANTED, FACTS
    OUTSIDE.parent.mkdir()
    OUTSIDE.write_bytes(SECRET)
    BESIDE.write_bytes(SECRET)
    cases = {
        "litter": ({"command": [subject("litter"), "{scratch}", str(OUTSIDE)]}, {"exit": 0}),
        "many": (shell("cd {scratch}; seq -f %05.0f 1 10050 | xargs touch"), {"exit": 0}),
        "busy": (shell(f"({CHANGES}) & sleep 0.2"), {"exit": 0}),
        "unwritable": (shell("mkdir -p {scratch}/a/b/c; touch {scratch}/a/b/c/d; "
                             "chmod 0 {scratch}/a/b/c {scratch}/a/b {scratch}/a; chmod 0 {scratch}"), {"exit": 0}),
    }
    plants = hostile.ROOT / "plants"
    plants.write_text(PLANTS)
    plants.chmod(0o755)
    candidate = {"name": "plants", "argv": [str(plants), "{scratch}", "{workspace}", str(BESIDE), "{command}"]}
    LITTER, PLANTED = Place("litter", cases), Place("planted", {}, BOOTSTRAP, FOR_BOOTSTRAP, candidate)
    hostile.record_all([LITTER, PLANTED])
    FACTS = facts_of(LITTER.bundle)


def tearDownModule():
    found = hostile.leftovers()
    assert not found, found


class Leftovers(unittest.TestCase):
    def each(self, name):
        """The artifacts of a case, in each mode."""
        return [FACTS.artifacts((name, mode)) for mode in MODES]

    def test_the_recording_came_to_its_end_and_all_cases_are_met(self):
        self.assertEqual(LITTER.done.code, 3, LITTER.done)  # no trial
        self.assertEqual(failing(claim_of(LITTER.bundle)), ["complete.recording"])
        self.assertEqual(hostile.verified(LITTER.bundle)[0], 3)

    def test_what_is_no_regular_file_is_listed_by_its_kind_and_never_opened(self):
        kinds = {b"fifo": stat.S_IFIFO, b"socket": stat.S_IFSOCK}
        if os.geteuid() == 0:
            kinds.update({b"memory": stat.S_IFCHR, b"terminal": stat.S_IFCHR, b"disk": stat.S_IFBLK})
        for left in self.each("litter"):
            for path, kind in kinds.items():
                self.assertEqual((stat.S_IFMT(left[path].mode), left[path].kept, left[path].note),
                                 (kind, False, "not a regular file"), path)

    def test_a_sparse_terabyte_is_told_and_not_read(self):
        for left in self.each("litter"):
            self.assertEqual((left[b"sparse"].size_bytes, left[b"sparse"].kept), (1 << 40, False))
            self.assertRegex(left[b"sparse"].note, "too large: 1099511627776 bytes, 67108864 at most")

    def test_links_out_of_scratch_are_told_and_not_followed(self):
        for left in self.each("litter"):
            self.assertEqual(left[b"link-to-file"].sha256, hashlib.sha256(bytes(OUTSIDE)).digest())
            for path in (b"link-to-file", b"link-to-folder", b"link-to-itself"):
                self.assertEqual((left[path].kept, left[path].note), (False, "a symbolic link"))
            self.assertFalse([path for path in left if path.startswith(b"link-to-folder/")])
            self.assertEqual((left[b"hard-link"].kept, left[b"hard-link"].sha256), (False, b""))
            self.assertRegex(left[b"hard-link"].note, "^hard link: the file has [0-9]+ names$")

    def test_names_that_are_no_text_are_kept_as_they_are(self):
        for left in self.each("litter"):
            for path, content in ((b"new\nline", b"one\n"), (b"not-\xff\xfe-text", b"two\n")):
                self.assertEqual((left[path].kept, left[path].sha256), (True, hashlib.sha256(content).digest()))

    def test_deep_folders_are_looked_into_as_far_as_the_limit_and_that_is_told(self):
        for left in self.each("litter"):
            self.assertTrue(left[b"d/" * 200 + b"bottom"].kept)
            self.assertNotIn(b"e/" * 400 + b"bottom", left)
            notes = [what.note for path, what in left.items() if path.startswith(b"e/")]
            self.assertEqual(notes, ["passed over in part: folders are nested deeper than 256"])

    def test_what_may_not_be_read_is_read_by_root_alone_and_else_told(self):
        for left in self.each("litter"):
            if os.geteuid() == 0:
                self.assertTrue(left[b"unreadable"].kept and left[b"locked/inside"].kept)
            else:
                self.assertEqual(left[b"unreadable"].note, "cannot be read: Permission denied")
                self.assertRegex(left[b"locked"].note, "passed over in part: .*Permission denied")

    def test_of_ten_thousand_files_and_fifty_the_fifty_are_told(self):
        for left in self.each("many"):
            self.assertEqual(len(left), 10001)
            self.assertEqual(left[b""].note, "50 more were passed over: 10000 at most")

    def test_a_process_that_keeps_changing_a_file_is_ended_before_the_file_is_kept(self):
        for mode in MODES:
            run = ("busy", mode)
            gone, all_gone = FACTS.one("all_gone", run)
            kept = [event for event, what in FACTS.all("artifact", run) if what.path == b"busy" and what.kept]
            self.assertEqual((all_gone.remaining, len(kept)), (0, 1))
            self.assertGreater(kept[0].seq, gone.seq)

    def test_a_folder_that_nobody_may_enter_is_emptied_for_the_next_run(self):
        for left in self.each("unwritable"):
            if os.geteuid() == 0:
                self.assertTrue(left[b"a/b/c/d"].kept)

    def test_what_a_launcher_plants_where_the_recorder_reads_leads_nowhere(self):
        self.assertEqual(PLANTED.done.code, 0, PLANTED.done)
        self.assertEqual(failing(claim_of(PLANTED.bundle)), ["boundary.attempts", "boundary.traces"])
        facts = facts_of(PLANTED.bundle)
        run = ("bootstrap", "strict")
        for name in ("parent", "child", "grandchild"):
            self.assertFalse(SECRET in facts.bytes(run, f"scratch_{name}"), name)
        states = [(hostile.name_of(what, "target"), what) for _, what in facts.all("target_state")]
        planted = [what for name, what in states if name == "TARGET_WRITE" and what.inode == BESIDE.stat().st_ino]
        self.assertTrue(planted)
        self.assertEqual({what.content_sha256 for what in planted}, {hashlib.sha256(b"").digest()})

    def test_nothing_outside_was_read_through_a_link(self):
        self.assertEqual(OUTSIDE.read_bytes(), SECRET)
        # The probe itself wrote to this one, where the launcher had put it.
        self.assertTrue(BESIDE.read_bytes().startswith(SECRET + b"EXHIBIT1 write"))
        for place in (LITTER, PLANTED):
            content = hostile.plain(place.bundle)
            self.assertTrue(place.name.encode() in content)
            self.assertFalse(SECRET in content, place.name)

    def test_nothing_is_left_of_the_work_folders(self):
        for place in (LITTER, PLANTED):
            self.assertEqual(list((place.folder / "work").iterdir()), [])


unittest.main(argv=sys.argv[:1], verbosity=2, warnings="ignore")
