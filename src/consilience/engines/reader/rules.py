"""Tables of what another program's operations compute: their names in, functions of tensors out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import attrgetter
from typing import Any

import consilience.tensor as pt
from consilience.errors import GraphError

Rule = Callable[..., Any]
Tensors = list[Any]


class Rules(dict[str, Rule]):
    """Rules by the names of operations there: operands and parameters in; a tensor, or a list of all results, out."""

    def __call__(self, *names: str) -> Callable[[Rule], Rule]:
        """Enter a function as the rule of these operations; raises GraphError for one that has a rule."""

        def enter(function: Rule) -> Rule:
            self._enter(dict.fromkeys(names, function))
            return function

        return enter

    def rows(self, names: Mapping[str, str] | str, form: Callable[[Rule], Rule] = lambda own: own) -> None:
        """Operations that are functions of tensors with the same operands."""
        pairs = dict.fromkeys(names.split()) if isinstance(names, str) else names
        self._enter({name: form(attrgetter(own or name)(pt)) for name, own in pairs.items()})

    def _enter(self, rules: Mapping[str, Rule]) -> None:
        if twice := self.keys() & rules:
            raise GraphError(f"the operations {sorted(twice)} have rules already.")
        self.update(rules)


def plain(function: Rule) -> Rule:
    """The function of operands, whatever parameters (names, precisions) come with them."""
    return lambda *operands, **_: function(*operands)


def taking(*names: str) -> Callable[[Rule], Rule]:
    """From a function of an operand and settings to the rule that takes those from parameters of these names."""
    return lambda function: lambda x, **parameters: function(x, *(parameters[name] for name in names))


def listed(value: Any) -> Tensors:
    """Results as a list, of which one alone may be without."""
    return list(value) if isinstance(value, list | tuple) else [value]


def chain(function: Rule) -> Rule:
    """A function of two for any number of operands."""
    return lambda *operands: reduce(function, operands)
