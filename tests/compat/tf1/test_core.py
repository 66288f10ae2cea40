"""Sessions of TensorFlow's 1.x API: errors that name the line, devices, threads, what is compiled.

What TensorFlow answers is compared in ``test_tf1_oracle.py``.
"""

import gc
import importlib
import inspect
import threading
import weakref

import numpy as np
import pytest
from noted_steps import noted_steps
from places import ROOT

import hybridnet.compat.tf1 as tf
from hybridnet.compat.tf1 import errors
from hybridnet.compat.tf1.graph.gradient_call import GradientCall
from hybridnet.compat.tf1.session import register_session_run_conversion_functions

FULL = tf.RunOptions(tf.RunOptions.FULL_TRACE, output_partition_graphs=True)


@pytest.fixture(autouse=True)
def fresh_graph():
    with tf.Graph().as_default() as graph:
        yield graph


# -- errors --------------------------------------------------------------------------------------


def test_a_variable_without_a_value_is_named_with_its_line():
    v = tf.Variable(1.0, name="v")
    with tf.Session() as session:
        with pytest.raises(
            errors.FailedPreconditionError, match=r"'v' \(VariableV2, made at .*core.py:\d+\)"
        ) as error:
            session.run(v * 2.0)
        assert error.value.op is v.op
        session.run(tf.global_variables_initializer())
        assert session.run(v * 2.0) == 2


def test_a_missing_feed_is_named_with_its_line():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.Session() as session:
        with pytest.raises(
            errors.InvalidArgumentError,
            match=r"'x' with dtype float32 and shape \(\?, 2\): 'x' \(Placeholder, made at .*\d\)",
        ) as error:
            session.run(x + 1.0)
        assert error.value.op is x.op
        assert session.run(x + 1.0, {x: [[1, 2]]}).tolist() == [[2, 3]]


def test_what_does_not_fit_is_an_error_where_it_is_written():
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.constant(np.ones((2, 2), "float32"))
    with pytest.raises(ValueError, match=r"MatMul 'mine': .*float32\[\?,3\].*float32\[2,2\]"):
        tf.matmul(x, y, name="mine")
    with pytest.raises(TypeError, match="type int32 that does not match type float32"):
        x + tf.constant(1)


def test_what_only_a_run_can_tell_does_not_fit_is_named_and_changes_nothing():
    x = tf.placeholder(tf.float32, [None, None], name="x")
    v = tf.Variable([0.0, 0.0])
    product = tf.matmul(x, np.ones((3, 2), "float32"), name="product")
    both = tf.group(v.assign_add([1.0, 1.0]), product)
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(
            errors.InvalidArgumentError, match=r"'product' \(dot, made at .*core.py:\d+\)"
        ):
            session.run([both, product], {x: np.ones((2, 2))})
        assert session.run(v).tolist() == [0, 0]
        session.run([both, product], {x: np.ones((2, 3))})
        assert session.run(v).tolist() == [1, 1]


def test_what_is_of_another_graph_is_refused():
    with tf.Graph().as_default():
        foreign = tf.constant(1.0)
    mine = tf.constant(2.0)
    with tf.Session() as session:
        with pytest.raises(ValueError, match="not an element of this graph"):
            session.run(foreign)
        with pytest.raises(ValueError, match="must be from the same graph"):
            foreign + mine
        assert session.run(mine) == 2


def test_an_unknown_device_is_named():
    here = tf.constant(1.0)
    with tf.device("/device:GPU:7"):
        away = tf.identity(here, name="away")
    with (
        tf.Session() as session,
        pytest.raises(errors.InvalidArgumentError, match="'away'.*unknown device"),
    ):
        session.run(away)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        assert session.run(away) == 1


def test_what_is_inside_of_a_branch_or_loop_cannot_be_fetched():
    x, inside = tf.constant(1.0), []

    def branch():
        inside.append(x * 2.0)
        return inside[0]

    tf.cond(x > 0.0, branch, lambda: x)
    with tf.Session() as session, pytest.raises(ValueError, match="not fetchable"):
        session.run(inside[0])


# -- runs ----------------------------------------------------------------------------------------


def test_equal_runs_share_a_program_and_other_sizes_have_their_own(monkeypatch):
    steps = noted_steps(monkeypatch)
    x = tf.placeholder(tf.float32, [None])
    y = tf.reduce_sum(x * 2.0)
    with tf.Session() as session:
        for size in (3, 3, 5, 3):
            assert session.run(y, {x: np.ones(size)}) == 2 * size
        (step,) = steps
        assert len(step.programs) == 2


