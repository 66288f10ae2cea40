"""Cases of operators on sequences, patches, densities and more; see `case.py`."""

from __future__ import annotations

from case import Cases
from case import given as _v
from case import random as _x

CASES = Cases("core")
_case = CASES.add

# Sequences.
_FULL = {"use_sequence_length": True}
for _op in ("SequenceMask", "SequenceLast", "SequenceReverse"):
    # MXNet's SequenceLast has no gradient without lengths: it stops the process.
    _case(_op, _x(4, 3, 2), grads=[0] if _op != "SequenceLast" else [])
    _case(_op, _x(4, 3), grads=[0] if _op != "SequenceLast" else [])
    _case(_op, _x(4, 3, 2), _v(1, 4, 2), grads=[0], **_FULL)
    _case(_op, _x(4, 3), _v(3, 1, 4), grads=[0], **_FULL)
    _case(_op, _x(1, 3, 2), _v(1, 1, 1), grads=[0], **_FULL)
    _case(_op, _x(4, 1, 2), _v(3), grads=[0], **_FULL)
    _case(_op, _x(4, 3, 2, 2), _v(2, 2, 3), grads=[0], **_FULL)
    _case(_op, _x(4, 2, 2), _v(2, 3, dtype="int32"), grads=[0], **_FULL)
    _case(_op, _x(4, 2, 2, dtype="float64"), _v(2, 4, dtype="float64"), grads=[0], **_FULL)
    _case(_op, _x(4, 2, 1, 2, 3), _v(1, 3), grads=[0], **_FULL)
    _case(_op, _x(4, 2, 2, low=-5, high=5, dtype="int32"), _v(2, 4, dtype="int32"), **_FULL)
    if _op != "SequenceReverse":
        _case(_op, _x(3, 4, 2), _v(1, 4, 2), grads=[0], axis=1, **_FULL)
        _case(_op, _x(3, 4, 2), grads=[0] if _op != "SequenceLast" else [], axis=1)
        _case(_op, _x(3, 4), _v(1, 3, 4, dtype="int32"), grads=[0], axis=1, **_FULL)
_case("SequenceMask", _x(4, 3, 2), _v(0, 2, 9), grads=[0], value=-1.5, **_FULL)
_case("SequenceMask", _x(3, 4, 2), _v(0, 2, 9), grads=[0], value=1e9, axis=1, **_FULL)
_case("SequenceReverse", _x(4, 3, 2), _v(0, 2, 4), grads=[0], **_FULL)

# Patches; MXNet's fail along 1 and 3 axes.
for _window in (
    {"kernel": (2, 2)},
    {"kernel": (3, 2), "stride": (2, 1), "pad": (1, 0)},
    {"kernel": (2, 3), "dilate": (2, 1), "pad": (0, 1)},
    {"kernel": (1, 1), "stride": (2, 2)},
    {"kernel": (5, 5)},
):
    _case("im2col", _x(2, 3, 5, 5), **_window)
    _case("im2col", _x(1, 1, 6, 5), **_window)
_case("im2col", _x(1, 1, 3, 3, dtype="float64"), kernel=(2, 2), pad=(1, 1))
for _channels, _rest in (
    (1, {"kernel": (2, 2), "output_size": (3, 3)}),
    (2, {"kernel": (2, 2), "output_size": (3, 3)}),
    (3, {"kernel": (1, 1), "output_size": (2, 2)}),
):
    _elements = _rest["kernel"][0] * _rest["kernel"][1]
    _case("col2im", _x(2, _channels * _elements, 4), **_rest)
    _case("col2im", _x(1, _channels * _elements, 4, dtype="float64"), **_rest)
_case("col2im", _x(2, 8, 4), kernel=(2, 2), output_size=(4, 4), stride=(2, 2))
_case("col2im", _x(2, 4, 9), kernel=(2, 2), output_size=(4, 4), stride=(2, 2), pad=(1, 1))
_case("col2im", _x(1, 4, 4), kernel=(2, 2), output_size=(4, 4), dilate=(2, 2))

_case("khatri_rao", _x(2, 3), _x(4, 3), grads=())
_case("khatri_rao", _x(2, 3), grads=())
_case("khatri_rao", _x(1, 1), _x(3, 1), grads=())
_case("khatri_rao", _x(2, 3), _x(4, 3), _x(3, 3), grads=())
_case("khatri_rao", _x(2, 2), _x(1, 2), _x(1, 2), _x(2, 2), grads=())
_case("khatri_rao", _x(3, 5, dtype="float64"), _x(1, 5, dtype="float64"), grads=())

# The hinge loss.
for _more in (
    {},
    {"margin": 0.5},
    {"regularization_coefficient": 0.3},
    {"use_linear": True},
    {"use_linear": True, "margin": 2.0, "regularization_coefficient": 2.0},
):
    _case("SVMOutput", _x(4, 3, low=-2, high=2), _v(0, 2, 1, 1), grads=[0], **_more)
    _case("SVMOutput", _x(1, 5, low=-2, high=2), _v(4), grads=[0], **_more)

