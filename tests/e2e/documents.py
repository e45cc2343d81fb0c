#!/usr/bin/env python3
"""What the documents repeat of the source is as it stands there: the numbers, each in the sentence or row that tells what
it is of, and the files that name an effect. usage: documents.py BUILD SOURCE
"""
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv[2]).resolve()

# (what the source says, the document, the text that it stands in): `#` is the number, however it is written. A space is
# any white space. What is said of a number in two places has two lines.
STATED = [
    # the container, streams and messages
    ("DIGEST_BYTES", "FORMAT", "A *digest* is the # bytes of a SHA-256"),
    ("NONCE_BYTES", "FORMAT", "nonces and run ids #."),
    ("RUN_ID_BYTES", "FORMAT", "nonces and run ids #."),
    ("LIMIT_BLOCK_BYTES", "FORMAT", "| content of a block | # bytes (4 MiB), at least 1 |"),
    ("LIMIT_JOURNAL_BYTES", "FORMAT", "| payload of a journal | # |"),
    ("LIMIT_OBJECT_BYTES", "FORMAT", "| size of an object | # bytes |"),
    ("LIMIT_CONTENT_BYTES", "FORMAT", "| content of both parts together | # plus"),
    ("LIMIT_CONTENT_RATIO", "FORMAT", "plus # times the size of the file |"),
    ("LIMIT_READ_BYTES", "FORMAT", "while the file is judged | # plus"),
    ("LIMIT_READ_RATIO", "FORMAT", "plus # times the content |"),
    ("LIMIT_OBJECTS", "FORMAT", "| objects, both parts together | # |"),
    ("LIMIT_BLOCKS", "FORMAT", "| blocks, both parts together | # |"),
    ("LIMIT_SEGMENT_BYTES", "FORMAT", "an observation object of 1 to # bytes (`LIMIT_SEGMENT_BYTES`)"),
    ("LIMIT_STREAM_BYTES", "FORMAT", "is the size of the whole, and at most #."),
    ("LIMIT_STREAMS_BYTES", "FORMAT", "All streams of StreamEnd events together have at most #,"),
    ("LIMIT_STDIN_BYTES", "FORMAT", "what a RunStart offers on stdin at most #."),
    ("LIMIT_RECEIPT_BYTES", "FORMAT", "a Receipt has at most #,"),
    ("LIMIT_CLAIM_BYTES", "FORMAT", "a Claim and a FreezeList at most #,"),
    ("LIMIT_FREEZE_BYTES", "FORMAT", "a Claim and a FreezeList at most #,"),
    ("LIMIT_MESSAGE_BYTES", "FORMAT", "a Message keeps at most # bytes of its payload"),
    ("LIMIT_ARCHIVE_MEMBERS", "FORMAT", "an Artifact lists at most # members"),
    ("LIMIT_ARGV_BYTES", "FORMAT", "Of the argv of a process that was seen, the first # and"),
    ("LIMIT_ARGV_COUNT", "FORMAT", "and # items are kept."),
    ("LIMIT_EVENT_BYTES", "FORMAT", "shortest form; 1 to # bytes each"),
    ("LIMIT_EVENTS", "FORMAT", "bytes each, and at most # of them."),
    ("LIMIT_RUNS", "FORMAT", "there are at most # runs."),
    ("LIMIT_PROCESSES", "FORMAT", "over more than # members at a time or ends in one run |"),
    ("LIMIT_TARGET_BYTES", "FORMAT", "(its first # bytes; `content_truncated` tells when there is more)"),
    ("LIMIT_ARTIFACTS", "FORMAT", "something a run left in its scratch; at most #,"),
    ("LIMIT_ARTIFACT_BYTES", "FORMAT", "that of regular files of at most # that have one name"),
    ("LIMIT_UNPACKED_BYTES", "FORMAT", "until those before have unpacked to more than # together"),
    ("LIMIT_STORE_OBJECTS", "FORMAT", "reads the inputs' index of each, up to # objects"),
    ("LIMIT_STORE_PACKS", "FORMAT", "Bounds: # packs."),
    ("LIMIT_LINE_BYTES", "DECISION", "lines of more than # bytes (with the `\\n`), are not lines"),
    ("LIMIT_ROUNDS", "DECISION", "rounds outside of 1 to #,"),
    # the plan
    ("LIMIT_YAML_BYTES", "PLAN", "in UTF-8, of at most #,"),
    ("LIMIT_YAML_BYTES", "PLAN", "may be any bytes, at most #: the recorder does not parse it"),
    ("LIMIT_YAML_NODES", "PLAN", "# values and"),
    ("LIMIT_YAML_DEPTH", "PLAN", "and # levels of maps and lists"),
    ("LIMIT_NAME_BYTES", "PLAN", "A *name* is 1 to # of `a-z`"),
    ("LIMIT_PATH_BYTES - 1", "PLAN", "every other path of a plan has 1 to # bytes."),
    ("LIMIT_PINS", "PLAN", "a list of at most # `{name, path, get}`"),
    ("ANSWER_NS // 10**9", "PLAN", "has written to stdout after # s, or when it ends"),
    ("ANSWER_BYTES", "PLAN", "of it the first # bytes, what is not printable ASCII as `?`"),
    ("LIMIT_ARGV_COUNT", "PLAN", "A command is a list of 1 to # words"),
    ("LIMIT_TOOL_BYTES", "PLAN", "| `{candidate}` | a copy of the files in the candidate's folder (not of folders in it), each at most #;"),
    ("LIMIT_WORDS_BYTES", "PLAN", "its environment are at most # bytes together"),
    ("LIMIT_ARGV_COUNT", "PLAN", "to texts: at most #."),
    ("LIMIT_SECRET_LEAST_BYTES", "PLAN", "has less than # bytes or more"),
    ("LIMIT_SECRET_BYTES", "PLAN", "or more than # is refused"),
    ("LIMIT_INPUTS", "PLAN", "default `true` | # |"),
    ("LIMIT_PINS", "PLAN", "64 lower-case hexadecimal digits | # |"),
    ("LIMIT_PINS", "PLAN", "| `binaries` | `name`; `path`: absolute | # |"),
    ("LIMIT_ARTIFACTS", "PLAN", "a run leaves in `{scratch}` the first #, as far"),
    ("LIMIT_ARTIFACT_BYTES", "PLAN", "as far as they have at most #, are kept as artifacts"),
    ("LIMIT_CASES", "PLAN", "it runs in baseline and strict. At most #."),
    ("LEFTOVER_NS // 10**9", "PLAN", "What is left of a case is ended # s after its command"),
    ("LAUNCHER_WATCHDOG_MS", "PLAN", "whose watchdog is # ms."),
    ("LIMIT_STDIN_BYTES", "PLAN", "path in the plan's folder, at most #."),
    ("LIMIT_WATCHDOG_MS", "PLAN", "| `watchdog_ms` | 1 to #:"),
    ("WATCHDOG_DEFAULT_MS", "PLAN", "when it is ended | # |"),
    ("LIMIT_TRIALS", "PLAN", "one run of the probe in one mode. At most #."),
    ("LIFETIME_MIN_MS", "PLAN", "| `lifetime_ms` | # to"),
    ("LIMIT_LIFETIME_MS", "PLAN", "to #: when each role ends itself |"),
    ("LIFETIME_BOOTSTRAP_DEFAULT_MS", "PLAN", "when each role ends itself | #; tree:"),
    ("LIFETIME_TREE_DEFAULT_MS", "PLAN", "; tree: # |"),
    ("LIMIT_ROUNDS", "PLAN", "| `rounds` | tree alone; 1 to #:"),
    ("ROUNDS_DEFAULT", "PLAN", "the grandchild's rounds | # |"),
    ("LIMIT_INTERVAL_MS", "PLAN", "| `interval_ms` | tree alone; 1 to #:"),
    ("INTERVAL_DEFAULT_MS", "PLAN", "between its rounds | # |"),
    ("LIMIT_STEPS", "PLAN", "`{steps: [...]}`: 1 to # steps"),
    ("AFTER_ROUNDS_DEFAULT", "PLAN", "| TERM to the group after # rounds |"),
    ("LIMIT_LIFETIME_MS", "PLAN", "it is `after_ms: N`, 0 to #,"),
    ("OVERDUE_AFTER_NS // 10**6", "PLAN", "*overdue*, N x `interval_ms` + # ms after the start of the run"),
    ("PARENT_LATER_MS", "PLAN", "it is overdue (N - 1) x `interval_ms` + # ms later than in 7.1"),
    ("PARENT_LATER_MS", "PLAN", "ends itself with 0, (N - 1) x `interval_ms` + # ms after its start"),
    ("ORACLE_ENDED_MS + MARGIN_MS", "PLAN", "the sum of `after_ms` + # ("),
    ("ORACLE_ENDED_MS", "PLAN", "(# for the ending to work,"),
    ("MARGIN_MS", "PLAN", "for the ending to work, # of margin); "),
    ("PARENT_LATER_MS", "PLAN", "of margin); # more with `exit: parent`"),
    ("ORACLE_GRACE_MS", "PLAN", "the oracle's `grace_ms` (# by default)"),
    ("PARENT_LATER_MS", "PLAN", "`grace_ms`; # more with `exit: parent`. A plan with less"),
    # the oracle
    ("ORACLE_ENDED_MS", "ORACLE", "| `bounds` | section 1 | # and"),
    ("ORACLE_GRACE_MS", "ORACLE", "and # ms |"),
    ("LIMIT_BOUND_MS", "ORACLE", "| `ended_ms` | 1 to #:"),
    ("ORACLE_ENDED_MS", "ORACLE", "(cancel.ended) | # |"),
    ("LIMIT_BOUND_MS", "ORACLE", "| `grace_ms` | 0 to #:"),
    ("ORACLE_GRACE_MS", "ORACLE", "(cancel.quiet) | # |"),
    ("LIMIT_TRIALS", "ORACLE", "A list of at most #; an empty one leaves"),
    ("LIMIT_CASES", "ORACLE", "A list of at most # cases. Each must show something"),
    ("LIMIT_MATCHERS", "ORACLE", "| `files` | a list of 1 to #,"),
    ("LIMIT_LINES", "ORACLE", "| `lines` | a number from 0 to #;"),
    ("LIMIT_MATCHERS", "ORACLE", "A case has at most # matchers."),
    ("LIMIT_MATCHED_STREAM_BYTES", "ORACLE", "`sha256` on streams of more than 16 MiB (# bytes)"),
    ("LIMIT_REGEX_STREAM_BYTES", "ORACLE", "`matches` on those of more than 1 MiB (# bytes)"),
    ("LIMIT_PATH_BYTES", "ORACLE", "an RFC 6901 JSON pointer, shorter than # bytes"),
    ("LIMIT_REGEX_BYTES", "ORACLE", "An expression is 1 to # printable ASCII characters"),
    ("TIMES_MAX", "ORACLE", "M from 0 to #, N from"),
    ("TIMES_MAX", "ORACLE", "N from 1 to # and not below M"),
    ("LIMIT_REGEX_PLACES", "ORACLE", "an expression has at most # places for a byte"),
    ("LIMIT_REGEX_PLACES_ALL", "ORACLE", "All expressions of an oracle have at most #."),
    ("LIMIT_REGEX_DEPTH", "ORACLE", "Parentheses nest at most # deep."),
    ("LIMIT_ARTIFACT_BYTES", "ORACLE", "was not kept (larger than #, sparse,"),
    ("LIMIT_ARTIFACTS", "ORACLE", "has an empty path (it left more than #)"),
    ("LIMIT_WATCHDOG_MS", "ORACLE", "to a number of milliseconds, 0 to #, the first"),
    ("LIMIT_MATCHERS", "ORACLE", "`archives` is a list of at most #."),
    ("LIMIT_EXCEPT_PATHS", "ORACLE", "| `paths` | a list of 1 to # patterns"),
    ("LIMIT_PATH_BYTES", "ORACLE", "without empty parts, `.` and `..`, shorter than # bytes."),
    ("LIMIT_ARCHIVE_MEMBERS", "ORACLE", "with at most # members that"),
    ("LIMIT_ARCHIVE_CONTENT_BYTES", "ORACLE", "members that unpack to at most #."),
    ("LIMIT_XZ_MEMORY_BYTES", "ORACLE", "An xz may take # to be undone"),
    ("LIMIT_PATH_BYTES - 1", "ORACLE", "A pattern of `paths` is 1 to # bytes"),
    # the probe's own help
    ("LIMIT_PATH_BYTES - 1", "probe", "paths are absolute, of at most # bytes"),
    ("2 * NONCE_BYTES", "probe", "NONCE is # lower-case hexadecimal digits."),
    ("LIMIT_ROUNDS", "probe", "rounds=N 1 to #:"),
    ("LIMIT_INTERVAL_MS", "probe", "interval_ms=N 1 to #:"),
    ("LIMIT_LIFETIME_MS", "probe", "lifetime_ms=N 1 to #:"),
    ("LIMIT_LIFETIME_MS", "probe", "parent_ms=N 1 to #:"),
]
# Of these every constant has a line above; of the others those that have one.
WHOLE = ["formats/limits.h", *(str(path.relative_to(SOURCE)) for path in sorted(SOURCE.glob("formats/plan*.[ch]"))),
         *(str(path.relative_to(SOURCE)) for path in sorted(SOURCE.glob("formats/oracle*.[ch]")))]
