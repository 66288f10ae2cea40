"""A process that is forked while it has a session, as loaders of data do."""

import subprocess
import sys

import pytest
from cluster_tasks import on_tasks, started

pytest.importorskip("zmq")

CODE = """
import os, sys
import hybridnet.compat.tf1 as tf

target = sys.argv[1]
server = tf.train.Server.create_local_server()
count = tf.Variable(0.0, name="count")
add = count.assign_add(1.0)

def child(work):
    number = os.fork()
    if number == 0:
        try:
            work()
        except tf.errors.UnavailableError as error:
            print("forked" in str(error), flush=True)
        os._exit(0)
    os.waitpid(number, 0)

def anew(where):
    with tf.Session(where) as session:
        print(session.run(count), flush=True)

for where in (target, server.target):
    session = tf.Session(where)
    session.run(count.initializer)
    session.run(add)
    child(lambda: session.run(add))
    child(session.close)
    print(session.run(add), flush=True)
    child(lambda: anew(where))
    print(session.run(add), flush=True)
    session.close()
"""


@pytest.mark.slow
def test_a_forked_child_leaves_the_session_to_its_parent_and_may_make_one_of_its_own():
    spec = on_tasks()
    with started(spec, "ps"):
        made = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", CODE, "grpc://" + spec["ps"][0]],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert made.stdout.split() == ["True", "2.0", "2.0", "3.0"] * 2, made.stderr
