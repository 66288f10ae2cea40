"""`SequentialModule`: modules one after the other, each with the outputs of the one before."""

from __future__ import annotations

import copy
import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.initializer.base import Filler
from hybridnet.metric import EvalMetric
from hybridnet.ndarray import NDArray
from hybridnet.runtime.recording import recorder

from .arguments import require
from .base_module import UNIFORM, BaseModule
from .types import (
    Batch,
    Description,
    Labels,
    Logger,
    MonitorLike,
    OptimizerLike,
    Options,
    Requests,
    StoreLike,
)

__all__ = ["SequentialModule"]


class SequentialModule(BaseModule):
    """A chain of modules.

        chain = SequentialModule().add(features).add(head, take_labels=True, auto_wiring=True)

    Args:
        logger: where the loops write; default the root logger.
    """

    #: For `add`: the module gets the labels.
    META_TAKE_LABELS: ClassVar[str] = "take_labels"
    #: For `add`: the outputs before it are its data whatever their names.
    META_AUTO_WIRING: ClassVar[str] = "auto_wiring"

    def __init__(self, logger: Logger = logging) -> None:
        super().__init__(logger)
        self._modules: list[BaseModule] = []
        self._metas: list[dict[str, bool]] = []
        self._label_shapes: Sequence[Description] | None = None

    def add(self, module: BaseModule, **kwargs: bool) -> SequentialModule:
        """Adds a module at the end; the chain must be bound and initialized anew.

        Args:
            module: the module.
            kwargs: ``take_labels=True``, ``auto_wiring=True``.

        Returns:
            This chain.

        Raises:
            ParameterError: there is another keyword.
        """
        known = (self.META_TAKE_LABELS, self.META_AUTO_WIRING)
        unknown = sorted(kwargs.keys() - set(known))
        if unknown:
            raise ParameterError(f"add: keywords must be of {', '.join(known)}, got {unknown}")
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    @property
    def data_names(self) -> Sequence[str]:
        """The names of the first module's data."""
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> Sequence[str]:
        """The names of the last module's outputs."""
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self) -> Sequence[Description]:
        """Descriptions of the first module's data."""
        require(self.binded, "data_shapes", "bind it")
        return self._modules[0].data_shapes

    @property
    def label_shapes(self) -> Sequence[Description] | None:
        """Descriptions of the labels, or None where no module takes them."""
        require(self.binded, "label_shapes", "bind it")
        return self._label_shapes

    @property
    def output_shapes(self) -> Sequence[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the last module's outputs."""
        require(self.binded, "output_shapes", "bind it")
        return self._modules[-1].output_shapes

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Returns parameters and auxiliary states of all modules by name."""
        self._require_ready("get_params")
        args: dict[str, NDArray] = {}
        states: dict[str, NDArray] = {}
        for module in self._modules:
            arg_params, aux_params = module.get_params()
            args.update(arg_params)
            states.update(aux_params)
        return args, states

    def init_params(
        self,
        initializer: Filler | None = UNIFORM,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """See `BaseModule.init_params`; each module takes of what is given what it has.

        Raises:
            MXNetError: the chain is not bound, or two modules have parameters of one name.
            ParameterError: a value is given that no module has.
        """
        if self.params_initialized and not force_init:
            return
        require(self.binded, "init_params", "bind it")
        taken: set[str] = set()
        for module in self._modules:
            module.init_params(
                initializer=initializer,
                arg_params=arg_params,
                aux_params=aux_params,
                allow_missing=allow_missing,
                force_init=force_init,
                allow_extra=True,
            )
            names = {name for arrays in module.get_params() for name in arrays}
            if taken & names:
                raise MXNetError(
                    f"init_params: parameters of {type(module).__name__} have names that those of "
                    f"a module before it have: {', '.join(sorted(taken & names))}"
                )
            taken |= names
        extra = {*(arg_params or ()), *(aux_params or ())} - taken
        if extra and not allow_extra:
            raise ParameterError(
                f"init_params: no module has {', '.join(sorted(extra))}; allow_extra=True passes "
                "over it"
            )
        self.params_initialized = True

    def bind(
        self,
        data_shapes: Sequence[Description],
        label_shapes: Sequence[Description] | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: Requests = "write",
    ) -> None:
        """Binds all modules, each for the outputs of the one before; see `BaseModule.bind`.

        Raises:
            MXNetError: there are no modules.
            ParameterError: there is a `shared_module`, or inputs need gradients without training.
        """
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if shared_module is not None or (inputs_need_grad and not for_training):
            raise ParameterError(
                "bind: a SequentialModule takes no shared_module, and inputs_need_grad=True needs "
                "for_training=True"
            )
        require(self._modules, "bind", "add a module")
        shapes, takes = data_shapes, False
        for number, (module, meta) in enumerate(zip(self._modules, self._metas, strict=True)):
            labels = label_shapes if meta.get(self.META_TAKE_LABELS) else None
            takes = takes or bool(meta.get(self.META_TAKE_LABELS))
            if meta.get(self.META_AUTO_WIRING):
                names = module.data_names
                if len(names) != len(shapes):
                    raise ParameterError(
                        f"bind: module {number} needs data for {', '.join(names)}, got "
                        f"{len(shapes)} outputs of the one before"
                    )
                shapes = [(name, given[1]) for name, given in zip(names, shapes, strict=True)]
            module.bind(
                data_shapes=shapes,
                label_shapes=labels,
                for_training=for_training,
                inputs_need_grad=inputs_need_grad or (for_training and number > 0),
                force_rebind=force_rebind,
                grad_req=grad_req,
            )
            shapes = module.output_shapes
        self._label_shapes = label_shapes if takes else None
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.binded = True

    def init_optimizer(
        self,
        kvstore: StoreLike = "local",
        optimizer: OptimizerLike = "sgd",
        optimizer_params: Options = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Makes an optimizer for each module; see `Module.init_optimizer`."""
        self._require_ready("init_optimizer")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        for module in self._modules:
            module.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        self.optimizer_initialized = True

    def install_monitor(self, mon: MonitorLike) -> None:
        """Makes a `Monitor` watch all modules."""
        require(self.binded, "install_monitor", "bind it")
        for module in self._modules:
            module.install_monitor(mon)

    def forward(self, data_batch: Batch | list[Batch], is_train: bool | None = None) -> None:
        """Computes module after module; see `BaseModule.forward`."""
        self._require_ready("forward")
        batch: Any = copy.copy(data_batch)  # whose data change from module to module
        with recorder.one_pass(self.for_training if is_train is None else is_train):
            for number, module in enumerate(self._modules):
                if number:
                    before = self._modules[number - 1]
                    batch.data = before.get_outputs()
                    if getattr(batch, "provide_data", None):
                        batch.provide_data = [
                            (name, value.shape)
                            for name, value in zip(module.data_names, batch.data, strict=True)
                        ]
                module.forward(batch, is_train=is_train)

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Computes gradients from the last module to the first; see `BaseModule.backward`."""
        self._require_ready("backward")
        grads = out_grads
        for number in range(len(self._modules) - 1, -1, -1):
            self._modules[number].backward(out_grads=grads)
            if number:
                grads = self._modules[number].get_input_grads()

    def update(self) -> None:
        """Updates the parameters of all modules."""
        require(self.optimizer_initialized, "update", "call init_optimizer")
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Returns the last module's outputs."""
        self._require_ready("get_outputs")
        outputs: list[Any] = self._modules[-1].get_outputs(merge_multi_context)
        return outputs

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Returns gradients of the first module's data."""
        self._require_ready("get_input_grads")
        grads: list[Any] = self._modules[0].get_input_grads(merge_multi_context)
        return grads

    def update_metric(
        self, eval_metric: EvalMetric, labels: Labels, pre_sliced: bool = False
    ) -> None:
        """Adds the outputs of the modules that take labels to a metric."""
        self._require_ready("update_metric")
        for module, meta in zip(self._modules, self._metas, strict=True):
            if meta.get(self.META_TAKE_LABELS):
                module.update_metric(eval_metric, labels, pre_sliced)
