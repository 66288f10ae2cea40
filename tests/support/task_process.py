"""A task of a cluster as its own process: ``python task_process.py SPEC JOB NUMBER``."""

import json
import sys

import hybridnet.compat.tf1 as tf


def main() -> None:
    spec, job, number = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    server = tf.train.Server(spec, job, number)
    print("started", flush=True)
    server.join()


if __name__ == "__main__":
    main()