OTHERS = ["record/version_ask.c", "record/steps.c", "record/run.c", "record/ending.c"]
UNSTATED = {"LIMIT_EFFECTS",  # room for more of them: an effect stands once, so it bounds no plan
            "EFFECT_COUNT",   # the documents name them all
            "ERRNO_MAX"}      # where the search for a name ends
NOT_EFFECTS = {"check_tell.c"}  # it tells what a sandbox refused


def constants(path):
    """{name: value} of the numbers that a source defines."""
    text = re.sub(r"/\*.*?\*/", "", (SOURCE / path).read_text(), flags=re.S)
    found = re.findall(r"^#define ([A-Z]\w*) (.*)$", text, re.M)
    for body in re.findall(r"\benum \{([^}]*)\}", text):  # with a name it is a list of kinds
        found += re.findall(r"\b([A-Z]\w*) = ([^,]*)", body)
    values = {}
    for name, written in found:
        written = re.sub(r"\b(\d+)u?l*\b", r"\1", written).replace("SECOND_NS", str(10**9)).strip()
        if re.fullmatch(r"[0-9 ()*+<-]+", written):
            values[name] = eval(written)  # digits and signs
    return values


def spellings(number):
    """However a document may write a number."""
    yield from (str(number), f"{number:,}", f"{number:,}".replace(",", " "))
    for power, unit in ((10, "KiB"), (20, "MiB"), (30, "GiB")):
        if number % 2**power == 0:
            yield f"{number >> power} {unit}"
    if number & (number - 1) == 0:
        yield f"2^{number.bit_length() - 1}"


