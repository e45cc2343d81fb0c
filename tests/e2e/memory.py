"""The most anonymous memory that a process takes, by looks at it while it runs."""
import pathlib
import threading

LOOK_EACH_SECONDS = 0.005


class Memory(threading.Thread):
    """Looks at a process until `over` is set. `most` bytes were seen, at so many `looks`."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most, self.looks, self.pid, self.over = 0, 0, None, threading.Event()

    def run(self):
        while not self.over.wait(LOOK_EACH_SECONDS):
            try:
                status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{self.pid}/status").read_text()
                              .splitlines())
                self.most = max(self.most, int(status["RssAnon"].split()[0]) * 1024)
                self.looks += 1
            except (OSError, KeyError):
                pass
