"""Programs that keep trees in their own way, each as its manual says; only those that are here are measured."""

import os
import shutil
import subprocess

import measure

PACKAGES = {"restic": "restic", "borg": "borgbackup", "ostree": "ostree", "casync": "casync"}


def install():
    missing = [package for program, package in PACKAGES.items() if shutil.which(program) is None]
    if missing:
        subprocess.run(["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", *missing], check=True,
                       stdout=subprocess.DEVNULL)


def environment():
    return {**os.environ, "RESTIC_PASSWORD": "bench", "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes"}


def timed(script):
    return measure.run(["/bin/sh", "-ec", script], environment=environment(), watch=False).seconds


def fresh(path, script):
    """Runs the script with a path at which nothing is."""
    shutil.rmtree(path, ignore_errors=True)
    return timed(script)


def ingests(work, tree):
    """name -> function: puts the tree into a new store of that program; makes the store, too, which is little."""
    scripts = {
        "restic": f"restic -q init -r {work}/restic; restic -q backup -r {work}/restic --no-cache {tree}",
        "borg": f"borg init -e none {work}/borg; borg create -C zstd,3 {work}/borg::a {tree}",
        "ostree": f"ostree init --mode=archive --repo={work}/ostree; "
                  f"ostree commit --repo={work}/ostree -b a --tree=dir={tree} > /dev/null",
        "casync": f"mkdir {work}/casync; casync make --store={work}/casync/s.castr {work}/casync/a.caidx {tree} "
                  "> /dev/null",
    }
    return {name: (lambda n=name, s=script: fresh(f"{work}/{n}", s)) for name, script in scripts.items()
            if shutil.which(name)}


def checks(work, tree):
    """name -> function: reads every byte of the store that `ingests` made and compares it with its name."""
    scripts = {
        "restic": f"restic -q check -r {work}/restic --no-cache --read-data",
        "borg": f"borg check --verify-data {work}/borg",
        "ostree": f"ostree fsck -q --repo={work}/ostree",
    }
    for name, make in ingests(work, tree).items():
        if name in scripts and not os.path.isdir(f"{work}/{name}"):
            make()
    return {name: (lambda s=script: timed(s)) for name, script in scripts.items() if shutil.which(name)}
