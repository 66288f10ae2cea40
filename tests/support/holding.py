"""Ways in which a program holds an object while something else runs: what no count may miss.

Each takes a function that gets the object, and one that acts while it is held, and returns the
object as it finds it afterwards. In between nothing else refers to it.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any, Final

__all__ = ["WAYS"]

Get = Callable[[], Any]
Act = Callable[[], Any]


def by_a_variable(get: Get, act: Act) -> Any:
    held = get()
    act()
    return held


def by_a_variable_that_functions_are_given(get: Get, act: Act) -> Any:
    """Python 3.14 hands the same reference down: none of the calls adds one."""

    def outer(held: Any) -> Any:
        return inner(held, 1)

    def inner(held: Any, depth: int) -> Any:
        if depth < 5:
            return inner(held, depth + 1)
        act()
        return held

    held = get()
    return outer(held)


def by_an_argument(get: Get, act: Act) -> Any:
    """There is no variable below."""

    def inner(held: Any) -> Any:
        act()
        return held

    return inner(get())


def by_a_named_argument(get: Get, act: Act) -> Any:
    def inner(*arguments: Any, held: Any) -> Any:
        act()
        return held

    return inner(1, held=get())


def by_an_argument_of_many(get: Get, act: Act) -> Any:
    def inner(*arguments: Any) -> Any:
        act()
        return arguments[1]

    return inner(*(1, get(), 2))


def by_an_expression(get: Get, act: Act) -> Any:
    """It is on the stack of a running frame, and in no variable."""
    return (get(), act())[0]


def by_an_expression_with_a_variable(get: Get, act: Act) -> Any:
    """Both are in the frame: in the variable, and what is borrowed from it on the stack."""
    held = get()
    return (held, act(), held)[0]


def by_a_comprehension(get: Get, act: Act) -> Any:
    seen = [(held, act())[0] for held in (x() for x in (get,))]
    return seen[0]


def by_a_with_block(get: Get, act: Act) -> Any:
    class Entered:
        def __init__(self, held: Any) -> None:
            self.held = held

        def __enter__(self) -> Any:
            return self.held

        def __exit__(self, *error: object) -> None:
            pass

    with Entered(get()) as held:
        act()
    return held


def by_a_generators_variable(get: Get, act: Act) -> Any:
    def steps() -> Generator[Any, Any, Any]:
        held = get()
        yield
        yield held

    return _resumed(steps(), act)


def by_a_generators_argument(get: Get, act: Act) -> Any:
    """Its frame has left the stack that the argument came on."""

    def steps(held: Any) -> Generator[Any, Any, Any]:
        yield
        yield held

    def begun() -> Generator[Any, Any, Any]:
        held = get()
        return steps(held)

    return _resumed(begun(), act)


def by_a_generators_expression(get: Get, act: Act) -> Any:
    def steps() -> Generator[Any, Any, Any]:
        held = get()
        yield (held, (yield))[0]

    return _resumed(steps(), act)


def _resumed(steps: Generator[Any, Any, Any], act: Act) -> Any:
    next(steps)
    act()
    return next(steps)


def by_a_coroutine(get: Get, act: Act) -> Any:
    async def holder(event: asyncio.Event, held: Any) -> Any:
        await event.wait()
        return held

    async def main() -> Any:
        event = asyncio.Event()
        task = asyncio.ensure_future(holder(event, get()))
        await asyncio.sleep(0)
        act()
        event.set()
        return await task

    return asyncio.run(main())


def by_a_closure(get: Get, act: Act) -> Any:
    held = get()

    def read() -> Any:
        return held

    act()
    return read()


def by_a_default(get: Get, act: Act) -> Any:
    def read(held: Any = None) -> Any:
        return held

    read.__defaults__ = (get(),)
    act()
    return read()


def by_a_partial(get: Get, act: Act) -> Any:
    read = functools.partial(lambda held: held, get())
    act()
    return read()


def by_an_attribute(get: Get, act: Act) -> Any:
    class Thing:
        pass

    thing = Thing()
    thing.held = get()  # type: ignore[attr-defined]
    act()
    return thing.held  # type: ignore[attr-defined]


def by_a_dict(get: Get, act: Act) -> Any:
    found = {"held": get()}
    act()
    return found["held"]


def by_a_frame(get: Get, act: Act) -> Any:
    """The frames of an exception keep their variables."""

    def fails(held: Any) -> None:
        raise KeyError

    def frame_of_failure() -> FrameType:
        try:
            fails(get())
        except KeyError as error:
            assert error.__traceback__ is not None
            assert error.__traceback__.tb_next is not None
            return error.__traceback__.tb_next.tb_frame
        raise AssertionError

    frame = frame_of_failure()
    act()
    found = frame.f_locals["held"]
    del frame  # it refers to this one, which refers to it
    return found


def by_another_thread(get: Get, act: Act) -> Any:
    return _in_a_thread(lambda hold: hold(get()), act)


def by_another_threads_expression(get: Get, act: Act) -> Any:
    def holds(hold: Callable[[Any], Any]) -> Any:
        held = get()
        return (held, hold(None))[0]

    return _in_a_thread(holds, act)


def _in_a_thread(holds: Callable[[Callable[[Any], Any]], Any], act: Act) -> Any:
    holding, done = threading.Event(), threading.Event()
    found = []

    def hold(held: Any) -> Any:
        holding.set()
        assert done.wait(60)
        return held

    thread = threading.Thread(target=lambda: found.append(holds(hold)))
    thread.start()
    try:
        assert holding.wait(60)
        act()
    finally:
        done.set()
        thread.join()
    return found[0]


WAYS: Final = [way for name, way in list(globals().items()) if name.startswith("by_")]
