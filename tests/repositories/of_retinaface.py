"""RetinaFace of insightface: its training graph, whose custom operator chooses hard examples."""

import sys
import types

import mxnet as mx
import numpy as np
from drive import STEPS, clone, main, nudged

FACES = clone("insightface") / "detection" / "retinaface"
SIZE, BATCH = 128, 2


def import_theirs():
    """Their config.py is a copy of sample_config.py; what Cython compiles is not used here."""
    sys.path.insert(0, str(FACES))
    import rcnn

    for name, text in (
        ("rcnn.config", (FACES / "rcnn" / "sample_config.py").read_text()),
        ("rcnn.cython.bbox", "bbox_overlaps_cython = None"),
        ("rcnn.cython.anchors", "anchors_cython = None"),
        ("distutils.util", "strtobool = None"),
    ):
        module = sys.modules[name] = types.ModuleType(name)
        exec(text, vars(module))
    rcnn.config = sys.modules["rcnn.config"]
    config = rcnn.config.config
    rcnn.config.generate_config("mnet", "retinaface")
    config.network, config.dataset = "mnet", "retinaface"
    config.BATCH_IMAGES = config.TRAIN.BATCH_IMAGES = BATCH
    from rcnn.symbol.symbol_common import get_sym_train

    return config, get_sym_train


def arrays_of(symbol, config):
    """Pictures, and what an anchor is to be: a face or none, its box and its landmarks."""
    drawn = np.random.RandomState(4)
    arrays = {"data": drawn.uniform(0, 255, (BATCH, 3, SIZE, SIZE))}
    for stride in config.RPN_FEAT_STRIDE:
        anchors = config.RPN_ANCHOR_CFG[str(stride)]["NUM_ANCHORS"]
        places = (SIZE // stride) ** 2
        labels = drawn.choice([-1, 0, 1], (BATCH, anchors * places), p=[0.7, 0.2, 0.1])
        arrays[f"face_label_stride{stride}"] = labels
        for kind, size in (("bbox", 4), ("landmark", 10)):
            shape = (BATCH, anchors * size, places)
            arrays[f"face_{kind}_target_stride{stride}"] = drawn.normal(size=shape)
            arrays[f"face_{kind}_weight_stride{stride}"] = np.ones(shape)
    return {
        name: arrays[name].astype("float32") for name in arrays if name in symbol.list_arguments()
    }


def train(folder):
    config, get_sym_train = import_theirs()
    backbone = mx.gluon.model_zoo.vision.mobilenet0_25(prefix="net_")
    symbol = get_sym_train(backbone(mx.sym.var("data")))
    inputs = arrays_of(symbol, config)
    executor = symbol.simple_bind(mx.cpu(), **{name: each.shape for name, each in inputs.items()})
    drawn = np.random.RandomState(9)
    for name, array in executor.arg_dict.items():
        if name in inputs:
            array[:] = inputs[name]
        elif name.endswith("gamma"):
            array[:] = 1
        elif name.endswith("weight"):
            bound = (3 / np.prod(array.shape[1:])) ** 0.5
            array[:] = nudged(drawn.uniform(-bound, bound, array.shape).astype("float32"))
    for name, array in executor.aux_dict.items():
        array[:] = 1 if name.endswith("var") else 0
    update = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=1e-6, momentum=0.9))
    seen = []
    for _ in range(STEPS):
        outputs = executor.forward(is_train=True)
        seen.append(loss_of(outputs))
        executor.backward()
        for k, name in enumerate(symbol.list_arguments()):
            if name not in inputs:
                update(k, executor.grad_dict[name], executor.arg_dict[name])
    return seen, None


def loss_of(outputs):
    """The cross entropy of what is chosen, and the two losses of places."""
    total = 0
    for k in range(0, len(outputs), 6):
        scores, labels, box, _, landmark, _ = (each.asnumpy() for each in outputs[k : k + 6])
        chosen = np.where(labels == 1, scores[:, 1], scores[:, 0])[labels >= 0]
        total -= np.log(chosen.astype("float64")).sum()
        total += box.sum(dtype="float64") + landmark.sum(dtype="float64")
    return total


if __name__ == "__main__":
    main(train)
