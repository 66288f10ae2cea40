"""What MXNet's record iterators give: the same calls for both frameworks, by `answers`.

Chance is seeded, and MXNet decodes with one thread, so that both draw the same numbers.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

#: (height, width) of the pictures.
SIZES = [(20, 26), (31, 18), (24, 24), (17, 40), (40, 17), (22, 30), (26, 20)]


def pictures(cv2: Any) -> list[bytes]:
    """Smooth pictures of several sizes, as PNG files."""
    made = []
    for number, (height, width) in enumerate(SIZES):
        y, x = np.mgrid[0:height, 0:width]
        planes = [125 + 110 * np.sin(x / (2.5 + c) + y / (4.0 - c) + number) for c in range(3)]
        made.append(cv2.imencode(".png", np.stack(planes, axis=2).astype(np.uint8))[1].tobytes())
    return made


CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "resize": {"resize": 14},
    "mirror": {"mirror": True, "scale": 0.5},
    "crop": {"rand_crop": True, "rand_mirror": True, "seed_aug": 4},
    "grey": {"data_shape": (1, 12, 12), "mean_r": 7},
    "mean": {"mean_r": 120.5, "mean_g": 60.25, "mean_b": 30, "std_r": 3, "std_g": 4, "std_b": 5},
    "light": {"max_random_contrast": 0.3, "max_random_illumination": 20, "seed_aug": 1},
    "uint8": {"dtype": "uint8", "rand_mirror": True, "seed_aug": 9},
    "int8": {"dtype": "int8", "mean_r": 100.5, "mean_g": 90, "mean_b": -3},
    "affine": {
        "max_rotate_angle": 20,
        "max_shear_ratio": 0.2,
        "max_random_scale": 1.4,
        "min_random_scale": 0.8,
        "max_aspect_ratio": 0.2,
        "fill_value": 30,
        "seed_aug": 3,
    },
    "rotate": {"rotate": 30, "min_img_size": 25, "max_img_size": 33, "seed_aug": 3},
    "aspect": {"min_aspect_ratio": 0.5, "max_aspect_ratio": 1.5, "seed_aug": 8},
    "sized": {
        "random_resized_crop": True,
        "min_random_area": 0.2,
        "max_random_area": 0.9,
        "min_aspect_ratio": 0.7,
        "max_aspect_ratio": 1.4,
        "seed_aug": 5,
    },
    "square": {"min_crop_size": 8, "max_crop_size": 16, "rand_crop": True, "seed_aug": 2},
    "square_middle": {"min_crop_size": 10, "max_crop_size": 10, "seed_aug": 2},
    "jitter": {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "seed_aug": 11},
    "hls": {"random_h": 40, "random_s": 50, "random_l": 60, "seed_aug": 12},
    "pca": {"pca_noise": 0.5, "seed_aug": 13},
    "pad": {"pad": 5, "fill_value": 77},
    "methods": {"resize": 13, "inter_method": 9},
    "chance": {"resize": 13, "inter_method": 10, "seed_aug": 6},
    "shuffle": {"shuffle": True, "seed": 5},
    "index": {"path_imgidx": "a.idx"},
    "index_shuffle": {"path_imgidx": "a.idx", "shuffle": True, "seed": 5},
    "index_part": {"path_imgidx": "a.idx", "num_parts": 3, "part_index": 1, "batch_size": 1},
    "parts_0": {"num_parts": 3, "part_index": 0, "batch_size": 1},
    "parts_1": {"num_parts": 3, "part_index": 1, "batch_size": 1},
    "parts_2": {"num_parts": 3, "part_index": 2, "batch_size": 1},
    "rounds": {"batch_size": 5, "rand_crop": True, "seed_aug": 1},
    "list": {"path_imglist": "a.lst", "label_width": 2},
}
#: Labels are a header of 2, objects of 5, and one of them has more.
BOXES = [
    [2, 5, 1, 0.1, 0.2, 0.6, 0.7],
    [2, 5, 2, 0.3, 0.1, 0.9, 0.5, 0, 0.05, 0.4, 0.4, 0.95],
    [2, 5, 3, 0.2, 0.2, 0.8, 0.8],
    [4, 5, 9, 8, 4, 0.5, 0.5, 0.9, 0.9],
    [2, 5, 0, 0.05, 0.1, 0.35, 0.9, 1, 0.5, 0.1, 0.9, 0.5],
    [2, 5, 5, 0.0, 0.0, 1.0, 1.0],
    [2, 5, 6, 0.4, 0.3, 0.7, 0.9],
]
DET_CASES: dict[str, dict[str, Any]] = {
    "force": {},
    "shrink": {"resize_mode": "shrink"},
    "fit": {"resize_mode": "fit", "label_pad_width": 20, "label_pad_value": -2},
    "mean": {"mean_r": 3, "mean_g": 4, "mean_b": 5, "std_r": 2, "std_b": 3, "scale": 0.5},
    "mirror": {"rand_mirror_prob": 0.5},
    "pad": {"rand_pad_prob": 1, "max_pad_scale": 2.5, "fill_value": 50},
    "crop": {
        "rand_crop_prob": 1,
        "num_crop_sampler": 2,
        "min_crop_scales": (0.3, 0.5),
        "max_crop_scales": (0.9, 1.0),
        "min_crop_aspect_ratios": (0.6,),
        "max_crop_aspect_ratios": (1.6,),
        "min_crop_overlaps": (0.1, 0.3),
        "max_crop_trials": 30,
    },
    "emit": {
        "rand_crop_prob": 0.9,
        "min_crop_scales": (0.4,),
        "max_crop_scales": (0.9,),
        "min_crop_sample_coverages": (0.1,),
        "min_crop_object_coverages": (0.2,),
        "crop_emit_mode": "overlap",
    },
    "colours": {
        "random_hue_prob": 0.7,
        "max_random_hue": 30,
        "random_saturation_prob": 0.7,
        "max_random_saturation": 30,
        "random_illumination_prob": 0.7,
        "max_random_illumination": 30,
        "random_contrast_prob": 0.7,
        "max_random_contrast": 0.4,
    },
    "resize": {"resize": 15, "inter_method": 10},
}


def answers(mx: Any, files: list[bytes], folder: str) -> dict[str, np.ndarray]:
    """Runs all cases, two passes each; returns data, labels and pads by name."""
    made: dict[str, Any] = {}
    for name, rows in (("a", [10.0 + one for one in range(len(files))]), ("b", BOXES)):
        paths = [os.path.join(folder, f"{name}.{kind}") for kind in ("idx", "rec")]
        writer = mx.recordio.MXIndexedRecordIO(*paths, "w")
        for number, (data, label) in enumerate(zip(files, rows)):  # noqa: B905
            writer.write_idx(number, mx.recordio.pack((0, label, number, 0), data))
        writer.close()
    with open(os.path.join(folder, "a.lst"), "w", encoding="utf-8") as file:
        for number in range(len(files)):
            file.write(f"{number}\t{number + 0.5}\t{-number}\tp{number}.png\n")
    for name, case in CASES.items():
        options = {key: _in(folder, key, value) for key, value in case.items()}
        _run(made, f"image_{name}", mx.io.ImageRecordIter, folder, "a.rec", options)
    for name, case in DET_CASES.items():
        _run(made, f"det_{name}", mx.io.ImageDetRecordIter, folder, "b.rec", dict(case))
    return made


def _in(folder: str, key: str, value: Any) -> Any:
    return os.path.join(folder, value) if key.startswith("path") else value


def _run(
    made: dict[str, Any], name: str, kind: Any, folder: str, file: str, options: dict[str, Any]
) -> None:
    options = {
        "path_imgrec": os.path.join(folder, file),
        "data_shape": (3, 12, 12),
        "batch_size": 3,
        "preprocess_threads": 1,
        "verbose": False,
        **options,
    }
    iterator = kind(**options)
    for turn in range(2):
        batches = list(iterator)
        copies = [[one.asnumpy() for one in (*batch.data, *batch.label)] for batch in batches]
        made[f"{name}_{turn}_data"] = np.stack([one[0] for one in copies])
        made[f"{name}_{turn}_label"] = np.stack([one[1] for one in copies])
        made[f"{name}_{turn}_pad"] = np.array([batch.pad for batch in batches])
        iterator.reset()
