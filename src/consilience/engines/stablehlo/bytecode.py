"""Portable bytecode of StableHLO, which `jaxlib` reads and writes: text in, bytes out, and back."""

from __future__ import annotations

from typing import Any

from consilience.errors import MissingPackageError, MissingRuleError, ParseError


def to_bytecode(text: str) -> bytes:
    """Bytecode that versions of the last four weeks read; raises MissingRuleError for text that is no module."""
    ir, stablehlo, context = _jaxlib()
    version = stablehlo.get_version_from_compatibility_requirement(stablehlo.StablehloCompatibilityRequirement.WEEK_4)
    with context:
        try:
            return bytes(stablehlo.serialize_portable_artifact(ir.Module.parse(text), version, True))
        except ir.MLIRError as error:
            raise MissingRuleError(f"jaxlib cannot read the module: {error}") from error


def from_bytecode(data: bytes) -> str:
    """The text of a module; raises ParseError for other bytes."""
    ir, stablehlo, context = _jaxlib()
    with context:
        try:
            return str(stablehlo.deserialize_portable_artifact(context, bytes(data)))
        except (ir.MLIRError, ValueError, RuntimeError) as error:
            raise ParseError(f"the bytes are no portable bytecode of StableHLO: {error}") from error


def _jaxlib() -> tuple[Any, Any, Any]:
    """The modules of MLIR and StableHLO, and a context that knows their dialects."""
    try:
        from jax._src.interpreters.mlir import make_ir_context
        from jax._src.lib.mlir import ir
        from jax._src.lib.mlir.dialects import hlo
    except ImportError as error:
        raise MissingPackageError(
            "bytecode of StableHLO is read and written by jaxlib: pip install 'consilience[jax]'; text needs nothing."
        ) from error
    return ir, hlo, make_ir_context()
