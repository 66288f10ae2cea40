"""Lab 12: a convolution as one product with all windows, the batch innermost."""

from collections.abc import Iterator
from typing import Any

from jax import numpy as jnp


def convolution(data: Any, weight: Any, *, stride: tuple[int, int], pad: tuple[int, int]) -> Any:
    """Slides filters over images, without flipping them.

    Args:
        data: (batch, channel, height, width).
        weight: (filter, channel, kernel height, kernel width), of the dtype of data.
        stride: how far the windows are apart, by rows and by columns.
        pad: how many rows and columns of zeros are put on each side.

    Returns:
        (batch, filter, rows, columns), of the same dtype.
    """
    # The batch as the last axis: whatever the window and the stride, what is copied comes in runs
    # as long as it, and so does what the gradient with respect to data adds up.
    x = jnp.transpose(data, (1, 2, 3, 0))
    x = jnp.pad(x, ((0, 0), (pad[0], pad[0]), (pad[1], pad[1]), (0, 0)))
    taps = list(_taps(x, weight.shape[2:], stride))
    # As in the weight: the elements of the window within the channel.
    patches = jnp.stack(taps, axis=1)
    channel, elements, rows, columns, batch = patches.shape
    matrix = patches.reshape(channel * elements, rows * columns * batch)
    y = weight.reshape(-1, channel * elements) @ matrix
    return jnp.transpose(y.reshape(-1, rows, columns, batch), (3, 0, 1, 2))


def _taps(x: Any, kernel: tuple[int, int], stride: tuple[int, int]) -> Iterator[Any]:
    """Yields, for each element of the window, what all windows have there.

    Args:
        x: (channel, height, width, batch), padded.
        kernel: the height and width of the window.
        stride: as in `convolution`.

    Yields:
        (channel, rows, columns, batch), for each row of the window and in it each column.
    """
    spans = []
    for size, width, step in zip(x.shape[1:3], kernel, stride, strict=True):
        last = (size - width) // step * step  # where the last window begins
        spans.append([slice(first, first + last + 1, step) for first in range(width)])
    for row in spans[0]:
        for column in spans[1]:
            yield x[:, row, column]
