"""What a compiled function tells of itself: its graph in writing and as pictures, rules, loops, code, times.

Mixed into `Function`; everything here is computed when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy.typing as npt

from consilience.backends import printing
from consilience.backends.modes import Mode
from consilience.errors import GraphError
from consilience.ir import Node, computed_atoms
from consilience.ir.side_tables import name_of
from consilience.planning import Arguments, Compiled, as_chosen

if TYPE_CHECKING:
    from consilience.backends.inspect.kernel_profile import KernelProfile
    from consilience.backends.inspect.report import Report
    from consilience.backends.inspect.stages import Stage
    from consilience.backends.request import Request
    from consilience.backends.shapes import Lengths


class Inspected:
    """Ways to look into a compiled function."""

    if TYPE_CHECKING:
        name: str
        mode: Mode
        inputs: tuple[Node, ...]
        outputs: tuple[Node, ...]
        updates: dict[Node, Node]
        optimised: tuple[Node, ...]
        _slots: tuple[Node, ...]
        _request: Request

        def _without_updates(self, values: Sequence[npt.ArrayLike], named: dict[str, Any]) -> Any: ...

        def _latest_shapes(self) -> tuple[tuple[int, ...], ...] | None: ...

        def _given(self, values: Sequence[npt.ArrayLike], named: dict[str, Any]) -> list[npt.NDArray[Any]]: ...

        def check_shapes(self, shapes: Sequence[tuple[int, ...]]) -> Lengths: ...

    # ---- the graph

    def labelled_outputs(self) -> list[tuple[Node, str]]:
        """The expressions that are computed, after simplification, with the names of outputs and updates."""
        keys = self._request.keys or [name_of(node) or "" for node in self.outputs]
        labels = [*keys, *(f"[next value of {name_of(slot) or 'a shared variable'}]" for slot in self.updates)]
        return [
            (node, "" if name_of(node) == label else label) for node, label in zip(self.optimised, labels, strict=True)
        ]

    def dprint(self, **options: Any) -> str | TextIO:
        """The graph that is computed as a tree; `options` as for `debugprint`."""
        return printing.debugprint(self, **options)

    def to_dot(self) -> str:
        """The graph that is computed in the language of Graphviz."""
        return printing.to_dot(self)

    def to_graphviz(self) -> Any:
        """The graph that is computed as a `graphviz.Source`; ImportError without that package."""
        return printing.to_graphviz(self)

    def to_mermaid(self) -> str:
        """The graph that is computed in Mermaid's language."""
        return printing.to_mermaid(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """The graph that is computed as one web page with zoom, written to `path` if given."""
        return printing.to_html(self, path, self.name)

    def explain(self) -> Report:
        """Which rules made the graph that is computed, of what, where; what was weighed; and what runs in Python.

        Prices of equal forms, and which of them machine code computes, are told once lengths are known: after a call.
        """
        from consilience.backends.inspect.report import report  # seldom asked for

        return report(self.name, self._request.expressions, self.optimised, self.mode, self._known_lengths())

    def _known_lengths(self) -> Lengths | None:
        """Lengths of the latest call, or those that the types of all inputs fix."""
        nodes = (*self.inputs, *self._slots)
        known = self._latest_shapes()
        if known is None:
            known = tuple(tuple(n for n in node.static_shape if isinstance(n, int)) for node in nodes)
            if any(len(shape) != node.ndim for shape, node in zip(known, nodes, strict=True)):
                return None
        return self.check_shapes(known)

    # ---- the code

    def lowered(self, *values: npt.ArrayLike, **named: npt.ArrayLike) -> str:
        """The loops of the machine code as readable Python, one element at a time.

        Parameters
        ----------
        *values : array_like
            As for a call; they may be left out where shapes are known: after a call, or when all are fixed.
        **named : array_like
            Values by the names of inputs.

        Returns
        -------
        str
            One function `entry` for each stage of the program, with the functions of its loops.

        Raises
        ------
        GraphError
            For a function without machine code.
        TypeError
            Where values are needed.
        """
        return "\n\n".join(stage.python() for stage in self._stages(values, named))

    def llvm(self, *values: npt.ArrayLike, **named: npt.ArrayLike) -> str:
        """The same as LLVM text for this machine, before LLVM's own passes."""
        return "\n\n".join(stage.llvm() for stage in self._stages(values, named))

    def profile_kernels(self, *values: npt.ArrayLike, repeat: int = 100, **named: npt.ArrayLike) -> KernelProfile:
        """The time of every kernel at these values, its bytes and operations, and its share of what is possible.

        Parameters
        ----------
        *values : array_like
            As for a call.
        repeat : int, default 100
            Number of calls, at least 3.
        **named : array_like
            Values by the names of inputs.

        Raises
        ------
        GraphError
            For a function without machine code.
        NativeError
            On systems without `clock_gettime`.
        """
        if isinstance(repeat, bool) or not isinstance(repeat, int) or repeat < 3:
            raise ValueError(f"`repeat` must be a number of calls, at least 3, got {repeat!r}.")
        self._needs_machine_code()
        from consilience.backends.inspect.kernel_profile import profile_kernels

        arrays = self._given(values, dict(named))
        lengths = self.check_shapes([a.shape for a in arrays])
        return self._as_planned(profile_kernels)(
            (*self.inputs, *self._slots),
            self.optimised,
            lengths,
            arrays,
            lambda: self._without_updates(values, named),
            repeat,
        )

    def _as_planned(self, compile: Callable[Arguments, Compiled]) -> Callable[Arguments, Compiled]:
        return as_chosen(compile, self.mode.plan)

    def _needs_machine_code(self, of_llvm: bool = True) -> None:
        made = self.mode.backend
        if made == "reference":
            raise GraphError(
                f"`{self.name}` was compiled for the backend {made!r}, which makes no machine code; use "
                'mode="FAST_RUN".'
            )
        if made != "llvm" and of_llvm:
            raise GraphError(
                f"`{self.name}` was compiled for the backend {made!r}, and this tells of LLVM's machine code; use "
                'mode="FAST_RUN".'
            )

    def _stages(self, values: Sequence[npt.ArrayLike], named: dict[str, Any]) -> list[Stage]:
        self._needs_machine_code()
        from consilience.backends.inspect.stages import stages

        nodes = (*self.inputs, *self._slots)
        arrays: list[npt.NDArray[Any]] | None = None
        if values or named or not self.inputs:
            arrays = self._given(values, named)
            lengths = self.check_shapes([a.shape for a in arrays])
        elif computed_atoms(self.optimised):
            raise TypeError(f"lengths in `{self.name}` depend on values, so give those: the arguments of a call.")
        else:
            known = self._known_lengths()
            if known is None:
                raise TypeError(
                    f"shapes of the inputs of `{self.name}` are not known yet: call it first, or give the arguments of "
                    "a call."
                )
            lengths = known
        found, _ = self._as_planned(stages)(nodes, self.optimised, lengths, arrays)
        if not found:
            raise GraphError(f"`{self.name}` is computed by NumPy at these shapes, so there is no machine code.")
        return found
