"""`DataLoader` with two worker processes, against MXNet's and PyTorch's, by turns.

All make the same batches of 64 of the same images. hybridnet and MXNet run the same lines, with
their own transforms; PyTorch runs what its users write without torchvision: NumPy and OpenCV. Each
contestant has a process of its own, and turns are of whole passes over 512 images.

    python benchmarks/loader.py [--mxnet-python PYTHON] [--torch-python PYTHON] [--rounds 7]

``PYTHON`` is an interpreter with ``mxnet==1.9.1 numpy==1.23.5`` or with PyTorch; both with OpenCV.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from data import Contestant

#: The works: images in memory as they are, made inputs of a network, and read from files before.
WORKS = (
    "float32 arrays 3 x 224 x 224, as they are",
    "uint8 arrays 28 x 28 x 1: mirrored by chance, normalized",
    "uint8 arrays 256 x 256 x 3: cut to 224, mirrored by chance, normalized",
    "JPEG files 340 x 256: random part scaled to 224, mirrored by chance, normalized",
)
COUNT, BATCH, WORKERS = 512, 64, 2


def write_images(folder: Path) -> None:
    """Writes photo-like JPEG images."""
    import cv2

    generator = np.random.default_rng(0)
    (folder / "images").mkdir()
    for number in range(COUNT):
        coarse = generator.integers(0, 256, (32, 42, 3), np.uint8)
        image = cv2.resize(coarse, (340, 256), interpolation=cv2.INTER_CUBIC)
        noisy = (image + generator.normal(0, 6, image.shape)).clip(0, 255).astype(np.uint8)
        cv2.imwrite(str(folder / "images" / f"{number:03}.jpg"), noisy)


def arrays(shape: tuple[int, ...], dtype: str) -> Any:
    generator = np.random.RandomState(0)
    return (generator.rand(COUNT, *shape) * 255).astype(dtype)


def mxnets(mx: Any, folder: str) -> list[Callable[[], Any]]:
    """Returns what makes each loader, by MXNet's names."""
    data = mx.gluon.data
    T = importlib.import_module(f"{mx.__name__}.gluon.data.vision.transforms")
    inputs = [T.RandomFlipLeftRight(), T.ToTensor(), T.Normalize(0.5, 0.25)]

    def of(images: Any, *transforms: Any) -> Any:
        dataset = data.ArrayDataset(mx.nd.array(images, dtype=images.dtype), np.arange(COUNT))
        if transforms:
            dataset = dataset.transform_first(T.Compose(list(transforms)))
        return data.DataLoader(dataset, BATCH, num_workers=WORKERS)

    def files() -> Any:
        chain = T.Compose([T.RandomResizedCrop(224), *inputs])
        dataset = data.vision.ImageFolderDataset(folder).transform_first(chain)
        return data.DataLoader(dataset, BATCH, num_workers=WORKERS)

    return [
        lambda: of(arrays((3, 224, 224), "float32")),
        lambda: of(arrays((28, 28, 1), "uint8"), *inputs),
        lambda: of(arrays((256, 256, 3), "uint8"), T.CropResize(16, 16, 224, 224), *inputs),
        files,
    ]


class Samples:
    """PyTorch's dataset: a function of the position."""

    def __init__(self, sample: Callable[[int], Any]) -> None:
        self._sample = sample

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, idx: int) -> Any:
        return self._sample(idx), idx


