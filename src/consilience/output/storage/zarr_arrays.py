"""Groups of labelled arrays as directories of a zarr store, written without zarr and xarray: groups enter, files leave.

Format: https://zarr-specs.readthedocs.io/en/latest/v3/core/; text is vlen-utf8, and dates are those of the CF
conventions, as xarray reads them. Every chunk ends with its CRC-32C, which readers verify. What is there before, and
what readers see when, stays outside.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.errors import StorageError
from consilience.output.storage.datatree import DimensionedArray, LabelledArrays, stored_labels

GROWING: Final = frozenset({"posterior", "sample_stats", "unconstrained_posterior"})
"""Groups whose draws are appended."""
CHUNK_DRAWS: Final = 4000
CHUNK_BYTES: Final = 1 << 22
"""A chunk has at most so many draws and, unless one draw has more, bytes."""
UNITS: Final = {
    "D": "days", "h": "hours", "m": "minutes",
    "s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds",
}  # fmt: skip


def write_group(root: Path, name: str, group: LabelledArrays) -> None:
    """Write a group that is not there, or that readers do not see.

    Raises OSError. Raises StorageError for arrays of what is neither number, text nor date.
    """
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    labels = {dim: DimensionedArray((dim,), stored_labels(values)) for dim, values in group.labels.items()}
    for key, variable in {**group.data_vars, **labels}.items():
        _write_array(folder / key, f"{name}/{key}", variable.dims, np.asarray(variable), name in GROWING)
    write_json(folder / "zarr.json", {"attributes": plain(group.attrs), "zarr_format": 3, "node_type": "group"})


def _write_array(folder: Path, path: str, dims: tuple[str, ...], values: npt.NDArray[Any], growing: bool) -> None:
    values, attributes = _numbers(values, path)
    text = values.dtype.kind in "UO"
    if text and not all(isinstance(value, str) for value in values.flat):
        raise StorageError(f"{path!r} holds Python objects, which are not stored; give numbers or text")
    chunk = [max(1, length) for length in values.shape]
    if growing and "draw" in dims:
        axis = dims.index("draw")
        size = max(1, values.nbytes // max(1, values.shape[axis]))
        chunk[axis] = max(1, min(CHUNK_DRAWS, CHUNK_BYTES // size))
    folder.mkdir(exist_ok=True)
    write_chunks(folder, values, chunk)
    write_json(folder / "zarr.json", array_metadata(dims, values.shape, values.dtype, chunk, attributes))


def write_chunks(folder: Path, values: npt.NDArray[Any], chunk: list[int], origin: tuple[int, ...] = ()) -> None:
    """Write numbers or text as the chunks of an array, the first of which is at `origin`, in chunks; raises OSError."""
    first = (*origin, *(0,) * (values.ndim - len(origin)))
    for place in product(*(range(-(-n // c)) for n, c in zip(values.shape, chunk, strict=True))):
        part = values[tuple(slice(p * c, (p + 1) * c) for p, c in zip(place, chunk, strict=True))]
        file = folder.joinpath("c", *(str(p + q) for p, q in zip(place, first, strict=True)))
        file.parent.mkdir(parents=True, exist_ok=True)
        data = _text(part) if values.dtype.kind in "UO" else _padded(part, chunk)
        with open(file, "wb") as opened:
            opened.write(data)
            if (crc := crc32c()) is not None:
                opened.write(crc(data).to_bytes(4, "little"))


@functools.cache
def crc32c() -> Callable[[bytes], int] | None:
    """Give the function that computes checksums of chunks; None without the package that zarr brings for it."""
    try:
        import google_crc32c
    except ImportError:
        return None
    found: Callable[[bytes], int] = google_crc32c.value
    return found


def whole_chunk(data: bytes) -> bool:
    """Whether a chunk has the checksum at its end; what cannot be computed here is believed."""
    crc = crc32c()
    return crc is None or (len(data) >= 4 and crc(data[:-4]).to_bytes(4, "little") == data[-4:])


def array_metadata(
    dims: tuple[str, ...], shape: tuple[int, ...], dtype: np.dtype[Any], chunk: list[int], attributes: object
) -> dict[str, Any]:
    """What an array's `zarr.json` says."""
    text = dtype.kind in "UO"
    numbers: dict[str, Any] = {"name": "bytes"}
    if dtype.itemsize > 1:
        numbers["configuration"] = {"endian": "little"}
    codecs = [{"name": "vlen-utf8", "configuration": {}} if text else numbers]
    codecs += [] if crc32c() is None else [{"name": "crc32c"}]
    empty: object = {"b": False, "c": [0.0, 0.0], "f": "NaN", "U": "", "O": ""}.get(dtype.kind, 0)
    return {
        "shape": shape, "data_type": "string" if text else dtype.name, "zarr_format": 3,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}}, "fill_value": empty,
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "dimension_names": dims,
        "codecs": codecs, "storage_transformers": [], "attributes": attributes, "node_type": "array",
    }  # fmt: skip


def _numbers(values: npt.NDArray[Any], path: str) -> tuple[npt.NDArray[Any], dict[str, str]]:
    """The array as the format has it, and attributes that say what it was, for dates and spans of time."""
    kind = values.dtype.kind
    if kind in "mM":
        unit, count = np.datetime_data(values.dtype)
        if count > 1 or unit not in UNITS or (kind == "m" and unit in "Dhm"):  # of which xarray reads no spans
            unit = "D" if kind == "M" and unit in "YMW" else "s" if unit in "YMWDhm" else "ns"
        exact = values.astype(f"{kind}8[{unit}]")
        about = (
            {"units": f"{UNITS[unit]} since 1970-01-01", "calendar": "proleptic_gregorian"}
            if kind == "M"
            else {"units": UNITS[unit], "dtype": f"timedelta64[{unit}]"}
        )
        return exact.astype(np.int64), about
    if kind not in "biufcUO" or (values.dtype.itemsize > 8 * (1 + (kind == "c")) and kind != "U"):
        raise StorageError(f"{path!r} has element type {values.dtype}, which is not stored; numbers are")
    return values, {}


def _padded(part: npt.NDArray[Any], chunk: list[int]) -> bytes:
    """The bytes of a chunk, which is full in the file even where the array ends within."""
    whole = np.zeros(chunk, part.dtype.newbyteorder("<"))
    whole[tuple(map(slice, part.shape))] = part
    return whole.tobytes()


def _text(part: npt.NDArray[Any]) -> bytes:
    """How many texts there are, then each behind the number of its bytes."""
    encoded = [str(value).encode() for value in part.flat]
    return b"".join([len(encoded).to_bytes(4, "little"), *(len(e).to_bytes(4, "little") + e for e in encoded)])


def plain(attributes: Mapping[Any, object]) -> dict[str, object]:
    """Attributes as JSON takes them."""
    return {str(key): v.tolist() if isinstance(v, np.ndarray | np.generic) else v for key, v in attributes.items()}


def write_json(path: Path, metadata: object) -> None:
    """Write a file of metadata; raises OSError."""
    path.write_text(json.dumps(metadata))
