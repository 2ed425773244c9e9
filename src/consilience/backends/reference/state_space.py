"""State spaces by the routines of machine code, run as the Python that they are: a row of the table of meanings."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.backends.reference.meanings import means
from consilience.backends.shapes import Lengths
from consilience.ir import Node
from consilience.ops.state_space import BLOCK, OPERANDS, KalmanFilter, KalmanSlopes, kept

Array = npt.NDArray[Any]


def _space(op: KalmanFilter | KalmanSlopes, operands: dict[str, Array], stored: Array) -> Any:
    from consilience.native.routines.kalman import Space

    (times, p), n = operands["y"].shape, len(operands["a1"])
    m = (n + 7) // 8 * 8
    fields: dict[str, Any] = {name: np.array(x, float).ravel() for name, x in operands.items()}
    start = 0
    for name, length in kept(times, p, n, op.diffuse).items():
        fields[name] = stored[start : start + int(length)]
        start += int(length)
    fields |= {name: np.zeros(n * m) for name in ("P", "Pi", "A", "B", "old", "noise")}
    fields |= {name: np.zeros(m) for name in ("a", "M", "Mi")} | {
        "values": np.zeros(n * n),
        "z_values": np.zeros(p * n),
    }
    whole = {"begins": n + 1, "columns": n * n, "z_begins": p + 1, "z_columns": p * n}
    fields |= {name: np.zeros(length, np.int64) for name, length in whole.items()}
    fields |= {f"moving_{name}": int(name in op.moving) for name in "ZhTQc"}
    fields["diffuse"] = int(op.diffuse)
    return Space(**fields, times=times, p=p, n=n, m=m, block=BLOCK, known_times=0)


@means(KalmanFilter)
def _filter(node: Node, lengths: Lengths, *operands: Array) -> tuple[Array, Array]:
    from consilience.native.routines.kalman import kalman_filter

    op = node.op
    assert isinstance(op, KalmanFilter)
    *batch, times, p = operands[0].shape
    size = sum(int(k) for k in kept(times, p, operands[6].shape[-1], op.diffuse).values())
    density, stored = np.zeros(batch), np.zeros((*batch, size))
    for place in np.ndindex(*batch):
        own = {name: x[place] for name, x in zip(OPERANDS, operands, strict=False)} | {"free": operands[8]}
        density[place] = kalman_filter(_space(op, own, stored[place]))
    return density, stored


@means(KalmanSlopes)
def _slopes(node: Node, lengths: Lengths, *operands: Array) -> tuple[Array, ...]:
    from consilience.native.routines.kalman_slopes import Slopes, kalman_slopes

    op = node.op
    assert isinstance(op, KalmanSlopes)
    *batch, _, p = operands[0].shape
    n = operands[6].shape[-1]
    m, whole = (n + 7) // 8 * 8, range(n)
    found = [np.zeros(x.shape) for x in operands[:8]] + [np.zeros(operands[6].shape)]
    columns = np.array(list(whole if op.columns is None else op.columns), np.int64)
    for place in np.ndindex(*batch):
        own = {name: x[place] for name, x in zip(OPERANDS, operands, strict=False)} | {"free": operands[8]}
        space = _space(op, own, np.array(operands[9][place]))
        names = (*OPERANDS, "start")
        fields: dict[str, Any] = {name: x[place].ravel().copy() for name, x in zip(names, found, strict=True)}
        fields |= {name: np.zeros(n * m) for name in ("G", "Gi", "old", "outer", "second", "of_T", "of_Q")}
        fields |= {name: np.zeros(m) for name in ("r", "diffuse_r", "w", "M", "Mi")}
        fields |= {name: np.zeros(BLOCK * n * m) for name in ("made", "made_free")}
        fields |= {name: np.zeros(p * n * m) for name in ("inner", "inner_free")}
        fields |= {name: np.zeros(p * m) for name in ("with_mean", "with_slope", "weighted")}
        fields |= {"changes": np.zeros(p), "spreads": np.zeros(p), "recent": np.zeros(4 * m), "asked": columns}
        made = Slopes(**fields, variable_T=len(columns), variable_Z=int(op.by_Z), waiting=0, held=0)
        kalman_slopes(space, made)
        for name, x in zip(names, found, strict=True):
            x[place] = np.asarray(getattr(made, name)).reshape(x[place].shape)
    return tuple(found)
