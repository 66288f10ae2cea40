"""Methods by which an array is a variable: its place on the tape, its gradient, `backward`."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Final, Self

from hybridnet import tape
from hybridnet.base.errors import MXNetError, ParameterError, ShapeError
from hybridnet.runtime.recording import recorder
from hybridnet.tape import Edge, Leaf, backward

from ._host import AbstractArray
from ._views import ViewMethods
from .placed import lying_as
from .storage_types import storage_type

if TYPE_CHECKING:
    from hybridnet.runtime.recording import Storage

# The words by which programs know the error, from MXNet.
_REFUSED: Final = (
    "{what}: Inplace operations (+=, -=, x[:]=, etc) are not supported when recording with autograd"
)
_IN_PLACE: Final = (
    f"{_REFUSED}: an array that autograd has recorded cannot be changed in place inside "
    "`autograd.record()`; make a new array instead, or do it outside the scope (or under "
    "`autograd.pause()`)"
)
UNTRACKED: Final = (
    f"{_REFUSED}: inside `autograd.record()` a result that autograd has recorded can only replace "
    "a whole array (x[:] = y): here its gradient would be lost; make a new array instead, or write "
    "y.detach() if no gradient is meant"
)
_MARKED_IN_TRACE: Final = (
    "attach_grad: a traced function (hn.function or hybridize()) cannot make an argument or an "
    "array from outside a variable, as it would do so while it is traced and not when it runs; "
    "attach the gradient before the call, or to a copy"
)


class GradientMethods(ViewMethods):
    """An array that autograd can record, and whose gradient a user can ask for."""

    __slots__ = ("_edge",)

    _edge: Edge | None

    @property
    @abstractmethod
    def storage(self) -> Storage:
        """The Storage this is a view of."""

    @abstractmethod
    def detach(self) -> Self:
        """Returns a view of the same memory that the tape knows nothing of."""

    @abstractmethod
    def tostype(self, stype: str) -> GradientMethods:
        """Returns a copy with this storage type."""

    @property
    def edge(self) -> Edge | None:
        """The place on the tape of what computed this array; None if that was not recorded."""
        return self._edge

    @property
    def carries_gradient(self) -> bool:
        """Whether it is on the tape, and a gradient can flow through it to a variable."""
        return self._edge is not None and self._edge.node.flows

    def set_edge(self, edge: Edge | None) -> None:
        """Sets the place on the tape (for the inside of hybridnet)."""
        self._edge = edge

    def refuse_recorded(self, what: str) -> None:
        """Raises MXNetError if this array may not be changed now, being part of what is recorded.

        Args:
            what: how the user wrote the change, for the message.
        """
        if tape.state.recording and self.carries_gradient:
            raise MXNetError(_IN_PLACE.format(what=what))

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Marks this array as a variable whose gradient is wanted, in `grad`.

        Args:
            grad_req: 'write' replaces the gradient at each backward, 'add' adds to it, 'null'
                computes none.
            stype: the storage of the gradient: 'default' (dense), 'csr', or 'row_sparse', which
                holds only rows that have one where operators can tell (`Embedding` with
                ``sparse_grad=True``, `dot` of a csr array); that of others is searched for them.
                None means that of this array.

        Raises:
            ParameterError: `grad_req` or `stype` is none of these.
        """
        if stype is None:
            stype = self.stype
        if stype == "default":
            dense = self if self.stype == "default" else self.tostype("default")
            grad: AbstractArray = lying_as(dense.zeros_like(), dense).detach()
        else:
            kind = storage_type(stype, "attach_grad")
            grad = kind.zeros(self.shape, self.context, self.inferred_dtype)
        self.mark_variable(grad, grad_req)

    def mark_variable(self, grad: AbstractArray, grad_req: str) -> None:
        """Marks this array as a variable with a given gradient array."""
        if grad_req not in ("write", "add", "null"):
            raise ParameterError(f"grad_req must be 'write', 'add' or 'null', got {grad_req!r}")
        if grad.shape != self.shape:
            raise ShapeError(f"the gradient array must have shape {self.shape}, got {grad.shape}")
        trace = recorder.current_trace()
        if trace is not None and not (self.stype == "default" and trace.owns(self.storage)):
            raise MXNetError(_MARKED_IN_TRACE)
        self._edge = Edge(Leaf(grad, grad_req), 0)

    @property
    def grad(self) -> Self | Any:
        """The gradient array, zeros before the first backward.

        None without `attach_grad`, or with ``grad_req='null'``.
        """
        if self._edge is None or type(self._edge.node) is not Leaf or self._edge.node.req == "null":
            return None
        grad: Self | None = self._edge.node.grad
        return grad

    @property
    def _fresh_grad(self) -> bool:
        """Whether `backward` has written the gradient since this was set to False; MXNet's name."""
        return self.grad is not None and bool(self._edge.node.fresh)  # type: ignore[union-attr]

    @_fresh_grad.setter
    def _fresh_grad(self, fresh: bool) -> None:
        if self.grad is not None:
            self._edge.node.fresh = bool(fresh)  # type: ignore[union-attr]

    def backward(
        self,
        out_grad: AbstractArray | None = None,
        retain_graph: bool = False,
        train_mode: bool = True,
    ) -> None:
        """Computes the gradients of this array with respect to the marked variables.

        Args:
            out_grad: the gradient of this array, of its shape; None means ones.
            retain_graph: keep the tape for another backward.
            train_mode: whether operators behave as in training.

        Raises:
            MXNetError: this array was not computed while recording.

        Warns:
            UserWarning: it is of whole numbers or bool: so are its gradients.
        """
        backward(
            [self],
            None if out_grad is None else [out_grad],
            retain_graph=retain_graph,
            train_mode=train_mode,
        )
