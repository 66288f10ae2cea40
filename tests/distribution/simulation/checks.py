"""What must be true when a schedule has run, whatever went wrong; and how a failure is told."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from distribution.simulation import data
from distribution.simulation.drawn import Kill, Schedule, draw, is_final, smaller
from distribution.simulation.server_disk import Wrong
from distribution.simulation.world import Process, World

from hybridnet.kvstore.protocol.words import ShardPlace, View

#: Schedules that a process runs at a time, and how many of these chunks are worth processes.
_CHUNK, _WORTH = 1000, 4


def problem_of(schedule: Schedule, machines: Any = None, trace: Any = None) -> str | None:
    """Runs a schedule; returns what is wrong, or None."""
    world = World(schedule, machines, trace)
    try:
        world.run()
        _check(world)
    except Wrong as wrong:
        return str(wrong)
    return None


def first_problem(seeds: Iterable[int], machines: Any = None) -> tuple[int, str] | None:
    """Runs the schedules of these seeds up to the first that fails."""
    for seed in seeds:
        found = problem_of(draw(seed), machines)
        if found:
            return seed, found
    return None


def first_problem_of(count: int) -> tuple[int, str] | None:
    """Runs the schedules of the first `count` seeds, on all cores."""
    chunks = [range(first, min(first + _CHUNK, count)) for first in range(0, count, _CHUNK)]
    if len(chunks) < _WORTH:
        return first_problem(range(count))
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for found in pool.map(first_problem, chunks):
            if found is not None:
                pool.shutdown(cancel_futures=True)
                return found
    return None


def shrink(schedule: Schedule, machines: Any = None) -> Schedule:
    """Takes away what goes wrong, one by one, as long as the schedule still fails."""
    while True:
        for one in smaller(schedule):
            if problem_of(one, machines):
                schedule = one
                break
        else:
            return schedule


def story(seed: int, machines: Any = None, lines: int = 60) -> str:
    """A failing seed for people: what is drawn, shrunk, and the last messages before it failed."""
    schedule = shrink(draw(seed), machines)
    trace: list[str] = []
    found = problem_of(schedule, machines, trace)
    drawn = [
        f"seed {seed}: {found}",
        f"  {schedule.plan}",
        f"  {schedule.steps} steps, {schedule.style}, keys {schedule.keys}",
        *(f"  {store}" for store in schedule.stores),
        f"  barriers={schedule.barriers} restores={schedule.restores} commands={schedule.commands}",
        f"  {schedule.net}",
        *(f"  {fault}" for fault in schedule.faults),
    ]
    left_out = [f"  ({len(trace) - lines} lines before these)"] if len(trace) > lines else []
    return "\n".join([*drawn, *left_out, *trace[-lines:]])


# -- what must be true -------------------------------------------------------------------------


def _check(world: World) -> None:
    schedule = world.schedule
    final = next((one for one in schedule.faults if is_final(one)), None)
    if world.killed_for_good is None:
        final = final if isinstance(final, Kill) and final.empty else None
    raised = [one for one in world.raised if one[2] != "stale"]
    stale = {peer for peer, _, code, _ in world.raised if code == "stale"}
    for peer in stale:
        if world.processes[peer].script is not None and world.processes[peer].script.raised:
            raise Wrong(f"the newest {peer} was told that it is stale")
    scheduler: Any = world.processes[world.peers[-1]].machine
    if world.killed_for_good is not None and not scheduler._complete:
        return
    if world.broken:
        _check_broken(world, raised)
        return
    if _is_deadly(world, final):
        _check_death(world, raised)
        return
    if world.killed_for_good == world.peers[0] and {one[2] for one in raised} == {"dead"}:
        return  # worker 0 had not said what the others need
    if raised:
        raise Wrong(f"{raised[0][0]} raised {raised[0][2]}: {raised[0][3]}")
    _check_values(world)


def _is_deadly(world: World, final: Any) -> bool:
    """Whether the run had to end because of what is gone for good."""
    if final is None or world.killed_for_good is None:
        return False
    if world.killed_for_good.role == "worker":
        return world.plan.on_loss == "fail"
    return not world.plan.standby


def _check_broken(world: World, raised: list[Any]) -> None:
    """All who are left are told that a commit failed, or that others have ended because of it."""
    for peer, process in world.processes.items():
        if peer.role != "worker" or process.script is None or process.script.finished:
            continue
        codes = {code for one, _, code, _ in raised if one == peer}
        if not codes or codes - {"broke", "dead"}:
            raise Wrong(f"{peer} was not told that a commit failed: {codes}")
    if "broke" not in {code for _, _, code, _ in raised}:
        raise Wrong("nobody was told that a commit failed")


def _check_death(world: World, raised: list[Any]) -> None:
    """All who are left are told, in time."""
    for peer, process in world.processes.items():
        if peer.role != "worker" or not process.alive or process.script is None:
            continue
        if process.script.finished:
            continue
        told = [time for one, time, code, _ in raised if one == peer and code == "dead"]
        if not told:
            others = [one for one in raised if one[0] == peer]
            raise Wrong(f"{peer} was not told that {world.killed_for_good} is dead: {others}")
        late = told[0] - world.died_at - world.plan.patience.dead
        if late > 12 + world.schedule.net.slow * 10:
            raise Wrong(f"{peer} was told {late:.1f} s too late")


def _check_values(world: World) -> None:
    """Every push is in every value once; rounds without a worker are scaled."""
    found, schedule = _values(world), world.schedule
    right = data.trained(
        {part: schedule.keys[part.key] for part in sorted(found, key=lambda one: one.id)},
        schedule.stores, world.plan.workers, schedule.steps, schedule.style == "pushpull",
    )  # fmt: skip
    for part, (place, value) in found.items():
        if schedule.learns and value != right[part.id]:
            _tell_difference(part, value, right[part.id], world.plan.workers)
        spec = world.schedule.keys[part.key]
        for cell, number in enumerate(value):
            row = part.first + cell if spec.rows else None
            _check_cell(world, part.id, number, row)
        _check_standby(world, part, place, value)


def _tell_difference(part: Any, value: list[int], right: list[int], workers: int) -> None:
    for cell, (mine, other) in enumerate(zip(value, right, strict=True)):
        if mine % data.LEARNT == other % data.LEARNT and mine != other:
            raise Wrong(
                f"cell {cell} of {part} has the right pushes, which follow from other values than "
                f"those of the rounds before: {data.describe(mine, workers)}"
            )


def _newest_view(world: World) -> View:
    """What the scheduler knew, or those who had heard of it."""
    found = View(0)
    for process in world.processes.values():
        view = _view_of(process)
        if view.places and view.number > found.number:
            found = view
    return found


def _view_of(process: Process) -> View:
    machine: Any = process.machine
    if process.peer.role == "scheduler":
        view: View = machine._view()
    else:
        view = machine._requests.view if process.peer.role == "worker" else machine._view
    return view


def _values(world: World) -> dict[Any, tuple[ShardPlace, list[int]]]:
    view = _newest_view(world)
    found = {}
    for shard, place in enumerate(view.places):
        lost = not world.disks[place.primary].parts and place.standby is not None and place.ready
        rank = place.standby if lost and place.standby is not None else place.primary
        for file in world.disks[rank].parts.values():
            if file.part.shard == shard:
                found[file.part] = (place, file.now().value)
    keys = {part.key for part in found}
    if keys != set(range(len(world.schedule.keys))):
        raise Wrong(f"only keys {keys} are there at the end")
    return found


def _check_cell(world: World, part: Any, value: int, row: int | None) -> None:
    schedule, plan = world.schedule, world.plan
    store = schedule.store_of(part[0])
    value %= data.LEARNT
    steps = range(1 if store.adds else schedule.steps, schedule.steps + 1)
    shrunk = plan.on_loss == "shrink" and world.killed_for_good is not None
    rest = value
    for step in steps:
        units = []
        for rank in range(plan.workers):
            pushes = row is None or (row + rank + step) % 2 == 0
            count = data.digit(value, rank, step)
            rest -= count * data.pushed(rank, step) // data.UNIT
            gone = (
                shrunk and world.killed_for_good is not None and rank == world.killed_for_good.rank
            )
            if pushes and not (gone and not count):
                units.append((rank, count))
            elif count:
                raise Wrong(f"push {step} of rank {rank} is in row {row} of {part}")
        once = {data.UNIT * times for times in store.worth(step)}
        right = once
        present = sum(count > 0 for _, count in units)
        if shrunk and world.is_gone and row is None and present:
            right = {one * plan.workers // present for one in once}
        elif shrunk:
            right = once | {one * plan.workers // n for one in once for n in range(1, plan.workers)}
        for rank, count in units:
            if count not in right:
                what = data.describe(value, plan.workers)
                raise Wrong(
                    f"push {step} of rank {rank} counts {count}/{data.UNIT} in {part}: {what}"
                )
    if rest and not shrunk:
        raise Wrong(f"{part} has what nobody pushed: {data.describe(value, plan.workers)}")


def _check_standby(world: World, part: Any, place: ShardPlace, value: list[int]) -> None:
    """The standby has all, or all but a commit that nobody has heard of."""
    if place.standby is None or not place.ready:
        return
    file = world.disks[place.standby].parts.get(part.id)
    if world.disks[place.standby].memory is None or part.id not in world.disks[place.primary].parts:
        return  # it has just been lost
    mine = world.disks[place.primary].parts[part.id].now()
    if file is None:
        raise Wrong(f"the standby of {part.id} has nothing of it")
    other = file.now()
    if other.record.since != place.since or other.record.round < mine.record.round - 1:
        raise Wrong(f"the standby of {part.id} is behind: {other.record}, {mine.record}")
    if other.record.round == mine.record.round and other.value != value:
        raise Wrong(f"the standby of {part.id} differs")
