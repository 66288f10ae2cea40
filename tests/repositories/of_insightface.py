"""insightface: ArcFace trained by its train.py on a file of records, then verified."""

import contextlib
import os
import pickle
import runpy
import sys
import types

import mxnet as mx
import numpy as np
import scipy
from drive import STEPS, clone, draw_alike, main

FACES = clone("insightface")
TRAINER = FACES / "recognition" / "arcface_mxnet"
KINDS, EACH, BATCH = 4, 40, 8


def import_theirs():
    """Their config.py is a copy of sample_config.py that users edit: sizes and paths alone."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if not hasattr(scipy, "misc"):
        scipy.misc = sys.modules["scipy.misc"] = types.ModuleType("scipy.misc")  # is not used
    import sklearn.preprocessing  # noqa: F401  (they take it for imported)

    sys.path.insert(0, str(TRAINER))
    config = types.ModuleType("config")
    exec((TRAINER / "sample_config.py").read_text(), vars(config))
    sys.modules["config"] = config
    return config


def picture(drawn, kind):
    side = np.random.RandomState(kind).randint(0, 180, (112, 112, 3))
    return (side + drawn.randint(0, 70, side.shape)).astype("uint8")


def write_data(folder):
    drawn = np.random.RandomState(4)
    record = mx.recordio.MXIndexedRecordIO(
        str(folder / "train.idx"), str(folder / "train.rec"), "w"
    )
    count = KINDS * EACH
    header = mx.recordio.IRHeader(2, [count + 1, count + 1 + KINDS], 0, 0)
    record.write_idx(0, mx.recordio.pack(header, b""))
    for k in range(count):
        header = mx.recordio.IRHeader(0, k // EACH, k + 1, 0)
        image = picture(drawn, k // EACH)
        record.write_idx(k + 1, mx.recordio.pack_img(header, image, img_fmt=".png"))
    for kind in range(KINDS):
        first = 1 + kind * EACH
        header = mx.recordio.IRHeader(2, [first, first + EACH], 0, 0)
        record.write_idx(count + 1 + kind, mx.recordio.pack(header, b""))
    record.close()
    images, same = [], []
    for k in range(20):
        one, other = k % KINDS, (k + k % 2) % KINDS
        for kind in (one, other):
            packed = mx.recordio.pack_img(
                mx.recordio.IRHeader(0, 0, 0, 0), picture(drawn, kind), img_fmt=".png"
            )
            images.append(mx.recordio.unpack(packed)[1])
        same.append(one == other)
    (folder / "lfw.bin").write_bytes(pickle.dumps((images, same)))


def train(folder):
    config = import_theirs()
    write_data(folder)
    draw_alike(seed=3)
    config.dataset.emore.update(dataset_path=str(folder), num_classes=KINDS, val_targets=["lfw"])
    config.config.update(max_steps=STEPS, data_rand_mirror=False, count_flops=False)
    import metric
    import verification

    seen = []
    update = metric.LossValueMetric.update

    def noted(self, labels, preds):
        seen.append(float(preds[-1].asnumpy()[0]))
        update(self, labels, preds)

    metric.LossValueMetric.update = noted
    # The rate at a false acceptance rate asks SciPy for what it refuses by now, under MXNet too.
    verification.calculate_val = lambda *args, **options: (0, 0, 0)
    options = f"--network y1 --loss arcface --lr 0.0000003 --models-root {folder} --ckpt 2"
    options += f" --verbose {STEPS} --per-batch-size {BATCH}"
    sys.argv = ["train.py", *options.split()]
    with contextlib.suppress(SystemExit):
        runpy.run_path(str(TRAINER / "train.py"), run_name="__main__")
    return seen[:STEPS], {"embeddings": embedded(folder)}


def embedded(folder):
    """The embeddings of a checkpoint, by a module, as the repository's tools ask for them."""
    prefix = str(folder / "y1-arcface-emore" / "model")
    symbol, weights, averages = mx.model.load_checkpoint(prefix, 1)
    module = mx.mod.Module(symbol, label_names=None)
    module.bind([("data", (2, 3, 112, 112))], for_training=False)
    module.set_params(weights, averages)
    images = np.stack([picture(np.random.RandomState(1), kind) for kind in (0, 1)])
    batch = mx.nd.array(images.transpose(0, 3, 1, 2))
    module.forward(mx.io.DataBatch([batch]), is_train=False)
    return module.get_outputs()[0].asnumpy()


def read(folder):
    return {"embeddings": embedded(folder)}


if __name__ == "__main__":
    main(train, read)