def test_large_constants_are_values_and_no_part_of_programs(fresh_graph):
    table = np.random.RandomState(0).randn(100, 50).astype("float32")
    c, small = tf.constant(table), tf.constant([1, 2, 3])
    assert list(fresh_graph.constants) == [c.op.node]
    assert tf.constant(np.zeros((100, 50))).op.node not in fresh_graph.constants
    with tf.Session() as session:
        first, second = session.run([c[3], small])
        np.testing.assert_array_equal(first, table[3])
        assert second.tolist() == [1, 2, 3]


def test_two_threads_run_one_session():
    v = tf.Variable(0)
    add, double = v.assign_add(1), v * 2
    seen, failed = [], []
    with tf.Session() as session:
        session.run(v.initializer)

        def work():
            try:
                for _ in range(40):
                    session.run(add.op)
                    seen.append(session.run(double))
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert not failed
        assert session.run(v) == 80
        assert all(0 < one <= 160 for one in seen)


def test_what_others_make_of_tensors_can_be_fetched_and_fed():
    class Both:
        def __init__(self, first, second):
            self.first, self.second = first, second

    register_session_run_conversion_functions(
        Both,
        lambda both: ([both.first, both.second], lambda values: values[0] + values[1]),
        lambda both, value: [(both.first, value), (both.second, value)],
    )
    both = Both(tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, []))
    with tf.Session() as session:
        assert session.run(both, {both: 3.0}) == 6
        assert session.run({"a": [both]}, {both: 4.0}) == {"a": [8]}


def test_random_numbers_of_one_run_are_one_draw():
    x = tf.constant(np.ones(50, "float32"))
    noise = tf.random_uniform([50])
    y = tf.reduce_sum(x * noise * noise)
    (dx,) = tf.gradients(y, x)
    with tf.Session() as session:
        draw, gradient = session.run([noise, dx])
        np.testing.assert_allclose(gradient, draw * draw, rtol=1e-6)
        assert session.run(noise).tolist() != draw.tolist()


def test_a_graph_that_nobody_holds_is_given_back():
    def used():
        with tf.Graph().as_default() as graph, tf.Session() as session:
            v = tf.get_variable("v", [2], initializer=tf.ones_initializer())

            @tf.custom_gradient
            def doubled(x):
                return x * 2.0, lambda grad: grad * 3.0

            loss = tf.cond(tf.reduce_sum(v) > 0.0, lambda: doubled(v) * 1.0, lambda: v + 0.0)
            step = v.assign_sub(tf.gradients(loss, v)[0])
            session.run(tf.global_variables_initializer())
            session.run(step)
            return weakref.ref(graph)

    graph = used()
    gc.collect()
    assert graph() is None


# -- devices -------------------------------------------------------------------------------------


def two_layers(first, second):
    """Returns loss, updates and variables of a network whose layers are on two devices."""
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    random = np.random.RandomState(0)
    with tf.device(first):
        w = tf.Variable(random.randn(4, 8).astype("f"), name="w")
        hidden = tf.tanh(tf.matmul(x, w))
    with tf.device(second):
        u = tf.Variable(random.randn(8, 2).astype("f"), name="u")
        loss = tf.reduce_mean(tf.square(tf.matmul(hidden, u)))
    grads = tf.gradients(loss, [w, u])
    updates = []
    for v, g in zip((w, u), grads, strict=True):
        with tf.colocate_with(v):
            updates.append(v.assign_sub(0.1 * g))
    return x, loss, tf.group(*updates), [w, u]


def test_a_model_on_two_devices_gives_the_results_of_one():
    data = np.random.RandomState(1).randn(16, 4)
    found = []
    for places in (("/cpu:0", "/cpu:0"), ("/cpu:0", "/cpu:1")):
        with tf.Graph().as_default(), tf.Session() as session:
            x, loss, step, variables = two_layers(*places)
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, step], {x: data})[0] for _ in range(3)]
            found.append([losses, *session.run(variables)])
            where = {node.name: str(one.context) for node, one in session.variables.items()}
            assert where == {"w": "cpu(0)", "u": places[1].replace("/cpu:", "cpu(") + ")"}
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_as_many_sends_as_values_that_cross():
    """x, w -> hidden | -> loss, u: over the border go `hidden` forward and its gradient back."""
    x, loss, step, _ = two_layers("/cpu:0", "/cpu:1")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        metadata = tf.RunMetadata()
        session.run(loss, {x: np.ones((2, 4))}, FULL, metadata)
        ops = [node.op for part in metadata.partition_graphs for node in part.node]
        assert (ops.count("_Send"), ops.count("_Recv")) == (1, 1)
        session.run([loss, step], {x: np.ones((2, 4))}, FULL, metadata)
        ops = [node.op for part in metadata.partition_graphs for node in part.node]
        assert (ops.count("_Send"), ops.count("_Recv")) == (2, 2)
        assert len(metadata.step_stats.dev_stats) == 2


