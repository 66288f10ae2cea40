"""Scripts for a parameter server and workers, started as people start them: a process per task."""

import subprocess
import sys
import threading
from contextlib import contextmanager

from cluster_tasks import on_tasks

__all__ = ["Replicas", "replicas"]


class Replicas:
    """The processes of a script, by job and number, and the lines that each printed."""

    def __init__(self, script, workers, options):
        spec = on_tasks(workers=workers)
        self.hosts = [f"--{job}_hosts={','.join(spec[job])}" for job in spec]
        self.script, self.options = script, options
        self.running, self.lines = {}, {}
        self.heard = threading.Condition()

    def start(self, job, number=0):
        command = [sys.executable, "-u", str(self.script), *self.hosts, *self.options]
        command += [f"--job_name={job}", f"--task_index={number}"]
        out = subprocess.STDOUT
        made = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=out, text=True)
        lines = self.lines[job, number] = []
        reader = threading.Thread(target=self._read, args=(made.stdout, lines))
        reader.start()
        self.running[job, number] = made, reader

    def _read(self, pipe, lines):
        with pipe:
            for line in pipe:
                with self.heard:
                    lines.append(line.rstrip())
                    self.heard.notify_all()

    def until(self, job, number, count, word, timeout=120):
        """Waits until a process has printed so many lines with a word; returns them."""

        def found():
            return [one for one in self.lines[job, number] if word in one]

        with self.heard:
            there = self.heard.wait_for(lambda: len(found()) >= count, timeout)
            assert there, f"{job} {number} has not printed {word}:\n{self.said(job, number)}"
            return found()

    def kill(self, job, number=0):
        made, reader = self.running.pop((job, number))
        made.kill()
        made.wait()
        reader.join()

    def said(self, job, number):
        return "\n".join(self.lines[job, number][-40:])

    def wait(self, job, number, timeout=240):
        """Waits until a process has ended well."""
        made, reader = self.running[job, number]
        code = made.wait(timeout)
        reader.join()
        assert code == 0, f"{job} {number} ended with {code}:\n{self.said(job, number)}"
        del self.running[job, number]


@contextmanager
def replicas(script, *options, workers=2):
    """A server and workers, which are not there any more after the block."""
    made = Replicas(script, workers, options)
    try:
        made.start("ps")
        for number in range(workers):
            made.start("worker", number)
        yield made
    finally:
        for job, number in list(made.running):
            made.kill(job, number)
