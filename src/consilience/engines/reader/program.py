"""Operations of other programs: operands in; results in the forms that the program declares, out.

Each is found in a table of rules. What goes wrong is told with its place in the other program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from consilience.engines.reader.forms import Form, unheld
from consilience.engines.reader.rules import Rules, Tensors
from consilience.errors import ConsilienceError, DtypeError, GraphError, MissingRuleError
from consilience.ir import DTYPES, Node
from consilience.record import Record

E = TypeVar("E", bound=ConsilienceError)


class ProgramStep(Record, eq=False):
    """One operation.

    `name`: by which its rule is found.
    `title`: by which messages call it.
    `parameters`: what its rule takes by name.
    `forms`: of its results, None for what is no tensor; None where nothing is declared.
    `where`: its place in the program, as in `at model.py:3`; None where it is not known.
    `scalar`: it is written for scalars and computed for arrays, whose shapes are not those declared.
    """

    name: str
    title: str
    parameters: Mapping[str, Any]
    forms: Sequence[Form | None] | None
    where: Callable[[], str | None]
    scalar: bool = False


class Language(Record, eq=False):
    """What programs are called, and what their operations compute.

    `owner`, `kind`: as in `JAX` and `primitive`.
    `rules`: of its operations.
    `hint`: of an operation's title: what helps where it has no translation, as a sentence after a space.
    `malformed`: what rules raise for operations in a form that they do not know.
    `unknown`: the error for those.
    """

    owner: str
    kind: str
    rules: Rules
    hint: Callable[[str], str]
    malformed: tuple[type[Exception], ...] = (TypeError,)
    unknown: type[ConsilienceError] = MissingRuleError

    def values(self, step: ProgramStep, operands: Sequence[Any]) -> Tensors:
        """Results of an operation.

        Raises MissingRuleError where it has no rule. Raises DtypeError for results that tensors do not hold, the
        language's error for forms that are not known, and what its rule raises; all with the place.
        """
        title = f"{self.owner}'s {self.kind} `{step.title}`"
        rule = self.rules.get(step.name)
        if rule is None:
            raise self._error(MissingRuleError, step, f"{title} has no translation", f".{self.hint(step.title)}")
        for form in step.forms or ():
            if form is not None and form.dtype not in DTYPES:
                raise self._error(DtypeError, step, f"a result of {title}", unheld(form.dtype))
        try:
            found = rule(*operands, **step.parameters)
        except GraphError as error:
            told = vars(error).get("told", (str(error).rstrip("."), f".{self.hint(step.title)}"))
            if not told:
                raise
            raise self._error(type(error), step, *told) from error
        except self.malformed as error:
            if isinstance(error, ConsilienceError):
                raise
            text = f"{title} is not of a known form: {error}"
            raise self._error(self.unknown, step, text, "; please report this if the program is right.") from error
        values = found if isinstance(found, list) else [found]
        forms = [None] * len(values) if step.forms is None else step.forms
        return [self._declared(value, form, step) for value, form in zip(values, forms, strict=False)]

    def _declared(self, value: Any, form: Form | None, step: ProgramStep) -> Any:
        """A result in the dtype that it has there."""
        if form is None or not isinstance(value, Node):
            return value
        if not step.scalar and tuple(value.static_shape) != form.shape:
            text = f"the translation of `{step.title}` has the shape {value.static_shape} in place of {form.shape}"
            raise self._error(GraphError, step, text, "; if the program is right, please report this.")
        return value if value.dtype == form.dtype else value.astype(form.dtype)

    def _error(self, kind: type[E], step: ProgramStep, before: str, after: str) -> E:
        """An error with the place of an operation; those around it look for one that is not known."""
        place = step.where()
        error = kind(f"{before} ({place or f'at a line of {self.owner} itself'}){after}")
        vars(error)["told"] = None if place else (before, after)
        return error