def stands(text, sentence, number):
    return any(" ".join(sentence.replace("#", spelling).split()) in text for spelling in spellings(number))


class Numbers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.whole = {name: value for path in WHOLE for name, value in constants(path).items()}
        cls.known = {**{name: value for path in OTHERS for name, value in constants(path).items()}, **cls.whole}
        cls.texts = {name: " ".join((SOURCE / "docs" / f"{name}.md").read_text().split())
                     for name in ("FORMAT", "DECISION", "PLAN", "ORACLE")}
        told = re.search(r"usage\[\] =(.*?);\n", (SOURCE / "record/probe/main.c").read_text(), re.S)[1]
        cls.texts["probe"] = " ".join("".join(re.findall(r'"(.*)"', told)).replace("\\n", " ").split())

    def test_each_stands_in_the_document_where_it_is_told(self):
        for what, document, sentence in STATED:
            with self.subTest(what=what, document=document, sentence=sentence):
                number = eval(what, {}, self.known)
                self.assertTrue(stands(self.texts[document], sentence, number), number)
                self.assertFalse(stands(self.texts[document], sentence, number + 1), "any number would do")

    def test_each_bound_of_the_formats_is_stated(self):
        self.assertGreater(len(self.whole), 60)
        stated = {name for what, _, _ in STATED for name in re.findall(r"[A-Z]\w+", what)}
        self.assertEqual(set(self.whole) - stated, UNSTATED)


class Effects(unittest.TestCase):
    def test_each_file_that_names_an_effect_stands_where_it_is_told_how_to_add_one(self):
        told = (SOURCE / "CONTRIBUTING.md").read_text().split("\n## Adding an effect\n")[1].split("\n## ")[0]
        pattern = re.compile(re.search(r"grep -rlE '(.*?)'", told)[1])
        named = {path.name for folder in ("formats", "record", "replay", "verify") for path in (SOURCE / folder).rglob("*.[ch]")
                 if pattern.search(path.read_text())}
        self.assertGreater(len(named), 15)
        self.assertEqual({name for name in named if f"{name}`" not in told.replace("/", "`")} - NOT_EFFECTS, set())
        self.assertLessEqual(NOT_EFFECTS, named)


unittest.main(argv=sys.argv[:1], verbosity=1)
