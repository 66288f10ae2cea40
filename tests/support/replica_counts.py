"""Workers that count: a script of ``--ps_hosts --worker_hosts --job_name --task_index``.

Each step adds 1 to a vector, to another one by way of a gradient, and to the number of steps. A
worker prints what it sees before each step; what differs was a step of which a part was made. All
end when there is a file STOP in the folder of the checkpoints.
"""

from pathlib import Path

import numpy as np

import hybridnet.compat.tf1 as tf

flags = tf.app.flags
flags.DEFINE_string("ps_hosts", "", "servers")
flags.DEFINE_string("worker_hosts", "", "workers")
flags.DEFINE_string("job_name", "", "what this is")
flags.DEFINE_integer("task_index", 0, "its number")
flags.DEFINE_string("logdir", "", "where checkpoints are")
FLAGS = flags.FLAGS


def main(_):
    cluster = tf.train.ClusterSpec(
        {"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")}
    )
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        server.join()
    worker = f"/job:worker/task:{FLAGS.task_index}"
    with tf.device(tf.train.replica_device_setter(worker_device=worker, cluster=cluster)):
        step = tf.train.get_or_create_global_step()
        a = tf.Variable(np.zeros(1000, np.float32), name="a")
        b = tf.Variable(np.zeros(1000, np.float32), name="b")
        moved = tf.train.GradientDescentOptimizer(1.0).minimize(-tf.reduce_sum(b))
        add = a.assign_add(tf.ones([1000]))
        with tf.control_dependencies([moved, add]):
            train = step.assign_add(1)
        seen = tf.stack([tf.cast(step, tf.float32), *(f(v) for v in (a, b) for f in BOUNDS)])
    with tf.train.MonitoredTrainingSession(
        server.target, FLAGS.task_index == 0, FLAGS.logdir, save_checkpoint_steps=10,
        save_summaries_steps=None, save_summaries_secs=None, log_step_count_steps=None,
    ) as sess:  # fmt: skip
        while not (Path(FLAGS.logdir) / "STOP").exists():
            found = sess.run([seen, train])[0]
            print("saw", *found.astype(int).tolist(), flush=True)
    print("done", flush=True)


BOUNDS = (tf.reduce_min, tf.reduce_max)

if __name__ == "__main__":
    tf.app.run()
