"""Hooks that write what a training loop does: summaries, steps a second, traces of runs."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Final, final

from hybridnet.events import Summary
from hybridnet.session import RunMetadata, RunOptions

from ..session.timeline import Timeline
from ..summaries.writer import FileWriter, FileWriterCache
from .run_hook import (
    SecondOrStepTimer,
    SessionRunArgs,
    SessionRunContext,
    SessionRunValues,
    StepHook,
)

__all__ = ["ProfilerHook", "StepCounterHook", "SummarySaverHook"]

log: Final = logging.getLogger("hybridnet.tf1")


def write_rate(timer: SecondOrStepTimer, step: int, writer: FileWriter | None) -> None:
    """Logs the steps a second since the last time, and writes them as a summary.

    Args:
        timer: knows when that was.
        step: how many steps were made in all.
        writer: of the summary; None: it is only logged.
    """
    seconds, steps = timer.update_last_triggered_step(step)
    if not seconds or steps is None:
        return
    rate = steps / seconds
    log.info("global_step/sec: %g", rate)
    if writer is not None:
        writer.add_summary(Summary([Summary.Value("global_step/sec", simple_value=rate)]), step)


class _WritingHook(StepHook):
    """A hook that writes summaries."""

    def __init__(self, folder: Any, writer: FileWriter | None) -> None:
        self._folder, self._writer = folder, writer

    def begin(self) -> None:
        """Makes the writer, and finds the global step."""
        if self._writer is None and self._folder is not None:
            self._writer = FileWriterCache.get(self._folder)
        super().begin()


@final
class StepCounterHook(_WritingHook):
    """Logs steps a second (``hybridnet.tf1``), and writes them as a summary.

    Args:
        every_n_steps: how many steps lie between;
        every_n_secs: or how many seconds.
        output_dir: the folder of the summaries; None: they are not written.
        summary_writer: or what writes them.
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: Any = None,
    ) -> None:
        super().__init__(output_dir, summary_writer)
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Logs when it is time."""
        step = int(run_values.results) + 1
        if self._timer.should_trigger_for_step(step):
            write_rate(self._timer, step, self._writer)


@final
class SummarySaverHook(_WritingHook):
    """Writes summaries every so often, at the first run to begin with.

    Args:
        save_steps: how many steps lie between;
        save_secs: or how many seconds.
        output_dir: the folder of the files;
        summary_writer: or what writes them.
        scaffold: whose ``summary_op`` is fetched;
        summary_op: or what is fetched: a summary, or a list of them.

    Raises:
        ValueError: not one of `scaffold` and `summary_op` is given, or of the first two.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: Any = None,
        summary_writer: FileWriter | None = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        super().__init__(output_dir, summary_writer)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._scaffold, self._summary = scaffold, summary_op
        self._next: int | None = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Fetches the summaries when it is time."""
        self._due = self._next is None or self._timer.should_trigger_for_step(self._next)
        summary = self._summary
        if summary is None:
            summary = self._scaffold.summary_op
        asked = {"step": self._step}
        if self._due and summary is not None:
            asked["summary"] = summary
        return SessionRunArgs(asked)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes them."""
        if self._writer is None:
            return
        step = int(run_values.results["step"]) + 1
        if self._due:
            step = int(run_context.session.run(self._step))
            self._timer.update_last_triggered_step(step if self._next is None else self._next)
            found = run_values.results.get("summary", ())
            for one in found if isinstance(found, (list, tuple)) else [found]:
                self._writer.add_summary(one, step)
        self._next = step + 1

    def end(self, session: Any) -> None:
        """Writes all buffered summaries to the file."""
        if self._writer is not None:
            self._writer.flush()


@final
class ProfilerHook(StepHook):
    """Traces a run every so often: ``timeline-STEP.json``, for Chrome's and Perfetto's viewers.

    Nodes of a run that is traced run one by one; on several devices or tasks it is whole programs
    that are timed.

    Args:
        save_steps, save_secs, output_dir: as for `SummarySaverHook`.
        show_dataflow, show_memory: without meaning here.
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: Any = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._folder = Path(output_dir)
        self._next: int | None = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Requests a trace of the run when one is due."""
        self._due = self._next is not None and self._timer.should_trigger_for_step(self._next)
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._due else None
        return SessionRunArgs(self._step, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Writes the trace."""
        seen = int(run_values.results)
        if self._next is None:
            self._timer.update_last_triggered_step(seen)
        step = seen + 1
        if self._due and isinstance(run_values.run_metadata, RunMetadata):
            step = int(run_context.session.run(self._step))
            self._timer.update_last_triggered_step(step)
            self._folder.mkdir(parents=True, exist_ok=True)
            text = Timeline(run_values.run_metadata.step_stats).generate_chrome_trace_format()
            (self._folder / f"timeline-{step}.json").write_text(text, encoding="utf-8")
        self._next = step + 1
