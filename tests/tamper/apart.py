#!/usr/bin/python3
"""Changes what a bundle keeps apart (FORMAT 7.10, 7.11), and writes a bundle without a claim that is valid in every byte.

usage: apart.py FROM TO NAME
"""
import sys

sys.dont_write_bytecode = True

import pack
import schema
from facts import Facts

FILE_TYPE, REGULAR = 0o170000, 0o100000


def last_start(f):
    return f.edit(f.of("run_start")[-1]).what


def hmac(f):
    """One run got another value."""
    secret = last_start(f).secrets[0]
    secret.hmac_sha256 = bytes([secret.hmac_sha256[0] ^ 1]) + secret.hmac_sha256[1:]


def value(f):
    """A value is told after all."""
    start = last_start(f)
    place = [item.partition(b"=")[2] for item in start.environment].index(b"")
    start.environment[place] += b"told"


def untold(f):
    del last_start(f).secrets[:]


def renamed(f):
    last_start(f).secrets[0].name = b"ANOTHER"


def version(f):
    f.late_receipt.append(lambda receipt: setattr(receipt, "version", 1))


def entries_edit(f, edit):
    """Edits an entry of each list of the workspace, the same in all of them: the first regular file's."""
    for fact in f.of("freeze", input="workspace"):
        frozen = schema.FreezeList.FromString(f.objects[fact.what.list_sha256])
        edit(next(entry for entry in frozen.entries if entry.mode & FILE_TYPE == REGULAR and entry.size_bytes))
        f.edit(fact).what.list_sha256 = f.hold(schema.pack(frozen))


def content(f):
    """Another content, with the same salt, under the old digest's name in every list: the digest is then its own."""
    def edit(entry):
        old = f.inputs[entry.sha256]
        new = old[:-1] + bytes([old[-1] ^ 1])
        f.inputs[pack.digest_of(new)] = new
        entry.sha256 = pack.digest_of(new)
    entries_edit(f, edit)


def salt(f):
    """One object begins with another salt than the others, and all lists have its digest."""
    def edit(entry):
        old = f.inputs[entry.sha256]
        new = bytes([old[0] ^ 1]) + old[1:]
        f.inputs[pack.digest_of(new)] = new
        entry.sha256 = pack.digest_of(new)
    entries_edit(f, edit)


def size(f):
    """A file is said to have a byte more than its object has behind the salt."""
    def edit(entry):
        entry.size_bytes += 1
    entries_edit(f, edit)


def stray(f):
    """An input that no list names."""
    f.strange_inputs[pack.digest_of(b"stray")] = b"stray"


CHANGES = {one.__name__: one for one in (hmac, value, untold, renamed, version, content, salt, size, stray)}


def main():
    source, target, name = sys.argv[1:]
    facts = Facts.read(source)
    CHANGES[name](facts)
    pack.write(target, facts.build())


main()
