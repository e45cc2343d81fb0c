#!/usr/bin/env python3
"""Measures what design and documents promise, against what stands beside it: script/bench [--help]."""

import argparse
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import time

import measure
import peers
import recording
import tree

REPLAYED, MANY = 200, 10000  # bundles in one call
DEFAULT_ORACLE = pathlib.Path(__file__).resolve().parents[2] / "experiments" / "oracle-default.yaml"
SECTIONS = ("ingest", "store", "verify", "replay", "record", "growth", "memory")


def arguments():
    parser = argparse.ArgumentParser(prog="script/bench", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION",
                        help=", ".join(SECTIONS) + "; default: all but memory")
    parser.add_argument("--build", default="build", help="the build folder (default: build)")
    parser.add_argument("--work", default="/var/tmp/exhibit-bench", help="where trees and packs are made")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each comparison (default: 5)")
    parser.add_argument("--install", action="store_true", help="install the peers that Debian has")
    args = parser.parse_args()
    unknown = set(args.sections) - set(SECTIONS)
    if unknown:
        parser.error("no such section: " + ", ".join(sorted(unknown)))
    args.sections = args.sections or list(SECTIONS[:-1])
    args.build, args.work = pathlib.Path(args.build).resolve(), pathlib.Path(args.work)
    args.work.mkdir(parents=True, exist_ok=True)
    return args


def cpu_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


