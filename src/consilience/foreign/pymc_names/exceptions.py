"""PyMC's exceptions that have another name here, as `pymc.exceptions` has them, for `except` and `pytest.raises`."""

from consilience.errors import ConsilienceWarning as ShapeWarning
from consilience.errors import MissingRuleError as UndefinedMomentException
from consilience.errors import ModelError as BlockModelAccessError
from consilience.errors import ParameterError as IncorrectArgumentsError
from consilience.errors import SamplingError as TruncationError
from consilience.errors import StorageError as TraceDirectoryError
from consilience.foreign.pymc_names.graphs import NotConstantValueError

__all__ = [
    "BlockModelAccessError",
    "IncorrectArgumentsError",
    "NotConstantValueError",
    "ShapeWarning",
    "TraceDirectoryError",
    "TruncationError",
    "UndefinedMomentException",
]
