"""`hn.cluster`: sessions of symbols over tasks, one of them in a process of its own."""

import numpy as np
import pytest
from cluster_tasks import on_tasks, started

import hybridnet as hn

pytest.importorskip("zmq")


def network():
    x = hn.sym.var("x")
    with hn.device("/job:ps/task:0"):
        w = hn.sym.var("w")
    with hn.device("/job:worker/task:0"):
        y = hn.sym.dot(x, w)
    with hn.device("/job:ps/task:0"):
        return x, w, hn.sym.relu(y)


def test_symbols_on_two_tasks_give_what_numpy_gives_and_clients_share_variables():
    spec = on_tasks()
    rng = np.random.default_rng(3)
    rows, weights = (rng.normal(size=size).astype("float32") for size in ((4, 3), (3, 2)))
    x, w, y = network()
    with started(spec, "ps"), hn.cluster(spec, "worker") as own:
        with own.session(timeout=60) as session:
            with pytest.raises(hn.session.MissingFeedError, match="'w'"):
                session.run(y, {x: rows})
            session.set({w: weights})
            np.testing.assert_allclose(
                session.run(y, {x: rows}), np.maximum(rows @ weights, 0), rtol=1e-5
            )
            np.testing.assert_array_equal(session.variables["w"].asnumpy(), weights)
        with hn.cluster(spec["ps"][0]).session() as client:  # the variable outlives the first
            np.testing.assert_allclose(
                client.run(y, {x: rows}), np.maximum(rows @ weights, 0), rtol=1e-5
            )


def test_what_is_bound_runs_in_one_process_and_an_error_says_what_runs_over_several():
    x = hn.sym.var("x")
    with hn.device("/job:worker/task:1"):
        y = hn.sym.relu(x, name="far")
    for run in (
        lambda: y.bind(hn.cpu(), {"x": hn.nd.ones((2,))}),
        lambda: hn.Session().run(y, {x: np.ones(2)}),
    ):
        with pytest.raises(hn.MXNetError, match=r"'far'.*task:1; .*a session of hn\.cluster"):
            run()

    @hn.function
    def far(x):
        with hn.device("/job:worker/task:1"):
            return hn.nd.relu(x)

    with pytest.raises(hn.MXNetError, match=r"task:1 is of another process.*hn\.cluster"):
        far(hn.nd.ones((2,)))


def test_a_task_that_is_not_there_is_an_error_that_names_those_that_are():
    with pytest.raises(hn.MXNetError, match=r"no task 2 of job 'ps' among 'ps': \[0\]"):
        hn.cluster({"ps": ["localhost:1"]}, "ps", 2)
    with pytest.raises(hn.MXNetError, match="must be a list"):
        hn.cluster({"ps": "localhost:1"}, "ps")
    with pytest.raises(hn.MXNetError, match="must know all addresses"):
        hn.cluster("localhost:1", "ps")
    with pytest.raises(hn.MXNetError, match="none of the tasks"):
        hn.cluster({"ps": ["localhost:1"]}).join()
