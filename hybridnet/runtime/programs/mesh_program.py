"""The executable of a structure on a mesh: a program for each way in which its inputs lie.

A structure says nothing of placements, which are only known once its inputs are there. XLA divides
a program among the devices by them; it chooses how results lie, but for those that overwrite an
array, which lie as that did. (Xu et al., "GSPMD: general and scalable parallelization for ML
computation graphs", 2021.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final, final

from hybridnet.base.host_array import DeviceArray
from hybridnet.base.lazy import jax, jax_core
from hybridnet.base.mesh import Mesh
from hybridnet.ops.host import by_jax

from ..observe.program_log import describe, explaining, say
from ..segments.code import Code

__all__ = ["MeshExecutable"]

#: In how many ways the inputs of a structure may lie before its programs are given up.
_MOST: Final = 64

_numbers: Final = count()


@final
class MeshExecutable:
    """The programs of a structure on a mesh; called as a program is.

    Args:
        code: the structure.
        traced: what it was traced to.

    Attributes:
        last: the executable that was called last; None if none was.
        modules: the executables by the names that XLA has for them, as in its traces.
    """

    def __init__(self, code: Code, traced: jax.stages.Traced) -> None:
        assert isinstance(code.ctx, Mesh)
        self._code = code
        self._traced = traced
        self._made: dict[tuple[Any, ...], Any] = {}
        self.last: Any = None
        self.modules: dict[str, Any] = {}

    def __call__(self, *arguments: jax.Array) -> Sequence[DeviceArray]:
        """Starts the program for arguments that lie as these do; compiles it if need be."""
        key = tuple([x.sharding for x in arguments])
        made = self._made.get(key)
        if made is None:
            made = self._compiled(key)
        self.last = made
        outputs: Sequence[DeviceArray] = made(*arguments)
        return outputs

    def _compiled(self, key: tuple[Any, ...]) -> Any:
        code = self._code
        types = self._traced.jaxpr
        donated = code.donated
        # As `Segment.code` pairs them.
        kept = [key[slot] for slot in donated]
        others = [None] * (len(code.outputs) - len(kept))
        name = f"mesh_program_{next(_numbers)}"
        program = jax.jit(
            _named(jax_core.jaxpr_as_fun(types), name),
            in_shardings=key,
            out_shardings=[*kept, *others],
            donate_argnums=donated,
            keep_unused=True,
        )
        with jax.enable_x64(True):
            given = [
                jax.ShapeDtypeStruct(one.shape, one.dtype, sharding=sharding)
                for one, sharding in zip(types.in_avals, key, strict=True)
            ]
            made = by_jax(program.lower, *given).compile()
        if len(self._made) >= _MOST:
            self._made.clear()
            self.modules.clear()
        self._made[key] = self.modules[f"jit_{name}"] = made
        if explaining() and len(self._made) > 1:
            say("%s: compiled again, as its inputs lie in another way", describe(code))
        return made


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Returns a function under the name that XLA is to have for its program.

    XLA names its inputs ``args[0]``, ``args[1]``, ..., as `read_collectives` expects.
    """

    def program(*args: Any) -> Any:
        return function(*args)

    program.__name__ = name
    return program
