"""`tensorboard`: what training shows, written to files that TensorBoard reads."""

from __future__ import annotations

import io
import os
import time
import wave
from typing import Any, Final, final

import numpy as np

from hybridnet.base.errors import ShapeError
from hybridnet.events import (
    Audio,
    Event,
    EventWriter,
    Image,
    Summary,
    Value,
    graph_message,
    histogram_of,
)
from hybridnet.module.base_module import BatchEndParam
from hybridnet.recordio.images import encoded

from .board_values import image_grid, network_nodes

__all__ = ["LogMetricsCallback", "SummaryWriter"]

_LARGEST: Final = 32767  # of the whole numbers of 16 bits that a WAV file holds
_COMPRESSION: Final = 3  # of PNG files: fast, and not much larger than the smallest


@final
class SummaryWriter(EventWriter):
    """Writes what TensorBoard shows to a file that it reads, under mxboard's names.

        with SummaryWriter("logs") as writer:
            writer.add_scalar("loss", 0.25, global_step=3)
        writer.add_histogram("weights", net[0].weight.data(), global_step=3)
        writer.add_graph(net)

    Args:
        logdir: the folder, which is made.
        max_queue: without meaning here: nothing waits in a queue.
        flush_secs: how many seconds lie between writes to the disk, at most.
        filename_suffix: what the file's name ends with.
        verbose: without meaning here: nothing is logged.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str | None = None,
        verbose: bool = True,
    ) -> None:
        super().__init__(logdir, flush_secs, filename_suffix)

    def add_scalar(self, tag: str, value: Any, global_step: int | None = None) -> None:
        """Writes a number.

        Args:
            tag: its name.
            value: a number, or an array of one.
            global_step: at which step.
        """
        self._add(Value(tag, simple_value=float(value)), global_step)

    def add_histogram(
        self, tag: str, values: Any, global_step: int | None = None, bins: Any = "default"
    ) -> None:
        """Writes how many numbers lie where.

        Args:
            tag: their name.
            values: an array of numbers, of any shape. Infinite ones and NaNs are left out.
            global_step: at which step.
            bins: how many buckets of one width from the smallest number to the largest, where the
                buckets begin and end, or the name of one of `numpy.histogram`'s rules, such as
                'auto'; 'default': TensorFlow's, each a tenth wider than the one before it.

        Raises:
            ValueError: `bins` is something else.
        """
        flat = np.asarray(values, np.float64).reshape(-1)
        named = isinstance(bins, str) and bins == "default"
        counted = histogram_of(flat[np.isfinite(flat)], None if named else bins)
        self._add(Value(tag, histo=counted), global_step)

    def add_image(self, tag: str, image: Any, global_step: int | None = None) -> None:
        """Writes an image, or a batch of them as one, eight in a row.

        Args:
            tag: its name.
            image: (height, width), (channels, height, width) or (batch, channels, height, width),
                with 1 or 3 channels, red first: uint8, or floats from 0 to 1.
            global_step: at which step.

        Raises:
            ShapeError: the array has other dimensions.
            DTypeError: its numbers are neither uint8 nor floats.
            ParameterError: floats are below 0 or above 1, or no numbers.
            ImportError: OpenCV, of the extra ``image``, is not installed.
        """
        pixels = image_grid(image)
        file = encoded("add_image", pixels[..., ::-1], _COMPRESSION, ".png")
        height, width, channels = pixels.shape
        self._add(Value(tag, image=Image(height, width, channels, file)), global_step)

    def add_graph(self, net: Any) -> None:
        """Writes a network, which TensorBoard draws: each operator with its weights as one box.

        Args:
            net: a Symbol, or a HybridBlock; one of several inputs must have been called on arrays.

        Raises:
            ParameterError: it is something else.
        """
        self.add_event(Event(time.time(), graph_def=graph_message(network_nodes(net))))

    def add_text(self, tag: str, text: str, global_step: int | None = None) -> None:
        """Writes a text, which TensorBoard shows as Markdown.

        Args:
            tag: its name.
            text: the text.
            global_step: at which step.
        """
        self._add(Value(f"{tag}/text_summary", text=text), global_step)

    def add_audio(
        self, tag: str, audio: Any, sample_rate: int = 44100, global_step: int | None = None
    ) -> None:
        """Writes a sound of one channel, in 16 bits a sample.

        Args:
            tag: its name.
            audio: an array of one dimension beside those of length 1, from -1 to 1; what lies
                outside is cut off.
            sample_rate: samples a second.
            global_step: at which step.

        Raises:
            ShapeError: the array has more dimensions.
        """
        given = np.asarray(audio, np.float64)
        samples = given.reshape(-1)
        if samples.size != max(given.shape, default=1):
            raise ShapeError(f"add_audio: audio must have one dimension, got shape {given.shape}")
        sound = Audio(sample_rate, 1, samples.size, _as_wave(samples, sample_rate))
        self._add(Value(tag, audio=sound), global_step)

    def _add(self, value: Value, step: int | None) -> None:
        self.add_summary(Summary(value=[value]), global_step=step)


def _as_wave(samples: np.ndarray[Any, Any], rate: int) -> bytes:
    """Returns a WAV file of samples from -1 to 1."""
    whole = np.rint(np.clip(np.nan_to_num(samples), -1, 1) * _LARGEST)
    held = io.BytesIO()
    with wave.open(held, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(whole.astype("<i2").tobytes())
    return held.getvalue()


@final
class LogMetricsCallback:
    """A callback that writes a metric's values, one point for each pass over the data.

        mod.fit(data, eval_end_callback=LogMetricsCallback("logs/eval"), ...)

    Args:
        logging_dir: the folder; TensorBoard shows each of its folders as a line of its own.
        prefix: what names begin with, before a hyphen.
    """

    def __init__(self, logging_dir: str | os.PathLike[str], prefix: str | None = None) -> None:
        self.prefix = prefix
        self.summary_writer = SummaryWriter(logging_dir)

    def __call__(self, param: BatchEndParam) -> None:
        """Writes the metric of a `BatchEndParam`; several for one pass are several points."""
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            tag = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(tag, value, global_step=param.epoch)
        self.summary_writer.flush()
