"""Scripts for a parameter server and workers, started as people start them: a process per task."""

import subprocess
import sys
from contextlib import contextmanager

from cluster_tasks import on_tasks

__all__ = ["Replicas", "replicas"]


class Replicas:
    """The processes of a script, by job and number; what each printed is in a file."""

    def __init__(self, script, folder, workers, options):
        spec = on_tasks(workers=workers)
        self.hosts = [f"--{job}_hosts={','.join(spec[job])}" for job in spec]
        self.script, self.folder, self.options = script, folder, options
        self.running = {}

    def start(self, job, number=0):
        command = [sys.executable, "-u", str(self.script), *self.hosts, *self.options]
        command += [f"--job_name={job}", f"--task_index={number}"]
        with open(self.path(job, number), "a") as out:
            made = subprocess.Popen(command, stdout=out, stderr=out)
        self.running[job, number] = made
        return made

    def kill(self, job, number=0):
        one = self.running.pop((job, number))
        one.kill()
        one.wait()

    def path(self, job, number):
        return self.folder / f"{job}{number}.out"

    def said(self, job, number):
        return self.path(job, number).read_text()

    def wait(self, job, number, timeout=240):
        """Waits until a process has ended well."""
        code = self.running[job, number].wait(timeout)
        assert code == 0, f"{job} {number} ended with {code}:\n{self.said(job, number)[-3000:]}"
        del self.running[job, number]


@contextmanager
def replicas(script, folder, *options, workers=2):
    """A server and workers, which are not there any more after the block."""
    made = Replicas(script, folder, workers, options)
    try:
        made.start("ps")
        for number in range(workers):
            made.start("worker", number)
        yield made
    finally:
        for job, number in list(made.running):
            made.kill(job, number)
