"""Zarr format 3 as far as draws need it: shapes, element types and attributes enter, metadata leaves.

Written here rather than by zarr itself because then every file is written when and as the store needs it.
Specification: https://zarr-specs.readthedocs.io/en/latest/v3/core/ and, for text, zarr-extensions. Files stay outside.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from consilience.errors import StorageError

Array: TypeAlias = npt.NDArray[np.generic]
Metadata: TypeAlias = dict[str, object]

SEPARATORS = ("/", ".")
"""Of the names of chunks: `c/0/1` or `c.0.1`; two ways to keep two generations of chunks apart."""


def data_type(dtype: np.dtype[np.generic], name: str) -> str | Metadata:
    """The name of an element type; StorageError if the format has none that every reader knows."""
    if dtype.kind == "b":
        return "bool"
    if dtype.kind in "iufc" and dtype.itemsize <= (16 if dtype.kind == "c" else 8):
        return str(dtype.newbyteorder("=").name)
    if dtype.kind == "U":
        return {"name": "fixed_length_utf32", "configuration": {"length_bytes": dtype.itemsize}}
    raise StorageError(f"{name} has element type {dtype}, which is not stored; numbers, truth values and text are")


def numpy_type(described: str | Mapping[str, Mapping[str, int]]) -> np.dtype[np.generic]:
    """The element type of that name, as `data_type` gives it."""
    if isinstance(described, str):
        return np.dtype(described)
    return np.dtype(f"U{described['configuration']['length_bytes'] // 4}")


def missing_value(dtype: np.dtype[np.generic]) -> object:
    """What stands for elements never written, of which a store has none within its shapes."""
    return {"b": False, "f": "NaN", "c": ["NaN", "NaN"], "U": ""}.get(dtype.kind, 0)


def array_metadata(
    name: str,
    shape: Sequence[int],
    dtype: np.dtype[np.generic],
    dimensions: Sequence[str],
    chunk: Sequence[int],
    separator: str = "/",
    attributes: Mapping[str, object] | None = None,
) -> Metadata:
    """The metadata of an array; `name` is for errors."""
    endian: Metadata = {"configuration": {"endian": "little"}} if dtype.itemsize > 1 else {}
    return {
        "shape": list(shape),
        "data_type": data_type(dtype, name),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [max(1, length) for length in chunk]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": separator}},
        "fill_value": missing_value(dtype),
        "codecs": [{"name": "bytes"} | endian],
        "attributes": dict(attributes or {}),
        "dimension_names": list(dimensions),
        "zarr_format": 3,
        "node_type": "array",
        "storage_transformers": [],
    }


def group_metadata(attributes: Mapping[str, object], members: Mapping[str, Metadata] | None = None) -> Metadata:
    """The metadata of a group; with those of all its members by path, readers need no other file of metadata."""
    inline: Metadata = {}
    if members is not None:
        inline["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": dict(members)}
    return {"attributes": dict(attributes), "zarr_format": 3, **inline, "node_type": "group"}


def text(metadata: Metadata) -> bytes:
    """Contents of a file `zarr.json`."""
    return json.dumps(metadata, separators=(",", ":")).encode()


def chunk_name(index: Sequence[int], separator: str) -> str:
    """Path of a chunk below its array."""
    return separator.join(["c", *map(str, index)])


def attribute(value: object) -> object:
    """An attribute as JSON takes it."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return value
