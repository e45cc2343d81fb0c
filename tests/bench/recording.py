"""What recording costs: each command bare, under `strace -f`, and as a case, round by round. Knows no container."""

import collections
import json
import pathlib
import random
import shutil
import statistics
import subprocess

import measure

FLOOD_BYTES = 1 << 30
ROUNDS_SECONDS, ROUNDS_MOST = 30, 40  # of bare commands: two runs of the same differ by more than what is looked for
TRACED_ROUNDS = 5
JUDGED = 9  # runs of a judge that takes milliseconds, of which the least counts, as in all of growth
COMPILES = 66  # cc, its compiler and its assembler each: with the shell about 200 processes


def commands(build, work):
    """name -> (words, rounds). Each ends with 0."""
    work = pathlib.Path(work)
    source, script, text = work / "one.c", work / "compile.sh", work / "flood.txt"
    source.write_text("int one(void)\n{\n    return 1;\n}\n")
    script.write_text(f"i=0\nwhile [ $i -lt {COMPILES} ]; do cc -c -o \"$TMPDIR/one.o\" {source}; i=$((i + 1)); done\n")
    measure.make_text(text, FLOOD_BYTES)
    return {
        "1 ms": (["/bin/true"], 20),
        "node": ([shutil.which("node"), "-e", "0"], 8),
        "compile": (["/bin/sh", str(script)], 3),
        "storm": ([str(build / "bin" / "storm"), "10000"], 1),
        "flood": (["/bin/cat", str(text)], 1),
    }


def write_plan(folder, name, words, cases):
    listed = [f"case-{i}" for i in range(cases)]
    (folder / "oracle.yaml").write_text("version: 1\ntrials: []\ncases:\n" + "".join(
        f"  - {{name: {case}, exit: 0}}\n" for case in listed))
    quoted = ", ".join('"' + str(word).replace("{", "{{") + '"' for word in words)
    plan = folder / "plan.yaml"
    plan.write_text("version: 1\nname: bench\noracle: oracle.yaml\ntrials: []\n"
                    "candidate: {name: env, argv: [/usr/bin/env, \"{command}\"]}\n"
                    "environment: {PATH: \"/usr/bin:/bin\"}\ncases:\n" + "".join(
                        f"  - {{name: {case}, command: [{quoted}], watchdog_ms: 600000}}\n" for case in listed))
    return plan


def record_default(bench, name, inputs, table=None):
    """The bundle of the default experiment, of a launcher that only executes; `inputs` is retained, if any.

    With a table, the recording's memory becomes a row.
    """
    folder, bundle = bench.work / "default", bench.work / f"default-{name}.exhibit"
    folder.mkdir(exist_ok=True)
    candidate = "candidate: {name: env, argv: [/usr/bin/env, \"{command}\"]}\n"
    kept = f"inputs: [{{name: tree, path: {inputs}}}]\n" if inputs else ""
    (folder / "plan.yaml").write_text("version: 1\nname: bench\n" + candidate + kept)
    bundle.unlink(missing_ok=True)
    took = measure.run([bench.args.build / "bin" / "exhibit-record", "run", folder / "plan.yaml", "-o", bundle],
                       watch=table is not None)
    if table is not None:
        table.memory(f"record the default experiment, {name}", took)
    return bundle


def recorded(build, folder, name, words, cases, watch=False):
    """Records it; gives [(whole run ms, command ms)] of the baseline runs and of the strict ones, and with a watch, which
    takes time from the run, the peak of anonymous memory."""
    plan, bundle = write_plan(folder, name, words, cases), folder / "case.exhibit"
    bundle.unlink(missing_ok=True)
    took = measure.run([build / "bin" / "exhibit-record", "run", plan, "-o", bundle, "--work", folder], ok=(3,),
                       watch=watch)
    lines = subprocess.run([build / "bin" / "bench-runs", bundle], capture_output=True, text=True, check=True).stdout
    runs = [line.split() for line in lines.splitlines()]
    return *([(float(r[2]), float(r[3])) for r in runs if r[1] == mode and r[0] != "launcher"]
             for mode in ("baseline", "strict")), took.anonymous_bytes


def bare(build, words, environment, sink, count=1, events=()):
    """Milliseconds of each of so many runs of the command with its output where it goes when nobody records; `sink`:
    into `cat > /dev/null`; events ("sent",): while process events are sent to who reads none, ("read",): to who reads and
    forgets. Timed by a program of our own: this one takes longer to start a process."""
    if sink:
        words = ["/bin/sh", "-c", " ".join(words) + " | cat > /dev/null"]
    done = subprocess.run([build / "bin" / "bench-bare", *events, str(count), *words], env=environment, stdout=subprocess.PIPE,
                          text=True, check=True)
    return [float(line) for line in done.stdout.splitlines()]


def more_than(times, base):
    """The median of what each round took more than the bare command in it, and the standard error of that, from the
    quartiles: what disturbs a whole round is in both, and a few that were disturbed count for little."""
    differences = [time - bare for time, bare in zip(times, base)]
    low, middle, high = statistics.quantiles(differences, n=4)
    return middle, 0.93 * (high - low) / len(differences) ** 0.5


