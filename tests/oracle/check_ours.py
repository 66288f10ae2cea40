"""Shows that MXNet 1.9.1 reads what hybridnet writes, in two steps of one folder::

    python tests/oracle/check_ours.py write FOLDER    # with hybridnet
    python tests/oracle/check_ours.py read FOLDER     # with mxnet==1.9.1 numpy==1.23.5

The first writes arrays of every dtype and unusual shape, and loads and saves again every network of
``files/``. The second reads all of it with MXNet, compares the arrays with their formula, and runs
each network on its recorded inputs: the outputs must be those that MXNet gave for its own files.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np

FILES = Path(__file__).resolve().parent / "files"
NETWORKS = ("lenet", "lenet_old", "mlp", "arithmetic", "shapes", "images", "segment", "gluon")
DTYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool")
SHAPES: tuple[tuple[int, ...], ...] = ((3,), (2, 3), (1, 1, 4, 2), (1,) * 7, (0,), (2, 0, 3))


def values(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Returns whole numbers that every dtype but bool holds."""
    return (np.arange(int(np.prod(shape))) % 100).reshape(shape)


def arrays() -> dict[str, np.ndarray[Any, Any]]:
    """Returns the arrays of every dtype and shape by name; bfloat16 is added by `write`."""
    return {
        f"{dtype} {shape} é": values(shape).astype(dtype) for dtype in DTYPES for shape in SHAPES
    }


def write(folder: Path) -> None:
    """Writes all files with hybridnet."""
    ml_dtypes = importlib.import_module("ml_dtypes")
    params_file = importlib.import_module("hybridnet.base.params_file")
    symbol = importlib.import_module("hybridnet.symbol")
    params_file.save_params(folder / "dict.params", arrays())
    params_file.save_params(folder / "list.params", list(arrays().values()))
    params_file.save_params(folder / "none.params", [])
    bfloat16 = np.array([1.5, -2.0, 3e38]).astype(ml_dtypes.bfloat16)
    params_file.save_params(folder / "bfloat16.params", [bfloat16])
    scalars = [np.array(3.5, np.float32), np.zeros((0, 4), np.float32), np.ones(2, np.float32)]
    params_file.save_params(folder / "scalars.params", scalars)
    for name in NETWORKS:
        symbol.load(str(FILES / f"{name}-symbol.json")).save(str(folder / f"{name}-symbol.json"))
        source = FILES / f"{name.split('_')[0]}-0000.params"
        params_file.save_params(folder / f"{name}-0000.params", params_file.load_params(source))


def read_arrays(mx: Any, folder: Path) -> None:
    """Compares the array files, as MXNet reads them, with their formulas."""
    expected = arrays()
    loaded = mx.nd.load(str(folder / "dict.params"))
    assert list(loaded) == list(expected)
    for name, array in expected.items():
        got = loaded[name].asnumpy()
        assert got.dtype == array.dtype, (name, got.dtype)
        np.testing.assert_array_equal(got, array)
    for got, array in zip(mx.nd.load(str(folder / "list.params")), expected.values()):  # noqa: B905
        np.testing.assert_array_equal(got.asnumpy(), array)
    assert mx.nd.load(str(folder / "none.params")) == []
    (bfloat16,) = mx.nd.load(str(folder / "bfloat16.params"))
    got = mx.nd.amp_cast(bfloat16, dtype="float32").asnumpy()
    np.testing.assert_allclose(got, [1.5, -2.0, 3e38], rtol=1e-2)
    with mx.util.np_shape(True):
        shapes = [array.shape for array in mx.nd.load(str(folder / "scalars.params"))]
    assert shapes == [(), (0, 4), (2,)], shapes


def read_network(mx: Any, folder: Path, name: str) -> None:
    """Runs a network that hybridnet saved on its recorded inputs."""
    symbol = mx.sym.load(str(folder / f"{name}-symbol.json"))
    saved = mx.nd.load(str(folder / f"{name}-0000.params"))
    saved = saved if isinstance(saved, dict) else {}
    io = mx.nd.load(str(FILES / f"{name.split('_')[0]}-io.params"))
    args = {key[3:]: array for key, array in io.items() if key.startswith("in:")}
    args.update({key[4:]: array for key, array in saved.items() if key.startswith("arg:")})
    aux = {key[4:]: array for key, array in saved.items() if key.startswith("aux:")}
    outputs = symbol.bind(mx.cpu(), args, aux_states=aux).forward(is_train=False)
    for index, out in enumerate(outputs):
        np.testing.assert_allclose(out.asnumpy(), io[f"out:{index}"].asnumpy(), rtol=1e-5)


def main() -> None:
    step, folder = sys.argv[1], Path(sys.argv[2])
    if step == "write":
        folder.mkdir(exist_ok=True)
        write(folder)
        return
    mx = importlib.import_module("mxnet")
    read_arrays(mx, folder)
    for name in NETWORKS:
        read_network(mx, folder, name)
    print(f"MXNet {mx.__version__} reads all arrays, and runs {', '.join(NETWORKS)} alike")


if __name__ == "__main__":
    main()
