"""A folder tree like a node_modules with a Node binary: always the same one on one machine. Knows nothing of packs."""

import os
import pathlib
import shutil

NODE = shutil.which("node") or "/usr/bin/node"
MODULES = ("/usr/lib/node_modules", "/usr/share/nodejs", "/usr/share/node_modules")
HEADERS = ("/usr/include/node", "/usr/include/nodejs")
PACKAGES = [("modules", 3), ("headers", 2)]  # how often each source is there
BUNDLES, BUNDLE_BYTES = 17, 6 << 20  # dist files: much text in one file
EQUAL_EACH, LINK_EACH = 10, 50  # of the later copies' files: one in so many is equal, or a hard link


def regular_files(root):
    """All regular files below `root`, in order."""
    return sorted(p for p in pathlib.Path(root).rglob("*") if p.is_file() and not p.is_symlink())


def first_folder(names):
    for name in names:
        if os.path.isdir(name):
            return pathlib.Path(name)
    raise SystemExit(f"bench: none of {', '.join(names)} is here; install nodejs and npm")


def copy_one(source, target, original, copy, number):
    """One file of a later copy: equal, linked to the first, or with a line of its own."""
    if copy > 0 and number % LINK_EACH == 0:
        os.link(original, target)
        return
    content = source.read_bytes()
    if copy > 0 and number % EQUAL_EACH != 1:
        content = f"/* {copy}.{number} */\n".encode() + content
    target.write_bytes(content)


def make_packages(root, kind, source, copies):
    files = regular_files(source)
    for copy in range(copies):
        for number, path in enumerate(files):
            parts = path.relative_to(source)
            target, first = (root / f"{kind}-{c}" / parts for c in (copy, 0))
            target.parent.mkdir(parents=True, exist_ok=True)
            copy_one(path, target, first, copy, number)
    return files


def make_bundles(root, files):
    """Bundles of 6 MiB, cut from all texts put end to end at moving places."""
    folder = root / "dist"
    folder.mkdir()
    text = b"".join(p.read_bytes() for p in files if p.suffix in (".js", ".h", ".md", ".json"))
    for number in range(BUNDLES):
        at = number * len(text) // BUNDLES
        bundle = (text[at:] + text[:at])[:BUNDLE_BYTES]
        (folder / f"bundle-{number}.js").write_bytes(f"// {number}\n".encode() + bundle)


def make_tree(root):
    """Makes the tree at `root`, or leaves it where it is whole already. Gives (files, bytes, unique bytes)."""
    root, done = pathlib.Path(root), pathlib.Path(str(root) + ".made")
    if not done.exists():
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        sources = {"modules": first_folder(MODULES), "headers": first_folder(HEADERS)}
        files = []
        for kind, copies in PACKAGES:
            files += make_packages(root, kind, sources[kind], copies)
        make_bundles(root, files)
        (root / "bin").mkdir()
        shutil.copyfile(os.path.realpath(NODE), root / "bin" / "node")
        done.write_text("whole\n")
    return root


def make_grown(root, copies, file_bytes, count, again=1):
    """`count` files of `file_bytes` bytes, each with a first line of its own and then the same text, `again` times over,
    in `copies` folders; for growth and for memory."""
    root = pathlib.Path(root)
    lines = (file_bytes // again // 40 + 1)
    text = again * b"".join(b"const value = require('./value-%09d');\n" % (i * 7919 % 1000003) for i in range(lines))
    for number in range(count):
        folder = root / f"folder-{number % copies}"
        folder.mkdir(parents=True, exist_ok=True)
        first = b"// %09d\n" % number
        (folder / f"file-{number}.js").write_bytes((first + text)[:file_bytes])
    return root


def unique_bytes_to(root, target):
    """Writes the unique contents of the tree one after the other to `target`. Gives (files, bytes, unique bytes)."""
    import hashlib

    seen, files, total, unique = set(), 0, 0, 0
    with open(target, "wb") as out:
        for path in regular_files(root):
            content = path.read_bytes()
            digest = hashlib.sha256(content).digest()
            files, total = files + 1, total + len(content)
            if digest not in seen:
                seen.add(digest)
                out.write(content)
                unique += len(content)
    return files, total, unique
