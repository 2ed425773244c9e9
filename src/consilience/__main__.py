"""`python -m consilience`: a look at the installation and at the cache of compiled code; programs with the stand-in.

Words of the command line come in; text and an exit status go out.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from consilience import doctor
from consilience.native import cache

DESCRIPTION = "Bayesian inference on its own tensor compiler: look at the installation, tidy up, run programs."


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; 0 if all is well, 1 if a check fails, 2 for words not understood."""
    parser = argparse.ArgumentParser(prog="python -m consilience", description=DESCRIPTION)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="describe this installation and check that it works")
    store = commands.add_parser("cache", help="the cache of compiled code")
    store.add_argument("action", choices=("show", "clear"))
    program = commands.add_parser("run", help="run a program")
    program.add_argument("--as-pymc", action="store_true", required=True, help="`import pymc` in it means this library")
    program.add_argument("script", help="path of the program")
    program.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program finds in `sys.argv`")
    files = commands.add_parser("check", help="verify the checksums of files: checkpoints, stores, results, studies")
    files.add_argument("paths", nargs="+", metavar="path", help="a checkpoint, a Zarr store, a netCDF file or a study")
    page = commands.add_parser("watch", help="show runs in the browser")
    page.add_argument("path", help="a store, a file of draws, or a folder of runs")
    page.add_argument("--host", default="127.0.0.1", help="name to listen on (this machine alone)")
    page.add_argument("--port", type=int, help="port to listen on (8765, or any that is free)")
    page.add_argument("--no-browser", action="store_true", help="print the address, and open nothing")
    chosen = parser.parse_args(arguments)
    if chosen.command == "run":
        return _run(parser, chosen.script, chosen.arguments)
    if chosen.command == "watch":
        return _watch(chosen.path, chosen.host, chosen.port, not chosen.no_browser)
    if chosen.command == "check":
        return _check(chosen.paths)
    if chosen.command == "doctor":
        return 0 if doctor.examine() else 1
    if chosen.action == "clear":
        deleted = cache.clear()
        print(f"{deleted} object{'' if deleted == 1 else 's'} deleted from {cache.place()}")
    else:
        print("\n".join(doctor.cache_lines()))
    return 0


def _check(paths: Sequence[str]) -> int:
    """Print what is damaged below each path; 1 if anything is, or cannot be read."""
    from consilience.errors import ConsilienceError
    from consilience.output.storage.checking import check

    damaged = False
    for path in paths:
        try:
            found = check(path)
        except ConsilienceError as error:
            print(error, file=sys.stderr)
            damaged = True
            continue
        damaged |= bool(found.faults)
        print(f"{path}: {'DAMAGED' if found.faults else 'ok'} ({found.verified})")
        for fault in found.faults:
            print(f"  {fault}")
        for part in found.unknown:
            print(f"  no checksums: {part}")
    return int(damaged)


def _watch(path: str, host: str, port: int | None, browser: bool) -> int:
    """Serve until Ctrl-C."""
    from consilience.errors import ConsilienceError
    from consilience.watch.server import watch

    try:
        watch(path, host, port, browser)
    except ConsilienceError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


def _run(parser: argparse.ArgumentParser, script: str, arguments: Sequence[str]) -> int:
    """Run the program as `python script.py` would, in which `pymc` and `pytensor` are this library."""
    if not Path(script).is_file():
        parser.error(f"no file {script!r} to run")
    import_module("consilience.as_pymc")
    sys.argv[:] = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    runpy.run_path(script, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
