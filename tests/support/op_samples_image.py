"""Sample calls of the operators on images."""

from __future__ import annotations

from typing import Final

from op_sample import Sample, random, sample

__all__ = ["SAMPLES"]

_IMAGE: Final = random(3, 4, 3, low=10.0, high=250.0)
_BATCH: Final = random(2, 3, 4, 1, low=10.0, high=250.0)
_FACTORS: Final = {"min_factor": 0.4, "max_factor": 1.3}

SAMPLES: Final[dict[str, list[Sample]]] = {
    "_image_to_tensor": [sample(_IMAGE), sample(_BATCH)],
    "_image_normalize": [
        sample(_IMAGE.T, mean=(1, 2, 3), std=(3, 2, 4)),
        sample(_BATCH.transpose(0, 3, 1, 2), mean=3.0, std=0.5),
    ],
    "_image_crop": [sample(_IMAGE, x=1, y=0, width=2, height=3)],
    "_image_resize": [
        sample(_IMAGE, size=(3, 5)),
        sample(_BATCH, size=2, keep_ratio=True, interp=3),
        sample(_IMAGE, size=6, interp=2),
        sample(_IMAGE, size=6, interp=4),
    ],
    **{
        f"_image_{prefix}flip_{name}": [sample(_IMAGE)]
        for prefix in ("", "random_")
        for name in ("left_right", "top_bottom")
    },
    **{
        f"_image_random_{name}": [sample(_IMAGE, **_FACTORS)]
        for name in ("brightness", "contrast", "saturation", "hue")
    },
    "_image_random_color_jitter": [
        sample(_IMAGE[:1, :2], brightness=0.2, contrast=0.3, saturation=0.1, hue=0.2)
    ],
    "_image_adjust_lighting": [sample(_IMAGE, alpha=(0.1, 0.2, 0.3))],
    "_image_random_lighting": [sample(_IMAGE)],
}
