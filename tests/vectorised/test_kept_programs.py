"""What JAX compiled is found again by the next process, unless something is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from consilience.native import cache
from consilience.run.lock_step import kept_programs
from consilience.run.lock_step.kept_programs import KeptProgram


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CONSILIENCE_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The text of what JAX compiles."""
    found: list[str] = []
    compile_ = jax.stages.Lowered.compile

    def counted(lowered: Any, *arguments: Any, **keywords: Any) -> Any:
        found.append(lowered.as_text())
        return compile_(lowered, *arguments, **keywords)

    monkeypatch.setattr(jax.stages.Lowered, "compile", counted)
    return found


def made() -> KeptProgram:
    """As another process makes it."""
    return KeptProgram(lambda parts, scale: {"sum": jnp.cumsum(parts[0]) * scale, "rest": parts[1]})


def called(program: Callable[..., Any], length: int = 5) -> Any:
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, program((np.linspace(0.1, 1.0, length), None), 3))


def test_a_program_is_compiled_once_for_each_form_of_its_arguments(compilations: list[str]) -> None:
    first = made()
    found = called(first)
    assert called(first)["sum"].tolist() == found["sum"].tolist()
    assert len(compilations) == 1
    called(first, 6)
    assert len(compilations) == 2
    assert len(cache.entries()) == 2


def test_the_next_process_finds_it_and_gives_the_same_bits(compilations: list[str]) -> None:
    found = called(made())
    again = called(made())
    assert len(compilations) == 1
    assert again["sum"].tobytes() == found["sum"].tobytes()
    assert again.keys() == found.keys()
    assert again["rest"] is found["rest"] is None


def test_what_is_damaged_is_compiled_anew(compilations: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = called(made())
    (entry,) = cache.entries()
    digest = entry.path.stem
    for payload in (b"", b"no program", (cache.get(digest) or b"")[:200]):
        cache.put(digest, payload)
        assert called(made())["sum"].tolist() == found["sum"].tolist()
    assert len(compilations) == 4


def test_another_version_or_compiler_or_setting_has_its_own(
    compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    called(made())
    monkeypatch.setattr(jax, "__version__", "0.0")
    called(made())
    monkeypatch.setenv("XLA_FLAGS", "--xla_some")
    called(made())
    assert len(compilations) == len(cache.entries()) == 3


def test_what_calls_back_is_not_kept(compilations: list[str]) -> None:
    def through_numpy(x: Any) -> Any:
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    for _ in range(2):
        assert float(KeptProgram(through_numpy)(np.float32(1.0))) == pytest.approx(np.sin(1.0))
    assert len(compilations) == 2
    assert cache.entries() == []


def test_what_is_too_large_is_not_kept(compilations: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_programs, "LARGEST", 10)
    called(made())
    assert cache.entries() == []
