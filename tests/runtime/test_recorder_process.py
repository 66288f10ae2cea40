"""The runtime and the process it is in: import, fork, interrupts, the end of the interpreter."""

from __future__ import annotations

import pytest
from helpers import run_script


def test_import_and_what_runs_once_start_no_thread_and_load_no_jax():
    out = run_script(
        """
        import sys, threading
        import hybridnet as mx
        from hybridnet import autograd, gluon, nd
        from hybridnet.ndarray import NDArray
        x = mx.cpu(1), nd.exp, nd.random.uniform, autograd.record, mx.random.seed
        print(threading.active_count(), "jax" in sys.modules, "torch" in sys.modules)
        x = nd.array([[1.0, 2, 3]])
        x.attach_grad()
        net = gluon.nn.Dense(5, activation="relu")
        net.initialize(mx.init.Xavier())
        trainer = gluon.Trainer(net.collect_params(), "adam")
        with autograd.record():
            loss = nd.softmax(net(x[:, 1:])).max() + nd.random.normal(shape=(2, 2)).sum()
        loss.backward()
        trainer.step(1)
        print(mx.np.concatenate([mx.np.ones(3), mx.np.zeros(2)]).sum())
        try:
            nd.dot(x, x)
        except mx.MXNetError:
            print(threading.active_count(), "jax" in sys.modules)
        """
    )
    assert out.split() == ["1", "False", "False", "3.0", "1", "False"]


def test_the_number_of_cpu_devices():
    script = """
        from hybridnet import cpu, nd
        print([nd.zeros((1,), ctx=cpu(i)).asnumpy().size for i in range(3)])
        """
    environ = {"JAX_NUM_CPU_DEVICES": "1", "HYBRIDNET_NUM_CPU_DEVICES": "3"}
    assert run_script(script, **environ) == "[1, 1, 1]\n"


def test_naive_engine_by_environment():
    run_script(
        """
        import numpy as np
        from hybridnet import autograd, nd, engine
        assert engine.get().kind == "NaiveEngine"
        x = nd.array([1.0, 2, 3])
        x.attach_grad()
        for _ in range(3):
            with autograd.record():
                y = (x * x).sum()
            y.backward()
            assert x.grad.read().array is not None
            x -= 0.1 * x.grad
        np.testing.assert_allclose(x.asnumpy(), [0.512, 1.024, 1.536], rtol=1e-6)
        np.testing.assert_allclose(y.asscalar(), 5.7344, rtol=1e-6)
        nd.waitall()
        """,
        HYBRIDNET_ENGINE_TYPE="NaiveEngine",
    )


FORK = """
    import os, sys, warnings
    import numpy as np
    from hybridnet import autograd, engine, nd
    from hybridnet.base.errors import MXNetError

    warnings.simplefilter("ignore")  # JAX warns at every fork

    def child(work):
        number = os.fork()
        if number == 0:
            try:
                work()
                sys.stdout.flush()
                os._exit(0)
            except BaseException as error:
                print("child:", type(error).__name__, error)
                sys.stdout.flush()
                os._exit(1)
        return os.waitpid(number, 0)[1]
"""


def test_a_forked_child_computes_with_numpy_and_says_so_where_it_cannot():
    out = run_script(
        FORK
        + """
    from hybridnet import cpu, gluon

    os.environ["HYBRIDNET_HOST"] = "off"
    x = nd.ones((3,)) + 1      # pending at the fork
    y = nd.ones((4,)) * 2
    y.asnumpy()                # computed
    for _ in range(3):
        (y * 3).asnumpy()      # hot
        nd.waitall()
    del os.environ["HYBRIDNET_HOST"]
    net = gluon.nn.Dense(3, in_units=4)
    net.initialize()
    net.hybridize()
    expected = [net(y.reshape((1, 4))).asnumpy() for _ in range(3)][0]
    z = nd.dot(nd.ones((700, 700)), nd.ones((700, 700)))  # under way

    def computes():
        host = np.arange(4.0) * 2
        assert host.sum() == 12
        assert (x + 1).asnumpy().tolist() == [3, 3, 3]
        assert (y * 3).asnumpy().tolist() == [6, 6, 6, 6]
        assert z[1, 1].asscalar() == 700
        assert (x.as_in_context(cpu(1)) + nd.array([1], ctx=cpu(1))).asnumpy().sum() == 9
        y[1:3] = nd.random.uniform(3, 4, shape=(2,))
        assert y.asnumpy()[1:3].min() >= 3
        np.testing.assert_allclose(net(nd.ones((1, 4)) * 2).asnumpy(), expected, rtol=1e-5)
        w = nd.ones((2,))
        w.attach_grad()
        with autograd.record():
            loss = (w * w).sum()
        loss.backward()
        assert w.grad.asnumpy().tolist() == [2, 2]
        nd.waitall()
        try:
            nd.ones((2,)).as_in_context(__import__("hybridnet").gpu(0))
        except MXNetError as error:
            assert "was forked from one in which XLA computes" in str(error), error
        else:
            raise AssertionError

    print(child(computes), child(computes))
    print(x.asnumpy().tolist(), (y * 3).asnumpy().tolist())
    """
    )
    assert out == "0 0\n[2.0, 2.0, 2.0] [6.0, 6.0, 6.0, 6.0]\n"


