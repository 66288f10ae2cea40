"""Modules: what they check, share, save and load, and how a step of training is launched."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import nd, sym
from hybridnet.base.errors import FormatError, MXNetError, ParameterError, ShapeError
from hybridnet.io import DataBatch, DataDesc, NDArrayIter
from hybridnet.module.arguments import as_groups, split_rows
from hybridnet.module.executor_group import DataParallelExecutorGroup
from hybridnet.runtime.programs.cache import cache

TWO = [mx.cpu(0), mx.cpu(1)]
pytestmark = pytest.mark.filterwarnings("ignore:bind. label_shapes should be:UserWarning")


def dense(**options):
    return sym.FullyConnected(sym.var("data"), num_hidden=4, name="fc", **options)


def classifier():
    return sym.SoftmaxOutput(dense(), name="softmax")


def bound(network=None, shape=(6, 3), **options):
    binding = {key: options.pop(key) for key in ("grad_req", "for_training") if key in options}
    module = mx.mod.Module(dense() if network is None else network, label_names=None, **options)
    module.bind([("data", shape)], **binding)
    module.init_params(mx.init.One())
    return module


def batch(rows=6, columns=3, **options):
    return DataBatch([nd.ones((rows, columns))], **options)


# -- a step is one program -------------------------------------------------------------------


@pytest.fixture
def last_program(capsys):
    def show():
        capsys.readouterr()
        mx.runtime.explain()
        return capsys.readouterr().out

    return show


def test_a_step_of_fit_is_one_program(last_program):
    data = NDArrayIter(np.ones((24, 3), "float32"), np.zeros(24), 6)
    seen = []

    def look(param):
        if param.nbatch == 2:
            seen.append(last_program())

    mx.mod.Module(classifier()).fit(data, num_epoch=2, batch_end_callback=look)
    program = seen[-1]  # the last launch: outputs, gradients, update and metric
    for call in ("softmax(", "_backward_softmax(", "multi_sgd_update(", "argmax("):
        assert call in program, program


def test_the_first_step_of_an_epoch_is_the_program_of_all_others():
    """What `fit` hands out at the end of an epoch does not share the memory of what is trained."""
    data = NDArrayIter(np.ones((24, 37), "float32"), np.zeros(24), 6)
    mx.mod.Module(classifier()).fit(data, num_epoch=3, epoch_end_callback=lambda *given: None)
    (step,) = (
        program
        for program in cache.programs()
        if any(call.name == "multi_sgd_update" for call, _ in program.code.instructions)
        and any(kind.shape == (6, 37) for kind in program.code.input_types)
    )
    assert step.account.launches + step.account.runs == 3 * 4


def test_a_step_of_a_loop_is_one_program(last_program):
    module = mx.mod.Module(classifier())
    module.bind([("data", (6, 3))], [("softmax_label", (6,))])
    module.init_params()
    module.init_optimizer()
    metric = mx.metric.Accuracy()
    step = batch(label=[nd.zeros((6,))])
    for _ in range(2):
        module.forward(step, is_train=True)
        module.update_metric(metric, step.label)
        module.backward()
        module.update()
    program = last_program()
    assert "_backward_softmax(" in program and "multi_sgd_update(" in program
    assert "argmax(" in program and "Recorded and not launched yet" not in program


def test_a_chain_in_fit_is_one_program_too(last_program):
    chain = mx.mod.SequentialModule()
    chain.add(mx.mod.Module(dense(), label_names=None))
    head = sym.SoftmaxOutput(sym.var("data"), name="softmax")
    chain.add(mx.mod.Module(head), take_labels=True, auto_wiring=True)
    programs = []
    chain.fit(
        NDArrayIter(np.ones((12, 3), "float32"), np.zeros(12), 6),
        num_epoch=2,
        batch_end_callback=lambda p: programs.append(last_program()),
    )
    for call in ("fc(", "softmax(", "_backward_softmax(", "_backward_fc(", "multi_sgd_update("):
        assert call in programs[-2], programs[-2]


# -- binding ---------------------------------------------------------------------------------


def test_inputs_must_be_the_symbols():
    with pytest.raises(ParameterError, match=r"data_names=\['x'\] names 'x', which .* data"):
        mx.mod.Module(dense(), data_names=["x"])
    with pytest.warns(UserWarning, match="label_names=.*'softmax_label'"):
        mx.mod.Module(dense())
    module = mx.mod.Module(dense(), label_names=None)
    with pytest.raises(ParameterError, match="data_shapes must be of the module's data_names"):
        module.bind([("x", (2, 3))])
    with pytest.raises(TypeError, match="must be a tuple of whole numbers"):
        module.bind([("data", nd.array([2, 3]))])
    assert not module.binded
    with pytest.raises(ParameterError, match="work_load_list"):
        mx.mod.Module(dense(), label_names=None, context=TWO, work_load_list=[1])


def test_methods_say_what_must_come_first():
    module = mx.mod.Module(dense(), label_names=None)
    for call in (
        module.get_params,
        module.init_params,
        module.init_optimizer,
        module.update,
        lambda: module.output_shapes,
        lambda: module.forward(batch()),
    ):
        with pytest.raises(MXNetError, match="the module must be ready for it; .* first"):
            call()
    with pytest.raises(ParameterError, match="num_epoch"):
        module.fit(NDArrayIter(np.ones((2, 3))))
    base = mx.mod.BaseModule()
    with pytest.raises(NotImplementedError, match="BaseModule must define forward"):
        base.forward(batch())


def test_rows_are_split_by_work():
    assert split_rows(5, [1, 1]) == [slice(0, 2), slice(2, 5)]  # as in MXNet 1.9.1
    assert split_rows(8, [3, 1]) == [slice(0, 6), slice(6, 8)]
    with pytest.raises(ParameterError, match="rows for each of the 2 devices"):
        split_rows(1, [1, 1])
    group = as_groups({"a": mx.cpu(2), "b": [mx.cpu(3), mx.cpu(4)]}, 2)
    assert group == [{"a": mx.cpu(2), "b": mx.cpu(3)}, {"a": mx.cpu(2), "b": mx.cpu(4)}]
    with pytest.raises(ParameterError, match="must be one context or 2"):
        as_groups({"a": [mx.cpu()] * 3}, 2)
    with pytest.raises(ParameterError, match="list of 2 dicts"):
        as_groups([{}], 2)


def test_inputs_must_have_the_same_rows():
    module = mx.mod.Module(sym.var("a") + sym.var("b"), data_names=["a", "b"], label_names=None)
    with pytest.raises(ParameterError, match="same number of rows, 2, got b"):
        module.bind([("a", (2, 3)), ("b", (4, 3))])


def test_layouts_say_which_axis_is_that_of_rows():
    network = sym.Activation(sym.var("data"), act_type="relu", __layout__="TNC")
    module = mx.mod.Module(network, label_names=None, context=TWO)
    module.bind([DataDesc("data", (3, 8, 2), np.float16, "TNC")])
    module.init_params()
    x = nd.random.normal(shape=(3, 8, 2)).astype("float16")
    module.forward(DataBatch([x]))
    module.backward([nd.ones((3, 8, 2), dtype="float16")])
    (out,) = module.get_outputs()
    assert out.dtype == np.float16
    np.testing.assert_array_equal(out.asnumpy(), np.maximum(x.asnumpy(), 0))
    assert [part.shape for part in module.get_outputs(False)[0]] == [(3, 4, 2)] * 2
    assert module.output_shapes == [(network.list_outputs()[0], (3, 8, 2))]


@pytest.mark.parametrize(
    ("contexts", "groups"),
    [
        (mx.cpu(), {"one": mx.cpu(1), "two": mx.cpu(2)}),
        (TWO, {"one": mx.cpu(2), "two": [mx.cpu(3)]}),
        (TWO, [{"one": mx.cpu(2), "two": mx.cpu(3)}, {"one": mx.cpu(4), "two": mx.cpu(5)}]),
    ],
)
def test_groups_of_nodes_have_devices_of_their_own(contexts, groups):
    with mx.AttrScope(ctx_group="one"):
        a = sym.var("a") * 2
    with mx.AttrScope(ctx_group="two"):
        out = a + sym.var("b")
    module = mx.mod.Module(out, ["a", "b"], None, context=contexts, group2ctxs=groups)
    module.bind([("a", (2, 5)), ("b", (2, 5))], inputs_need_grad=True)
    module.init_params()
    module.forward(DataBatch([nd.ones((2, 5)), nd.ones((2, 5))]), is_train=True)
    module.backward([nd.ones((2, 5))])
    grads = module.get_input_grads()
    first = groups if isinstance(groups, dict) else groups[0]
    assert grads[0].context is first["one"]
    assert grads[0].asnumpy().tolist() == [[2] * 5] * 2
    assert grads[1].asnumpy().tolist() == [[1] * 5] * 2


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("sgd", [1.00004, 0.97969]),
        ("adam", [1.00744, 0.98027]),
        ("nag", [1.00004, 0.97969]),
        ("rmsprop", [1.03028, 0.96617]),
    ],
)
def test_parameters_in_groups_are_updated_where_they_are(name, wanted):
    """By MXNet 1.9.1 two steps lead to these weights."""
    with mx.AttrScope(ctx_group="one"):
        first = sym.FullyConnected(sym.var("data"), num_hidden=3, name="first")
    with mx.AttrScope(ctx_group="two"):
        second = sym.FullyConnected(first, num_hidden=2, name="second")
        out = sym.SoftmaxOutput(second, name="softmax")
    groups = {"one": mx.cpu(0), "two": mx.cpu(1)}
    module = mx.mod.Module(out, context=mx.cpu(0), group2ctxs=groups)
    module.bind([("data", (4, 5))], [("softmax_label", (4,))])
    module.init_params(mx.init.One())
    module.init_optimizer(kvstore=None, optimizer=name)
    for _ in range(2):
        module.forward(DataBatch([nd.ones((4, 5))], [nd.array([0, 1, 1, 1])]))
        module.backward()
        module.update()
    found = module.get_params()[0]
    for layer, number in zip(("first", "second"), wanted, strict=True):
        assert found[f"{layer}_weight"].asnumpy()[0, 0] == pytest.approx(number, abs=1e-5)


def test_a_batch_of_another_shape_binds_anew():
    module = bound()
    module.init_optimizer(optimizer_params={"learning_rate": 1})
    for rows in (6, 2, 6, 12):
        module.forward(batch(rows), is_train=True)
        module.backward([nd.ones((rows, 4))])
        assert module.get_outputs()[0].shape == (rows, 4)
        before = module.get_params()[0]["fc_bias"].asnumpy()
        module.update()  # gradients are of the rows there are, and divided by those bound first
        change = module.get_params()[0]["fc_bias"].asnumpy() - before
        np.testing.assert_allclose(change, np.full(4, -rows / 6), rtol=1e-5)
    with pytest.raises(ShapeError, match="batches of a list must have one shape"):
        module.forward([batch(2), batch(3)])


def test_a_batch_may_be_of_parts_for_each_device():
    module = bound(context=TWO)
    module.forward([batch(3), DataBatch([nd.zeros((3, 3))])])
    assert module.get_outputs()[0].asnumpy()[:, 0].tolist() == [3, 3, 3, 0, 0, 0]


def test_binding_anew_keeps_parameters():
    module = bound()
    module.init_optimizer()
    module.forward(batch(), is_train=True)
    module.backward([nd.ones((6, 4))])
    module.update()
    learned = module.get_params()[0]["fc_weight"].asnumpy()
    module.bind([("data", (2, 3))], for_training=False, force_rebind=True)
    np.testing.assert_array_equal(module.get_params()[0]["fc_weight"].asnumpy(), learned)
    np.testing.assert_allclose(module.predict(np.ones((2, 3), "float32")).asnumpy()[:, 0],
                               learned[0].sum() + module.get_params()[0]["fc_bias"].asnumpy()[0],
                               rtol=1e-6)  # fmt: skip
    with pytest.raises(MXNetError, match="for_training=True"):
        module.backward()


# -- parameters and states -------------------------------------------------------------------


def test_parameters_missing_or_too_many():
    module = bound()
    right = {"fc_weight": nd.ones((4, 3)) * 2, "fc_bias": nd.ones((4,))}
    module.set_params(right, {})
    assert module.get_params()[0]["fc_weight"].asnumpy().min() == 2
    with pytest.raises(RuntimeError, match="needs a value for 'fc_bias'"):
        module.set_params({"fc_weight": right["fc_weight"]}, {})
    module.set_params({"fc_weight": nd.ones((4, 3)) * 3}, {}, allow_missing=True)
    assert module.get_params()[0]["fc_weight"].asnumpy().min() == 3
    assert module.get_params()[0]["fc_bias"].asnumpy().min() == 1
    more = {**right, "other": nd.ones((1,))}
    module.set_params(more, {})  # as MXNet 1.9.1: a trained network's serve a part of it
    assert module.get_params()[0]["fc_bias"].asnumpy().tolist() == [1, 1, 1, 1]
    with pytest.raises(ValueError, match="has no argument '?other"):
        module.set_params(more, {}, allow_missing=True)
    module.set_params(more, {}, allow_missing=True, allow_extra=True)
    with pytest.warns(UserWarning, match="have values already"):
        module.init_params()


def test_what_a_module_is_not_ready_for_is_an_assertion_as_in_mxnet():
    module = mx.mod.Module(dense(), label_names=None)
    for call in (module.get_params, module.init_params, module.update, module.get_outputs):
        with pytest.raises(AssertionError, match="must be ready for it"):
            call()


def test_variables_say_how_they_are_initialized():
    network = sym.FullyConnected(
        sym.var("data"), sym.var("w", init=mx.init.Constant(0.5)), num_hidden=2, no_bias=True
    )
    module = mx.mod.Module(network, label_names=None)
    module.bind([("data", (2, 3))])
    module.init_params(mx.init.Zero())
    assert module.get_params()[0]["w"].asnumpy().tolist() == [[0.5] * 3] * 2


def test_states_are_set_and_read():
    state = sym.var("state")
    out = sym.Group([sym.var("data") + state, state * 2])
    module = mx.mod.Module(out, label_names=None, context=TWO, state_names=["state"])
    module.bind([("data", (4, 2))], for_training=False)
    module.init_params()
    module.set_states(value=3)
    module.forward(batch(4, 2))
    assert [x.asnumpy().max() for x in module.get_outputs()] == [4, 6]
    module.set_states(states=module.get_outputs(False)[1:])
    module.forward(batch(4, 2))
    assert [x.asnumpy().max() for x in module.get_outputs()] == [7, 12]
    assert [x.context for x in module.get_states(False)[0]] == TWO
    with pytest.raises(ParameterError, match="either states or value"):
        module.set_states()
    with pytest.raises(ParameterError, match="merge_multi_context=False"):
        module.get_states()


# -- optimizers ------------------------------------------------------------------------------


def test_optimizers_are_given_by_name_or_made():
    module = bound()
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.5})
    made = module._optimizer
    assert made.rescale_grad == 1 / 6 and made.idx2name == {0: "fc_weight", 1: "fc_bias"}
    module.init_optimizer()  # it has one
    assert module._optimizer is made
    given = mx.optimizer.SGD()
    with pytest.warns(UserWarning, match="rescale_grad=1.0, and gradients are sums"):
        module.init_optimizer(optimizer=given, force_init=True)
    assert given.idx2name == {0: "fc_weight", 1: "fc_bias"}
    with pytest.raises(ParameterError, match="or the name of one, got 3"):
        module.init_optimizer(optimizer=3, force_init=True)
    with pytest.raises(ParameterError, match="kvstore must be a KVStore"):
        module.init_optimizer(kvstore=3, force_init=True)


def test_the_environment_says_who_updates(monkeypatch):
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0")
    module = bound(context=TWO)
    module.init_optimizer(optimizer_params={"learning_rate": 1})
    module.forward(batch(), is_train=True)
    module.backward([nd.ones((6, 4))])
    module.update()
    assert len(module._updater.states) == 4 and module._kvstore is not None
    assert module.get_params()[0]["fc_bias"].asnumpy().tolist() == [-1] * 4  # summed over both


def test_a_network_without_parameters_has_nothing_to_update():
    module = bound(sym.Dropout(sym.var("data"), p=0.5))
    module.init_optimizer()
    module.forward_backward(batch())
    module.update()
    assert module.get_outputs()[0].shape == (6, 3)


# -- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("context", [mx.cpu(), TWO])
def test_a_checkpoint_is_loaded_with_what_the_optimizer_remembers(context, tmp_path):
    settings = {"learning_rate": 0.1, "momentum": 0.9}
    module = bound(context=context)
    module.init_optimizer(optimizer_params=settings)
    for _ in range(2):
        module.forward(batch(), is_train=True)
        module.backward([nd.ones((6, 4))])
        module.update()
    prefix = str(tmp_path / "net")
    module.save_checkpoint(prefix, 3, save_optimizer_states=True)
    other = mx.mod.Module.load(prefix, 3, True, label_names=None, context=context)
    other.bind([("data", (6, 3))])
    other.init_optimizer(optimizer_params=settings)
    assert other.symbol.tojson() == module.symbol.tojson()
    for one in (module, other):
        one.forward(batch(), is_train=True)
        one.backward([nd.ones((6, 4))])
        one.update()
    for name, value in module.get_params()[0].items():
        np.testing.assert_array_equal(other.get_params()[0][name].asnumpy(), value.asnumpy())
    other.load_params(f"{prefix}-0003.params")
    assert (other.get_params()[0]["fc_bias"].asnumpy() > value.asnumpy().min()).all()
    nd.save(str(tmp_path / "bad"), {"fc_weight": nd.ones((4, 3))})
    with pytest.raises(FormatError, match="names must be like 'arg:fc1_weight'"):
        other.load_params(str(tmp_path / "bad"))


# -- sharing ---------------------------------------------------------------------------------


def test_groups_share_parameters_and_buffers():
    def group(hidden, shared=None):
        network = sym.FullyConnected(dense(), num_hidden=hidden, name=f"last{hidden}")
        shapes = [("data", (6, 3))]
        return DataParallelExecutorGroup(
            network, TWO, [1, 1], shapes, None, ["fc_weight", "fc_bias"], True, False, shared
        )

    one = group(2)
    assert all(set(arrays) == {"data", "last2_weight", "last2_bias"}
               for arrays in one.shared_data_arrays)  # fmt: skip
    other = group(3, one)
    for before, after in zip(one.execs, other.execs, strict=True):
        assert after.arg_dict["fc_weight"] is before.arg_dict["fc_weight"]
        assert after.grad_dict["fc_bias"] is before.grad_dict["fc_bias"]
        assert after.arg_dict["data"] is before.arg_dict["data"]
    assert other.grad_req == {"data": "null", "fc_weight": "write", "fc_bias": "write",
                              "last3_weight": "null", "last3_bias": "null"}  # fmt: skip


def buckets(**options):
    def make(length):
        data = sym.var("data")
        weight = sym.var("w", shape=(1,), init=mx.init.One())
        return sym.make_loss(sym.broadcast_mul(data, weight)), ("data",), None

    module = mx.mod.BucketingModule(make, default_bucket_key=10)
    module.bind([("data", (2,))], **options)
    module.init_params()
    return module


def bucket(key):
    return batch_of(key, nd.ones((2,)))


def batch_of(key, value):
    descs = [DataDesc("data", value.shape, layout="N")]
    return DataBatch([value], bucket_key=key, provide_data=descs)


@pytest.mark.parametrize(("request_", "second"), [("write", 2), ("add", 4)])
def test_buckets_share_gradients(request_, second):
    module = buckets(grad_req=request_)
    for key, wanted in ((10, 2), (5, second)):
        module.forward_backward(bucket(key))
        executor = module._curr_module._exec_group.execs[0]
        assert executor.grad_dict["w"].asscalar() == wanted
    before = module._buckets[10]._total_exec_bytes
    del module._buckets[5]
    module.switch_bucket(5, [DataDesc("data", (2,), layout="N")])
    assert module._buckets[10]._total_exec_bytes == before > 0


def test_preparing_a_bucket_leaves_the_present_one():
    module = buckets()
    module.forward(bucket(10))
    module.prepare(bucket(3))
    assert module._curr_bucket_key == 10 and 3 in module._buckets
    with pytest.raises(ParameterError, match="default_bucket_key"):
        mx.mod.BucketingModule(lambda key: None)


def test_buckets_are_saved_and_loaded(tmp_path):
    module = buckets()
    module.forward(bucket(4))
    module.set_params({"w": nd.array([3.0])}, {})
    prefix = str(tmp_path / "net")
    module.save_checkpoint(prefix, 1)
    other = mx.mod.BucketingModule.load(prefix, 1, module._sym_gen, 10)
    assert set(other._buckets) == {10, 4}
    other.bind([("data", (2,))])
    other.forward(bucket(4))
    assert other.get_outputs()[0].asnumpy().tolist() == [3, 3]


# -- predicting ------------------------------------------------------------------------------


def test_predictions_leave_out_what_fills_up():
    x = np.arange(15, dtype="float32").reshape(5, 3)
    module = bound(shape=(2, 3), for_training=False)
    found = module.predict(NDArrayIter(x, None, 2)).asnumpy()
    np.testing.assert_array_equal(found[:, 0], x.sum(axis=1))
    parts = module.predict(NDArrayIter(x, None, 2), merge_batches=False)
    assert [out.shape for (out,) in parts] == [(2, 4), (2, 4), (1, 4)]
    assert len(module.predict(NDArrayIter(x, None, 2), always_output_list=True)) == 1
    found = [
        (number, out.shape)
        for (out,), number, _ in module.iter_predict(NDArrayIter(x, None, 2), num_batch=2)
    ]
    assert found == [(0, (2, 4)), (1, (2, 4))]
    assert module.predict(nd.array(x)).shape == (5, 4)
    with pytest.raises(ParameterError, match="must be an array or a DataIter, got list"):
        module.predict([x])


def test_a_batch_needs_no_more_than_data():
    class Plain:
        data = (nd.ones((6, 3)),)

    module = bound()
    module.forward(Plain())
    assert module.get_outputs()[0].shape == (6, 4)


# -- modules of Python -----------------------------------------------------------------------


def test_a_loss_in_python_trains_what_is_before_it():
    chain = mx.mod.SequentialModule()
    chain.add(mx.mod.Module(dense(no_bias=True), label_names=None))
    loss = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores.asnumpy() * 2)
    chain.add(loss, take_labels=True, auto_wiring=True)
    data = NDArrayIter(np.eye(3, dtype="float32"), np.zeros(3), 3)
    chain.bind(data.provide_data, data.provide_label)
    chain.init_params(mx.init.One())
    chain.init_optimizer(optimizer_params={"learning_rate": 0.75})
    step = next(data)
    chain.forward_backward(step)
    chain.update()
    np.testing.assert_allclose(chain.get_params()[0]["fc_weight"].asnumpy(), np.full((4, 3), 0.5))
    assert chain.output_names == ["pyloss_output"] and chain.output_shapes[0][1] == (3, 4)
    with pytest.raises(ParameterError, match="keywords must be of take_labels, auto_wiring"):
        chain.add(loss, takes_labels=True)
    with pytest.raises(ParameterError, match="out_grads must be None"):
        loss.backward(nd.ones((3, 4)))


# -- logging ---------------------------------------------------------------------------------


def test_fit_logs_as_mxnet_does(caplog):
    data = NDArrayIter(np.ones((4, 3), "float32"), np.zeros(4), 2)
    with caplog.at_level(logging.INFO, "root"):
        mx.mod.Module(classifier()).fit(data, data, num_epoch=1, initializer=mx.init.Zero())
    lines = [record.getMessage() for record in caplog.records if record.name == "root"]
    assert lines[0] == "Epoch[0] Train-accuracy=1.000000"
    assert lines[1].startswith("Epoch[0] Time cost=")
    assert lines[2] == "Epoch[0] Validation-accuracy=1.000000"
