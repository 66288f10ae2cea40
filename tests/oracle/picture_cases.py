"""What MXNet makes of pictures: the same calls for both frameworks, by `answers`.

Random numbers are Python's and NumPy's, so that equal seeds give equal crops.
"""

from __future__ import annotations

import os
import random
import struct
import tempfile
from typing import Any

import numpy as np


def picture(channels: int = 3) -> np.ndarray:
    """A smooth picture of 20 x 26 pixels with a sharp edge."""
    y, x = np.mgrid[0:20, 0:26]
    planes = [120 + 100 * np.sin(x / (3 + c) + y / (5 - c)) for c in range(channels)]
    made = np.stack(planes, axis=2)
    made[5:11, 8:15] = 255 - made[5:11, 8:15]
    return made.astype(np.uint8)


def encoded(cv2: Any) -> dict[str, bytes]:
    """Files of several formats, by OpenCV."""
    colour, grey = picture(), picture(1)
    made = {
        "png": cv2.imencode(".png", colour)[1].tobytes(),
        "grey": cv2.imencode(".png", grey)[1].tobytes(),
        "alpha": cv2.imencode(".png", picture(4))[1].tobytes(),
        "deep": cv2.imencode(".png", colour.astype(np.uint16) * 257)[1].tobytes(),
        "bmp": cv2.imencode(".bmp", colour)[1].tobytes(),
        "jpg": cv2.imencode(".jpg", colour)[1].tobytes(),
    }
    # A quarter turn, as cameras note it, behind a JFIF header and instead of it.
    tiff = b"MM\0*\0\0\0\x08" + struct.pack(">HHHIHHI", 1, 0x0112, 3, 1, 6, 0, 0)
    exif = b"\xff\xe1" + struct.pack(">H", 8 + len(tiff)) + b"Exif\0\0" + tiff
    jpg = made["jpg"]
    made["turned"] = jpg[:2] + exif + jpg[20:]
    made["not_turned"] = jpg[:20] + exif + jpg[20:]
    return made


BOXES = np.array(
    [[3, 0.1, 0.2, 0.5, 0.7], [1, 0.4, 0.1, 0.9, 0.6], [2, 0.05, 0.5, 0.3, 0.95]], np.float32
)


def _seed(number: int) -> None:
    random.seed(number)
    np.random.seed(number)


def answers(mx: Any, files: dict[str, bytes]) -> dict[str, np.ndarray]:
    """Runs all cases; returns their results by name."""
    made: dict[str, Any] = {}
    for name, data in files.items():
        made[f"decode_{name}"] = mx.image.imdecode(data)
        made[f"decode_{name}_grey"] = mx.image.imdecode(data, flag=0)
        made[f"decode_{name}_bgr"] = mx.image.imdecode(data, to_rgb=0)
    _functions(mx, made)
    _augmenters(mx, made)
    _detection(mx, made)
    with tempfile.TemporaryDirectory() as folder:
        _iterators(mx, made, files["png"], folder)
    return {
        name: value.asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)
        for name, value in made.items()
    }


def _functions(mx: Any, made: dict[str, Any]) -> None:
    small = mx.nd.array(picture(), dtype="uint8")
    floats = mx.nd.array(picture())
    for method in range(5):
        made[f"resize_{method}"] = mx.image.imresize(floats, 11, 31, method)
        made[f"short_{method}"] = mx.image.resize_short(small, 9, method)
    for kind in range(5):
        made[f"border_{kind}"] = mx.image.copyMakeBorder(small, 1, 2, 3, 4, kind, values=(9, 8, 7))
    made["border_value"] = mx.image.copyMakeBorder(small, 1, 0, 0, 1, value=77)
    made["fixed"] = mx.image.fixed_crop(floats, 3, 4, 10, 8, (6, 7), 1)
    for seed in range(4):
        _seed(seed)
        part, made[f"random_box_{seed}"] = mx.image.random_crop(floats, (12, 9), 2)
        made[f"random_{seed}"] = part
        part, made[f"sized_box_{seed}"] = mx.image.random_size_crop(
            floats, (8, 8), (0.1, 0.9), (0.6, 1.4), 1
        )
        made[f"sized_{seed}"] = part
    # A form that never fits, so that the middle is taken; and an enlarged one.
    _seed(0)
    made["sized_middle"], made["sized_middle_box"] = mx.image.random_size_crop(
        floats, (5, 5), 0.9, (6.0, 7.0), 1
    )
    made["center"], made["center_box"] = mx.image.center_crop(floats, (15, 50), 1)
    made["scale"] = [mx.image.scale_down((30, 40), one) for one in ((50, 20), (7, 90), (3, 3))]
    planes = mx.nd.array(picture().transpose(2, 0, 1) / 255.0)
    for zoom in ({}, {"zoom_in": True}, {"zoom_out": True}):
        made[f"rotate_{'_'.join(zoom)}"] = mx.image.imrotate(planes, 33.0, **zoom)
    batch = mx.nd.stack(planes, planes[::-1])
    made["rotate_batch"] = mx.image.imrotate(batch, mx.nd.array([-20.0, 75.0]), zoom_in=True)
    _seed(3)
    made["random_rotate"] = mx.image.random_rotate(batch, (-40, 40))


