"""Operations that users write, under the name of `pytensor.graph.op`."""

from __future__ import annotations

from consilience.graph import Op

__all__ = ["Op"]
