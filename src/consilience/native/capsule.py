"""C functions that Cython modules export in capsules.

A capsule comes in; its signature as Cython spells it and its address go out. Which module, and what the
signature means, stay outside.
"""

from __future__ import annotations

import ctypes


def capsule_name(capsule: object) -> bytes:
    """What the module calls the content: the signature of a C function."""
    function = ctypes.pythonapi.PyCapsule_GetName
    function.restype, function.argtypes = ctypes.c_char_p, [ctypes.py_object]
    text: bytes = function(capsule)
    return text


def capsule_pointer(capsule: object, name: bytes | None) -> int:
    """The address in a capsule of this name."""
    function = ctypes.pythonapi.PyCapsule_GetPointer
    function.restype, function.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    pointer: int = function(capsule, name)
    return pointer
