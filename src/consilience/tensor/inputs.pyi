"""Written by `python tools/names.py` from the tables of inputs.py; not to be edited."""

from collections.abc import Sequence
from typing import Protocol

import numpy.typing as npt

from consilience.ir import Dimension, Node

Lengths = Sequence[int | Dimension | None]

class _Input(Protocol):
    def __call__(
        self, name: str | None = None, *, dtype: npt.DTypeLike | None = ..., shape: Lengths | None = None
    ) -> Node: ...

class _Inputs(Protocol):
    def __call__(self, *names: str | int | None) -> list[Node]: ...

def tensor(
    name: str | None = None, *, dtype: npt.DTypeLike | None = None, shape: Lengths = (), broadcastable: None = None
) -> Node: ...

scalar: _Input
scalars: _Inputs
vector: _Input
vectors: _Inputs
row: _Input
rows: _Inputs
col: _Input
cols: _Inputs
matrix: _Input
matrices: _Inputs
tensor3: _Input
tensor3s: _Inputs
tensor4: _Input
tensor4s: _Inputs
tensor5: _Input
tensor5s: _Inputs
tensor6: _Input
tensor6s: _Inputs
tensor7: _Input
tensor7s: _Inputs
iscalar: _Input
iscalars: _Inputs
ivector: _Input
ivectors: _Inputs
irow: _Input
irows: _Inputs
icol: _Input
icols: _Inputs
imatrix: _Input
imatrices: _Inputs
itensor3: _Input
itensor3s: _Inputs
itensor4: _Input
itensor4s: _Inputs
itensor5: _Input
itensor5s: _Inputs
itensor6: _Input
itensor6s: _Inputs
itensor7: _Input
itensor7s: _Inputs
lscalar: _Input
lscalars: _Inputs
lvector: _Input
lvectors: _Inputs
lrow: _Input
lrows: _Inputs
lcol: _Input
lcols: _Inputs
lmatrix: _Input
lmatrices: _Inputs
ltensor3: _Input
ltensor3s: _Inputs
ltensor4: _Input
ltensor4s: _Inputs
ltensor5: _Input
ltensor5s: _Inputs
ltensor6: _Input
ltensor6s: _Inputs
ltensor7: _Input
ltensor7s: _Inputs
fscalar: _Input
fscalars: _Inputs
fvector: _Input
fvectors: _Inputs
frow: _Input
frows: _Inputs
fcol: _Input
fcols: _Inputs
fmatrix: _Input
fmatrices: _Inputs
ftensor3: _Input
ftensor3s: _Inputs
ftensor4: _Input
ftensor4s: _Inputs
ftensor5: _Input
ftensor5s: _Inputs
ftensor6: _Input
ftensor6s: _Inputs
ftensor7: _Input
ftensor7s: _Inputs
dscalar: _Input
dscalars: _Inputs
dvector: _Input
dvectors: _Inputs
drow: _Input
drows: _Inputs
dcol: _Input
dcols: _Inputs
dmatrix: _Input
dmatrices: _Inputs
dtensor3: _Input
dtensor3s: _Inputs
dtensor4: _Input
dtensor4s: _Inputs
dtensor5: _Input
dtensor5s: _Inputs
dtensor6: _Input
dtensor6s: _Inputs
dtensor7: _Input
dtensor7s: _Inputs
bool_scalar: _Input
bool_scalars: _Inputs
