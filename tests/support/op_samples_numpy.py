"""Sample calls of NumPy's operators (``_np_*``, ``_npi_*``, ``_npx_*``); see `op_samples`."""

from __future__ import annotations

from typing import Final

import numpy as np
from op_sample import Sample, random, sample, words

__all__ = ["SAMPLES"]

_X: Final = random(2, 3, low=-1.37, high=1.21)
_POSITIVE: Final = random(2, 3, low=0.35, high=2.3)
_POSITIVE2: Final = random(2, 3, low=0.45, high=2.1, seed=1)
_ROW: Final = random(1, 3, low=0.45, high=1.9, seed=2)
_CUBE: Final = random(2, 3, 4)
_INTS: Final = np.array([[3, -4, 6], [0, 9, -1]], np.int32)
_MATRIX: Final = random(3, 3, seed=4) + 3 * np.eye(3)
_STACK: Final = np.stack([_MATRIX, _MATRIX.T + np.eye(3)])
_POINT: Final = random()

_REDUCED: Final = [
    sample(_CUBE),
    sample(_CUBE, axis=(0, -1)),
    sample(_CUBE, axis=1, keepdims=True),
]


def _outputs(count: int, *inputs: np.ndarray, **attrs: object) -> Sample:
    return Sample(inputs, dict(attrs), outputs=count)


