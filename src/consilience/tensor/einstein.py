"""Einstein's summation convention: products of tensors by letters for their axes.

In: subscripts such as "bij,bjk->bik" and tensors. Out: matrix products, two tensors at a time from left to right.
"""

from __future__ import annotations

import string
from collections.abc import Sequence

from consilience.errors import ShapeError
from consilience.ir import Dim, Node
from consilience.ir.dimension import product
from consilience.ir.side_tables import describe
from consilience.ops.arrangement import diagonal
from consilience.ops.elementwise import TensorLike, apply, as_tensor, promote
from consilience.ops.linalg import matmul
from consilience.ops.reductions import sum
from consilience.ops.shape import expand_dims, reshape, transpose
from consilience.tensor.keywords import export


def einsum(subscripts: str, *operands: TensorLike, optimize: object = None) -> Node:
    """Sums of products of tensors whose axes bear letters: axes of one letter run together.

    subscripts   letters of each tensor's axes, separated by commas, then "->" and those of the result; letters that the
                 result does not have are summed over. Without "->" the result has the letters that occur once, in
                 alphabetical order. "..." stands for leading axes, which broadcast
    optimize     changes nothing: tensors are multiplied from left to right
    """
    nodes, _ = promote([as_tensor(operand) for operand in operands])
    words, result = _letters(subscripts.replace(" ", ""), nodes)
    pairs = [_without_repeats(word, node) for word, node in zip(words, nodes, strict=True)]
    while len(pairs) > 1:
        (left, right), rest = pairs[:2], pairs[2:]
        pairs = [_multiplied(left, right, {*result, *"".join(word for word, _ in rest)}), *rest]
    word, node = _summed(pairs[0], set(result))
    return transpose(node, [word.index(letter) for letter in result])


def _letters(subscripts: str, nodes: Sequence[Node]) -> tuple[list[str], str]:
    """A letter for each axis of each tensor, and the letters of the result."""
    given, arrow, result = subscripts.partition("->")
    words = given.split(",")
    if len(words) != len(nodes):
        raise ShapeError(f"the subscripts {subscripts!r} are for {len(words)} tensors, got {len(nodes)}.")
    spare = [letter for letter in string.ascii_letters if letter not in subscripts][::-1]
    covered = [
        node.ndim - len(word.replace("...", "")) if "..." in word else 0
        for word, node in zip(words, nodes, strict=True)
    ]
    lead = "".join(spare[: max(covered, default=0)])
    if not arrow:
        flat = given.replace("...", "").replace(",", "")
        result = ("..." if "..." in given else "") + "".join(sorted(c for c in set(flat) if flat.count(c) == 1))
    for i, (count, node) in enumerate(zip(covered, nodes, strict=True)):
        words[i] = words[i].replace("...", lead[len(lead) - count :] if count > 0 else "")
        if count < 0 or len(words[i]) != node.ndim:
            raise ShapeError(f"the subscripts {subscripts!r} do not fit the axes of {describe(node)}.")
    result = result.replace("...", lead)
    odd = next((c for c in result if c not in "".join(words) or result.count(c) > 1), None)
    if odd is not None:
        what = "there twice" if result.count(odd) > 1 else "in none of the tensors"
        raise ShapeError(
            f"each letter of the result of {subscripts!r} is one of the tensors' and occurs once; {odd!r} is {what}."
        )
    return words, result


def _without_repeats(word: str, node: Node) -> tuple[str, Node]:
    """A tensor with axes of one letter replaced by their diagonal, at the end."""
    for letter in [letter for letter in dict.fromkeys(word) if word.count(letter) > 1]:
        while word.count(letter) > 1:
            first, second = [i for i, other in enumerate(word) if other == letter][:2]
            node = diagonal(node, 0, first, second)
            word = "".join(c for i, c in enumerate(word) if i not in (first, second)) + letter
    return word, node


def _multiplied(left: tuple[str, Node], right: tuple[str, Node], needed: set[str]) -> tuple[str, Node]:
    """The product of two tensors, summed over the letters that are not needed further on."""
    (one, a), (other, b) = _summed(left, needed | set(right[0])), _summed(right, needed | set(left[0]))
    batch = [c for c in one if c in other and c in needed]
    shared = [c for c in one if c in other and c not in needed]
    rows, columns = [c for c in one if c not in other], [c for c in other if c not in one]
    word = "".join([*batch, *rows, *columns])
    # Leading axes are the batch of a matrix product, in which lengths of 1 stretch.
    first = transpose(a, [one.index(c) for c in [*batch, *rows, *shared]])
    second = transpose(b, [other.index(c) for c in [*batch, *shared, *columns]])
    if not shared:
        spread = expand_dims(first, tuple(range(len(batch) + len(rows), len(word))))
        return word, apply("mul", spread, expand_dims(second, tuple(range(len(batch), len(batch) + len(rows)))))
    k = len(batch)
    tall = reshape(first, [*first.static_shape[:k], *_flat(first, k, k + len(rows)), *_flat(first, k + len(rows))])
    wide = reshape(
        second, [*second.static_shape[:k], *_flat(second, k, k + len(shared)), *_flat(second, k + len(shared))]
    )
    result = matmul(tall, wide)
    lengths = [
        *result.static_shape[:k],
        *first.static_shape[k : k + len(rows)],
        *second.static_shape[k + len(shared) :],
    ]
    return word, reshape(result, lengths)


def _flat(node: Node, start: int, stop: int | None = None) -> list[Dim]:
    """The length of several neighbouring axes as one."""
    return [product(node.static_shape[start:stop])]


def _summed(pair: tuple[str, Node], kept: set[str]) -> tuple[str, Node]:
    """A tensor summed over the letters that are not kept."""
    word, node = pair
    node = sum(node, tuple(i for i, letter in enumerate(word) if letter not in kept), dtype=node.dtype)
    return "".join(letter for letter in word if letter in kept), node


export(globals())
