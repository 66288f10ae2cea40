"""`profiler`: what ran when, as a table, as data, and as a trace for Perfetto or chrome://tracing.

    hn.profiler.set_config(filename="trace.json")
    hn.profiler.set_state("run")
    train()
    hn.profiler.set_state("stop")
    print(hn.profiler.dumps())
    hn.profiler.dump()

or, for one block, ``with hn.profiler.profile("trace.json"): train()``. ``hn.profiler.timeline()``
is a picture of the same in a page of its own: a notebook shows it, ``.save("timeline.html")``
writes it. ``hn.profiler.traffic()`` is one of what key-value stores sent: who, to whom, how much,
in which round, and how long it took.

Recorded are the engine's tasks, launches of programs, compilations, and waits for values, each with
the line of the user's code that asked for it, and a program with the lines that it was recorded at.
A launch only hands a program to its device: its span is what that cost the thread, while the
computing goes on beside it and shows as the wait of whoever needs the result. Users add their own
tasks, frames, events, counters and markers.

In the trace each device is a group of rows, with the time that it was at work on each program.
That can only be told by waiting for programs: parts of a graph on several devices are waited for
(each device by a thread of its own, so that they overlap as they do otherwise), others with
``set_config(wait_for_programs=True)``, and then no thread runs ahead of its device.

A program on a mesh (`hn.Mesh`) has a row a device. With ``wait_for_programs`` each has the time of
the launch. With ``set_config(trace_devices=True)`` nothing waits: XLA notes when each device was at
work, and on which collective. What devices tell each other is read from the program itself: `dumps`
has a table of it, and a bar of the timeline names it, with operators and lines.
"""

from .control import dump as dump
from .control import dumps as dumps
from .control import events as events
from .control import pause as pause
from .control import profile as profile
from .control import resume as resume
from .control import set_config as set_config
from .control import set_kvstore_handle as set_kvstore_handle
from .control import set_state as set_state
from .control import timeline as timeline
from .control import traffic as traffic
from .marks import Counter as Counter
from .marks import Domain as Domain
from .marks import Event as Event
from .marks import Frame as Frame
from .marks import Marker as Marker
from .marks import Task as Task
from .old_names import dump_profile as dump_profile
from .old_names import profiler_set_config as profiler_set_config
from .old_names import profiler_set_state as profiler_set_state
from .spans import Record as Record
from .spans import Span as Span
from .spans import events_of as events_of
from .trace import trace_text as trace_text

__all__ = [
    "Counter",
    "Domain",
    "Event",
    "Frame",
    "Marker",
    "Record",
    "Span",
    "Task",
    "dump",
    "dump_profile",
    "dumps",
    "events",
    "events_of",
    "pause",
    "profile",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "set_config",
    "set_kvstore_handle",
    "set_state",
    "timeline",
    "trace_text",
    "traffic",
]
