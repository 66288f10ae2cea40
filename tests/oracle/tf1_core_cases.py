"""Graphs, names, variables, control flow and gradients in TensorFlow's 1.x; see `tf1_case.py`."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
from oracle.tf1_case import case, error_of, feeding, numbers


@case
def names(tf: Any) -> Any:
    a = tf.constant(1.0)
    b = tf.constant([1, 2], name="b")
    with tf.name_scope("outer") as outer:
        c = tf.identity(a)
        with tf.name_scope("inner"):
            d = tf.identity(b, name="d")
            e = tf.identity(b, name="d")
        with tf.name_scope("inner"):
            f = tf.identity(b, name="d")
        with tf.name_scope(None):
            g = tf.identity(b)
    with tf.name_scope(outer):
        h = tf.identity(a)
    with tf.name_scope("outer"):
        i = tf.identity(a)
    with tf.name_scope(None, "default", [a]) as scope:
        j = tf.identity(a, name="last")
    graph = tf.get_default_graph()
    return [
        a, b, c, d, e, f, g, h, i, j, outer, scope,
        [op.name for op in graph.get_operations()],
        graph.unique_name("outer"), graph.unique_name("outer", mark_as_used=False),
        error_of(lambda: tf.identity(a, name="bad name")),
        error_of(lambda: tf.name_scope("bad name").__enter__()),
    ]  # fmt: skip


@case
def looked_up_by_name(tf: Any) -> Any:
    a = tf.constant([1.0, 2.0], name="a")
    b = tf.add(a, a, name="b")
    graph = tf.get_default_graph()
    return [
        graph.get_tensor_by_name("b:0") is b, graph.get_operation_by_name("a") is a.op,
        graph.as_graph_element("b:0") is b, graph.as_graph_element("b") is b.op,
        b.op.inputs[0] is a, [one.name for one in a.consumers()], b.op.type, b.value_index,
        b.graph is graph, b.op.graph is graph, graph.finalized,
        error_of(lambda: graph.get_tensor_by_name("b")),
        error_of(lambda: graph.get_tensor_by_name("c:0")),
        error_of(lambda: graph.get_tensor_by_name("b:1")),
        error_of(lambda: graph.get_tensor_by_name(3)),
        error_of(lambda: graph.get_operation_by_name("b:0")),
        error_of(lambda: graph.get_operation_by_name("c")),
        error_of(lambda: graph.as_graph_element(3)),
    ]  # fmt: skip


@case
def printed(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.placeholder(tf.int64, name="y")
    with tf.device("/cpu:0"):
        z = x * 2.0
    v = tf.Variable([[1.0, 2.0]], name="v")
    return [
        str(x), repr(x), str(y), repr(y), str(z), repr(z), repr(v), str(x.shape), str(y.shape),
        repr(x.shape), repr(y.shape), str(x.dtype), repr(x.dtype), repr(x.op), x.op.name, z.device,
        x.get_shape().as_list(), x.shape.ndims, y.shape.ndims, str(x.shape[0]), str(x.shape[1:]),
        v.dtype.name, v.dtype.base_dtype.name, v.op.type, v.initializer.name, v.name,
    ]  # fmt: skip


@case
def arithmetic(tf: Any) -> Any:
    a, b = tf.constant(numbers(2, 3)), tf.constant(numbers(3, low=0.5))
    i, j = tf.constant([7, -7, 5]), tf.constant([2, 2, -3])
    p, q = tf.constant([True, False]), tf.constant([True, True])
    return [
        a + b, a - b, a * b, a / b, a // b, a % b, b**2.0, -a, abs(a), a + 1, 1 + a, 2 - a, 2 * a,
        1 / b, 2.0**b, a @ numbers(3, 2), a < b, a <= b, a > b, a >= b, np.ones(3, "float32") + a,
        i + j, i * j, i / j, i // j, i % j, i**2, -i, i < j, p & q, p | q, tf.identity(p ^ q), ~p,
    ]  # fmt: skip


@case
def type_rules(tf: Any) -> Any:
    f, i = tf.constant([1.0, 2.0]), tf.constant([1, 2])
    d = tf.constant([1.0, 2.0], tf.float64)
    return [
        f + 1, tf.constant(2) * 3, tf.convert_to_tensor([f, f]), tf.convert_to_tensor([1.0, f[1]]),
        error_of(lambda: f + i), error_of(lambda: i + 1.5), error_of(lambda: f + d),
        error_of(lambda: tf.add(f, i)), error_of(lambda: tf.constant("a") + f),
        error_of(lambda: f + tf.ones([3])), error_of(lambda: bool(f > 1)),
        error_of(lambda: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))),
        error_of(lambda: tf.constant(1.5, tf.int32)), error_of(lambda: tf.constant([[1], [1, 2]])),
        error_of(lambda: tf.constant([1, 2, 3], shape=[2])), error_of(lambda: len(f)),
        error_of(lambda: list(tf.placeholder(tf.float32, [None]))),
        error_of(lambda: tf.convert_to_tensor(f, tf.int32)), error_of(lambda: tf.identity(None)),
        error_of(lambda: tf.as_dtype("nothing")),
    ]  # fmt: skip


@case
def constants(tf: Any) -> Any:
    return [
        tf.constant(3), tf.constant(3.0), tf.constant(True), tf.constant([]), tf.constant([[]]),
        tf.constant(2**40), tf.constant([1, 2.5]), tf.constant(np.arange(3)),
        tf.constant(np.float64(2)), tf.constant(5, tf.float32), tf.constant(-1, shape=[2, 2]),
        tf.constant([1, 2], shape=[2, 2]), tf.constant(numbers(20, 20)), tf.constant("text"),
        tf.constant(np.arange(4, dtype="uint8")), tf.constant(1.0, tf.float16),
        tf.constant([np.inf, -np.inf, np.nan, -0.0]), tf.constant([[True, False]]),
    ]  # fmt: skip


@case
def dtypes_and_shapes(tf: Any) -> Any:
    shape = tf.TensorShape([None, 3])
    return [
        tf.float32.as_numpy_dtype.__name__, tf.as_dtype("int8").name, tf.as_dtype(float).name,
        tf.as_dtype(np.int64).name, tf.float32 == "float32", tf.float32 != tf.float64,
        tf.float32.is_floating, tf.int32.is_integer, tf.bool.is_bool, tf.int8.max, tf.uint8.min,
        tf.int32.size, tf.float32.is_compatible_with(tf.float32), str(tf.int64), repr(tf.int64),
        str(shape), shape.ndims, shape.as_list(), shape.is_fully_defined(), shape.num_elements(),
        str(shape.merge_with([4, None])), str(shape.concatenate([5])), str(shape[1:]),
        shape.is_compatible_with([2, 3]), shape.is_compatible_with([2, 4]),
        str(tf.TensorShape(None)), str(tf.TensorShape([])), tf.TensorShape([2, 3]).num_elements(),
        tf.TensorShape([2, 3]) == [2, 3], str(tf.Dimension(3) + 2), str(tf.Dimension(None) * 2),
        error_of(lambda: shape.merge_with([4, 4])), error_of(lambda: shape.assert_has_rank(3)),
        error_of(lambda: tf.TensorShape(None).as_list()),
        error_of(lambda: shape.assert_is_fully_defined()),
    ]  # fmt: skip


@case
def unknown_sizes(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.placeholder(tf.float32, [None, None])
    z = tf.placeholder(tf.float32)
    w = tf.placeholder_with_default(numbers(2, 3), [None, 3])
    made = [
        x + 1.0, x * x, x + tf.constant(numbers(3)), tf.matmul(x, numbers(3, 5)), tf.matmul(y, y),
        x + y, tf.identity(z), z * 2.0, w, w + x, tf.matmul(x, w, transpose_b=True),
    ]  # fmt: skip
    x.set_shape([3, 3])
    return feeding(
        [*made, str(x.shape), error_of(lambda: x.set_shape([3, 4]))],
        {x: numbers(3, 3), y: numbers(3, 3), z: 1.5, w: numbers(3, 3)},
    )  # fmt: skip


@case
def variables(tf: Any) -> Any:
    v = tf.Variable([1.0, 2.0], name="v")
    w = tf.Variable(tf.zeros([2, 2]), trainable=False, name="w")
    n = tf.Variable(3, name="n")
    made = [
        v.initial_value, v.read_value(), v + 1.0, v * v, -v, v < 1.5, 2.0 * v, v.value(),
        tf.identity(v), tf.matmul(w, w), n + 1,
    ]  # fmt: skip
    kept = [one.name for one in tf.global_variables()]
    return [
        *made, kept, [one.name for one in tf.trainable_variables()], str(v.shape), v.op.name,
        v.assign([3.0, 4.0]).name, v.assign_add([1.0, 1.0]).name, v.assign_sub([1.0, 1.0]).op.type,
        tf.assign(v, [1.0, 1.0], name="set").name, tf.global_variables_initializer().name,
        [one.name for one in tf.global_variables_initializer().control_inputs],
        [op.name for op in tf.get_default_graph().get_operations()],
        error_of(lambda: tf.Variable(None)), error_of(lambda: v.assign([1.0])),
        error_of(lambda: v.assign([1, 2])), error_of(lambda: tf.assign(v, tf.constant([1, 2]))),
        error_of(lambda: list(v)), error_of(lambda: tf.Variable(tf.placeholder("float"))),
    ]  # fmt: skip


@case
def assignments(tf: Any) -> Any:
    v = tf.Variable([1.0, 2.0])
    n = tf.Variable(0, trainable=False)
    add, sub, put = v.assign_add([1.0, 1.0]), v.assign_sub([0.5, 0.5]), v.assign([9.0, 8.0])
    count = tf.assign_add(n, 1)
    with tf.control_dependencies([count]):
        twice = tf.assign(n, n.read_value() * 2)
    with tf.control_dependencies([put]):
        after = v.read_value() + 1.0
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        seen = [session.run(v), session.run(add), session.run(sub), v.eval(), session.run(after)]
        seen += [session.run(count), session.run(twice), session.run(twice.op), session.run(n)]
        v.load([5.0, 5.0], session)
        seen += [session.run(v), session.run(tf.is_variable_initialized(v))]
        session.run(v.initializer)
        seen.append(session.run(v))
    with tf.Session() as other:
        unset = error_of(lambda: other.run(v))
        unread = error_of(lambda: other.run(add))
        known = other.run(tf.is_variable_initialized(v))
        other.run(put)
        seen += [unset, unread, known, other.run(v)]
    return seen


@case
def initialized_from_others(tf: Any) -> Any:
    v = tf.Variable(numbers(3), name="v")
    w = tf.Variable(v.initialized_value() * 2.0, name="w")
    u = tf.Variable(lambda: tf.constant([1.0, 2.0]) + 1.0, name="u")
    return [v, w, u, v.dtype.name, [one.name for one in (v, w, u)], str(u.shape)]


@case
def control_dependencies(tf: Any) -> Any:
    v = tf.Variable(1.0)
    a = tf.identity(v, name="a")
    with tf.control_dependencies([a]):
        b = tf.constant(2.0, name="b")
        c = tf.identity(b, name="c")
        with tf.control_dependencies([c.op]):
            d = tf.constant(3.0, name="d")
        with tf.control_dependencies(None):
            e = tf.constant(4.0, name="e")
    group = tf.group(a, d, name="both")
    nothing = tf.no_op(name="nothing")
    x, y = tf.tuple([a, b])
    deps = [[one.name for one in op.control_inputs] for op in (b.op, c.op, d.op, e.op)]
    return [
        a, b, c, d, e, deps, group.type, sorted(one.name for one in group.control_inputs),
        nothing.type, nothing.name, x, y, group.outputs, len(group.inputs),
        error_of(lambda: tf.group(3)), error_of(lambda: tf.tuple([])),
    ]  # fmt: skip


@case
def order_of_updates(tf: Any) -> Any:
    v = tf.Variable(1.0)
    w = tf.Variable(10.0)
    first = v.assign(v * 2.0)
    with tf.control_dependencies([first]):
        second = w.assign(v.read_value() + w)
        with tf.control_dependencies([second]):
            third = v.assign_add(w.read_value())
    step = tf.group(third)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(step), session.run([v, w]), session.run(third), session.run([v, w])]


@case
def collections_of_graphs(tf: Any) -> Any:
    v = tf.Variable(1.0, name="a/v")
    w = tf.Variable(1.0, name="b/w", collections=["mine"], trainable=False)
    tf.add_to_collection("things", 3)
    tf.add_to_collection("things", v)
    graph = tf.get_default_graph()
    graph.add_to_collections(["one", "two"], w)
    return [
        [one.name for one in tf.global_variables()], [one.name for one in tf.global_variables("b")],
        tf.get_collection("things")[0], tf.get_collection("things")[1] is v,
        [one.name for one in tf.get_collection("things", scope="a")], tf.get_collection("none"),
        [one.name for one in tf.get_collection("mine")], tf.GraphKeys.UPDATE_OPS,
        tf.GraphKeys.TRAINABLE_VARIABLES, sorted(graph.get_all_collection_keys()),
    ]  # fmt: skip


@case
def graphs(tf: Any) -> Any:
    outer = tf.get_default_graph()
    a = tf.constant(1.0)
    other = tf.Graph()
    with other.as_default():
        b = tf.constant(2.0)
        inside = tf.get_default_graph() is other
    other.finalize()

    def add_to_finalized() -> None:
        with other.as_default():
            tf.constant(1.0)

    with tf.Session(graph=other) as session:
        value = session.run(b)
        foreign = error_of(lambda: session.run(a))
        fed = error_of(lambda: session.run(b, {a: 1.0}))
    return [
        inside, tf.get_default_graph() is outer, b.graph is other, value, foreign, fed,
        error_of(lambda: a + b), error_of(add_to_finalized), other.finalized, other.version > 0,
    ]  # fmt: skip


Pair = collections.namedtuple("Pair", "first second")


@case
def fetches_and_feeds(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    i = tf.placeholder(tf.int32, [], name="i")
    d = tf.placeholder_with_default([[1.0, 2.0]], [None, 2], name="d")
    y = tf.identity(x * 2.0, name="y")
    z = y + tf.cast(i, tf.float32)
    nothing = tf.no_op(name="nothing")
    feeds = {x: [[1, 2]], i: 3}
    with tf.Session() as session:
        run = session.run
        seen = [
            run(z, feeds), run([z, [y, nothing]], feeds), run((y, z), feeds), run("y:0", feeds),
            run("nothing"), run({"a": y, "b": [z]}, feeds)["b"], run(Pair(y, z), feeds).second,
            run(z, {y: [[5.0, 5.0]], i: 1}), run(z, {"x:0": np.ones((3, 2)), "i:0": np.int64(2)}),
            run(d), run(d, {d: [[7.0, 7.0]]}), run([]), run([z, z], feeds), run({}, feeds),
            z.eval({x: [[0, 0]], i: 1}), y.eval(feeds, session=session), nothing.run(),
            session.make_callable(z, [x, i])(np.zeros((1, 2)), 4),
        ]  # fmt: skip
        errors = [
            error_of(lambda: run(z)), error_of(lambda: run(z, {x: [[1, 2, 3]], i: 1})),
            error_of(lambda: run(None)), error_of(lambda: run(3)), error_of(lambda: run("q:0")),
            error_of(lambda: run("q")), error_of(lambda: run(z, {x: y, i: 1})),
            error_of(lambda: run(z, {"q:0": 1})), error_of(lambda: run(z, {3: 1})),
            error_of(lambda: run(i, {i: "text"})), error_of(lambda: run(i, {i: 2**40})),
            error_of(lambda: run(z, {nothing: 1})), error_of(lambda: run([None])),
        ]  # fmt: skip
    return [seen, errors, error_of(lambda: run(z, feeds)), error_of(lambda: z.eval(feeds))]


@case
def sessions(tf: Any) -> Any:
    a = tf.constant(2.0)
    before = tf.get_default_session() is None
    with tf.Session() as session:
        inside = tf.get_default_session() is session
        value = a.eval()
    interactive = tf.InteractiveSession()
    also = (a * 2.0).eval()
    current = tf.get_default_session() is interactive
    interactive.close()
    third = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))
    with third.as_default():
        fourth = a.eval()
    fifth = third.run(a)
    third.close()
    with tf.Graph().as_default(), tf.Session() as empty:
        nothing = error_of(lambda: empty.run([]))
    return [
        before, inside, value, also, current, fourth, fifth, nothing,
        tf.get_default_session() is None, error_of(lambda: third.run(a)), session.graph is a.graph,
    ]  # fmt: skip


@case
def shared_variables(tf: Any) -> Any:
    def layer(x: Any) -> Any:
        w = tf.get_variable("w", [2, 2], initializer=tf.constant_initializer(2.0))
        b = tf.get_variable("b", [2], initializer=tf.zeros_initializer())
        return tf.matmul(x, w) + b

    x = tf.constant(numbers(3, 2))
    with tf.variable_scope("one") as scope:
        y = layer(x)
    with tf.variable_scope("two"):
        z = layer(y)
        with tf.variable_scope("inner"):
            deep = tf.get_variable("v", initializer=3.0)
    with tf.variable_scope("one", reuse=True):
        again = layer(x)
    with tf.variable_scope(scope, reuse=True):
        third = layer(x)
        scope_name = tf.get_variable_scope().name
    with tf.variable_scope("auto", reuse=tf.AUTO_REUSE):
        u = tf.get_variable("u", initializer=[1.0, 2.0])
        same = tf.get_variable("u", initializer=[1.0, 2.0]) is u
    with tf.variable_scope(None, default_name="made"):
        p = tf.get_variable("p", [1], initializer=tf.ones_initializer())
    with tf.variable_scope(None, default_name="made"):
        q = tf.get_variable("p", [1], initializer=tf.ones_initializer())
    whole = tf.get_variable("n", [2], tf.int32)

    def missing() -> Any:
        with tf.variable_scope("one", reuse=True):
            return tf.get_variable("other", [1])

    def other_shape() -> Any:
        with tf.variable_scope("one", reuse=True):
            return tf.get_variable("w", [3, 2])

    def made_twice() -> Any:
        with tf.variable_scope("one"):
            return tf.get_variable("w", [2, 2])

    return [
        y, z, deep, again, third, scope_name, scope.original_name_scope, u, same, p, q, whole,
        [one.name for one in tf.global_variables()],
        [one.name for one in tf.trainable_variables("two")],
        error_of(missing), error_of(other_shape), error_of(made_twice),
        error_of(lambda: tf.get_variable("s", [2], initializer=tf.constant([1.0]))),
        error_of(lambda: tf.get_variable("t", [None])), error_of(lambda: tf.variable_scope(None)),
    ]  # fmt: skip


@case
def scopes_pass_settings_on(tf: Any) -> Any:
    def custom(getter: Any, *args: Any, **keywords: Any) -> Any:
        return tf.identity(getter(*args, **keywords), name="got")

    regularizer = lambda w: tf.reduce_sum(w * w)  # noqa: E731
    with tf.variable_scope(
        "a", initializer=tf.constant_initializer(3.0), regularizer=regularizer, dtype=tf.float64
    ):
        v = tf.get_variable("v", [2])
        with tf.variable_scope("b", initializer=tf.ones_initializer()):
            w = tf.get_variable("w", [2])
    with tf.variable_scope("c", custom_getter=custom):
        g = tf.get_variable("g", [2], initializer=tf.zeros_initializer())
    return [
        v, w, g, [one.name for one in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)],
        tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)), v.dtype.name,
    ]  # fmt: skip


@case
def gradients(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w, b = tf.Variable(numbers(3, 2), name="w"), tf.Variable(numbers(2), name="b")
    h = tf.tanh(tf.matmul(x, w) + b)
    loss = tf.reduce_mean(h * h)
    dw, db, dx, dh = tf.gradients(loss, [w, b, x, h])
    (second,) = tf.gradients(dw, b)
    (stopped,) = tf.gradients(loss, b, stop_gradients=[h])
    (weighted,) = tf.gradients(h, w, grad_ys=tf.ones_like(h) * 2.0)
    several = tf.gradients([loss, tf.reduce_sum(w)], [w])
    none = tf.gradients(loss, tf.constant(1.0))
    zero = tf.gradients(loss, [tf.constant([1.0, 2.0])], unconnected_gradients="zero")
    cut = tf.gradients(tf.reduce_sum(tf.stop_gradient(h) * h), w)
    return feeding(
        [
            dw, db, dx, dh, second, stopped, weighted, several, none, zero, cut,
            error_of(lambda: tf.gradients(loss, w, grad_ys=[1.0, 2.0])),
            error_of(lambda: tf.gradients(tf.constant(1), w)),
        ],
        {x: numbers(4, 3)},
    )  # fmt: skip


@case
def gradients_of_users(tf: Any) -> Any:
    name = f"CaseSquare{id(tf.get_default_graph())}"

    @tf.RegisterGradient(name)
    def _(op: Any, grad: Any) -> Any:
        return grad * 100.0 * op.inputs[0] + op.outputs[0]

    x = tf.constant([1.0, 2.0, 3.0])
    graph = tf.get_default_graph()
    with graph.gradient_override_map({"Square": name}):
        y = tf.square(x)
    z = tf.square(x)

    @tf.custom_gradient
    def clipped(value: Any) -> Any:
        made = value * 3.0
        return made, lambda grad: grad * 7.0 + made

    with graph.gradient_override_map({"Identity": "NotThere"}):
        i = tf.identity(x)
    return [
        tf.gradients(y, x), tf.gradients(z, x), tf.gradients(tf.reduce_sum(clipped(x)) * 2.0, x),
        error_of(lambda: tf.gradients(i, x)), error_of(lambda: tf.RegisterGradient(name)(None)),
    ]  # fmt: skip


@case
def conditions(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [], name="x")
    v = tf.Variable(10.0)
    y = tf.cond(x > 1.0, lambda: x * 2.0, lambda: x - 1.0)
    pair = tf.cond(x > 1.0, lambda: (x, tf.constant(1)), lambda: (x * x, tf.constant(2)))
    nested = tf.cond(
        x > 0.0, lambda: tf.cond(x > 1.0, lambda: tf.constant(2.0), lambda: x), lambda: -x
    )
    changed = tf.cond(x > 1.0, lambda: tf.assign_add(v, x), lambda: tf.assign(v, 0.0))
    chosen = tf.case(
        [(x < 0.0, lambda: tf.constant(-1.0)), (x < 1.0, lambda: x * 10.0)],
        default=lambda: tf.constant(100.0),
    )
    named = tf.case({x < 0.0: lambda: tf.constant(1), x > 5.0: lambda: tf.constant(2)},
                    default=lambda: tf.constant(3), exclusive=True)  # fmt: skip
    as_list = tf.cond(x > 1.0, lambda: [x], lambda: [x + 1.0])
    as_list_strict = tf.cond(x > 1.0, lambda: [x], lambda: [x + 1.0], strict=True)
    (dy,) = tf.gradients(y, x)
    (dn,) = tf.gradients(nested, x)
    seen = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value in (-1.0, 0.5, 3.0):
            feeds = {x: value}
            seen.append(
                session.run(
                    [y, pair, nested, chosen, named, as_list, as_list_strict, dy, dn], feeds
                )
            )
            seen += [session.run(changed, feeds), session.run(v)]
    return [
        seen, str(y.dtype), y.name, str(y.shape), nested.name,
        error_of(lambda: tf.cond(True, lambda: x, lambda: x)),
        error_of(lambda: tf.cond(x > 1.0, lambda: x, None)),
        error_of(lambda: tf.cond(x > 1.0, lambda: x, lambda: tf.constant(1))),
        error_of(lambda: tf.cond(x > 1.0, lambda: (x, x), lambda: x)),
    ]  # fmt: skip


@case
def loops(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [2], name="x")
    i, total = tf.while_loop(
        lambda i, a: i < 5, lambda i, a: (i + 1, a * x + 1.0), [tf.constant(0), tf.zeros([2])]
    )
    capped = tf.while_loop(
        lambda a: tf.reduce_sum(a) < 1e9, lambda a: a * 2.0, [x], maximum_iterations=3
    )
    same = tf.while_loop(lambda a: tf.constant(False), lambda a: a + 1.0, [x],
                         return_same_structure=True)  # fmt: skip
    named = tf.while_loop(
        lambda d: d["n"] < 3, lambda d: [{"n": d["n"] + 1, "s": d["s"] + x}],
        [{"n": tf.constant(0), "s": x}],
    )  # fmt: skip

    def outer(i: Any, a: Any) -> Any:
        inner = tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b + x), [tf.constant(0), a])
        return i + 1, inner[1]

    nested = tf.while_loop(lambda i, a: i < 4, outer, [tf.constant(1), x])
    found = [*tf.gradients(total, x), *tf.gradients(capped, x), *tf.gradients(nested[1], x)]
    with tf.Session() as session:
        feeds = {x: [1.5, -0.5]}
        seen = session.run([i, total, capped, same, named, nested, found], feeds)
    start = [tf.constant(0), tf.constant(1.0)]
    return [
        seen, i.name, total.name, str(total.shape),
        error_of(lambda: tf.while_loop(3, lambda i, a: (i, a), start)),
        error_of(lambda: tf.while_loop(lambda i, a: i < 2, lambda i, a: i, start)),
        error_of(lambda: tf.while_loop(lambda a: True, lambda a: tf.ones([3]), [tf.ones([2])])),
        error_of(lambda: tf.while_loop(lambda a: a < 1.0, lambda a: a, [])),
    ]  # fmt: skip


@case
def loops_that_assign(tf: Any) -> Any:
    v = tf.Variable(1.0)

    def body(i: Any) -> Any:
        with tf.control_dependencies([v.assign_add(2.0)]):
            return i + 1

    turns = tf.while_loop(lambda i: i < 4, body, [tf.constant(0)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return [session.run(turns), session.run(v), session.run(turns), session.run(v)]


@case
def devices(tf: Any) -> Any:
    a = tf.constant(1.0)
    with tf.device("/cpu:0"):
        b = tf.constant(1.0)
        with tf.device("/job:worker/task:1"):
            c = tf.constant(1.0)
            with tf.device(None):
                d = tf.constant(1.0)
    with tf.device("/device:GPU:1"), tf.device("/device:CPU:0"):
        e = tf.constant(1.0)
    with tf.device(lambda op: "/device:CPU:0" if op.type == "Const" else ""):
        f, g = tf.constant(1.0), tf.identity(a)
    v = tf.Variable(1.0)
    with tf.colocate_with(b.op):
        h = tf.constant(1.0)
    return [
        [one.device for one in (a, b, c, d, e, f, g)], h.op.colocation_groups(),
        a.op.colocation_groups(), v.device,
        error_of(lambda: tf.device("/cpu:x:y").__enter__()),
    ]  # fmt: skip


@case
def seeds(tf: Any) -> Any:
    tf.set_random_seed(7)
    v = tf.Variable(tf.random_normal([3]), name="v")
    draws = tf.random_uniform([2])
    found = []
    for _ in range(2):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            found.append([session.run(v).tolist(), session.run(draws).tolist(),
                          session.run(draws).tolist()])  # fmt: skip
    return [found[0] == found[1], found[0][1] != found[0][2], v.dtype.name, str(draws.shape)]


@case
def rows_of_variables(tf: Any) -> Any:
    v = tf.Variable(numbers(4, 2), name="v")
    add = tf.scatter_add(v, [1, 3, 1], np.ones((3, 2), "float32"))
    sub = tf.scatter_sub(v, tf.constant([0]), [[1.0, 2.0]])
    put = tf.scatter_update(v, [[2], [0]], np.zeros((2, 1, 2), "float32"), name="put")
    one = tf.scatter_update(v, 1, [5.0, 6.0])
    with tf.Session() as session:
        missing = session.run(tf.report_uninitialized_variables())
        session.run(v.initializer)
        seen = [session.run(x) for x in (add, sub, put, one, v)]
        return [
            missing,
            session.run(tf.report_uninitialized_variables()),
            seen,
            put.name,
            add.op.type,
        ]


@case
def graphs_in_words(tf: Any) -> Any:
    a = tf.constant(1.0, name="a")
    with tf.control_dependencies([a]):
        b = tf.placeholder(tf.float32, name="b")
    c = tf.add(a, b, name="c")
    d = tf.split(tf.ones([4], name="ones"), 2, name="d")
    e = tf.identity(d[1], name="e")
    nodes = {one.name: one for one in tf.get_default_graph().as_graph_def().node}
    return [
        [(nodes[n].name, nodes[n].op, list(nodes[n].input)) for n in ("a", "b", "c", "e")],
        c.op.node_def.name, list(e.op.node_def.input), tf.executing_eagerly(),
    ]  # fmt: skip


@case
def monitored_sessions(tf: Any) -> Any:
    step = tf.train.get_or_create_global_step()
    x = tf.placeholder_with_default(1.0, [])
    v = tf.Variable(0.0)
    train, double = tf.group(v.assign_add(x), step.assign_add(1)), v * 2.0
    told: list[Any] = []

    class Hook(tf.train.SessionRunHook):
        def begin(self) -> None:
            told.append("begin")

        def after_create_session(self, session: Any, coord: Any) -> None:
            told.append(["made", float(session.run(v)), coord.should_stop()])

        def before_run(self, run_context: Any) -> Any:
            told.append(run_context.original_args.fetches is train)
            return tf.train.SessionRunArgs({"double": double}, feed_dict={x: 3.0})

        def after_run(self, run_context: Any, run_values: Any) -> None:
            told.append(sorted(run_values.results))

        def end(self, session: Any) -> None:
            told.append(["end", float(session.run(v))])

    turns = 0
    hooks = [Hook(), tf.train.StopAtStepHook(num_steps=4)]
    with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
        finalized = tf.get_default_graph().finalized
        while not session.should_stop():
            turns += session.run(train) is None
    with tf.train.SingularMonitoredSession() as plain:
        began = plain.run(step)
        going = not plain.should_stop()
        raise tf.errors.OutOfRangeError(None, None, "the end of the data")
    return [told, turns, finalized, began, going]


@case
def monitored_sessions_watch_losses(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [])
    loss = x * 2.0
    turns = []
    with tf.train.MonitoredSession(
        hooks=[tf.train.NanTensorHook(loss, fail_on_nan_loss=False)]
    ) as session:
        for value in (1.0, np.nan, 2.0):
            if not session.should_stop():
                turns.append(float(session.run(loss, {x: value})))

    def fails() -> None:
        with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(loss)]) as session:
            session.run(loss, {x: np.nan})

    return [turns[0], len(turns), error_of(fails)]


@case
def coordinators(tf: Any) -> Any:
    import threading

    coord = tf.train.Coordinator()
    done: list[int] = []

    def work(number: int) -> None:
        with coord.stop_on_exception():
            while not coord.should_stop():
                if number == 2:
                    raise KeyError("two")
                coord.wait_for_stop(1.0)
            done.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for one in threads:
        one.start()
    error = error_of(lambda: coord.join(threads))
    stopped = coord.should_stop()
    coord.clear_stop()
    quiet = tf.train.Coordinator(clean_stop_exception_types=(KeyError,))
    quiet.request_stop(KeyError("fine"))
    return [error, sorted(done), stopped, coord.should_stop(), error_of(lambda: quiet.join([]))]


@case
def summaries(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [], name="x")
    values = tf.constant([0.0, -1.5, 0.25, 0.25, 3.0, 1e-20, 7.5])
    with tf.name_scope("part"):
        a = tf.summary.scalar("loss", x)
        b = tf.summary.scalar("two words", x * 2.0)
    c = tf.summary.scalar("kept", x, family="family", collections=["mine"])
    h = tf.summary.histogram("h", values)
    every, some = tf.summary.merge_all(), tf.summary.merge([c, a])
    none = tf.summary.merge_all("nothing")
    with tf.Session() as session:
        found = session.run([every, some, h, b], {x: 1.5})
    seen = []
    for one in found:
        message = tf.Summary.FromString(one)
        seen.append([(value.tag, value.simple_value) for value in message.value])
    histogram = tf.Summary.FromString(found[2]).value[0].histo
    return [
        seen, a.name, a.op.type, some.name, every.op.type, none, len(tf.get_collection("mine")),
        histogram.min, histogram.max, histogram.num, histogram.sum, histogram.sum_squares,
        list(histogram.bucket_limit), list(histogram.bucket),
    ]  # fmt: skip


@case
def queue_runners(tf: Any) -> Any:
    data = tf.FIFOQueue(20, tf.int32)
    fill = data.enqueue_many([list(range(12))])
    shut = data.close()
    squares = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    number = data.dequeue()
    number.set_shape([])
    runner = tf.train.QueueRunner(squares, [squares.enqueue(number * number)])
    tf.train.add_queue_runner(runner)
    taken = squares.dequeue()
    with tf.Session() as session:
        session.run(fill)
        session.run(shut)
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        found = [int(session.run(taken)) for _ in range(12)]
        ended = error_of(lambda: session.run(taken))
        coord.request_stop()
        coord.join(threads)
        endless = tf.train.Coordinator()
    return [found, ended, len(threads), runner.name, len(runner.enqueue_ops), endless.should_stop()]


@case
def queue_runners_that_are_ended(tf: Any) -> Any:
    queue = tf.FIFOQueue(2, tf.float32)
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1.0)] * 3)
    with tf.Session() as session:
        coord = tf.train.Coordinator()
        threads = runner.create_threads(session, coord, start=True)
        again = runner.create_threads(session, coord)
        seen = [float(session.run(queue.dequeue())) for _ in range(6)]
        coord.request_stop()
        coord.join(threads)
    return [
        seen, len(threads), len(again), error_of(lambda: tf.train.QueueRunner(queue, [])),
        error_of(lambda: tf.train.start_queue_runners()),
    ]  # fmt: skip


@case
def functions_of_rows(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    v = tf.constant([1.0, 2.0, 3.0, 4.0])
    n = tf.constant([1, 2, 3])
    weight = tf.Variable(2.0)
    mapped = tf.map_fn(lambda row: tf.reduce_sum(row) * weight, x)
    pair = tf.map_fn(lambda e: (e[0] + e[1], e[0] * e[1]), (v, v), dtype=(tf.float32, tf.float32))
    cumulated = tf.scan(lambda a, e: a + e, v)
    backward = tf.scan(lambda a, e: a * e, v, reverse=True)
    started = tf.scan(lambda a, e: a + tf.cast(e, tf.float32), n, initializer=0.5)
    nested = tf.scan(
        lambda a, e: {"s": a["s"] + e, "p": a["p"] * 2.0},
        v,
        initializer={"s": tf.constant(0.0), "p": tf.constant(1.0)},
    )
    left = tf.foldl(lambda a, e: a * 2.0 + e, v)
    right = tf.foldr(lambda a, e: a * 2.0 + e, v)
    rows = tf.foldl(lambda a, e: a + e, x, initializer=tf.zeros([2]))
    grads = [
        tf.gradients(mapped, [x, weight]), tf.gradients(cumulated, v), tf.gradients(left, v),
        tf.gradients(backward, v),
    ]  # fmt: skip
    with tf.Session() as session:
        session.run(weight.initializer)
        fetched = [mapped, pair, cumulated, backward, started, nested, left, right, rows, grads]
        seen = session.run(fetched, {x: numbers(3, 2)})
    return [
        seen, str(mapped.shape), str(cumulated.shape), str(left.shape),
        error_of(lambda: tf.scan(lambda a, e: (a, e), v)),
    ]  # fmt: skip


@case
def device_specs(tf: Any) -> Any:
    a = tf.DeviceSpec(job="ps", task=1)
    b = tf.DeviceSpec.from_string("/job:worker/device:GPU:2")
    merged = a.make_merged_spec(b)
    with tf.device(tf.DeviceSpec(device_type="CPU", device_index=0)):
        c = tf.constant(1.0)
    return [
        a.to_string(), b.to_string(), merged.to_string(), b.device_type, b.device_index, b.job,
        a.replace(task=3).to_string(), a == tf.DeviceSpec(job="ps", task=1), c.device,
        str(a.replica), tf.DeviceSpec().to_string(),
    ]  # fmt: skip


@case
def templates(tf: Any) -> Any:
    def layer(x: Any, scale: float) -> Any:
        return x * tf.get_variable("w", [2], initializer=tf.ones_initializer()) * scale

    shared, other = tf.make_template("t", layer, scale=2.0), tf.make_template("t", layer, scale=3.0)
    x = tf.constant([1.0, 2.0])
    made = [shared(x), shared(x), other(x), shared(x, scale=5.0)]
    return [*made, [one.name for one in tf.global_variables()]]
