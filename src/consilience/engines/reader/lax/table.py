"""The table of lax's operations, which functions of JAX consist of and most of StableHLO's are.

Rules of operands and parameters by JAX's names; the dtype of a result is seen to by the reader.
"""

from __future__ import annotations

from typing import Any, Final

from consilience.engines.reader.rules import Rules

LAX: Final = Rules()


def lax(primitive: str, *operands: Any, **parameters: Any) -> Any:
    """What an operation gives."""
    return LAX[primitive](*operands, primitive=primitive, **parameters)
