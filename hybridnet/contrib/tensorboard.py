"""`tensorboard`: what training shows, written to files that TensorBoard reads."""

from __future__ import annotations

import io
import os
import wave
from typing import Any, Final, final

import numpy as np

from hybridnet.base.errors import ShapeError
from hybridnet.events import Audio, EventWriter, Summary, Value
from hybridnet.module.base_module import BatchEndParam

__all__ = ["LogMetricsCallback", "SummaryWriter"]

_LARGEST: Final = 32767  # of the whole numbers of 16 bits that a WAV file holds


@final
class SummaryWriter(EventWriter):
    """Writes numbers, texts and sounds to a file that TensorBoard reads, under mxboard's names.

        with SummaryWriter("logs") as writer:
            writer.add_scalar("loss", 0.25, global_step=3)

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