def test_loops_and_branches_run_on_the_devices_that_they_name():
    x = tf.placeholder(tf.float32, [3])

    def body(i, a):
        with tf.device("/cpu:1"):
            doubled = a * 2.0
        return i + 1, doubled + x

    _, a = tf.while_loop(lambda i, a: i < 4, body, [tf.constant(0), x])
    v = tf.Variable(tf.zeros([3]))

    def updated():
        with tf.device("/cpu:1"):
            return tf.assign_add(v, tf.exp(x))

    c = tf.cond(tf.reduce_sum(x) > 0.0, updated, lambda: tf.identity(v))
    (da,) = tf.gradients(a, x)
    with tf.Session() as session:
        session.run(v.initializer)
        metadata = tf.RunMetadata()
        found = session.run([a, da], {x: [1, 2, 3]}, FULL, metadata)
        assert [one.tolist() for one in found] == [[31, 62, 93], [31, 31, 31]]
        assert len(metadata.partition_graphs) == 2
        session.run(c, {x: [-1, -1, -1]})
        assert session.run(v).tolist() == [0, 0, 0]
        session.run(c, {x: [1, 2, 3]})
        np.testing.assert_allclose(session.run(v), np.exp([1.0, 2, 3]), rtol=1e-6)


def test_step_stats_name_operations():
    a = tf.constant([1.0, 2.0], name="a")
    b = tf.identity(tf.exp(a, name="grown"), name="b")
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(b, options=FULL, run_metadata=metadata)
    (device,) = metadata.step_stats.dev_stats
    assert [one.node_name for one in device.node_stats] == ["a", "grown", "b"]
    (part,) = metadata.partition_graphs
    assert [node.name for node in part.node] == ["a", "grown", "b"]
    assert part.node[1].input == ("a",)


# -- gradients -----------------------------------------------------------------------------------


def test_gradients_equal_differences():
    x = tf.placeholder(tf.float64, [None, 3])
    w = tf.Variable(np.random.RandomState(0).randn(3, 2))
    y = tf.reduce_sum(tf.log(1.0 + tf.square(tf.matmul(x, w))) / (1.0 + tf.abs(x[:, :1])))
    dx, dw = tf.gradients(y, [x, w])
    at = np.random.RandomState(1).randn(4, 3)
    with tf.Session() as session:
        session.run(w.initializer)
        found, of_w = session.run([dx, dw], {x: at})
        start = session.run(w)
        for place in [(0, 0), (2, 1), (3, 2)]:
            moved = at.copy()
            moved[place] += 1e-6
            change = session.run(y, {x: moved}) - session.run(y, {x: at})
            np.testing.assert_allclose(found[place], change / 1e-6, rtol=1e-4)
        moved = start.copy()
        moved[1, 1] += 1e-6
        change = session.run(y, {x: at, w: moved}) - session.run(y, {x: at})
        np.testing.assert_allclose(of_w[1, 1], change / 1e-6, rtol=1e-4)


