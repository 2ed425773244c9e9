"""The door without PyMC behind it."""

from __future__ import annotations

import subprocess
import sys

MISSING = """
import sys
sys.modules["pymc"] = None
import consilience.errors
assert "consilience.for_pymc" not in sys.modules
try:
    import consilience.for_pymc
except consilience.errors.MissingPackageError as error:
    assert isinstance(error, ImportError)
    print(error)
"""
STAND_IN = """
import consilience.as_pymc
try:
    import consilience.for_pymc
except ImportError as error:
    print(error)
"""


def printed(program: str) -> str:
    """What a process of its own prints."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_missing_pymc_is_said_with_the_command_that_installs_it() -> None:
    assert "pip install pymc" in printed(MISSING)


def test_the_stand_in_for_pymc_needs_no_door() -> None:
    assert "`consilience.as_pymc` was imported" in printed(STAND_IN)
