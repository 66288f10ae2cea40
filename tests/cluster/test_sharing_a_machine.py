"""Tasks of one machine: each computes with its share, and leaves the parameter server in peace."""

import json
import os
import subprocess
import sys

import pytest
from cluster_tasks import on_tasks

pytest.importorskip("zmq")
pytestmark = pytest.mark.skipif(not hasattr(os, "SCHED_BATCH"), reason="Linux has this policy")

SCRIPT = """
import json, os, sys
import hybridnet.compat.tf1 as tf
from hybridnet.base.processor import num_threads

os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))  # whatever began this process
spec, job = json.loads(sys.argv[1]), sys.argv[2]
alone = num_threads()
tf.train.Server(spec, job, 0)
print(json.dumps([alone, num_threads(), os.sched_getscheduler(0) == os.SCHED_BATCH]))
"""


def told(spec, job):
    environ = {**os.environ, "HYBRIDNET_NUM_THREADS": "", "OMP_NUM_THREADS": ""}
    command = [sys.executable, "-c", SCRIPT, json.dumps(spec), job]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environ, timeout=120, check=True
    )
    return json.loads(done.stdout)


def test_workers_share_the_processors_and_do_not_interrupt_the_server():
    spec = on_tasks(workers=2)
    alone, shared, is_batch = told(spec, "worker")
    assert shared == max(1, alone // 2) and is_batch


def test_the_only_task_of_its_job_has_all_processors_and_a_server_may_interrupt():
    alone, shared, is_batch = told(on_tasks(workers=2), "ps")
    assert shared == alone and not is_batch


def test_tasks_of_other_machines_do_not_count():
    spec = on_tasks()
    spec["worker"].append("10.0.0.1:2222")
    spec["ps"] = ["10.0.0.1:2223"]
    alone, shared, is_batch = told(spec, "worker")
    assert shared == alone and not is_batch
