#!/usr/bin/env python3
"""Each program's --help names the options that it takes, all of them and no other, and how it ends.
usage: helps.py BUILD SOURCE
"""
import pathlib
import re
import subprocess
import sys
import unittest

BUILD, SOURCE = (pathlib.Path(a).resolve() for a in sys.argv[1:3])
# Where a program's parser is, how an option is written there, and what each of these would be on the command line.
GETOPT = r'\{"([a-z0-9-]+)", (?:no|required|optional)_argument'
PARSERS = {"exhibit-record": ("record/args.c", GETOPT, "--"),
           "exhibit-verify": ("verify/args.c", GETOPT, "--"),
           "exhibit-replay": ("replay/args.c", r'\{"(--?[a-z-]+)", VALUE_', ""),
           "exhibit-confine": ("candidates/confine/args.c", r'strcmp\(\w+(?:\[at\])?, "(--[a-z-]+)"\)', ""),
           "exhibit-probe": ("record/probe/main.c", r'strcmp\(argv\[1\], "(--[a-z-]+)"\)', "")}
EXITS = {"exhibit-record": "012345", "exhibit-verify": "012345", "exhibit-replay": "012345", "exhibit-probe": "012",
         "exhibit-confine": ("2", "125", "126", "127")}
OPTION = r"(?<![\w-])--?[a-z][a-z0-9-]*"


def run(program, *words):
    return subprocess.run([BUILD / "bin" / program, *words], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)


def known(program):
    path, pattern, before = PARSERS[program]
    found = {before + name for name in re.findall(pattern, (SOURCE / path).read_text())}
    return found | ({"-o"} if program == "exhibit-record" else set())  # the one of getopt's short options


class Helps(unittest.TestCase):
    def setUp(self):
        self.told = {program: run(program, "--help") for program in PARSERS}

    def test_it_goes_to_stdout_with_exit_0(self):
        for program, done in self.told.items():
            self.assertEqual((done.returncode, done.stderr, done.stdout.startswith(f"usage: {program} ")), (0, "", True))

    def test_it_names_what_the_parser_knows_and_nothing_else(self):
        for program, done in self.told.items():
            self.assertIn("--help", known(program), program)
            self.assertEqual(set(re.findall(OPTION, done.stdout)), known(program), program)

    def test_each_option_has_a_line_of_its_own(self):
        for program, done in self.told.items():
            for option in known(program) - ({"--help"} if program == "exhibit-probe" else set()):
                self.assertRegex(done.stdout, rf"\n  .*{option}\b.* [a-z]+", program)

    def test_what_it_names_is_taken(self):
        unknown = "unknown option '?{}|expected: run"
        for program, done in self.told.items():
            self.assertRegex(run(program, "--wrong").stderr, unknown.format("--wrong"), program)
            for option in sorted(set(re.findall(OPTION, done.stdout))):
                value = [] if option == "--help" else ["go"]
                self.assertNotRegex(run(program, option, *value).stderr, unknown.format(option), program)

    def test_it_names_the_keys_of_the_probe(self):
        text = (SOURCE / "record" / "probe" / "assignment.c").read_text()
        keys = re.findall(r'"([a-z_-]+)"', re.search(r"key_names\[\] = \{(.*?)\};", text, re.S)[1])
        self.assertGreater(len(keys), 10)
        self.assertEqual(re.findall(r"(?:^  | )([a-z_-]+)=[A-Z0-9|]+", self.told["exhibit-probe"].stdout, re.M), keys)

    def test_it_names_each_exit(self):
        for program, done in self.told.items():
            told = re.split(r"\nexit[^:]*: ", done.stdout, flags=re.I)
            self.assertEqual(len(told), 2, program)
            for status in EXITS[program]:
                self.assertRegex(told[1], rf"\b{status}\b", program)


unittest.main(argv=sys.argv[:1], verbosity=1)
