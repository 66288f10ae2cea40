"""``tf.contrib.legacy_seq2seq``: sequences as lists of steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..graph import Tensor, convert_to_tensor, name_scope
from ..operations import add, add_n, cast, divide, multiply, reduce_sum, reshape, shape
from ..operations.nn.entropy import sparse_softmax_cross_entropy_with_logits
from ..recurrent.static import static_rnn
from ..variables.scope import get_variable_scope, variable_scope

__all__ = ["basic_rnn_seq2seq", "rnn_decoder", "sequence_loss", "sequence_loss_by_example"]

#: What is added to a sum of weights, which may be 0.
_LITTLE = 1e-12


def rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    loop_function: Callable[[Any, int], Any] | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Runs a cell over steps; returns its outputs, and the last state.

    Args:
        decoder_inputs: the inputs of the steps, each (batch, inputs).
        initial_state: the first state.
        cell: an `RNNCell`.
        loop_function: of an output and the step's number, the next input; if given, only the first
            of `decoder_inputs` goes in.
        scope: of the variables; default 'rnn_decoder'.
    """
    with variable_scope(scope or "rnn_decoder"):
        state, outputs, last = initial_state, [], None
        for number, given in enumerate(decoder_inputs):
            if loop_function is not None and last is not None:
                with variable_scope("loop_function", reuse=True):
                    given = loop_function(last, number)
            if number:
                get_variable_scope().reuse_variables()
            output, state = cell(given, state)
            outputs.append(output)
            last = None if loop_function is None else output
    return outputs, state


def basic_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    dtype: Any = "float32",
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Runs a cell over steps, and another like it, from its last state, over others.

    Args:
        encoder_inputs: the inputs of the first, each (batch, inputs).
        decoder_inputs: those of the second.
        cell: an `RNNCell`; both have variables of their own.
        dtype: of the first state, zeros.
        scope: of the variables; default 'basic_rnn_seq2seq'.
    """
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def sequence_loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns for each example the sum over steps of its losses, each times its weight.

    Args:
        logits: of each step, (batch, classes).
        targets: of each step, (batch,) whole numbers.
        weights: of each step, (batch,).
        average_across_timesteps: whether that is divided by the sum of the weights.
        softmax_loss_function: of `labels` and `logits`, in the place of the cross entropy.

    Raises:
        ValueError: the lists are not as long.
    """
    if not len(logits) == len(targets) == len(weights):
        raise ValueError(
            "Lengths of logits, weights, and targets must be the same "
            f"{len(logits)}, {len(weights)}, {len(targets)}."
        )
    loss = softmax_loss_function or sparse_softmax_cross_entropy_with_logits
    with name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        factors = [convert_to_tensor(one) for one in weights]
        steps = []
        for scores, wanted, factor in zip(logits, targets, factors, strict=True):
            labels = reshape(convert_to_tensor(wanted), [-1])
            steps.append(multiply(loss(labels=labels, logits=convert_to_tensor(scores)), factor))
        total = add_n(steps)
        return divide(total, add(add_n(factors), _LITTLE)) if average_across_timesteps else total


def sequence_loss(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the sum of `sequence_loss_by_example`, divided by the batch if it is averaged."""
    with name_scope(name, "sequence_loss", [*logits, *targets, *weights]):
        total = reduce_sum(
            sequence_loss_by_example(
                logits, targets, weights, average_across_timesteps, softmax_loss_function
            )
        )
        if not average_across_batch:
            return total
        batch: Any = shape(convert_to_tensor(targets[0]))[0]  # type: ignore[index]  # overloaded
        return divide(total, cast(batch, total.dtype))
