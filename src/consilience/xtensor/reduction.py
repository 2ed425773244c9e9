"""Reductions and running totals over dims.

`dim` is a name, several names, or None or `...` for all; the dims that stay keep their order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from consilience import tensor as pt
from consilience.ir import Node
from consilience.xtensor.named import Dims, Named, SomeDims


class NamedReductions(Named):
    """Methods that reduce a tensor with named dims."""

    __slots__ = ()

    def _reduced(self, function: Callable[..., Node], dim: SomeDims, **settings: Any) -> Self:
        gone = self.chosen(dim)
        axes = tuple(self.dims.index(name) for name in gone)
        if dim is None or dim is Ellipsis:
            axes = tuple(range(self.ndim))
        return self._with(function(self.values, axis=axes, **settings), self._without(gone))

    def _without(self, gone: Dims) -> Dims:
        return tuple(name for name in self.dims if name not in gone)

    def sum(self, dim: SomeDims = None) -> Self:
        """Sum over dims; 0 when empty."""
        return self._reduced(pt.sum, dim)

    def prod(self, dim: SomeDims = None) -> Self:
        """Product over dims; 1 when empty."""
        return self._reduced(pt.prod, dim)

    def mean(self, dim: SomeDims = None) -> Self:
        """Arithmetic mean over dims; NaN when empty."""
        return self._reduced(pt.mean, dim)

    def max(self, dim: SomeDims = None) -> Self:
        """Greatest element over dims; NaN when one is NaN."""
        return self._reduced(pt.max, dim)

    def min(self, dim: SomeDims = None) -> Self:
        """Least element over dims; NaN when one is NaN."""
        return self._reduced(pt.min, dim)

    def std(self, dim: SomeDims = None, *, ddof: int = 0) -> Self:
        """Square root of the variance over dims."""
        return self._reduced(pt.std, dim, ddof=ddof)

    def var(self, dim: SomeDims = None, *, ddof: int = 0) -> Self:
        """Mean squared deviation from the mean over dims, divided by (number - ddof)."""
        return self._reduced(pt.var, dim, ddof=ddof)

    def any(self, dim: SomeDims = None) -> Self:
        """Whether some element is true over dims; False when empty."""
        return self._reduced(pt.any, dim)

    def all(self, dim: SomeDims = None) -> Self:
        """Whether every element is true over dims; True when empty."""
        return self._reduced(pt.all, dim)

    def argmax(self, dim: str | None = None) -> Self:
        """Position of the first greatest element along a dim; of all elements in row-major order for None."""
        return self._reduced(pt.argmax, dim)

    def argmin(self, dim: str | None = None) -> Self:
        """Position of the first least element along a dim; of all elements in row-major order for None."""
        return self._reduced(pt.argmin, dim)

    def cumsum(self, dim: SomeDims = None) -> Self:
        """Running sum along dims, one after the other."""
        return self._running(pt.cumsum, dim)

    def cumprod(self, dim: SomeDims = None) -> Self:
        """Running product along dims, one after the other."""
        return self._running(pt.cumprod, dim)

    def _running(self, function: Callable[..., Node], dim: SomeDims) -> Self:
        node = self.values
        for name in self.chosen(dim):
            node = function(node, axis=self.axis(name))
        return self._with(node, self.dims)

    def diff(self, dim: str, n: int = 1) -> Self:
        """Differences of neighbours along a dim, taken n times."""
        return self._with(pt.diff(self.values, n, self.axis(dim)), self.dims)
