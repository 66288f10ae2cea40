"""The lists of the operators that are computed in half precision, in float32, and in either.

Half precision has few digits, and float16 a small range, too. Products of matrices gain most by it
and lose little, since they add in float32 anyway. Powers, exponentials and logarithms leave the
range; sums, norms and losses lose digits. All else takes what comes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

import numpy as np

from hybridnet.base.array_types import DTypeLike
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.ops.core.registry import get, public_operators

__all__ = [
    "canonical",
    "half_dtype",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
]

_HALF: Final = "Convolution Deconvolution FullyConnected RNN"
_POWERS: Final = (
    "exp expm1 log log10 log2 log1p square reciprocal rsqrt rcbrt sinh cosh tan arccos arcsin "
    "arctanh erfinv gamma gammaln _power _power_scalar _rpower_scalar _rdiv_scalar _hypot "
    "_hypot_scalar broadcast_power broadcast_hypot"
)
_SUMS: Final = "sum nansum prod nanprod mean norm moments khatri_rao argsort topk"
_NORMS: Final = "InstanceNorm LayerNorm GroupNorm L2Normalization LRN _contrib_SyncBatchNorm"
_SOFT: Final = "softmax softmin log_softmax SoftmaxActivation"
_LOSSES: Final = "SoftmaxOutput LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput"
_OTHER_LOSSES: Final = "SVMOutput softmax_cross_entropy smooth_l1 MakeLoss make_loss CTCLoss Custom"
_LINALG: Final = (
    "_linalg_gelqf _linalg_gemm _linalg_gemm2 _linalg_potrf _linalg_potri _linalg_sumlogdiag "
    "_linalg_syevd _linalg_syrk _linalg_trmm _linalg_trsm _linalg_inverse _linalg_det "
    "_linalg_slogdet"
)
_WIDEST: Final = (
    "elemwise_add elemwise_sub elemwise_mul elemwise_div add_n Concat stack where dot batch_dot "
    "_maximum _minimum _mod Correlation broadcast_add broadcast_sub broadcast_mul broadcast_div "
    "broadcast_mod broadcast_maximum broadcast_minimum broadcast_equal broadcast_not_equal "
    "broadcast_greater broadcast_greater_equal broadcast_lesser broadcast_lesser_equal "
    "_contrib_box_iou _contrib_ROIAlign"
)
_CONDITIONAL: Final = (
    ("Activation", "act_type", ("softrelu",)),
    ("LeakyReLU", "act_type", ("elu", "selu")),
)


def half_dtype(target_dtype: DTypeLike) -> np.dtype[np.generic]:
    """Returns the dtype of half precision that is meant.

    Raises:
        ParameterError: it is neither float16 nor bfloat16.
    """
    found = as_dtype(target_dtype)
    if found.name not in ("float16", "bfloat16"):
        raise ParameterError(f"amp: target_dtype must be 'float16' or 'bfloat16', got {found.name}")
    return found


@cache
def _known(names: str) -> tuple[str, ...]:
    """Returns those of some names that operators here have."""
    return tuple(filter(_has, names.split()))


def _has(name: str) -> bool:
    try:
        get(name)
    except MXNetError:
        return False
    return True


def canonical(names: Iterable[str]) -> set[str]:
    """Returns the operators' own names, of which the given ones may be others."""
    return {get(name).name for name in names if _has(name)}


def list_lp16_ops(target_dtype: DTypeLike = "float16") -> list[str]:
    """Returns the operators that are computed in half precision."""
    half_dtype(target_dtype)
    return list(_known(_HALF))


def list_fp32_ops(target_dtype: DTypeLike = "float16") -> list[str]:
    """Returns the operators that are computed in float32."""
    half_dtype(target_dtype)
    names = " ".join((_POWERS, _SUMS, _NORMS, _SOFT, _LOSSES, _OTHER_LOSSES, _LINALG))
    return list(_known(names))


def list_conditional_fp32_ops(
    target_dtype: DTypeLike = "float16",
) -> list[tuple[str, str, list[str]]]:
    """Returns those that are computed in float32 for some values of a parameter."""
    half_dtype(target_dtype)
    return [(name, parameter, list(values)) for name, parameter, values in _CONDITIONAL]


def list_widest_type_cast(target_dtype: DTypeLike = "float16") -> list[str]:
    """Returns those of several inputs that are computed in the widest dtype of these."""
    half_dtype(target_dtype)
    return list(_known(_WIDEST))


def list_loss_output_functions(target_dtype: DTypeLike = "float16") -> list[str]:
    """Returns the outputs that are losses, whose gradients do not depend on what comes after."""
    half_dtype(target_dtype)
    return list(_known(_LOSSES))


def list_lp16_fp32_ops(target_dtype: DTypeLike = "float16") -> list[str]:
    """Returns all others: they are computed in the dtype of their inputs."""
    taken = canonical(
        (
            *list_lp16_ops(target_dtype),
            *list_fp32_ops(target_dtype),
            *list_widest_type_cast(target_dtype),
            *(name for name, _, _ in _CONDITIONAL),
        )
    )
    return sorted(name for name, op in public_operators().items() if op.name not in taken)


def list_lp16_use_fp32_params(target_dtype: DTypeLike = "float16") -> dict[str, list[str]] | None:
    """Returns those whose parameters stay in float32, with the names of these; '' is the data."""
    if half_dtype(target_dtype).name == "float16":
        return None
    return {"BatchNorm": ["", "gamma", "beta", "moving_mean", "moving_var"]}