_INF = float("inf")
# What TensorFlow's gradients are by its own rules (math_grad.py, nn_grad.py, relu_op_functor.h).
_KINKS = {
    "relu": (tf.nn.relu, [-1, 0, 1], [0, 0, 1]),
    "relu6": (tf.nn.relu6, [-1, 0, 3, 6, 7], [0, 0, 1, 0, 0]),
    "crelu": (tf.nn.crelu, [-1, 0, 1], [-1, 0, 1]),
    "selu": (tf.nn.selu, [-1, 0, 3], [0.64676, 1.0507, 1.0507]),
    "elu": (tf.nn.elu, [-1, 0, 1], [0.36788, 1, 1]),
    "leaky_relu": (tf.nn.leaky_relu, [-1, 0, 1], [0.2, 0.2, 1]),
    "abs": (tf.abs, [-1, 0, 1], [-1, 0, 1]),
    "maximum": (lambda x: tf.maximum(x, 0.0), [-1, 0, 1], [0, 1, 1]),
    "maximum, right": (lambda x: tf.maximum(0.0, x), [-1, 0, 1], [0, 0, 1]),
    "minimum": (lambda x: tf.minimum(x, 0.0), [-1, 0, 1], [1, 1, 0]),
    "clip_by_value": (lambda x: tf.clip_by_value(x, -1.0, 1.0), [-2, -1, 0, 1, 2], [0, 1, 1, 1, 0]),
    "reduce_max": (tf.reduce_max, [2, 1, 2, 2], [1 / 3, 0, 1 / 3, 1 / 3]),
    "reduce_min": (lambda x: tf.reduce_min(x, 1), [[2, 2], [1, 3]], [[0.5, 0.5], [1, 0]]),
    "norm, ord 1": (lambda x: tf.norm(x, ord=1), [-1, 0, 1], [-1, 0, 1]),
    "norm, ord inf": (lambda x: tf.norm(x, ord=np.inf), [-1, 0, 1], [-0.5, 0, 0.5]),
    "segment_max": (lambda x: tf.segment_max(x, [0, 0, 1]), [1, 1, 1], [0.5, 0.5, 1]),
    "max_pool": (
        lambda x: tf.nn.max_pool(x[None, :, :, None], 2, 2, "SAME"),
        [[1, 1], [1, 1]], [[1, 0], [0, 0]],
    ),
    "sqrt": (tf.sqrt, [0, 1], [_INF, 0.5]),
    "rsqrt": (tf.rsqrt, [0, 1], [-_INF, -0.5]),
    "hinge_loss": (lambda x: tf.losses.hinge_loss([1.0, 1, 0], x), [1, 0, -1], [0, -1 / 3, 0]),
    "huber_loss": (lambda x: tf.losses.huber_loss([0.0, 0, 0], x), [1, 0, -1], [1 / 3, 0, -1 / 3]),
    "entropy": (
        lambda x: tf.nn.sigmoid_cross_entropy_with_logits(labels=[0.0, 1, 0.5, 0], logits=x),
        [0, 0, 0, 1], [0.5, -0.5, 0, 0.73106],
    ),
    "entropy loss": (lambda x: tf.losses.sigmoid_cross_entropy([0.0, 1], x), [0, 0], [0.25, -0.25]),
}  # fmt: skip


@pytest.mark.parametrize("name", _KINKS)
def test_gradients_at_kinks_and_ties_are_tensorflows(name):
    """Where two slopes meet, TensorFlow takes one of them, or shares the gradient."""
    function, given, wanted = _KINKS[name]
    x = tf.constant(np.array(given, np.float32))
    with tf.Session() as session:
        found = session.run(tf.gradients(function(x), x)[0])
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_what_is_limited_passes_on_nan_and_keeps_whole_numbers():
    """relu6 of NaN is NaN, and of int32 is int32."""
    with tf.Session() as session:
        found = session.run(
            [tf.nn.relu6([np.nan, 7.0]), tf.nn.relu6([-1, 4, 9]), tf.nn.selu([1e9])]
        )
    np.testing.assert_array_equal(found[0], [np.nan, 6])
    assert (found[1].dtype, found[1].tolist()) == (np.int32, [0, 4, 6])
    np.testing.assert_allclose(found[2], [1.0507009e9], rtol=1e-6)


