"""Types and constants of MLIR: their text in, forms and arrays out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.engines.reader.forms import Form
from consilience.engines.stablehlo.dtypes import DTYPES
from consilience.errors import DtypeError, MissingRuleError, ParseError, ShapeError
from consilience.record import Record

Array = npt.NDArray[Any]


class DenseText(Record, eq=False):
    """A constant before its type is known: what stands between the angle brackets."""

    text: str
    line: int


def tensor_form(text: str, where: str) -> Form:
    """The type `tensor<4x3xf64>`; raises ShapeError for lengths that are open, DtypeError for other elements."""
    inside = re.fullmatch(r"(?:tensor|vector)<((?:(?:\d+|\?)x)*)([\w!]+(?:<.*?>)?)(?:,.*)?>", text.replace(" ", ""))
    if inside is None:
        raise MissingRuleError(f"values of the type `{text}` have no translation ({where}).")
    lengths, element = inside.group(1).split("x")[:-1], inside.group(2)
    if "?" in lengths:
        raise ShapeError(
            f"the type `{text}` leaves a length open ({where}); lower the function for arguments of fixed shapes."
        )
    dtype = DTYPES.get(element.removeprefix("s"))
    if dtype is None:
        raise DtypeError(f"elements of the type `{element}` cannot be computed with here ({where}).")
    return Form(tuple(int(n) for n in lengths), dtype)


def dense_array(value: DenseText, form: Form, resources: dict[str, bytes]) -> Array:
    """The numbers of `dense<...>`: one for all, nested lists, bits in hexadecimal, or a resource of the module."""
    text, dtype = value.text.strip(), np.dtype(form.dtype)
    count = int(np.prod(form.shape, dtype="int64"))
    if text.startswith("resource:"):
        name = text.removeprefix("resource:")
        if name not in resources:
            raise ParseError(
                f"the numbers of a constant are left out in line {value.line}; print the module with all of them "
                "(`large_elements_limit=None`)."
            )
        return np.frombuffer(resources[name][4:], dtype, count).reshape(form.shape)
    if text.startswith('"'):
        return _from_bytes(bytes.fromhex(text.strip('"').removeprefix("0x")), form, count)
    words = re.findall(r"\([^)]*\)|[^\s,\[\]]+", text)
    found = _numbers(words, dtype)
    if len(found) == 1:
        return np.broadcast_to(found[0], form.shape)
    if len(found) != count:
        raise ParseError(f"a constant of {count} elements has {len(found)} numbers, in line {value.line}.")
    return found.reshape(form.shape)


def _from_bytes(data: bytes, form: Form, count: int) -> Array:
    dtype = np.dtype(form.dtype)
    if form.dtype == "bool" and len(data) not in (1, count):  # eight to a byte
        return np.unpackbits(np.frombuffer(data, "uint8"), bitorder="little")[:count].astype(bool).reshape(form.shape)
    found = np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype)
    return np.broadcast_to(found[0], form.shape) if len(found) == 1 else found.reshape(form.shape)


def _numbers(texts: list[str], dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "b":
        return np.array([text in ("true", "1") for text in texts])
    if dtype.kind == "c":
        part = np.dtype(f"float{dtype.itemsize * 4}")
        pairs = [_numbers(re.findall(r"[^\s,()]+", text), part) for text in texts]
        return np.array([complex(*pair) for pair in pairs], dtype)
    if dtype.kind in "iu":
        return np.array([int(text, 0) for text in texts], dtype)
    if any(text.startswith("0x") for text in texts):
        bits = np.dtype(f"uint{8 * dtype.itemsize}")
        return np.array(
            [np.array(int(t, 16), bits).view(dtype) if t.startswith("0x") else dtype.type(float(t)) for t in texts],
            dtype,
        )
    return np.array(texts, "float64").astype(dtype)


def number_of(text: str, kind: str) -> float:
    """One number of a type of floats."""
    return float(_numbers([text], np.dtype(DTYPES.get(kind, "float64")))[0])