class Bench:
    def __init__(self, args, table):
        self.args, self.table, self.work = args, table, args.work
        self.ingest, self.pack = args.build / "bin" / "bench-ingest", self.work / "p"
        self.tree = tree.make_tree(self.work / "tree")
        self.unique = self.work / "unique"
        self.sizes = tree.unique_bytes_to(self.tree, self.unique)
        files, total, unique = self.sizes
        table.row("the tree", f"{files} files, {total / 1e6:.0f} MB, {unique / 1e6:.0f} MB unique")

    def keep(self, folder=None, name="p", watch=False):
        """Without a watch where time counts: it reads the process's state again and again."""
        (self.work / name).unlink(missing_ok=True)
        return measure.run([self.ingest, "keep", folder or self.tree, name], folder=self.work, watch=watch)

    def reference(self):
        """openssl dgst and zstd of the unique bytes, side by side."""
        return measure.run(f"openssl dgst -sha256 '{self.unique}' & zstd -q -3 -T0 -f '{self.unique}' -o "
                           f"'{self.work}/unique.zst'; wait", shell=True, watch=False).seconds

    def compare(self, what, own, reference, others, target):
        times = measure.interleaved(self.args.rounds, {"own": own, "reference": reference, **others})
        base = times["reference"]
        self.table.row(f"{what}: reference", f"{base:.3f} s", "1.00")
        self.table.row(f"{what}: exhibit", f"{times['own']:.3f} s", f"{times['own'] / base:.2f}", target)
        for name in others:
            self.table.row(f"{what}: {name}", f"{times[name]:.3f} s", f"{times[name] / base:.2f}")

    def run_ingest(self):
        tar = f"tar c -C '{self.work}' tree | zstd -q -3 -f -o '{self.work}/tar.zst'"
        others = {"tar, zstd -3": lambda: measure.run(tar, shell=True, watch=False).seconds}
        others.update(peers.ingests(self.work, self.tree))
        self.compare("ingest", lambda: self.keep().seconds, self.reference, others, "1.10")
        own, archive = self.pack.stat().st_size, (self.work / "tar.zst").stat().st_size
        self.table.row("size: tar, zstd -3", f"{archive} bytes", "1.00")
        self.table.row("size: exhibit", f"{own} bytes", f"{own / archive:.3f}", "1.00")
        self.table.memory("ingest", self.keep(watch=True))

    def keep_in(self, store, watch=False):
        return measure.run([self.ingest, "store", self.tree, store], folder=self.work, watch=watch)

    def first_in_store(self):
        shutil.rmtree(self.work / "store", ignore_errors=True)
        return self.keep_in("store").seconds

    def second_in_store(self):
        """Into a store of one pack; what the second adds goes again, so that each round is the same."""
        before = set((self.work / "store").glob("*.pack"))
        took = self.keep_in("store").seconds
        added = set((self.work / "store").glob("*.pack")) - before
        self.added = sum(path.stat().st_size for path in added)
        for path in added:
            path.unlink()
        return took

    def run_store(self):
        """The tree into an empty store, and once more: beside a bundle of its own."""
        times = measure.interleaved(self.args.rounds, {"bundle": lambda: self.keep().seconds,
                                                       "first": self.first_in_store, "second": self.second_in_store})
        base, size = times["bundle"], self.pack.stat().st_size
        self.table.row("store: ingest into a bundle", f"{base:.3f} s", "1.00")
        self.table.row("store: into an empty store", f"{times['first']:.3f} s", f"{times['first'] / base:.2f}")
        self.table.row("store: the same tree once more", f"{times['second']:.3f} s", f"{times['second'] / base:.2f}")
        self.table.row("store: size of a bundle", f"{size} bytes", "1.000")
        self.table.row("store: size of what the second adds", f"{self.added} bytes", f"{self.added / size:.4f}")
        self.table.memory("store: the second", self.keep_in("store", watch=True))

    def record_program(self, *words, ok=(0,)):
        return measure.run([self.args.build / "bin" / "exhibit-record", *words], ok=ok)

    def plan_of(self, folder):
        """A plan of one case that retains `folder`."""
        place = self.work / "bundles"
        place.mkdir(exist_ok=True)
        plan = recording.write_plan(place, "nothing", ["/bin/true"], 1)
        plan.write_text(plan.read_text() + f"inputs: [{{name: tree, path: {folder}}}]\n")
        return plan

    def bundle_of(self, folder, name):
        """A bundle that retains `folder`, of one case."""
        bundle = self.work / name
        bundle.unlink(missing_ok=True)
        self.table.memory(f"record {name}", self.record_program("run", self.plan_of(folder), "-o", bundle, ok=(3,)))
        return bundle

    def verify(self, bundle, watch=False):
        return measure.run([self.args.build / "bin" / "exhibit-verify", bundle], ok=(0, 3), watch=watch)

    def decode(self, bundle):
        return measure.run(f"zstd -dc '{bundle}' | openssl dgst -sha256", shell=True, watch=False).seconds

    def run_verify(self):
        bundle = self.bundle_of(self.tree, "tree.exhibit")
        self.compare("verify", lambda: self.verify(bundle).seconds, lambda: self.decode(bundle),
                     peers.checks(self.work, self.tree), "0.70")
        self.table.memory("verify", self.verify(bundle, watch=True))

    def replayed(self, folder, watch=False, options=("-j", "1")):
        """All bundles in a folder in one call, on one core unless told otherwise, under the reader's oracle."""
        words = [self.args.build / "bin" / "exhibit-replay", folder, "--oracle", DEFAULT_ORACLE, *options]
        return measure.run(words, ok=(0, 3), watch=watch)

    def compare_replays(self, name, bundle, what):
        """Many names of a bundle in one call, against as many of the default experiment without inputs of its own."""
        folders = {}
        for each, linked in (("small", recording.record_default(self, "small", None)), (name, bundle)):
            folders[each] = self.work / f"many-{each}"
            shutil.rmtree(folders[each], ignore_errors=True)
            folders[each].mkdir()
            for i in range(REPLAYED):
                os.link(linked, folders[each] / f"{i:03}.exhibit")
        calls = {each: lambda at=at: self.replayed(at).seconds / REPLAYED for each, at in folders.items()}
        calls["all cores"] = lambda: self.replayed(folders["small"], options=()).seconds / REPLAYED
        times = measure.interleaved(self.args.rounds, calls)
        self.table.row(f"replay of {REPLAYED}, each: the default experiment", f"{1000 * times['small']:.2f} ms", "1.00",
                       "5 ms")
        self.table.row("the same on all cores, as without an option", f"{1000 * times['all cores']:.2f} ms",
                       f"{times['all cores'] / times['small']:.2f}", "5 ms")
        self.table.row(f"the same with {what} as input", f"{1000 * times[name]:.2f} ms",
                       f"{times[name] / times['small']:.2f}", "5 ms")
        self.table.memory(f"replay of {REPLAYED} with {what} as input", self.replayed(folders[name], watch=True))
        for folder in folders.values():
            shutil.rmtree(folder)

    def replay_many(self, bundle):
        """So many receipts in one call."""
        folder = self.work / "many"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for i in range(MANY):
            os.link(bundle, folder / f"{i:05}.exhibit")
        took = self.replayed(folder, watch=True)
        self.table.row(f"replay of {MANY}, each: the default experiment", f"{1000 * took.seconds / MANY:.2f} ms", "", "5 ms")
        self.table.memory(f"replay of {MANY}", took)
        shutil.rmtree(folder)

    def run_replay(self):
        """The default experiment, recorded once for each size of inputs."""
        self.compare_replays("large", recording.record_default(self, "large", self.tree), "the tree")
        self.replay_many(self.work / "default-small.exhibit")

    def run_record(self):
        recording.measure_recording(self.args.build, self.work, self.args.rounds, self.table)

    def grow(self, what, make):
        """Ten times as much, against once as much: whole time of ingest and of the check. The least of all rounds counts:
        what disturbs a run only adds to it, and to a short one more in proportion."""
        one, ten = make(1), make(10)
        times = measure.interleaved(self.args.rounds, {
            "one": lambda: self.keep(one, "one").seconds, "ten": lambda: self.keep(ten, "ten").seconds,
            "check one": lambda: measure.run([self.ingest, "check", "one"], folder=self.work, watch=False).seconds,
            "check ten": lambda: measure.run([self.ingest, "check", "ten"], folder=self.work, watch=False).seconds},
            of=min)
        for name, prefix in (("ingest", ""), ("check", "check ")):
            small, large = times[prefix + "one"], times[prefix + "ten"]
            self.table.row(f"growth: {name}, ten times the {what}", f"{small:.3f} s, {large:.3f} s",
                           f"{large / small:.1f}", "10")

    def run_growth(self):
        self.grow("files", lambda n: tree.make_grown(self.work / f"files-{n}", 20, 4000, 2000 * n))
        # What can be compressed n times as well is not n times as much: each block holds the same text as often.
        self.grow("bytes", lambda n: tree.make_grown(self.work / f"bytes-{n}", 4, 200000 * n, 200, again=n))
        recording.measure_rows(self, self.table)

    def run_memory(self):
        """10 GB of unique input, and 800,000 files: the default experiment with it, and a store of it; a million process
        events.

        Takes minutes. What is large goes again as soon as it was measured.
        """
        for name, what, (folders, file_bytes, count) in (("huge", "10 GB", (100, 5_000_000, 2000)),
                                                         ("many", "800,000 files", (800, 20, 800_000))):
            folder = tree.make_grown(self.work / name, folders, file_bytes, count)
            bundle = recording.record_default(self, name, folder, self.table)
            self.table.memory(f"verify of {what}", self.verify(bundle, watch=True))
            self.compare_replays(name, bundle, what)
            if name == "huge":
                self.salvage_of(folder, bundle.stat().st_size // 2)
            bundle.unlink()
            self.store_of(folder, what)
            shutil.rmtree(folder)
        recording.measure_events(self, self.table)

    def salvage_of(self, huge, size_bytes):
        """A recording of it is killed when so many bytes are written, and salvaged."""
        out, work = self.work / "salvaged.exhibit", self.work / "killed-work"
        work.mkdir(exist_ok=True)
        words = [self.args.build / "bin" / "exhibit-record", "run", self.plan_of(huge), "-o", self.work / "killed.exhibit",
                 "--work", work]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not any(path.stat().st_size > size_bytes for path in self.work.glob(".killed.exhibit.partial-*")):
            time.sleep(0.01)
        process.kill()
        process.wait()
        (partial,) = self.work.glob(".killed.exhibit.partial-*")
        out.unlink(missing_ok=True)
        self.table.memory("salvage of 5 GB", self.record_program("salvage", partial, "-o", out, ok=(3,)))
        for path in (out, partial):
            path.unlink()
        shutil.rmtree(work)

    def store_of(self, folder, what):
        """A store with a recording of it: checked, listed, exported, and pruned of what a second one needs."""
        store, bundle = self.work / "large-store", self.work / "exported.exhibit"
        shutil.rmtree(store, ignore_errors=True)
        bundle.unlink(missing_ok=True)
        self.table.memory(f"record {what} into a store",
                          self.record_program("run", self.plan_of(folder), "--store", store, ok=(3,)))
        (pack,) = store.glob("*.pack")
        self.table.memory(f"record {what} once more",
                          self.record_program("run", self.plan_of(folder), "--store", store, ok=(3,)))
        for done, words in ((f"check --store of {what}", ["check", "--store", store]),
                            (f"list of {what}, twice", ["list", "--store", store]),
                            (f"export of {what}", ["export", pack.stem, "--store", store, "-o", bundle]),
                            (f"prune of {what} that another needs", ["prune", "--store", store, pack.stem])):
            took = self.record_program(*words)
            self.table.row(done, f"{took.seconds:.1f} s")
            self.table.memory(done, took)
        shutil.rmtree(store)
        bundle.unlink()


def main():
    args = arguments()
    if args.install:
        peers.install()
    print(f"{cpu_model()}, {os.cpu_count()} cores, Linux {platform.release()}, "
          f"load {os.getloadavg()[0]:.1f}; medians of {args.rounds} rounds\n")
    bench = Bench(args, measure.Table())
    for section in args.sections:
        getattr(bench, "run_" + section)()
    return 0


if __name__ == "__main__":
    sys.exit(main())