SAMPLES: Final[dict[str, list[Sample]]] = {
    **{
        f"_npi_{name}": [sample(_POSITIVE, _ROW), sample(_POSITIVE[0], _POSITIVE2)]
        for name in words(
            "add subtract multiply true_divide copysign equal not_equal greater greater_equal "
            "less less_equal"
        )
    },
    "_npi_ldexp": [sample(_X, _ROW)],
    **{
        f"_npi_{name}_scalar": [sample(_POSITIVE, scalar=1.7), sample(_POSITIVE, scalar=2)]
        for name in words(
            "true_divide rtrue_divide copysign rcopysign ldexp rldexp equal not_equal greater "
            "greater_equal less less_equal"
        )
    },
    **{
        f"_npi_{name}": [sample(_INTS, _INTS[:1])]
        for name in words("bitwise_and bitwise_or bitwise_xor lcm")
    },
    **{
        f"_npi_{name}_scalar": [sample(_INTS, scalar=6)]
        for name in words("bitwise_and bitwise_or bitwise_xor lcm")
    },
    "_npi_bitwise_not": [sample(_INTS)],
    **{
        f"_npi_{name}": [sample(_X)]
        for name in words("isnan isinf isfinite isposinf isneginf logical_not nan_to_num")
    },
    "_npi_around": [sample(_X), sample(_X, decimals=1)],
    **{
        name: [*_REDUCED, sample(_POINT), sample(_CUBE[:0], axis=1)]
        for name in words("_np_sum _np_prod _npi_mean")
    },
    **{
        name: [*_REDUCED, sample(_POINT), sample(_CUBE[:0], axis=0, initial=1.5)]
        for name in words("_np_max _np_min _shared_max _shared_min")
    },
    **{name: [*_REDUCED, sample(_CUBE, axis=0, ddof=1)] for name in ("_npi_var", "_npi_std")},
    **dict.fromkeys(("_np_any", "_np_all"), _REDUCED),
    **{
        name: [sample(_CUBE), sample(_CUBE, axis=-1, keepdims=True)]
        for name in ("_npi_argmax", "_npi_argmin")
    },
    "_npi_average": [
        sample(_CUBE, axis=(0, 2), weighted=False),
        sample(_X, _POSITIVE, axis=1),
        _outputs(2, _X, _POSITIVE[0], axis=-1, returned=True),
    ],
    "_np_reshape": [sample(_CUBE, newshape=(-1, 2)), sample(_POINT, newshape=(1, 1))],
    "_npx_reshape": [
        sample(_CUBE, newshape=(-5, -2)),
        sample(_CUBE, newshape=(-2, -6, 3, -1, -4)),
        sample(_CUBE, newshape=(-1, -2), reverse=True),
    ],
    "_np_squeeze": [sample(_CUBE[:1, :, :1]), sample(_CUBE[:1], axis=0)],
    "_np_transpose": [sample(_CUBE), sample(_CUBE, axes=(1, -1, 0))],
    "_np_moveaxis": [sample(_CUBE, source=(0, 1), destination=(-1, 0))],
    "_npi_rollaxis": [sample(_CUBE, axis=2, start=1)],
    "_npi_broadcast_to": [sample(_ROW, shape=(2, 4, 3)), sample(_POINT, shape=(2,))],
    "_np_atleast_1d": [_outputs(2, _POINT, _X, num_args=2)],
    "_np_atleast_2d": [_outputs(2, _POINT, _X[0], num_args=2)],
    "_np_atleast_3d": [_outputs(3, _POINT, _X[0], _X, num_args=3)],
    "_npi_concatenate": [sample(_CUBE, _CUBE[:, :2], axis=1), sample(_X, _X[0], axis=None)],
    "_npi_stack": [sample(_X, _POSITIVE, axis=-1)],
    **{
        f"_npi_{name}": [sample(_X, _POSITIVE), sample(_X[0], _POSITIVE[0])]
        for name in words("vstack hstack dstack column_stack")
    },
    "_npi_split": [
        _outputs(2, _CUBE, sections=2, axis=2),
        _outputs(3, _CUBE, indices=(1, 3), axis=-1),
        _outputs(3, _CUBE, sections=3, axis=-1),
    ],
    "_npi_flip": [sample(_CUBE), sample(_CUBE, axis=(0, -1))],
    "_np_roll": [sample(_CUBE, shift=5), sample(_CUBE, shift=(1, -2), axis=(0, 2))],
    "_npi_rot90": [sample(_CUBE, k=3, axes=(0, 2))],
    "_npi_pad": [
        *(
            sample(_CUBE, pad_width=(0, 1, 2, 1, 1, 3), mode=mode)
            for mode in words("constant edge reflect symmetric maximum minimum")
        ),
        sample(_X, pad_width=(1, 1, 0, 2), constant_values=2.5),
    ],
    "_npi_zeros": [sample(shape=()), sample(shape=(2, 0), dtype="int64")],
    "_npi_ones": [sample(shape=(2, 3)), sample(shape=(), dtype="bool")],
    "_npi_full": [sample(shape=(2,), value=2.5), sample(shape=(), value=2.5, dtype="uint8")],
    "_npi_full_like": [sample(_X, fill_value=2.5), sample(_X, fill_value=2, dtype="int8")],
    "_npi_arange": [sample(start=5), sample(start=1, stop=9, step=2.5, dtype="float16")],
    "_npi_linspace": [sample(start=1, stop=2, num=5), sample(start=0, stop=2, endpoint=False)],
    "_npi_logspace": [sample(start=0, stop=2, num=3)],
    "_npi_eye": [sample(N=3), sample(N=2, M=4, k=1, dtype="int64"), sample(N=2, M=0)],
    "_npi_identity": [sample(shape=(3, 3))],
    "_npi_indices": [sample(dimensions=(2, 3))],
    **{f"_npi_{name}": [sample(M=5), sample(M=1)] for name in words("hanning hamming blackman")},
    "_np_dot": [
        sample(_X, _CUBE[0]),
        sample(_X[0], _POSITIVE[0]),
        sample(_POINT, _X),
        sample(_CUBE, random(2, 4, 2)),
    ],
    "_npi_matmul": [
        sample(_CUBE, random(4, 2)),
        sample(_X[0], _CUBE),
        sample(_CUBE, random(4)),
        sample(_X[0], _X[1]),
    ],
    "_npi_tensordot": [sample(_CUBE, _X, a_axes_summed=(1, 0), b_axes_summed=(1, 0))],
    "_npi_tensordot_int_axes": [sample(_X, _CUBE[0], axes=1), sample(_X, _X, axes=0)],
    "_npi_einsum": [
        sample(_CUBE, _X, subscripts="ijk,ij->k"),
        sample(_MATRIX, subscripts="ii"),
        sample(_X, _CUBE[0], _X, subscripts="ab,bc,ab->ac", optimize=1),
    ],
    "_np_trace": [sample(_CUBE, offset=1, axis1=0, axis2=-1)],
    "_np_diagonal": [sample(_CUBE, offset=-1, axis1=1, axis2=2)],
    "_np_diag": [sample(_X, k=1), sample(_X[0], k=-1)],
    "_np_diagflat": [sample(_X, k=1)],
    "_npi_tril": [sample(_CUBE, k=1), sample(_X[0])],
    "_npi_triu": [sample(_CUBE, k=-1)],
    "_npi_polyval": [sample(_X[0], _CUBE)],
    "_npi_diff": [sample(_CUBE), sample(_CUBE, n=2, axis=1)],
    "_npi_take": [
        sample(_CUBE, np.array([[0, 2], [1, -1]]), axis=1),
        sample(_CUBE, np.array([0, 25]), mode="wrap"),
        sample(_CUBE, np.array(7), axis=-1, mode="clip"),
    ],
    "_npi_where": [sample(_X > 0, _X, _ROW), sample(np.array([1, 0, 2]), _X, _POINT)],
    "_npi_where_lscalar": [sample(_X > 0, _POSITIVE, scalar=2.5)],
    "_npi_where_rscalar": [sample(_X > 0, _POSITIVE, scalar=2.5)],
    "_npi_where_scalar2": [sample(_X > 0, x=1.0, y=2.0)],
    "_npi_sort": [sample(_CUBE, axis=1), sample(_CUBE, axis=None, is_ascend=False)],
    "_npi_argsort": [sample(_CUBE, axis=0), sample(_CUBE, axis=None, dtype="int32")],
    "_npi_histogram": [
        _outputs(0, _X, bin_cnt=3, range=(-1, 1)),
        _outputs(0, _X, np.array([-1.0, 0.0, 2.0])),
    ],
    "_npi_percentile": [
        sample(_CUBE, q_scalar=30.0),
        sample(_CUBE, np.array([10.0, 65.0]), axis=(0, 2), keepdims=True, skip=[1]),
        sample(_CUBE, q_scalar=30.0, axis=-1, interpolation="lower"),
    ],
    "_npi_unravel_index": [_outputs(2, np.array([5, 0, 3]), shape=(2, 3))],
    "_npx_nonzero": [sample(_INTS, size=4), sample(_POINT, size=1)],
    "_npi_bincount": [
        sample(np.array([1, 3, 1], np.int32), size=5),
        sample(np.array([1, 3, 1], np.int32), _X[0], has_weights=True, size=4),
    ],
    "_npi_boolean_mask_assign_scalar": [
        sample(_CUBE, _X > 0, skip=[1], value=0.5),
        sample(_CUBE, np.arange(4) > 1, skip=[1], value=2.0, start_axis=2),
    ],
    "_npi_boolean_mask_assign_tensor": [
        sample(_X, _X > 0, np.array(0.3), skip=[1]),
        sample(_CUBE, np.array([True, False, True]), _CUBE[:, 1:], skip=[1], start_axis=1),
    ],
    "_npi_delete_parts": [sample(_CUBE, kept=(0, 2), axis=1)],
    "_npi_insert_tensor": [sample(_CUBE, _X[:, :1, None], places=(0, 2, 2), axis=1)],
    "_npi_cholesky": [sample(_STACK @ np.swapaxes(_STACK, 1, 2))],
    **{f"_npi_{name}": [sample(_STACK), sample(_MATRIX)] for name in words("det inv")},
    "_npi_slogdet": [_outputs(2, _STACK)],
    "_npi_svd": [_outputs(3, _CUBE)],
    "_npi_eigh": [_outputs(2, _STACK), _outputs(2, _STACK, UPLO="U")],
    "_npi_eigvalsh": [sample(_STACK)],
    "_npi_eig": [_outputs(2, _STACK)],
    "_npi_eigvals": [sample(_STACK), sample(_MATRIX)],
    "_npi_solve": [sample(_STACK, _CUBE[:, :, :2]), sample(_MATRIX, _X[0])],
    "_npi_pinv": [sample(_CUBE, np.array(1e-10), skip=[1])],
    "_npi_pinv_scalar_rcond": [sample(_X)],
    "_npi_tensorinv": [sample(random(2, 3, 6, seed=5) * 3, ind=2)],
    "_npi_tensorsolve": [sample(random(2, 3, 6, seed=5) * 3, _X)],
    "_npi_norm": [
        sample(_CUBE),
        sample(_CUBE, axis=1, flag="vector", ord=3.0, keepdims=True),
        sample(_CUBE, axis=(0, 2), flag="fro"),
        sample(_CUBE, axis=(1, 2), flag="nuc"),
        sample(_CUBE, axis=(1, 2), flag="matrix", ord=1.0),
        sample(_CUBE, axis=(-1,), flag="vector", ord=float("inf")),
    ],
    **{
        f"_npi_{name}": [sample(size=(2, 3)), sample(_POSITIVE, _ROW, given="12", dtype="float64")]
        for name in words("uniform normal lognormal logistic gumbel gamma beta")
    },
    **{
        f"_npi_{name}": [
            sample(size=(2, 0)),
            sample(_POSITIVE, given="1", size=(4, 2, 3), dtype="float64"),
        ]
        for name in words("exponential rayleigh weibull pareto powerd chisquare")
    },
    "_npi_random_randint": [sample(low=-3, high=4, size=(2, 3)), sample(low=0, high=2)],
    "_npi_bernoulli": [sample(prob=0.3, size=(5,)), sample(_X, array=True, is_logit=True)],
    "_npi_choice": [
        sample(a=4, size=(2, 3)),
        sample(_POSITIVE[0], a=3, size=(2,), replace=False, weighted=True),
    ],
    "_npi_multinomial": [sample(np.array([0.2, 0.5, 0.3]), n=7, size=(2,))],
    "_npi_multivariate_normal": [sample(_X, _MATRIX @ _MATRIX.T, size=(4,))],
}
