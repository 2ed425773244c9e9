"""Which variables predictions draw anew, and why: a model, what a trace holds and a wish in, a report out.

The rule is PyMC's (6.0 and later). A random variable keeps its draws of the trace unless it is asked for in
`sample_vars`; one without draws there, as observed variables are, is drawn anew. Deterministics are computed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from consilience.errors import ModelError
from consilience.ir import Node, topological
from consilience.model.variables import ModelVariables
from consilience.record import Record


class Resampling(Record):
    """What happens to each variable that predictions need; all mappings are from names to reasons in words.

    `outputs`: names of the variables that are returned.
    `drawn`: random variables that are drawn anew.
    `computed`: Deterministics, which are computed from the others.
    `taken`: variables whose draws of the trace are used.
    `doubtful`: those among `taken` on which something acts that has changed, or is drawn anew.
    """

    outputs: tuple[str, ...]
    drawn: Mapping[str, str]
    computed: Mapping[str, str]
    taken: Mapping[str, str]
    doubtful: Mapping[str, str]

    def __repr__(self) -> str:
        rows = [("drawn anew", self.drawn), ("computed", self.computed), ("from the trace", self.taken)]
        width = max((len(name) for _, group in rows for name in group), default=0)
        lines = []
        for title, group in rows:
            for name, reason in group.items():
                doubt = f", although {self.doubtful[name]}" if name in self.doubtful else ""
                lines.append(f"{name:>{width}}  {title}: {reason}{doubt}")
        return "\n".join(lines) or "nothing is drawn, computed or taken"


def default_outputs(model: ModelVariables, observed_in_trace: Collection[str] = ()) -> list[str]:
    """The observed variables, those that a trace calls observed, and deterministics that depend on them directly."""
    names = [v.name for v in model.observed]
    names += [name for name in observed_in_trace if name in model.named and name not in names]
    sources = {model.named[name] for name in names}
    other = {v.node for v in (*model.variables, *model.marginalized)} - sources
    for name, node in model.named_deterministics.items():
        if name not in names and sources & set(topological([node], stop=other.__contains__)):
            names.append(name)
    return names


def resampling(
    model: ModelVariables,
    outputs: Sequence[str],
    in_trace: Collection[str],
    changed: Mapping[str, str],
    sample_vars: Collection[str] = (),
    freeze_vars: Collection[str] = (),
    lacking: Mapping[str, str] | None = None,
    followed: Collection[str] = (),
) -> Resampling:
    """What is drawn, computed and taken from a trace for predictions of `outputs`.

    `in_trace`: names that the trace has draws of.
    `changed`: names of data and dimensions that differ from those of the trace -> how.
    `sample_vars`: random variables to be drawn although the trace has them, and deterministics.
    `freeze_vars`: variables of the trace to be used without doubt, deterministics too.
    `lacking`: labels along variables of which the trace holds draws, but none for these -> in words.
    `followed`: variables of which the trace holds what gives their values for any data, as trees do.
    Raises ModelError where names are unknown, on both lists, or frozen without draws.
    """
    random = {v.name: v.node for v in (*model.variables, *model.marginalized)}
    deterministics = {**model.named_deterministics, **model.conditional_deterministics}
    known = [*random, *deterministics]
    for argument, names in (("var_names", outputs), ("sample_vars", sample_vars), ("freeze_vars", freeze_vars)):
        unknown = [n for n in names if n not in known]
        if unknown:
            raise ModelError(f"`{argument}` names {unknown}, but the model's variables are {known}.")
    both = [n for n in sample_vars if n in freeze_vars]
    if both:
        raise ModelError(f"{both} are in both `sample_vars` and `freeze_vars`: either draw them or keep their draws.")
    absent = [n for n in freeze_vars if n not in in_trace]
    if absent:
        raise ModelError(f"`freeze_vars` names {absent}, of which the trace holds no draws.")
    partly = dict(lacking or {})
    for name in freeze_vars:
        if name not in random and name in partly:
            raise ModelError(f"`freeze_vars` names `{name}`, of which the trace holds no draws for {partly[name]}.")
    kept = {n: random[n] for n in random if n in in_trace and n not in sample_vars}
    kept |= {n: model.named[n] for n in freeze_vars}
    taken_nodes = set(kept.values())
    complete = {kept[n] for n in kept if n not in partly}
    needed = set(topological([model.named[n] for n in outputs], stop=complete.__contains__))
    names_of = {node: name for name, node in [*model.named.items(), *random.items()]}
    drawn = {}
    for name, node in random.items():
        if node in needed and node not in taken_nodes:
            asked = name in sample_vars
            observed = any(v.node is node for v in model.observed)
            drawn[name] = (
                "it is in `sample_vars`" if asked else "it is observed" if observed else "the trace has no draws of it"
            )
    computed = {
        name: f"a deterministic of {', '.join(_nearest(node, names_of)) or 'constants'}"
        for name, node in deterministics.items()
        if node in needed and node not in taken_nodes
    }
    taken = {n: "it is in `freeze_vars`" if n in freeze_vars else "the trace has draws of it" for n in kept}
    taken = {
        n: f"{reason}, but for {partly[n]}, drawn given its parameters" if n in partly else reason
        for n, reason in taken.items()
        if kept[n] in needed
    }
    doubtful = {}
    taken |= {n: "the trees of the trace give it at the present rows" for n in taken if n in followed}
    for name in taken:
        if name not in freeze_vars and name not in followed:
            acting = topological(kept[name].inputs, stop=taken_nodes.__contains__)
            doubts = [changed[d] for d in model.dims_of.get(name, ()) if d is not None and d in changed]
            doubts += [changed[names_of[n]] for n in acting if n in names_of and names_of[n] in changed]
            doubts += [
                f"`{names_of[n]}` is drawn anew" for n in acting if names_of.get(n) in random.keys() - kept.keys()
            ]
            if doubts:
                doubtful[name] = " and ".join(dict.fromkeys(doubts))
    return Resampling(tuple(outputs), drawn, computed, taken, doubtful)


def _nearest(node: Node, names_of: Mapping[Node, str]) -> list[str]:
    """Names of what an expression is made of, without what that is made of."""
    order = topological([node], stop=lambda n: n is not node and n in names_of)
    return [f"`{names_of[n]}`" for n in order if n is not node and n in names_of]
