"""`hn.debug.memory`: each array once, with its bytes, its line and its names."""

from __future__ import annotations

import gc
import inspect
import threading

import numpy as np
import pytest
from helpers import run_script, settle

import hybridnet as hn
from hybridnet import autograd, gluon, nd, optimizer, sym

HERE = "test_memory_snapshot.py"


def line_here(offset=0):
    return inspect.currentframe().f_back.f_lineno + offset


def of_line(snapshot, line):
    """The arrays that a line of this file has made."""
    end = f"{HERE}:{line}"
    return [one for one in snapshot.arrays if one.line.endswith(end)]


def named(snapshot):
    return {name: one for one in snapshot.arrays for name in one.names}


def test_arrays_are_counted_by_the_line_that_made_them():
    with hn.debug.tracking_memory():
        made = [nd.array(np.ones((7, 11))) + 1 for _ in range(5)]
        line = line_here(-1)
        nd.waitall()
        found = of_line(hn.debug.memory(), line)
    expected = np.ones((7, 11), np.float32)
    assert len(found) == len(made)
    assert {(one.nbytes, one.shape, one.dtype) for one in found} == {
        (expected.nbytes, expected.shape, "float32")
    }


def test_large_arrays_know_their_line_outside_of_any_scope():
    large = nd.ones((512, 1024)) * 2
    line = line_here(-1)
    small = nd.ones((3,)) * 2
    nd.waitall()
    snapshot = hn.debug.memory()
    assert [one.nbytes for one in of_line(snapshot, line)] == [large.size * 4]
    assert of_line(snapshot, line + 2) == []
    assert small.shape == (3,)


def test_what_data_was_copied_from_and_what_is_read_back_are_not_counted():
    """Against the sum of what NumPy says, in a process that has nothing else."""
    told = run_script(
        """
        import numpy as np
        import hybridnet as hn
        from hybridnet import nd
        source = [np.random.rand(40, 50).astype(t) for t in ("float32", "float64", "int8")]
        arrays = [nd.array(x, dtype=x.dtype) for x in source]
        back = [x.asnumpy() for x in arrays]
        snapshot = hn.debug.memory()
        assert snapshot.nbytes == sum(x.nbytes for x in source), snapshot.arrays
        del arrays
        assert hn.debug.memory().nbytes == 0
        """
    )
    assert not told


def test_an_empty_process_has_no_arrays_and_loads_no_jax():
    run_script(
        """
        import sys
        import hybridnet as hn
        snapshot = hn.debug.memory()
        assert snapshot.nbytes == 0 and not snapshot.arrays
        str(snapshot)
        with hn.debug.tracking_memory() as seen:
            x = hn.nd.ones((3, 4)) + 1
            x.wait_to_read()
        assert seen.growth().nbytes == 48, seen
        assert "jax" not in sys.modules
        """
    )


@pytest.mark.compiled
def test_jax_arrays_of_the_user_count_and_deleted_ones_do_not():
    import jax.numpy as jnp

    gc.collect()  # what tests before left
    before = hn.debug.memory()
    made = jnp.ones((123, 457)).block_until_ready()
    after = hn.debug.memory()
    assert (after - before).nbytes == made.nbytes
    made.delete()
    assert (hn.debug.memory() - before).nbytes == 0


def test_views_and_shared_memory_count_once():
    settle()
    gc.collect()
    with hn.debug.tracking_memory():
        before = hn.debug.memory()
        whole = nd.array(np.ones((64, 32)))
        views = [whole[:10], whole.reshape((32, 64)), whole[3]]
        assert (hn.debug.memory() - before).nbytes == 64 * 32 * 4
        lent = hn.nd.to_dlpack_for_read(whole)
        nd.waitall()
        assert (hn.debug.memory() - before).nbytes == 64 * 32 * 4
    assert len(views) == 3 and lent is not None


def test_sparse_arrays_are_what_is_stored_of_them():
    settle()
    gc.collect()
    before = hn.debug.memory()
    rows = nd.sparse.row_sparse_array((np.ones((2, 5)), [1, 4]), shape=(1000, 5))
    nd.waitall()
    stored = rows.data.asnumpy().nbytes + rows.indices.asnumpy().nbytes
    grown = hn.debug.memory() - before
    assert stored <= grown.nbytes < 1000 * 5 * 4


def test_parameters_gradients_and_states_have_names():
    net = gluon.nn.Dense(5, in_units=3, prefix="mine_")
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    x = nd.ones((2, 3))
    with autograd.record():
        loss = net(x).sum()
    loss.backward()
    trainer.step(2)
    nd.waitall()
    found = named(hn.debug.memory())
    assert found["mine_weight"].shape == (5, 3)
    assert found["gradient of mine_weight"].nbytes == 60
    assert found["state of mine_bias"].shape == (5,)


