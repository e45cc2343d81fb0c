"""What a program shows on a terminal."""
import os
import pty
import subprocess


def shown(words, stdout=None):
    """Runs a command with its stderr on a terminal, and its stdout too where it goes nowhere else. Returns its exit code
    and what the terminal got."""
    ours, theirs = pty.openpty()
    made = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=theirs if stdout is None else stdout, stderr=theirs)
    os.close(theirs)
    got = b""
    try:
        while piece := os.read(ours, 4096):
            got += piece
    except OSError:
        pass  # the other end was closed
    os.close(ours)
    return made.wait(60), got