# Densities.
_SAMPLES = (_x(2, 4, low=0.2, high=3), _x(2, low=0.2, high=3), _x(2, 2, 3, low=0.2, high=3))
_COUNTS = (_v([0.0, 1, 4], [2, 3, 0]), _v(1.0, 2.0), _v([[0.0, 1]], [[7, 3]]))
for _log in (False, True):
    for _s, _n in zip(_SAMPLES, _COUNTS):  # noqa: B905 - read by Python 3.9 too
        _case("_random_pdf_uniform", _s, _x(2, high=0), _v(3.5, 4.0), is_log=_log)
        _case("_random_pdf_normal", _s, _x(2), _x(2, low=0.5, high=2), is_log=_log)
        _case("_random_pdf_gamma", _s, *[_x(2, low=0.5, high=3)] * 2, is_log=_log)
        _case("_random_pdf_exponential", _s, _x(2, low=0.5, high=3), is_log=_log)
        _case("_random_pdf_poisson", _n, _x(2, low=0.5, high=3), is_log=_log)
        _case("_random_pdf_negative_binomial", _n, _x(2, low=0.5, high=3),
              _x(2, low=0.2, high=0.8), is_log=_log)  # fmt: skip
        _case("_random_pdf_generalized_negative_binomial", _n,
              *[_x(2, low=0.5, high=3)] * 2, is_log=_log)  # fmt: skip
    _simplex = _v([0.2, 0.3, 0.5], [0.6, 0.3, 0.1])
    _case("_random_pdf_dirichlet", _simplex, _x(2, 3, low=0.5, high=3), is_log=_log)
    _case("_random_pdf_dirichlet", _simplex, _x(3, low=0.5, high=3), is_log=_log)
    _case("_random_pdf_dirichlet", _v([[0.2, 0.8], [0.5, 0.5]]), _x(1, 2, low=1, high=3),
          is_log=_log)  # fmt: skip

# Several arrays at once; MXNet's amp_multicast fails between dtypes on a CPU.
_case("all_finite", _x(2, 3), grads=())
_case("all_finite", _v(1.0, float("inf")), grads=())
_case("all_finite", _v(float("nan"), 1.0, dtype="float64"), grads=())
_case("all_finite", _x(1, dtype="float16"), grads=())
_case("multi_all_finite", _x(2, 3), _x(4), num_arrays=2, grads=())
_case("multi_all_finite", _x(2, 3), _v(float("-inf")), _x(1), num_arrays=3, grads=())
_case("multi_sum_sq", _x(2, 3), num_arrays=1, grads=())
_case("multi_sum_sq", _x(2, 3), _x(4), _x(1, 1, 1), num_arrays=3, grads=())
_case("multi_sum_sq", _x(5, dtype="float64"), _x(3, dtype="float64"), num_arrays=2, grads=())
_LARS = (_v(1.0, 0.5, 0.1), _v(4.0, 0.0, 2.0), _v(1.0, 2.0, 0.5), _v(0.1, 0.1, 0.0))
_case("multi_lars", *_LARS, grads=(), eta=0.1, eps=1e-3)
_case("multi_lars", *_LARS, grads=(), eta=0.5, eps=0.0, rescale_grad=0.25)
_case("amp_multicast", _v(1, 2, dtype="int32"), _x(2), num_outputs=2, outputs=2, grads=[1])

# Updates in mixed precision; MXNet forgets to write the new weight32 of the second half.
_STATES = (_x(2, 3), _x(2, 3, low=0.1))
for _more in ({}, {"bias_correction": False}, {"rescale_grad": 0.5, "clip_gradient": 0.2}):
    _case("mp_lamb_update_phase1", *[_x(2, 3, dtype="float16")] * 2, *_STATES, _x(2, 3),
          grads=(), after=(2, 3), t=2, wd=0.1, **_more)  # fmt: skip
for _more in ({}, {"lower_bound": 2.0}, {"upper_bound": 0.5}):
    _case("mp_lamb_update_phase2", _x(2, 3, dtype="float16"), _x(2, 3), _v(1.5), _v(0.5),
          _x(2, 3), grads=(), lr=0.1, **_more)  # fmt: skip

# Histograms; in MXNet edges given as an array fail unless they come by name.
_case("_histogram", _x(3, 4), bin_cnt=4, range=(-1, 1), grads=())
_case("_histogram", _x(30, low=-5, high=5), bin_cnt=3, range=(-2, 4), grads=())
_case("_histogram", _x(30, low=-5, high=5, dtype="int32"), bin_cnt=5, range=(-5, 5))
_case("_histogram", _v(0.0, 1.0, 2.0, 3.0, 4.0), bin_cnt=4, range=(0, 4), grads=())
_case("_histogram", _x(3, 4, dtype="float64"), bin_cnt=1, range=(-0.5, 1), grads=())

# Of old programs.
_case("Crop", _x(2, 3, 4, 5), num_args=1, h_w=(2, 3), offset=(1, 2))
_case("Crop", _x(2, 3, 4, 5), num_args=1, h_w=(2, 3), center_crop=True)
_case("Crop", _x(1, 1, 4, 4), _x(2, 2, 3, 1), grads=[0], num_args=2, offset=(0, 1))
_case("fill_element_0index", _x(2, 3), _x(2), _v(0, 2), grads=())

# What saved graphs hold.
_case("_identity_with_attr_like_rhs", _x(2, 3), _x(2, 3))
_case("_scatter_plus_scalar", _x(2, 3), scalar=1.5)
_case("_scatter_minus_scalar", _x(2, 3), scalar=1.5)
_case("_scatter_elemwise_div", _x(2, 3), _x(2, 3, low=0.5))
