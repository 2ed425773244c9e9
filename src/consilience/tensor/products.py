"""Products of vectors, matrices and batches of them under PyTensor's and NumPy's names."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy.typing as npt

from consilience.errors import ShapeError
from consilience.ir import Dim, Node
from consilience.ir.side_tables import describe
from consilience.ops.arrangement import flatten
from consilience.ops.axes import integers, is_integer
from consilience.ops.complex_numbers import conj
from consilience.ops.elementwise import TensorLike, apply, as_tensor, promote
from consilience.ops.linalg import batch_shape, dot, matmul, tensordot
from consilience.ops.shape import broadcast_to, expand_dims, reshape, squeeze
from consilience.ops.structured import BlockDiagonal, Kronecker
from consilience.transforms.vectorize import vectorize_function


def inner(x: TensorLike, y: TensorLike) -> Node:
    """Sum of products over the last axis of both; the product if one is a number.

    x : ...
    y: Second operand, with as long a last axis.
    Returns: The products, of the axes that are not summed over.
    See vdot: Sum of the products of all elements of two tensors of equal size.
    See dot: NumPy's dot.
    See matmul: NumPy's matmul.
    >>> pt.inner([1.0, 2.0], [3.0, 4.0]).eval().item()
    11.0
    """
    a, b = as_tensor(x), as_tensor(y)
    return tensordot(a, b, ((a.ndim - 1,), (b.ndim - 1,))) if a.ndim and b.ndim else apply("mul", a, b)


def vdot(x: TensorLike, y: TensorLike) -> Node:
    """Sum of the products of all elements of two tensors of equal size; those of the first are conjugated.

    x: Tensor, or what becomes one: an array, a number, nested lists. Complex numbers are conjugated.
    y: Second operand, with as many elements.
    Returns: A number.
    See dot: NumPy's dot.
    See matmul: NumPy's matmul.
    See tensordot: Sum of products over pairs of axes.
    >>> pt.vdot([1.0, 2.0], [3.0, 4.0]).eval().item()
    11.0
    """
    return dot(conj(flatten(x)), flatten(y))


def vecdot(x1: TensorLike, x2: TensorLike, dtype: npt.DTypeLike | None = None) -> Node:
    """Products of vectors with vectors: the last axis of both is summed over, the others broadcast.

    x1: First operand; leading axes are a batch.
    x2: Second operand; leading axes are a batch.
    dtype : ...
    Returns: The products, of the axes that are not summed over.
    See matmul: NumPy's matmul.
    See matvec: Products of matrices with vectors.
    See vecmat: Products of vectors with matrices.
    >>> pt.vecdot([1.0, 2.0], [3.0, 4.0]).eval().item()
    11.0
    """
    a, b = _vector(x1), _vector(x2)
    return squeeze(matmul(expand_dims(conj(a), -2), expand_dims(b, -1), dtype), (-2, -1))


def matvec(x1: TensorLike, x2: TensorLike, dtype: npt.DTypeLike | None = None) -> Node:
    """Products of matrices with vectors; leading axes broadcast.

    x1: First operand; leading axes are a batch.
    x2: Second operand; leading axes are a batch.
    dtype : ...
    Returns: The products, of the axes that are not summed over.
    See vecmat: Products of vectors with matrices.
    See vecdot: Products of vectors with vectors.
    See matmul: NumPy's matmul.
    >>> pt.matvec([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).eval().tolist()
    [3.0, 7.0]
    """
    return squeeze(matmul(as_tensor(x1), expand_dims(_vector(x2), -1), dtype), -1)


def vecmat(x1: TensorLike, x2: TensorLike, dtype: npt.DTypeLike | None = None) -> Node:
    """Products of vectors with matrices; leading axes broadcast.

    x1: First operand; leading axes are a batch.
    x2: Second operand; leading axes are a batch.
    dtype : ...
    Returns: The products, of the axes that are not summed over.
    See vecdot: Products of vectors with vectors.
    See matmul: NumPy's matmul.
    See matvec: Products of matrices with vectors.
    >>> pt.vecmat([1.0, 1.0], [[1.0, 2.0], [3.0, 4.0]]).eval().tolist()
    [4.0, 6.0]
    """
    return squeeze(matmul(expand_dims(conj(_vector(x1)), -2), as_tensor(x2), dtype), -2)


def _vector(x: TensorLike) -> Node:
    node = as_tensor(x)
    if not node.ndim:
        raise ShapeError(f"a vector was needed, got {describe(node)}; multiply by a number with `*`.")
    return node


def batched_dot(a: TensorLike, b: TensorLike) -> Node:
    """`dot` of the parts of two tensors along their first axis, whose lengths agree.

    a : ...
    b: Second operand, with as many parts along its first axis.
    Returns: The first axis, then those of the products.
    See batched_tensordot: `tensordot` of the parts of two tensors along their first axis.
    See matmul: NumPy's matmul.
    >>> pt.batched_dot([[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0], [2.0, 0.0]]).eval().tolist()
    [3.0, 6.0]
    """
    left, right = as_tensor(a), as_tensor(b)
    result = vectorize_function(dot, f"{_core(left, 'i')},{_core(right, 'j')}->{_core_of_dot(left, right)}")(
        left, right
    )
    assert isinstance(result, Node)
    return result


def _core(node: Node, letter: str) -> str:
    if not node.ndim:
        raise ShapeError(f"a batch along the first axis was needed, got {describe(node)}.")
    return "(" + ",".join(_letters(node, letter)) + ")"


def _letters(node: Node, letter: str) -> list[str]:
    """Names of the axes of one part; the one `dot` sums over is k."""
    rank, summed = node.ndim - 1, -1 if letter == "i" else -2
    names = [f"{letter}{axis}" for axis in range(rank)]
    if rank:
        names[summed if rank > 1 else 0] = "k"
    return names


def _core_of_dot(left: Node, right: Node) -> str:
    names = [_letters(left, "i"), _letters(right, "j")]
    if all(names):
        names = [[n for n in part if n != "k"] for part in names]
    return "(" + ",".join(names[0] + names[1]) + ")"


def batched_tensordot(x: TensorLike, y: TensorLike, axes: int | Sequence[Sequence[int]] = 2) -> Node:
    """`tensordot` of the parts of two tensors along their first axis; `axes` count with that axis.

    x : ...
    y: Second operand, with as many parts along its first axis.
    axes: Number of last axes of x that meet those of y behind the first; or two lists, axes of x and as many of y.
    Returns: The first axis, then those of the products.
    See matmul: NumPy's matmul.
    See batched_dot: `dot` of the parts of two tensors along their first axis.
    >>> pt.batched_tensordot([[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0], [2.0, 0.0]], axes=1).eval().tolist()
    [3.0, 6.0]
    """
    left, right = as_tensor(x), as_tensor(y)
    if is_integer(axes):
        (count,) = integers(axes)
        pairs = [list(range(left.ndim - count, left.ndim)), list(range(1, count + 1))]
    else:
        pairs = [list(integers(a)) for a in axes]  # type: ignore[union-attr]  # no integer, as seen
    over = [[i % node.ndim - 1 for i in part] for part, node in zip(pairs, (left, right), strict=True)]
    names = [[f"{letter}{i}" for i in range(node.ndim - 1)] for letter, node in (("i", left), ("j", right))]
    for place, (i, j) in enumerate(zip(*over, strict=True)):
        names[0][i] = names[1][j] = f"k{place}"
    kept = [n for part in names for n in part if not n.startswith("k")]
    signature = f"({','.join(names[0])}),({','.join(names[1])})->({','.join(kept)})"
    result = vectorize_function(lambda a, b: tensordot(a, b, over), signature)(left, right)
    assert isinstance(result, Node)
    return result


def kron(a: TensorLike, b: TensorLike) -> Node:
    """Kronecker product: every element of a times all of b, of lengths the products of lengths, axis by axis.

    Determinants, inverses, systems and products of Kronecker products of matrices are computed from their parts.

    a : ...
    b: Second operand.
    Returns: Of the products of lengths.
    See dot: NumPy's dot.
    See outer: All products of the elements of two flattened tensors.
    >>> pt.kron([[1.0, 2.0]], [[1.0], [1.0]]).eval().tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    (left, right), dtype = promote([a, b])
    rank = max(left.ndim, right.ndim)
    left, right = (expand_dims(n, tuple(range(rank - n.ndim))) if n.ndim < rank else n for n in (left, right))
    if rank == 2 and dtype in ("float64", "float32"):
        return Node(Kronecker(), left, right)
    wide = expand_dims(left, tuple(range(1, 2 * rank, 2)))
    tall = expand_dims(right, tuple(range(0, 2 * rank, 2)))
    lengths = [p * q for p, q in zip(left.static_shape, right.static_shape, strict=True)]
    return reshape(apply("mul", wide, tall), lengths)


def block_diag(*matrices: TensorLike) -> Node:
    """Matrices along the diagonal of one, zeros elsewhere; leading axes broadcast.

    Determinants, inverses, systems and products of block diagonal matrices are computed block by block.

    *matrices: The matrices, in order.
    Returns: Of the sums of the lengths of the last two axes.
    See diag: A diagonal matrix, or the diagonal of one.
    >>> pt.block_diag([[1.0]], [[2.0, 3.0]]).eval().tolist()
    [[1.0, 0.0, 0.0], [0.0, 2.0, 3.0]]
    """
    if not matrices:
        raise ShapeError("`block_diag` needs a matrix at least.")
    nodes, _ = promote(list(matrices))
    nodes = [expand_dims(n, tuple(range(2 - n.ndim))) if n.ndim < 2 else n for n in nodes]
    lead = functools.reduce(lambda a, b: batch_shape(a, b)[0], (n.static_shape[:-2] for n in nodes))
    return Node(BlockDiagonal(), *(broadcast_to(n, (*lead, *n.static_shape[-2:])) for n in nodes))


def matrix_dot(*args: TensorLike) -> Node:
    """The product of several matrices, from left to right.

    *args: The tensors, in order.
    Returns: The product.
    See multi_dot: The product in the cheapest order.
    See matmul: NumPy's matmul.
    >>> pt.matrix_dot([[1.0, 2.0]], [[3.0], [4.0]]).eval().tolist()
    [[11.0]]
    """
    return functools.reduce(lambda a, b: matmul(a, b), args[1:], as_tensor(args[0]))


def multi_dot(arrays: Sequence[TensorLike]) -> Node:
    """The product of several matrices in the order of multiplication that takes the fewest; the ends may be vectors.

    Where lengths are not static the order is from left to right.

    arrays: The matrices, in order.
    Returns: The product.
    See matmul: NumPy's matmul.
    See matrix_dot: The product of several matrices.
    >>> pt.multi_dot([[[1.0, 2.0]], [[3.0], [4.0]]]).eval().tolist()
    [[11.0]]
    """
    nodes = [as_tensor(array) for array in arrays]
    if len(nodes) < 2:
        raise ShapeError(f"`multi_dot` needs two matrices or more, got {len(nodes)}.")
    for place, node in enumerate(nodes):
        if node.ndim != 2 and not (node.ndim == 1 and place in (0, len(nodes) - 1)):
            raise ShapeError(f"`multi_dot` needs matrices, and vectors only at the ends, got {describe(node)}.")
    lengths: list[Dim] = [1 if nodes[0].ndim == 1 else nodes[0].static_shape[0]]
    lengths += [node.static_shape[-1] for node in nodes[:-1]]
    lengths.append(1 if nodes[-1].ndim == 1 else nodes[-1].static_shape[1])
    known = [n for n in lengths if isinstance(n, int)]
    return _product(nodes, _cheapest(known)) if len(known) == len(lengths) else matrix_dot(*nodes)


def _cheapest(lengths: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to cut every run of matrices of lengths[i] rows and lengths[i + 1] columns: the least products first."""
    count = len(lengths) - 1
    cost = {(i, i): 0 for i in range(count)}
    cuts: dict[tuple[int, int], int] = {}
    for width in range(1, count):
        for i in range(count - width):
            j = i + width
            options = {
                k: cost[i, k] + cost[k + 1, j] + lengths[i] * lengths[k + 1] * lengths[j + 1] for k in range(i, j)
            }
            cuts[i, j] = min(options, key=options.__getitem__)
            cost[i, j] = options[cuts[i, j]]
    return cuts


def _product(nodes: Sequence[Node], cuts: dict[tuple[int, int], int]) -> Node:
    def part(i: int, j: int) -> Node:
        return nodes[i] if i == j else matmul(part(i, cuts[i, j]), part(cuts[i, j] + 1, j))

    return part(0, len(nodes) - 1)