@pytest.mark.slow
@pytest.mark.parametrize("before", ["", "x = nd.ones((3,)) * 2; x.asnumpy(); y = x + 1"])
def test_a_child_forked_before_jax_was_needed_can_compute(before):
    out = run_script(
        FORK
        + """
    BEFORE

    def computes():
        assert (nd.ones((3,)) + 1).asnumpy().tolist() == [2, 2, 2]
        assert "y" not in globals() or y.asnumpy().tolist() == [3, 3, 3]
        os.environ["HYBRIDNET_HOST"] = "off"  # now JAX is needed
        assert (nd.ones((3,)) + 1).asnumpy().tolist() == [2, 2, 2]

    print(child(computes), child(computes))
    os.environ["HYBRIDNET_HOST"] = "off"
    print((nd.ones((3,)) + 1).asnumpy().tolist())
    """.replace("BEFORE", before)
    )
    assert out == "0 0\n[2.0, 2.0, 2.0]\n"


def test_a_fork_while_other_threads_are_at_work():
    out = run_script(
        FORK
        + """
    import threading
    stop = threading.Event()
    os.environ["HYBRIDNET_HOST"] = "off"
    total = nd.zeros((3,))
    float(total[0])

    def busy():
        global total
        while not stop.is_set():
            total += 1
            total[1] += 1
            float(total[0])

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for one in threads:
        one.start()

    def computes():
        assert (nd.zeros((2,)) + 1).asnumpy().tolist() == [1, 1]
        try:
            assert total.asnumpy().shape == (3,)
        except MXNetError as error:  # the other threads were about to change it
            assert "fork" in str(error), error

    print([child(computes) for _ in range(5)])
    stop.set()
    for one in threads:
        one.join()
    """
    )
    assert out == "[0, 0, 0, 0, 0]\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "work",
    [
        "x = nd.ones((3,)) + 1",
        "y = nd.dot(nd.ones((700, 700)), nd.ones((700, 700)))\nrecorder.mark()",
        "x = nd.ones((3,))\nx.attach_grad()\nwith autograd.record(): y = x * 2\ny.backward()",
        # The second launch of a structure begins its compilation in the background.
        "def f(x):\n"
        "    for _ in range(40): x = nd.tanh(x) * 2 - x\n"
        "    return x\n"
        "x = nd.ones((50,))\n"
        "f(x).asnumpy(); f(x).asnumpy()",
        "x = nd.ones((3,)).as_in_context(cpu(1)) * 2\nrecorder.mark()",
        "import threading\n"
        "threading.Thread(target=lambda: print((nd.ones((3,)) + 1).asnumpy().sum())).start()",
        "raise SystemExit(0)",
    ],
)
def test_the_interpreter_ends_quietly(work):
    setup = (
        "from hybridnet import autograd, cpu, nd\nfrom hybridnet.runtime.record import recorder\n"
    )
    for _ in range(2):
        run_script(setup + work, HYBRIDNET_NUM_CPU_DEVICES="2")


def test_compilations_that_have_not_begun_do_not_hold_up_the_end():
    out = run_script(
        """
        import atexit
        from hybridnet import nd
        from hybridnet.runtime.programs.cache import cache

        x = nd.ones((50,))
        for length in range(20, 60):
            for _ in range(2):
                y = x
                for _ in range(length):
                    y = nd.tanh(y) * 2 - y
                y.asnumpy()
        before = cache.statistics().compilations
        atexit.register(lambda: print(cache.statistics().compilations - before <= 2))
        """
    )
    assert out == "True\n"


def test_a_keyboard_interrupt_ends_a_wait_and_nothing_else():
    out = run_script(
        """
        import os, signal, sys, threading
        import jax, numpy as np
        from hybridnet import cpu, nd
        from hybridnet.runtime.record.host_task import push_task

        gate = threading.Event()
        main = threading.get_ident()
        like = nd.zeros((3,))
        like.wait_to_read()

        def make():
            gate.wait()
            return [jax.device_put(np.ones(3, np.float32), jax.devices()[0])]

        (value,) = push_task(make, [], (like.type,))
        late = nd.NDArray.from_value(value, cpu(0))

        def is_waiting():
            frame = sys._current_frames()[main]
            while frame is not None:
                if frame.f_code.co_name in ("wait_for_var", "wait_for_all"):
                    return True
                frame = frame.f_back
            return False

        def interrupt():
            while not is_waiting():
                pass
            os.kill(os.getpid(), signal.SIGINT)

        for wait in (lambda: (late + 1).asnumpy(), nd.waitall):
            thread = threading.Thread(target=interrupt)
            thread.start()
            try:
                wait()
                print("not interrupted")
            except KeyboardInterrupt:
                print("interrupted")
            thread.join()
        print((nd.ones((2,)) + 1).asnumpy().tolist())
        gate.set()
        print((late + 1).asnumpy().tolist())
        nd.waitall()
        """
    )
    assert out == "interrupted\ninterrupted\n[2.0, 2.0]\n[2.0, 2.0, 2.0]\n"
