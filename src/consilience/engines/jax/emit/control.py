"""Branches, loops and calls in JAX: `lax.cond`, `lax.scan` and `lax.while_loop` around regions.

Operands of a region in, its results out. A loop with a length is a scan, of which JAX has derivatives; one that only
its condition ends is a while loop, of which it has none backwards.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from consilience.engines.jax.emit.linear_map import with_pullback
from consilience.engines.jax.emit.meanings import OK, JaxEvaluation, inside, means
from consilience.engines.jax.emit.namespace import held
from consilience.lower.views import static
from consilience.ops import Cond
from consilience.ops.call import FunctionCall
from consilience.ops.loop import UNBOUNDED, Scan


@means(FunctionCall)
def _call(run: JaxEvaluation, node: Any, *operands: Any) -> Any:
    op = node.op
    if op.pullback is None:
        found, status = inside(op.body, operands)
        run.status = run.status | status
        return found

    def value(*given: Any) -> list[Any]:
        found, status = inside(op.body, given)
        return [*found, status | OK]

    def pull(given: Any, found: Any, cotangents: Any) -> Any:
        return inside(op.pullback, (*given, *found[:-1], *cotangents[:-1]))[0]

    *found, status = with_pullback(value, pull)(*operands)
    run.status = run.status | status
    return found


@means(Cond)
def _cond(run: JaxEvaluation, node: Any, condition: Any, *operands: Any) -> Any:
    def branch(region: Any) -> Any:
        def taken(given: Any) -> Any:
            found, status = inside(region, given)
            return [v.astype(held(r.dtype)) for v, r in zip(found, region.results, strict=True)], status | OK

        return taken

    found, status = lax.cond(condition, branch(node.op.then), branch(node.op.otherwise), list(operands))
    run.status = run.status | status
    return found


@means(Scan)
def _scan(run: JaxEvaluation, node: Any, limit: Any, *operands: Any) -> Any:
    op, body = node.op, node.op.body
    (length,) = static((op.length,))
    initial = [v.astype(held(p.dtype)) for v, p in zip(operands[: op.carried], body.parameters, strict=False)]
    sequences, constants = operands[op.carried : op.carried + op.sequences], operands[op.carried + op.sequences :]
    count = jnp.asarray(limit, held("int64"))

    def step(carries: Any, heads: Any) -> Any:
        found, status = inside(body, (*carries, *heads, *constants))
        nexts = [v.astype(c.dtype) for v, c in zip(found, carries, strict=False)]
        stop = found[-1] if op.until else jnp.asarray(False)
        return nexts, found[op.carried : op.carried + op.traces], stop, status

    if length >= UNBOUNDED or (op.until and not op.traces and not op.sequences and length > 2**20):

        def unfinished(state: Any) -> Any:
            done, ended, _, _ = state
            return (done < count) & ~ended

        def once(state: Any) -> Any:
            done, _, carries, status = state
            nexts, _, stop, more = step(carries, [])
            return done + 1, stop, nexts, status | more

        begin = (jnp.asarray(0, held("int64")), jnp.asarray(False), initial, jnp.asarray(OK))
        done, _, last, status = lax.while_loop(unfinished, once, begin)
        run.status = run.status | status
        return [done, *last]

    def one(state: Any, given: Any) -> Any:
        done, ended, carries, status = state
        place, heads = given
        going = (place < count) & ~ended

        def taken(arguments: Any) -> Any:
            nexts, elements, stop, more = step(*arguments)
            return (
                nexts,
                [e.astype(held(w.dtype)) for e, w in zip(elements, op.elements, strict=True)],
                stop,
                more | OK,
            )

        def passed(arguments: Any) -> Any:
            own = arguments[0]
            blank = [jnp.zeros(static(e.static_shape), held(e.dtype)) for e in op.elements]
            return own, blank, jnp.asarray(False), jnp.asarray(OK)

        nexts, elements, stop, more = lax.cond(going, taken, passed, (carries, heads))
        return (done + going, ended | stop, nexts, status | more), elements

    places = jnp.arange(length)
    # A loop of fewer steps in reverse begins at its own last element.
    heads = [jnp.roll(s, length - count, axis=0) if op.reverse else s for s in sequences]
    if op.reverse:
        heads = [jnp.flip(s, 0) for s in heads]
    begin = (jnp.asarray(0, held("int64")), jnp.asarray(False), initial, jnp.asarray(OK))
    (done, _, last, status), traces = lax.scan(one, begin, (places, heads), length=length)
    if op.reverse:
        traces = [jnp.roll(jnp.flip(t, 0), count - length, axis=0) for t in traces]
    run.status = run.status | status
    return [done, *last, *traces]