def _augmenters(mx: Any, made: dict[str, Any]) -> None:
    image = mx.image
    cases = {
        "brightness": lambda: image.BrightnessJitterAug(0.4),
        "contrast": lambda: image.ContrastJitterAug(0.4),
        "saturation": lambda: image.SaturationJitterAug(0.4),
        "hue": lambda: image.HueJitterAug(0.4),
        "jitter": lambda: image.ColorJitterAug(0.2, 0.3, 0.4),
        "lighting": lambda: image.LightingAug(0.3, np.array([5.0, 4, 1]), np.eye(3) + 0.1),
        "normalize": lambda: image.ColorNormalizeAug(np.array([1.0, 2, 3]), np.array([2.0, 3, 4])),
        "gray": lambda: image.RandomGrayAug(0.5),
        "flip": lambda: image.HorizontalFlipAug(0.5),
        "resize": lambda: image.ResizeAug(13, 9),
        "force": lambda: image.ForceResizeAug((9, 30), 9),
        "sized": lambda: image.RandomSizedCropAug((7, 6), 0.2, (0.5, 1.5), 1),
        "order": lambda: image.RandomOrderAug(
            [image.BrightnessJitterAug(0.2), image.HorizontalFlipAug(0.5)]
        ),
        "sequence": lambda: image.SequentialAug(
            [image.RandomCropAug((9, 9)), image.CenterCropAug((5, 4)), image.CastAug("float32")]
        ),
    }
    for name, make in cases.items():
        augmenter = make()
        made[f"aug_{name}_text"] = str(augmenter.dumps())
        for seed in (5, 6):
            _seed(seed)
            made[f"aug_{name}_{seed}"] = augmenter(mx.nd.array(picture()))
    everything = image.CreateAugmenter(
        (3, 8, 9),
        resize=12,
        rand_crop=True,
        rand_resize=True,
        rand_mirror=True,
        mean=True,
        std=True,
        brightness=0.1,
        contrast=0.1,
        saturation=0.1,
        hue=0.1,
        pca_noise=0.1,
        rand_gray=0.3,
        inter_method=1,
    )
    made["create_text"] = str([one.dumps() for one in everything])
    for seed in (1, 2, 3):
        _seed(seed)
        value = mx.nd.array(picture())
        for augmenter in everything:
            value = augmenter(value)
        made[f"create_{seed}"] = value


def _detection(mx: Any, made: dict[str, Any]) -> None:
    image = mx.image
    cases = {
        "flip": lambda: image.DetHorizontalFlipAug(0.5),
        "crop": lambda: image.DetRandomCropAug(0.3, (0.5, 2.0), (0.2, 0.9), 0.2, 60),
        "pad": lambda: image.DetRandomPadAug((0.5, 2.0), (1.0, 3.0), 50, (10, 20, 30)),
        "multi": lambda: image.CreateMultiRandCropAugmenter([0.1, 0.5], skip_prob=0.3),
    }
    for name, make in cases.items():
        augmenter = make()
        made[f"det_{name}_text"] = str(augmenter.dumps())
        for seed in range(5):
            _seed(seed)
            value, boxes = augmenter(mx.nd.array(picture()), BOXES.copy())
            made[f"det_{name}_{seed}"], made[f"det_{name}_boxes_{seed}"] = value, boxes
    everything = image.CreateDetAugmenter(
        (3, 14, 15),
        resize=18,
        rand_crop=0.6,
        rand_pad=0.6,
        rand_gray=0.2,
        rand_mirror=True,
        mean=True,
        std=True,
        brightness=0.1,
        contrast=0.1,
        saturation=0.1,
        pca_noise=0.1,
        hue=0.1,
        inter_method=1,
    )
    made["det_create_text"] = str([one.dumps() for one in everything])
    for seed in range(4):
        _seed(seed)
        value, boxes = mx.nd.array(picture()), BOXES.copy()
        for augmenter in everything:
            value, boxes = augmenter(value, boxes)
        made[f"det_create_{seed}"], made[f"det_create_boxes_{seed}"] = value, boxes


def _iterators(mx: Any, made: dict[str, Any], png: bytes, folder: str) -> None:
    """Two passes over five pictures, in batches of 2, from lists and records, as all ends."""
    for number in range(5):
        with open(os.path.join(folder, f"{number}.png"), "wb") as file:
            file.write(png)
    listed = [[float(number), f"{number}.png"] for number in range(5)]
    boxed = [
        [2, 5, *map(float, BOXES[: 1 + number % 3].ravel()), f"{number}.png"] for number in range(5)
    ]
    record, index = os.path.join(folder, "a.rec"), os.path.join(folder, "a.idx")
    writer = mx.recordio.MXIndexedRecordIO(index, record, "w")
    for number in range(5):
        writer.write_idx(number, mx.recordio.pack((0, 10.0 + number, number, 0), png))
    writer.close()
    shape = (3, 8, 8)
    for end in ("pad", "discard", "roll_over"):
        common = {"last_batch_handle": end}
        iterators = {
            "list": mx.image.ImageIter(2, shape, imglist=listed, path_root=folder, **common),
            "record": mx.image.ImageIter(2, shape, path_imgrec=record, **common),
            "index": mx.image.ImageIter(
                2, shape, path_imgrec=record, path_imgidx=index, shuffle=True, **common
            ),
            "part": mx.image.ImageIter(
                2, shape, path_imgrec=record, path_imgidx=index, num_parts=2, part_index=1, **common
            ),
            "boxes": mx.image.ImageDetIter(2, shape, imglist=boxed, path_root=folder, **common),
        }
        for name, iterator in iterators.items():
            _seed(2)
            for turn in range(3):
                iterator.reset()
                for number, batch in enumerate(iterator):
                    key = f"iter_{name}_{end}_{turn}_{number}"
                    # Where no row is there, MXNet leaves what was in memory.
                    made[f"{key}_label"] = batch.label[0]
                    made[f"{key}_pad"] = batch.pad
                    made[f"{key}_sum"] = batch.data[0].asnumpy().sum(axis=(1, 2, 3))
                made[f"iter_{name}_{end}_{turn}_count"] = number
