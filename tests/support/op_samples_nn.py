"""Sample calls of the operators of neural networks; see `op_samples`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from op_sample import Sample, random, sample

__all__ = ["NOT_THE_DERIVATIVE", "SAMPLES"]

_X: Final = random(2, 3, low=-1.37, high=1.21)
_POSITIVE: Final = random(2, 3, low=0.35, high=2.3)
_CUBE: Final = random(2, 4, 3)
_IMAGE: Final = random(2, 2, 5, 6)
_LABEL: Final = np.array([2.0, 0.0])
_CHANNELS: Final = tuple(random(4, low=0.3, high=1.6, seed=seed) for seed in range(4))
_CONV: Final = {"kernel": (3, 2), "num_filter": 4, "stride": (2, 1), "pad": (1, 0)}
_DRAW: Final = {
    "uniform": {"low": 0.5, "high": 2},
    "normal": {"loc": 0.5, "scale": 2},
    "exponential": {"lam": 0.5},
    "gamma": {"alpha": 0.5, "beta": 2},
    "poisson": {"lam": 1.5},
    "negative_binomial": {"k": 3, "p": 0.4},
    "generalized_negative_binomial": {"mu": 2, "alpha": 0.3},
}
# How many arrays an update takes, and its parameters.
_UPDATES: Final[dict[str, tuple[int, dict[str, Any]]]] = {
    "sgd_update": (2, {"lr": 0.1, "wd": 0.01}),
    "sgd_mom_update": (3, {"lr": 0.1, "momentum": 0.9}),
    "nag_mom_update": (3, {"lr": 0.1, "momentum": 0.9}),
    "signsgd_update": (2, {"lr": 0.1}),
    "signum_update": (3, {"lr": 0.1, "momentum": 0.9, "wd_lh": 0.01}),
    "adam_update": (4, {"lr": 0.1, "clip_gradient": 0.5}),
    "_decoupled_adam_update": (4, {"lr": 0.1, "wd": 0.01, "clip_gradient": 0.5}),
    "_lion_update": (3, {"lr": 0.1, "wd": 0.01}),
    "rmsprop_update": (3, {"lr": 0.1, "gamma1": 0.9}),
    "rmspropalex_update": (5, {"lr": 0.1}),
    "ftrl_update": (4, {"lr": 0.1}),
    "ftml_update": (5, {"lr": 0.1, "t": 3}),
    "_sparse_adagrad_update": (3, {"lr": 0.1}),
    "lamb_update_phase1": (4, {"t": 3, "wd": 0.1}),
    "mp_sgd_update": (3, {"lr": 0.1}),
    "mp_sgd_mom_update": (4, {"lr": 0.1, "momentum": 0.9}),
    "mp_nag_mom_update": (4, {"lr": 0.1, "momentum": 0.9}),
}
# Learning rates and decays: parameters, or, of the preloaded operators, the last two inputs.
_RATES: Final[dict[str, tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "": ((), {"lrs": (0.1, 0.2), "wds": (0.0, 0.1)}),
    "preloaded_": ((np.array([0.1, 0.2]), np.array([0.0, 0.1])), {}),
}


def _drawn(kind: str, params: dict[str, Any]) -> dict[str, list[Sample]]:
    """The three forms of a random operator: of numbers, like an array, one draw each."""
    arrays = tuple(np.full(2, float(value)) for value in params.values())
    return {
        f"_random_{kind}": [sample(shape=(2, 3), **params), sample(**params, dtype="float16")],
        f"_random_{kind}_like": [sample(_X, **params)],
        f"_sample_{kind}": [sample(*arrays), sample(*arrays, shape=(4,), dtype="float64")],
    }


SAMPLES: Final[dict[str, list[Sample]]] = {
    "FullyConnected": [
        sample(_CUBE, random(5, 12, seed=1), random(5), num_hidden=5),
        sample(_CUBE, random(5, 3, seed=1), num_hidden=5, no_bias=True, flatten=False),
    ],
    "Activation": [
        sample(_X, act_type=act_type)
        for act_type in ("relu", "sigmoid", "softrelu", "softsign", "tanh")
    ],
    "LeakyReLU": [
        *(sample(_X, act_type=kind) for kind in ("leaky", "elu", "selu", "gelu", "gelu_tanh")),
        sample(_X, random(3, low=0.1, high=0.4), act_type="prelu"),
        Sample((_X,), {"act_type": "rrelu"}, train=True),
    ],
    "Dropout": [
        Sample((_X,), {"p": 0.4}, train=True),
        Sample((_X,), {"p": 0.4, "axes": (1,), "mode": "always"}, train=False),
        Sample((_X,), {"p": 0.4}, train=False),
    ],
    "Convolution": [
        sample(_IMAGE, random(4, 2, 3, 2, seed=1), random(4), **_CONV),
        sample(_IMAGE, random(4, 1, 3, 2, seed=1), **_CONV, num_group=2, no_bias=True),
        sample(_CUBE, random(3, 4, 2, seed=1), random(3), kernel=(2,), num_filter=3, dilate=(1,)),
    ],
    "_fused_convolution": [
        sample(_IMAGE, random(4, 2, 3, 2, seed=1), random(4), **_CONV),
        sample(_IMAGE, random(4, 2, 3, 2, seed=1), random(4), **_CONV, relu=True),
        sample(
            _IMAGE,
            random(4, 1, 3, 2, seed=1),
            random(4),
            random(2, 4, 3, 5, seed=2),
            **_CONV,
            num_group=2,
            with_addend=True,
            relu=True,
        ),
    ],
    "Deconvolution": [
        sample(_IMAGE, random(2, 4, 3, 2, seed=1), **_CONV),
        sample(_IMAGE, random(2, 4, 3, 2, seed=1), random(4), **_CONV, adj=(1, 0), no_bias=False),
    ],
    "Pooling": [
        sample(_IMAGE, kernel=(2, 3), stride=(2, 2), pad=(1, 1), pool_type=pool_type)
        for pool_type in ("max", "avg", "sum")
    ]
    + [
        sample(_IMAGE + 2, kernel=(2, 2), pool_type="lp", p_value=2, pooling_convention="full"),
        sample(_IMAGE, global_pool=True, pool_type="avg"),
    ],
    **{
        name: [sample(_CUBE), sample(_CUBE, axis=1, temperature=2.0)]
        for name in ("softmax", "softmin")
    },
    "log_softmax": [sample(_CUBE), sample(_CUBE, axis=0)],
    "SoftmaxActivation": [sample(_CUBE), sample(_CUBE, mode="channel")],
    "softmax_cross_entropy": [sample(_X, _LABEL, skip=[1])],
    "SoftmaxOutput": [
        sample(_X, _LABEL, skip=[1]),
        sample(_CUBE, np.array([[0.0, 3, 1], [2, 2, 0]]), skip=[1], multi_output=True),
    ],
    **{
        f"{kind}RegressionOutput": [sample(_X, _POSITIVE, skip=[1])]
        for kind in ("Linear", "Logistic", "MAE")
    },
    **{
        name: [
            Sample((_CUBE, *_CHANNELS), {"fix_gamma": False, **attrs}, train=train, skip=(3, 4))
            for train in (True, False)
        ]
        for name, attrs in (("BatchNorm", {}), ("_contrib_SyncBatchNorm", {"key": "bn"}))
    },
    "LayerNorm": [sample(_CUBE, random(3, seed=1), random(3, seed=2), eps=1e-2)],
    "RMSNorm": [sample(_CUBE, random(3, seed=1), eps=1e-2)],
    "InstanceNorm": [sample(_CUBE, _CHANNELS[0], _CHANNELS[1])],
    "GroupNorm": [sample(_CUBE, _CHANNELS[0][:2], _CHANNELS[1][:2], num_groups=2)],
    "L2Normalization": [sample(_CUBE, mode=mode) for mode in ("instance", "channel", "spatial")],
    "LRN": [sample(_IMAGE, nsize=3, alpha=0.1)],
    **{
        name: [sample(*[_POSITIVE] * states, **attrs)] for name, (states, attrs) in _UPDATES.items()
    },
    "_adamw_update": [sample(*[_POSITIVE] * 4, np.array([0.5]), lr=0.1, eta=1.0)],
    "_mp_adamw_update": [sample(*[_POSITIVE] * 5, np.array([0.5]), lr=0.1, eta=1.0)],
    **{
        f"_multi_{mixed}adamw_update": [
            sample(
                *[_POSITIVE] * states * 2,
                np.array([0.5]),
                **_RATES[""][1],
                etas=(1, 0.5),
                num_weights=2,
            )
        ]
        for mixed, states in (("", 4), ("mp_", 5))
    },
    **{
        f"_multi_{mixed}lamb_update": [
            sample(
                *[_POSITIVE] * states * 2,
                learning_rates=(0.1, 0.2),
                wds=(0, 0.1),
                step_count=(1, 2),
                num_tensors=2,
            )
        ]
        for mixed, states in (("", 4), ("mp_", 5))
    },
    "_contrib_group_adagrad_update": [sample(_X, _X, _POSITIVE[:, :1], lr=0.1)],
    "lamb_update_phase2": [sample(_X, _X, np.array([1.5]), np.array([0.5]), lr=0.1)],
    **{
        f"{prefix}multi_{kind}_update": [
            sample(
                *[_POSITIVE] * states * 2, *_RATES[prefix][0], **_RATES[prefix][1], num_weights=2
            )
        ]
        for prefix in ("", "preloaded_")
        for kind, states in (("sgd", 2), ("sgd_mom", 3), ("mp_sgd", 3), ("mp_sgd_mom", 4))
    },
    **{
        f"_multi_{kind}_update": [
            sample(*[_POSITIVE] * _UPDATES[f"{kind}_update"][0] * 2, **_RATES[""][1], num_weights=2)
        ]
        for kind in ("nag_mom", "signsgd", "signum", "adam", "rmsprop", "rmspropalex", "ftrl")
    },
    "_multi_sparse_adagrad_update": [sample(*[_POSITIVE] * 6, **_RATES[""][1], num_weights=2)],
    "_multi_decoupled_adam_update": [sample(*[_POSITIVE] * 8, **_RATES[""][1], num_weights=2)],
    "_multi_lion_update": [sample(*[_POSITIVE] * 6, **_RATES[""][1], num_weights=2)],
    **{key: value for kind, params in _DRAW.items() for key, value in _drawn(kind, params).items()},
    "_random_randint": [sample(low=-3, high=9, shape=(2, 3)), sample(low=0, high=2, dtype="int64")],
    "_sample_unique_zipfian": [Sample((), {"range_max": 9, "shape": (2, 3)}, outputs=2)],
    "_sample_multinomial": [sample(np.array([[0.2, 0.8], [0.5, 0.5]]), skip=[0], shape=(3,))],
    "_shuffle": [sample(_CUBE)],
    "_view": [
        sample(_CUBE, offset=3, shape=(2, 4)),
        sample(_CUBE, offset=_CUBE[0].size, shape=_CUBE[0].shape, block=True),
    ],
    "_view_assign": [
        sample(_CUBE, _X * 2, offset=5),
        sample(_CUBE, _CUBE[0] * 2, offset=_CUBE[0].size, block=True),
    ],
    "_view_fill": [
        sample(_CUBE, offset=3, scalar=2.5, shape=(2, 4)),
        sample(_CUBE, offset=_CUBE[0].size, scalar=-1.0, shape=_CUBE[0].shape, block=True),
    ],
    "_assign_cast": [sample(random(4, 1, seed=1), shape=(2, 4, 3), dtype="float64")],
    "_fill": [sample(shape=(2, 3), dtype="float64", scalar=2.5)],
}

#: Operators whose gradient rule is not the derivative of their result, and what it is instead.
NOT_THE_DERIVATIVE: Final[dict[str, str]] = {
    "SoftmaxOutput": "that of the cross-entropy of the result and the label",
    "LinearRegressionOutput": "that of half the squared distance to the label",
    "LogisticRegressionOutput": "that of the cross-entropy of the result and the label",
    "MAERegressionOutput": "that of the distance to the label",
}