def torchs(torch: Any, folder: str) -> list[Callable[[], Any]]:
    """Returns what makes each loader, with PyTorch."""

    def of(sample: Callable[[int], Any]) -> Any:
        options = {"num_workers": WORKERS, "persistent_workers": True}
        return torch.utils.data.DataLoader(Samples(sample), BATCH, **options)

    def normalized(image: Any) -> Any:
        if np.random.rand() < 0.5:
            image = image[:, ::-1]
        planes = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))
        return planes.float().div_(255).sub_(0.5).div_(0.25)

    def of_arrays(images: Any, cut: slice) -> Any:
        return of(lambda idx: normalized(images[idx, cut, cut]))

    def plain() -> Any:
        images = torch.from_numpy(arrays((3, 224, 224), "float32"))
        return of(lambda idx: images[idx])

    def files() -> Any:
        import cv2

        def sample(idx: int) -> Any:
            image = cv2.imread(os.path.join(folder, "images", f"{idx:03}.jpg"))[..., ::-1]
            area = 256 * 340 * np.random.uniform(0.08, 1)
            ratio = np.exp(np.random.uniform(np.log(3 / 4), np.log(4 / 3)))
            width, height = (
                min(340, int((area * ratio) ** 0.5)),
                min(256, int((area / ratio) ** 0.5)),
            )
            x, y = np.random.randint(341 - width), np.random.randint(257 - height)
            part = image[y : y + height, x : x + width]
            return normalized(cv2.resize(part, (224, 224), interpolation=cv2.INTER_LINEAR))

        return of(sample)

    return [
        plain,
        lambda: of_arrays(arrays((28, 28, 1), "uint8"), slice(None)),
        lambda: of_arrays(arrays((256, 256, 3), "uint8"), slice(16, 240)),
        files,
    ]


def serve(module: str, folder: str) -> None:
    """Does turns as they are asked for: the name of a work comes in, its rate goes out."""
    framework = importlib.import_module(module)
    if module == "torch":
        importlib.import_module("torch.utils.data")
        torch_threads: Any = framework
        torch_threads.set_num_threads(1)
    makers = (torchs if module == "torch" else mxnets)(framework, folder)
    loaders: dict[str, Any] = {}
    for line in sys.stdin:
        name = json.loads(line)
        if name not in loaders:
            loaders.clear()  # and its workers end
            loaders[name] = makers[WORKS.index(name)]()
            read(loaders[name])
        begun = time.perf_counter()
        read(loaders[name])
        print(json.dumps([COUNT / (time.perf_counter() - begun)]), flush=True)


def read(loader: Any) -> None:
    """Reads a pass, and a number of each batch."""
    for image, _ in loader:
        number = image[0, 0, 0, 0]
        float(number.asscalar() if hasattr(number, "asscalar") else number)


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mxnet-python", help="an interpreter that has MXNet")
    parser.add_argument("--torch-python", help="an interpreter that has PyTorch")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each contestant")
    options = parser.parse_args()
    pythons = {
        "hybridnet": sys.executable,
        "mxnet": options.mxnet_python,
        "torch": options.torch_python,
    }
    with tempfile.TemporaryDirectory() as name:
        write_images(Path(name))
        contestants = {
            module: Contestant(python, module, Path(name), __file__)
            for module, python in pythons.items()
            if python
        }
        try:
            compare(contestants, options.rounds)
        finally:
            for one in contestants.values():
                one.end()


def compare(contestants: dict[str, Contestant], rounds: int) -> None:
    """Prints the table; ratios above 1 say that hybridnet reads more."""
    print("| a pass over 512 images | hybridnet | / MXNet | / PyTorch |")
    print("| --- | --- | --- | --- |")
    for work in WORKS:
        rates: dict[str, list[float]] = {name: [] for name in contestants}
        for number in range(rounds):
            order = list(contestants) if number % 2 == 0 else list(reversed(contestants))
            for name in order:
                rates[name] += contestants[name].turn(work)
        own = rates["hybridnet"]
        cells = [f"{statistics.median(own):,.0f} images/s"]
        for peer in ("mxnet", "torch"):
            pairs = zip(own, rates.get(peer, []))  # noqa: B905 - MXNet's Python may be old
            ratios = [a / b for a, b in pairs]
            cells.append(f"{statistics.median(ratios):.2f}" if ratios else "")
        print(f"| {work} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
