"""The optimizers of ``tf.train``, by the formulas of TensorFlow's kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

from hybridnet.graph import EdgeHandle

from ..graph import Operation, Tensor, control_dependencies, group, handle
from ..operations.elementwise import cast
from ..variables.variable import Variable, assign
from .optimizer import Handles, Optimizer

__all__ = [
    "AdadeltaOptimizer", "AdagradOptimizer", "AdamOptimizer", "FtrlOptimizer",
    "GradientDescentOptimizer", "MomentumOptimizer", "RMSPropOptimizer",
]  # fmt: skip


def _sqrt(x: EdgeHandle) -> EdgeHandle:
    return handle("sqrt", x)


def _moved(held: EdgeHandle, target: EdgeHandle, kept: EdgeHandle) -> EdgeHandle:
    """A running mean: `kept` of what it was, and the rest of what is new."""
    made: EdgeHandle = held + (target - held) * (1 - kept)
    return made


@final
class GradientDescentOptimizer(Optimizer):
    """``x -= learning_rate * g``.

    Args:
        learning_rate: a number, a tensor, or a function of nothing that returns one.
        use_locking, name: see `Optimizer`.
    """

    _kind = "ApplyGradientDescent"

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._given = {"learning_rate": learning_rate}

    def _prepared(self, grad: Tensor, numbers: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        (rate,) = numbers
        with grad.graph.colocate_with(grad.op):
            return grad * cast(rate, grad.dtype), []

    def _rule(self, held: Handles, numbers: Handles, grad: EdgeHandle) -> list[EdgeHandle]:
        return [held[0] - grad]


@final
class MomentumOptimizer(Optimizer):
    """``a = momentum * a + g; x -= learning_rate * a``.

    Args:
        momentum: likewise.
        learning_rate, use_locking, name: as for `GradientDescentOptimizer`.
        use_nesterov: ``x -= learning_rate * (g + momentum * a)`` instead (Sutskever et al., "On the
            importance of initialization and momentum in deep learning", 2013).
    """

    _kind = "ApplyMomentum"

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._given = {"learning_rate": learning_rate, "momentum": momentum}
        self._begun = {"momentum": 0.0}
        self._use_nesterov = use_nesterov

    def _rule(self, held: Handles, numbers: Handles, grad: EdgeHandle) -> list[EdgeHandle]:
        (x, total), (rate, momentum) = held, numbers
        total = total * momentum + grad
        step = grad * rate + total * momentum * rate if self._use_nesterov else total * rate
        return [x - step, total]


@final
class AdamOptimizer(Optimizer):
    """Adam (Kingma and Ba, "Adam: a method for stochastic optimization", 2015).

    ``x -= rate * m / (sqrt(v) + epsilon)``, with the bias correction in the rate, so that `epsilon`
    is what the paper calls epsilon hat.

    Args:
        beta1: how much of the mean of gradients is kept.
        beta2: how much of the mean of their squares is kept.
        epsilon: a small number.
        learning_rate, use_locking, name: as for `GradientDescentOptimizer`.
        use_own_namescope_for_non_slot_vars: see `Optimizer`.
    """

    _kind = "ApplyAdam"

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-08,
        use_locking: bool = False,
        name: str = "Adam",
        use_own_namescope_for_non_slot_vars: bool = False,
    ) -> None:
        super().__init__(use_locking, name, use_own_namescope_for_non_slot_vars)
        self._betas = (beta1, beta2)
        betas = {"beta1": beta1, "beta2": beta2}
        self._given = {"learning_rate": learning_rate, **betas, "epsilon": epsilon}
        self._begun = {"m": 0.0, "v": 0.0}
        self._powers: list[Variable] = []

    def _begin(self, variables: Sequence[Variable]) -> None:
        first = min(variables, key=lambda one: one.name)
        self._powers = [
            self._other(f"beta{number}_power", beta() if callable(beta) else beta, first)
            for number, beta in enumerate(self._betas, 1)
        ]

    def _numbers(self) -> dict[str, Any]:
        powers = {f"power{number}": one.value() for number, one in enumerate(self._powers, 1)}
        return {**self._given, **powers}

    def _rule(self, held: Handles, numbers: Handles, grad: EdgeHandle) -> list[EdgeHandle]:
        x, m, v = held
        rate, beta1, beta2, epsilon, power1, power2 = numbers
        rate = rate * _sqrt(1 - power2) / (1 - power1)
        m = _moved(m, grad, beta1)
        v = _moved(v, handle("square", grad), beta2)
        return [x - m * rate / (_sqrt(v) + epsilon), m, v]

    def _finish(self, updates: list[Operation], name: str) -> Operation:
        with control_dependencies(updates):
            pairs = zip(self._powers, self._betas, strict=True)
            moved = [
                assign(power, power.value() * (beta() if callable(beta) else beta)).op
                for power, beta in pairs
            ]
        return group(*updates, *moved, name=name)


@final
class RMSPropOptimizer(Optimizer):
    """RMSProp (Tieleman and Hinton, lecture 6.5 of "Neural networks for machine learning", 2012).

    Args:
        decay: how much of the mean of squares is kept.
        momentum: of the steps.
        epsilon: added to the mean of squares, inside the root.
        learning_rate, use_locking, name: as for `GradientDescentOptimizer`.
        centered: whether the mean of gradients is taken off, so that the steps are divided by a
            standard deviation.
    """

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        steps = {"learning_rate": learning_rate, "decay": decay, "momentum": momentum}
        self._given = {**steps, "epsilon": epsilon}
        self._centered = centered
        self._kind = "ApplyCenteredRMSProp" if centered else "ApplyRMSProp"
        means = {"rms": 1.0, "mg": 0.0} if centered else {"rms": 1.0}
        self._begun = {**means, "momentum": 0.0}

    def _rule(self, held: Handles, numbers: Handles, grad: EdgeHandle) -> list[EdgeHandle]:
        x, squares, *means, step = held
        rate, decay, momentum, epsilon = numbers
        squares = _moved(squares, handle("square", grad), decay)
        spread = squares
        if self._centered:
            means = [_moved(means[0], grad, decay)]
            spread = squares - handle("square", means[0])
        step = step * momentum + grad * rate / _sqrt(spread + epsilon)
        return [x - step, squares, *means, step]


@final
class AdagradOptimizer(Optimizer):
    """Adagrad (Duchi, Hazan and Singer, 2011): ``a += g^2; x -= learning_rate * g / sqrt(a)``.

    Args:
        initial_accumulator_value: what the sums of squares begin with, above 0.
        learning_rate, use_locking, name: as for `GradientDescentOptimizer`.

    Raises:
        ValueError: `initial_accumulator_value` is not above 0.
    """

    _kind = "ApplyAdagrad"

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._given = {"learning_rate": learning_rate}
        self._begun = {"accumulator": initial_accumulator_value}

    def _rule(self, held: Handles, numbers: Handles, grad: EdgeHandle) -> list[EdgeHandle]:
        x, total = held
        total = total + handle("square", grad)
        return [x - grad * numbers[0] / _sqrt(total), total]


@final
class AdadeltaOptimizer(Optimizer):
    """Adadelta (Zeiler, "Adadelta: an adaptive learning rate method", 2012).

    Args:
        rho: how much of the means is kept.
        epsilon: a small number.
        learning_rate, use_locking, name: as for `GradientDescentOptimizer`; the paper's rate is 1.
    """

    _kind = "ApplyAdadelta"

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._given = {"lr": learning_rate, "rho": rho, "epsilon": epsilon}
        self._begun = {"accum": 0.0, "accum_update": 0.0}

    def _rule(self, held: Handles, numbers: Handles, grad: EdgeHandle) -> list[EdgeHandle]:
        x, squares, steps = held
        rate, rho, epsilon = numbers
        squares = squares * rho + handle("square", grad) * (1 - rho)
        step = _sqrt(steps + epsilon) / _sqrt(squares + epsilon) * grad
        steps = steps * rho + handle("square", step) * (1 - rho)
        return [x - step * rate, squares, steps]


#: The power of the sums of squares that the learning rate is usually divided by.
_ROOT: Final = -0.5


@final
class FtrlOptimizer(Optimizer):
    """FTRL-proximal (McMahan et al., "Ad click prediction: a view from the trenches", 2013).

    Args:
        learning_rate_power: at most 0; 0 for a fixed rate.
        initial_accumulator_value: what the sums of squares begin with, not below 0.
        l1_regularization_strength, l2_regularization_strength: not below 0.
        learning_rate, use_locking, name: as for `GradientDescentOptimizer`.

    Raises:
        ValueError: a number is out of its range.
    """

    _kind = "ApplyFtrl"

    def __init__(
        self,
        learning_rate: Any,
        learning_rate_power: float = _ROOT,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
    ) -> None:
        super().__init__(use_locking, name)
        strengths = (l1_regularization_strength, l2_regularization_strength)
        if learning_rate_power > 0.0 or min(initial_accumulator_value, *strengths) < 0.0:
            raise ValueError(
                "Ftrl: learning_rate_power must be at most 0, initial_accumulator_value and the "
                f"strengths not below 0, got {learning_rate_power}, {initial_accumulator_value}, "
                f"{strengths}"
            )
        self._begun = {"accum": initial_accumulator_value, "linear": 0.0}
        self._power = learning_rate_power
        self._given = {"learning_rate": learning_rate, "l1": strengths[0], "l2": strengths[1]}

    def _rule(self, held: Handles, numbers: Handles, grad: EdgeHandle) -> list[EdgeHandle]:
        x, squares, linear = held
        rate, l1, l2 = numbers
        before = self._raised(squares)
        squares = squares + handle("square", grad)
        now = self._raised(squares)
        linear = linear + grad - (now - before) / rate * x
        quadratic = now / rate + l2 * 2
        inside = handle("_npi_less_equal", handle("abs", linear), l1)
        new = (handle("sign", linear) * l1 - linear) / quadratic
        return [handle("_npi_where", inside, handle("zeros_like", new), new), squares, linear]

    def _raised(self, squares: EdgeHandle) -> EdgeHandle:
        if self._power == _ROOT:
            return _sqrt(squares)
        return handle("_power_scalar", squares, scalar=-self._power)
