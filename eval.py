"""Plays two agents against each other, two seats against two, and says which is stronger.

Example: python eval.py --a greedy --b random --pairs 500 --seed 0 --json result.json
"""

import argparse
import dataclasses
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any

from tqdm import tqdm

from agents import arena, policy, results
from mjx.rules import DEFAULT

LIBRARIES = ("jax", "jaxlib", "flax", "optax", "numpy", "scipy")


def main(arguments: list[str] | None = None) -> None:
    """Reads the command line, plays the match, prints and writes the figures."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        arena.check(options.pairs, options.seed, options.lanes)
        a = policy.load(options.a)
        b = a if options.b == options.a else policy.load(options.b)
        if options.json is not None:
            _write(options.json, None)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    start = time.perf_counter()
    with tqdm(total=2 * options.pairs, unit=" hands", disable=None) as bar:
        played = arena.match(
            a,
            b,
            options.pairs,
            options.seed,
            lanes=options.lanes,
            clock=time.perf_counter,
            report=lambda done, _: bar.update(done - bar.n),
        )
    result = results.figures(played, (options.a, options.b))
    result |= _circumstances(options, time.perf_counter() - start)
    print(results.table(result))
    if options.json is not None:
        _write(options.json, result)


def _parser() -> argparse.ArgumentParser:
    """Makes the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--a", required=True, help="an agent by name, such as greedy or ddqn:path=runs/cpu"
    )
    parser.add_argument("--b", required=True, help="the agent it plays against")
    parser.add_argument("--pairs", type=int, required=True, help="walls, each played twice")
    parser.add_argument("--seed", type=int, required=True, help="the same seed, the same figures")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write them here")
    parser.add_argument(
        "--lanes",
        type=int,
        help=f"hands in play at once, even; figures do not depend on it (up to {arena.MAX_LANES})",
    )
    return parser


def _circumstances(options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """Records what the figures depend on."""
    versions = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return {
        "seed": options.seed,
        "rules": dataclasses.asdict(DEFAULT),
        "interval": "Student's t over pairs, 95 %",
        "seconds": seconds,
        "python": sys.version.split()[0],
        "versions": versions,
        "commit": _commit(),
    }


def _commit() -> str | None:
    """Names the commit of this checkout, `-dirty` where files differ; None outside of git."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
        cwd=pathlib.Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    return described.stdout.strip() if described.returncode == 0 else None


def _write(path: pathlib.Path, result: dict[str, Any] | None) -> None:
    """Writes the figures in one piece; None only makes sure that it can be done.

    Raises:
      OSError: the file cannot be written.
    """
    if path.is_dir():
        raise IsADirectoryError(f"--json {path} is a folder; name a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"--json {path}: there is no folder {path.parent}.")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=2, allow_nan=False)
            file.write("\n")
        if result is not None:
            os.chmod(name, 0o644)
            os.replace(name, path)
    finally:
        pathlib.Path(name).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