def test_arrays_of_executors_and_sessions_have_names():
    x, w = sym.var("data"), sym.var("some_weight")
    bound = sym.dot(x, w, name="product").simple_bind(hn.cpu(), data=(2, 3), some_weight=(3, 4))
    bound.forward(is_train=True)
    bound.backward(nd.ones((2, 4)))
    held = sym.var("held_by_session")
    with hn.Session() as session:
        session.set({held: np.ones((6, 7))})
        nd.waitall()
        found = named(hn.debug.memory())
    assert found["some_weight"].shape == (3, 4)
    assert found["gradient of some_weight"].shape == (3, 4)
    assert found["output product_output"].shape == (2, 4)
    assert found["held_by_session"].nbytes == 6 * 7 * 8


def test_an_optimizer_without_names_says_which_weight():
    updater = optimizer.get_updater(optimizer.create("adam"))
    weight, grad = nd.ones((9, 2)), nd.ones((9, 2))
    updater(17, grad, weight)
    nd.waitall()
    assert named(hn.debug.memory())["state of 17"].shape == (9, 2)


@pytest.mark.parametrize("how", ["eager", "hybridized", "function"])
def test_a_step_that_repeats_makes_its_arrays_at_its_line(how):
    net = gluon.nn.Dense(600, in_units=600)
    net.initialize()
    if how == "hybridized":
        net.hybridize()
    run = hn.function(lambda x: net(x) * 2) if how == "function" else lambda x: net(x) * 2
    x = nd.ones((600, 600))
    for _ in range(6):
        y = run(x)
        y.wait_to_read()
    with hn.debug.tracking_memory():
        z = run(x)
        line = line_here(-1)
        z.wait_to_read()
        found = [one for one in hn.debug.memory().arrays if one.line]
    lines = {one.line.rpartition(":")[2] for one in found if one.shape == (600, 600)}
    # An eager operator's line is where it is called, which is in the function.
    assert str(line) in lines if how == "function" else lines


def test_threads_and_nested_scopes():
    made = []

    def work():
        made.append(nd.ones((5, 13)) + 1)
        made[-1].wait_to_read()

    with hn.debug.tracking_memory() as outer:
        with hn.debug.tracking_memory() as inner:
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            hn.debug.memory()
        work()
    assert [len(inner.snapshots), len(outer.snapshots)] == [3, 3]
    lines = {(one.line.rpartition("/")[2], one.shape) for one in outer.snapshots[-1].arrays}
    line = inspect.getsourcelines(work)[1] + 1
    assert (f"{HERE}:{line}", (5, 13)) in lines
    assert sum(one.shape == (5, 13) for one in inner.snapshots[-1].arrays) == 1


def test_a_scope_that_an_error_leaves_is_left():
    from hybridnet.runtime.segments.segment import origins

    with pytest.raises(ZeroDivisionError), hn.debug.tracking_memory() as seen:
        assert origins.least == 0
        raise ZeroDivisionError
    assert origins.least == origins.usual
    assert len(seen.snapshots) == 2
    hn.debug.memory()
    assert len(seen.snapshots) == 2


def test_a_snapshot_keeps_nothing_alive():
    x = nd.ones((1000, 500))
    x.wait_to_read()
    snapshot = hn.debug.memory()
    before = snapshot.nbytes
    del x
    gc.collect()
    assert (hn.debug.memory() - snapshot).nbytes <= -1000 * 500 * 4
    assert snapshot.nbytes == before


def test_a_forked_child_counts_its_own():
    run_script(
        """
        import os
        import numpy as np
        import hybridnet as hn
        from hybridnet import nd
        x = nd.array(np.ones((100, 100)))
        nd.dot(x, x).asnumpy()
        nd.waitall()
        assert hn.debug.memory().nbytes == 40000
        child = os.fork()
        if not child:
            before = hn.debug.memory()
            z = nd.array(np.ones((30, 70)))
            grown = (hn.debug.memory() - before).nbytes
            os._exit(0 if grown == 30 * 70 * 4 and not before.nbytes else 1)
        assert os.waitpid(child, 0)[1] == 0
        """
    )


def test_the_environment_switches_lines_on_for_the_whole_program():
    told = run_script(
        """
        import hybridnet as hn
        x = hn.nd.ones((3, 4)) + 1
        x.wait_to_read()
        print([one.place for one in hn.debug.memory().arrays])
        """,
        HYBRIDNET_DEBUG="memory",
    )
    assert told == "[('<string>', 3)]\n"


def test_a_snapshot_is_a_table():
    net = gluon.nn.Dense(300, in_units=1000, prefix="told_")
    net.initialize()
    net(nd.ones((2, 1000))).wait_to_read()
    text = str(hn.debug.memory())
    assert "by line" in text and "largest arrays" in text and "resident, all in all" in text
    assert f"{HERE}:{line_here(-4)}" in text
    assert "told_weight" in text