@pytest.mark.parametrize(
    ("logits", "labels"), [((2, 3), (1, 2, 3)), ((1, 2, 3), (2, 3)), ((2, 2, 3), (4, 3))]
)
def test_axes_of_cross_entropy_before_the_classes_need_not_agree(logits, labels):
    """TensorFlow works on matrices; the result has the axes of the logits."""
    x = np.arange(np.prod(logits), dtype=np.float32).reshape(logits) ** 2 / 20
    y = np.eye(3, dtype=np.float32)[np.arange(np.prod(labels) // 3) % 3].reshape(labels)
    fed = tf.placeholder(tf.float32, labels)
    made = tf.nn.softmax_cross_entropy_with_logits_v2(logits=x, labels=fed)
    slopes = tf.gradients(made, fed)[0]
    with tf.Session() as session:
        found, slope = session.run([made, slopes], {fed: y})
    logs = np.log(np.exp(x).sum(-1, keepdims=True)) - x
    right = (y.reshape(logits) * logs).sum(-1)
    np.testing.assert_allclose(found, right, rtol=1e-5)
    np.testing.assert_allclose(slope, logs.reshape(labels), rtol=1e-5)
    with pytest.raises(ValueError, match="one shape"):
        tf.nn.softmax_cross_entropy_with_logits_v2(logits=x, labels=y[..., :2])


@pytest.mark.parametrize("kind", [tf.int32, tf.int64])
def test_the_shape_of_a_sparse_placeholder_may_be_a_tensor(kind):
    """What is fed need not repeat what the graph says of the shape."""
    x = tf.sparse_placeholder(tf.float32, shape=tf.constant([2, 3], dtype=kind))
    assert x.indices.shape.as_list() == [None, 2]
    product = tf.sparse_tensor_dense_matmul(x, tf.ones([3, 2]))
    fed = (np.array([[0, 0], [1, 2]]), np.array([1, 2], np.float32), np.array([2, 3]))
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(product, {x: fed}), [[1, 1], [2, 2]])


def test_gradient_nodes_are_expanded_before_they_are_compiled(monkeypatch):
    steps = noted_steps(monkeypatch)
    x = tf.placeholder(tf.float32, [None, 3])
    (dx,) = tf.gradients(tf.reduce_sum(tf.square(x)), x)
    assert isinstance(dx.op.node.call, GradientCall)
    with tf.Session() as session:
        assert session.run(dx, {x: [[1, 2, 3]]}).tolist() == [[2, 4, 6]]
        (step,) = steps
        (program,) = step.programs.values()
        calls = [node.call for node in program.call.graph.nodes]
        assert not any(isinstance(one, GradientCall) for one in calls)


def test_a_gradient_reads_what_is_fed_in_the_place_of_a_value():
    x = tf.constant([1.0, 2.0])
    y = tf.exp(x)
    (dx,) = tf.gradients(y * y, x)
    with tf.Session() as session:
        fed = session.run(dx, {y: [3.0, 4.0]})
        np.testing.assert_allclose(fed, [6 * np.e, 8 * np.e**2], rtol=1e-6)


def test_gradients_have_names(fresh_graph):
    x = tf.placeholder(tf.float32, [None], name="x")
    (dx,) = tf.gradients(tf.reduce_sum(x * 3.0), x, name="back")
    assert fresh_graph.get_tensor_by_name(dx.name) is dx
    assert dx.name.startswith("back/")
    with tf.device("/cpu:1"):
        z = tf.exp(x)
    (dz,) = tf.gradients(z, x)
    assert dz.device == "/device:CPU:1"


def test_contestants_of_the_benchmark_compute_the_same(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    session = importlib.import_module("session")
    np.testing.assert_allclose(session.small(tf)(), session.small_jit()(), rtol=1e-6)
    ours, by_jit = session.step(tf), session.step_jit()
    for _ in range(3):
        np.testing.assert_allclose(ours()[0], by_jit(), rtol=1e-4)


@pytest.mark.parametrize("module", [tf, tf.train, tf.nn, tf.summary, tf.errors, tf.nest])
def test_public_names_are_documented(module):
    for name, value in vars(module).items():
        if name.startswith("_") or not getattr(value, "__module__", "").startswith("hybridnet"):
            continue
        assert inspect.getdoc(value), name
        for method, function in vars(value).items() if inspect.isclass(value) else ():
            if inspect.isfunction(function) and not method.startswith("_"):
                assert inspect.getdoc(getattr(value, method)), f"{name}.{method}"


# -- the page ------------------------------------------------------------------------------------


def test_the_page_about_sessions_says_what_happens(capsys):
    page = (ROOT / "docs" / "session.md").read_text()
    names: dict[str, object] = {}
    for block in page.split("```python\n")[1:]:
        exec(compile(block.split("```")[0], "docs/session.md", "exec"), names)
    assert capsys.readouterr().out.splitlines() == [
        "[array([[6., 6.]], dtype=float32), {'total': np.float32(12.0)}]",
        "4.0",
        'Tensor("Mean:0", shape=(), dtype=float32)',
        "True (1,)",
        "(2, 3) True",
        "/job:localhost/replica:0/task:0/device:cpu:0 6 nodes timed",
        "1 part",
    ]


def test_a_missing_feed_is_named_also_where_shapes_are_computed():
    labels = tf.placeholder(tf.int64, [None], name="labels")
    logits = tf.placeholder(tf.float32, [None, 3], name="logits")
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    with tf.Session() as session:
        rows = np.zeros((2, 3), "float32")
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed .* 'labels'"):
            session.run(loss, {logits: rows})
        assert session.run(loss, {logits: rows, labels: [0, 2]}).shape == (2,)


def test_steps_have_gradients_of_zeros_or_none_as_in_tensorflow():
    """That of a sign is zeros; floor, ceil, round and rint have none."""
    x = tf.constant([-2.0, 0.0, 3.5])
    with tf.Session() as session:
        (grad,) = tf.gradients(tf.sign(x) * x, [x])
        np.testing.assert_array_equal(session.run(grad), tf.sign(x).eval(session=session))
        (grad,) = tf.gradients(tf.sign(x), [x])
        assert session.run(grad).tolist() == [0, 0, 0]
    for function in (tf.floor, tf.ceil, tf.round, tf.rint):
        assert tf.gradients(function(x), [x]) == [None]
