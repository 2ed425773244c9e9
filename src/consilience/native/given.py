"""Addresses that users give, under symbols that machine code calls.

An address in, a symbol out; which symbol it is depends on the order in which addresses come, not on the addresses, so
that code compiled in one process serves the next one. What lies at an address is its giver's to keep.
"""

from __future__ import annotations

import threading
from typing import Final

from consilience.errors import NativeError

PREFIX: Final = "given_"
"""Of all such symbols."""

_SYMBOLS: dict[int, str] = {}
_ADDRESSES: dict[str, int] = {}
_lock = threading.Lock()


def symbol(address: int) -> str:
    """The symbol of an address, always the same one in this process."""
    with _lock:
        found = _SYMBOLS.get(address)
        if found is None:
            found = _SYMBOLS[address] = f"{PREFIX}{len(_SYMBOLS)}"
            _ADDRESSES[found] = address
    return found


def address(symbol: str) -> int:
    """The address under a symbol; NativeError where none was given."""
    try:
        return _ADDRESSES[symbol]
    except KeyError:
        raise NativeError(f"no address was given for the symbol {symbol!r}") from None