def recording_rounds(build, folder, name, words, cases, rounds):
    """what -> a median for each round; in an order of its own in each, for who comes after whom makes a difference."""
    environment, sink = {"PATH": "/usr/bin:/bin", "TMPDIR": str(folder)}, name == "flood"
    times = collections.defaultdict(list)

    def timed(what, words, *events):
        times[what].append(statistics.median(bare(build, words, environment, sink, cases, events)))

    def record():
        got, strict, _ = recorded(build, folder, name, words, cases)
        for what, values in (("run", [r[0] for r in got]), ("command", [r[1] for r in got]),
                             ("strict", [r[1] for r in strict]), ("first", [got[0][0]]), ("first command", [got[0][1]])):
            times[what].append(statistics.median(values))

    seconds, order = sum(bare(build, words, environment, sink, cases)) / 1000, random.Random(1)
    most = rounds if sink else ROUNDS_MOST  # of a gigabyte nobody looks for 2 %
    for number in range(max(rounds, 2, min(most, int(ROUNDS_SECONDS / seconds)))):
        things = [lambda: timed("bare", words), record]
        if number < TRACED_ROUNDS and shutil.which("strace"):
            things.append(lambda: timed("traced", ["/usr/bin/strace", "-f", "-o", "/dev/null", *words]))
        if name in ("compile", "storm"):
            things += [lambda: timed("sent", words, "sent"), lambda: timed("read", words, "read")]
        order.shuffle(things)
        for thing in things:
            thing()
    return times


def measure_recording(build, work, rounds, table):
    folder = pathlib.Path(work) / "recording"
    folder.mkdir(parents=True, exist_ok=True)
    for name, (words, cases) in commands(build, folder).items():
        times = recording_rounds(build, folder, name, words, cases, rounds)
        peak = recorded(build, folder, name, words, cases, watch=True)[2]
        base = statistics.median(times["bare"])

        def more(what, key, target=""):
            middle, error = more_than(times[key], times["bare"])
            table.row(f"record {name}: {what}", f"{statistics.median(times[key]):.1f} ms, {middle:+.1f} ± {error:.1f} ms",
                      f"{1 + middle / base:.3f}", target)

        table.row(f"record {name}: bare, {len(times['bare'])} rounds", f"{base:.1f} ms")
        if times["traced"]:
            traced = statistics.median(times["traced"])
            table.row(f"record {name}: strace -f", f"{traced:.1f} ms", f"{traced / base:.2f}")
        if times["sent"]:
            more("bare, and process events sent by netlink to who reads none", "sent")
            more("bare, and process events by netlink read every 10 ms and forgotten", "read")
        if name == "flood":
            for what, key in (("the command itself", "command"),
                              ("its strict run, in memory that the first has used", "strict")):
                took = statistics.median(times[key])
                table.row(f"record flood: {what}", f"{took:.1f} ms", f"{took / base:.2f}", "1.50")
        else:
            more("the run", "run", f"{max(5.0, 0.02 * base):+.1f} ms")
            if name in ("node", "compile"):
                more("the first run, after which its executables are digested", "first")
                more("the command of the first run", "first command")
        table.row(f"record {name}: anonymous memory", f"{peak / 2**20:.1f} MiB", "", "64 MiB")
        if name == "flood":
            for program in ("verify", "replay"):
                table.memory(f"{program} flood", measure.run([build / "bin" / f"exhibit-{program}",
                                                              folder / "case.exhibit"], ok=(3,)))


def measure_rows(bench, table):
    """Ten times as many process events: the whole recording, its replay and its check, and less what those of none take."""
    def record(count):
        folder = bench.work / f"rows-{count}"
        folder.mkdir(exist_ok=True)
        words = ["/bin/true"] if count == 0 else [bench.args.build / "bin" / "storm", count]
        plan, bundle = write_plan(folder, "storm", words, 1), folder / "p"
        bundle.unlink(missing_ok=True)
        return measure.run([bench.args.build / "bin" / "exhibit-record", "run", plan, "-o", bundle], ok=(3,),
                           watch=False).seconds

    def judge(program, count):
        bundle = bench.work / f"rows-{count}" / "p"
        return min(measure.run([bench.args.build / "bin" / f"exhibit-{program}", bundle], ok=(3,), watch=False).seconds
                   for _ in range(JUDGED))

    counts, things = (0, 1000, 10000), {}
    for count in counts:  # in each round a bundle is recorded before it is judged
        things["record", count] = lambda count=count: record(count)
        for program in ("replay", "verify"):
            things[program, count] = lambda program=program, count=count: judge(program, count)
    times = measure.interleaved(bench.args.rounds, things, of=min)
    for program in ("record", "replay", "verify"):
        none, small, large = (times[program, count] for count in counts)
        table.row(f"growth: {program}, ten times the processes", f"{small:.3f} s, {large:.3f} s", f"{large / small:.1f}",
                  "10")
        table.row(f"the same, less {none:.3f} s for none", f"{small - none:.3f} s, {large - none:.3f} s",
                  f"{(large - none) / (small - none):.1f}" if small > none else "")


def measure_events(bench, table):
    """A million process events: forks and exits of half as many processes, in both modes together."""
    folder = bench.work / "events"
    folder.mkdir(exist_ok=True)
    plan, bundle = write_plan(folder, "storm", [bench.args.build / "bin" / "storm", 250000], 1), folder / "p"
    plan.write_text(plan.read_text().replace("watchdog_ms: 600000", "watchdog_ms: 3600000"))
    bundle.unlink(missing_ok=True)
    for program, words in (("record", ["run", plan, "-o", bundle]), ("replay", [bundle]), ("verify", [bundle])):
        took = measure.run([bench.args.build / "bin" / f"exhibit-{program}", *words], ok=(3,))
        if program == "record":
            told = subprocess.run([bench.args.build / "bin" / "exhibit-replay", bundle, "--json"], stdout=subprocess.PIPE,
                                  text=True, check=False).stdout
            if not all(case["met"] for case in json.loads(told)["cases"]):
                raise SystemExit("bench: a storm was ended by its watchdog: there is no million of events")
        table.row(f"{program} 1,000,000 process events: anonymous memory, time",
                  f"{took.anonymous_bytes / 2**20:.1f} MiB, {took.seconds:.1f} s", "", "64 MiB")
