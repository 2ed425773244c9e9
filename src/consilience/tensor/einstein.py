"""Einstein's summation convention: products of tensors by letters for their axes.

In: subscripts such as "bij,bjk->bik" and tensors. Out: matrix products, two tensors at a time in the order that costs
the fewest multiplications.
"""

from __future__ import annotations

import itertools
import math
import string
from collections.abc import Sequence

from consilience.errors import ShapeError
from consilience.ir import Dim, Node
from consilience.ir.dimension import product
from consilience.ir.shape_constraints import ShapeConstraint
from consilience.ir.side_tables import describe
from consilience.ops.arrangement import diagonal
from consilience.ops.assertion import Require
from consilience.ops.elementwise import TensorLike, apply, as_tensor, promote
from consilience.ops.linalg import matmul
from consilience.ops.reductions import sum
from consilience.ops.shape import expand_dims, reshape, squeeze, transpose

UNKNOWN = 32  # stands for a length that is known in the call, when products are compared
FEW = 5  # so many tensors are multiplied in the best order of all


def einsum(subscripts: str, *operands: TensorLike, optimize: object = None) -> Node:
    """Sums of products of tensors whose axes bear letters: axes of one letter run together.

    subscripts: Letters of each tensor's axes, separated by commas, then "->" and those of the result; letters that the
        result does not have are summed over. Without "->" the result has the letters that occur once, in alphabetical
        order. "..." stands for leading axes, which broadcast.
    *operands: The tensors.
    optimize: Changes nothing: pairs are multiplied in the order that needs the fewest multiplications, where lengths
        are known; with more than five tensors the cheapest pair comes next.
    Returns: The products, of the axes that are not summed over.
    See tensordot: Sum of products over pairs of axes.
    See dot: NumPy's dot.
    >>> pt.einsum("ij,j->i", [[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).eval().tolist()
    [3.0, 7.0]
    """
    nodes, _ = promote([as_tensor(operand) for operand in operands])
    words, result = _letters(subscripts.replace(" ", ""), nodes)
    pairs = [_without_repeats(word, node) for word, node in zip(words, nodes, strict=True)]
    pairs = _fitted(subscripts, pairs)
    while len(pairs) > 1:
        i, j = _next_pair(pairs, set(result))
        rest = [pair for k, pair in enumerate(pairs) if k not in (i, j)]
        product_of = _multiplied(pairs[i], pairs[j], {*result, *"".join(word for word, _ in rest)})
        pairs = [product_of, *rest]
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
            node = _of_equal_lengths(node, letter, first, second)
            node = diagonal(node, 0, first, second)
            word = "".join(c for i, c in enumerate(word) if i not in (first, second)) + letter
    return word, node


def _of_equal_lengths(node: Node, letter: str, first: int, second: int) -> Node:
    """The tensor, whose axes of one letter must have one length."""
    lengths = node.static_shape[first], node.static_shape[second]
    if lengths[0] == lengths[1]:
        return node
    if all(isinstance(n, int) for n in lengths):
        raise ShapeError(f"the letter {letter!r} stands for lengths {lengths[0]} and {lengths[1]} of {describe(node)}.")
    return Node(Require((ShapeConstraint(*lengths, f"axes of the letter {letter!r} have equal lengths"),)), node)


def _fitted(subscripts: str, pairs: list[tuple[str, Node]]) -> list[tuple[str, Node]]:
    """Tensors without axes of length 1 whose letter has another length elsewhere: they stretch."""
    lengths: dict[str, Dim] = {}
    for word, node in pairs:
        for letter, n in zip(word, node.static_shape, strict=True):
            known = lengths.get(letter, 1)
            if isinstance(n, int) and isinstance(known, int) and 1 not in (n, known) and n != known:
                raise ShapeError(
                    f"the letter {letter!r} of {subscripts!r} stands for lengths {known} and {n}: {describe(node)}."
                )
            if known == 1:
                lengths[letter] = n
    fitted = []
    for word, node in pairs:
        ones = [i for i, c in enumerate(word) if node.static_shape[i] == 1 and lengths[c] != 1]
        fitted.append(("".join(c for i, c in enumerate(word) if i not in ones), squeeze(node, ones) if ones else node))
    return fitted


def _next_pair(pairs: list[tuple[str, Node]], result: set[str]) -> tuple[int, int]:
    """The two tensors to multiply next."""
    lengths = {
        letter: n if isinstance(n, int) else UNKNOWN
        for word, node in pairs
        for letter, n in zip(word, node.static_shape, strict=True)
    }
    words = [frozenset(word) for word, _ in pairs]
    return _cheapest(words, result, lengths, len(words) <= FEW)[1]


def _cheapest(
    words: list[frozenset[str]], result: set[str], lengths: dict[str, int], ahead: bool
) -> tuple[int, tuple[int, int]]:
    """The number of multiplications and the first pair of the cheapest order; without `ahead` of the pair alone."""
    best = (-1, (0, 1))
    for i, j in itertools.combinations(range(len(words)), 2):
        rest = [word for k, word in enumerate(words) if k not in (i, j)]
        both = words[i] | words[j]
        cost = math.prod(lengths[c] for c in both)
        if ahead and rest and (best[0] < 0 or cost < best[0]):
            kept = both & result.union(*rest)
            cost += _cheapest([kept, *rest], result, lengths, ahead)[0]
        if best[0] < 0 or cost < best[0]:
            best = cost, (i, j)
    return best


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
