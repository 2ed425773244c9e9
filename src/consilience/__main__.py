"""`python -m consilience`: a look at the installation and at the cache of compiled code.

Words of the command line come in; text and an exit status go out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from consilience import doctor
from consilience.native import cache

DESCRIPTION = "Bayesian inference on its own tensor compiler: look at the installation, tidy up."


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; 0 if all is well, 1 if a check fails, 2 for words not understood."""
    parser = argparse.ArgumentParser(prog="python -m consilience", description=DESCRIPTION)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="describe this installation and check that it works")
    store = commands.add_parser("cache", help="the cache of compiled code")
    store.add_argument("action", choices=("show", "clear"))
    chosen = parser.parse_args(arguments)
    if chosen.command == "doctor":
        return 0 if doctor.examine() else 1
    if chosen.action == "clear":
        deleted = cache.clear()
        print(f"{deleted} object{'' if deleted == 1 else 's'} deleted from {cache.place()}")
    else:
        print("\n".join(doctor.cache_lines()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
