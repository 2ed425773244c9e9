"""The door without PyMC behind it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
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


def test_missing_pymc_is_said_with_the_command_that_installs_it() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert "pip install pymc" in done.stdout
