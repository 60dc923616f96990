"""Plays two agents against each other, two seats against two, and says which is stronger.

Example: python eval.py --a greedy --b random --pairs 500 --seed 0 --json result.json
"""

import argparse
import dataclasses
import importlib.metadata
import json
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from tqdm import tqdm

from agents import arena, policy, results
from mjx import record
from mjx.rules import PRESETS, Rules, parse

LIBRARIES = ("jax", "jaxlib", "flax", "optax", "numpy", "scipy")


def main(arguments: list[str] | None = None) -> None:
    """Reads the command line, plays the match, prints and writes the figures."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        arena.check(options.pairs, options.seed, options.lanes)
        rules = _rules(options.rules)
        a = policy.load(options.a, rules, time.perf_counter)
        b = a if options.b == options.a else policy.load(options.b, rules, time.perf_counter)
        for option, path in (("--json", options.json), ("--record", options.record)):
            if path is not None:
                _check_path(option, path)
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
            rules=rules,
            clock=time.perf_counter,
            report=lambda done, _: bar.update(done - bar.n),
            keep_actions=options.record is not None,
        )
    result = results.figures(played, (options.a, options.b))
    result |= _circumstances(options, rules, time.perf_counter() - start)
    print(results.table(result))
    if options.json is not None:
        record.write_file(options.json, [json.dumps(result, indent=2, allow_nan=False)])
    if options.record is not None:
        record.write_file(options.record, _lines(played, options, rules))


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
        "--record", type=pathlib.Path, metavar="FILE", help="also write all hands here"
    )
    parser.add_argument(
        "--rules",
        default="AT",
        help=f"the table: one of {', '.join(PRESETS)}, and fields, such as wan,reserve=0",
    )
    parser.add_argument(
        "--lanes",
        type=int,
        help=f"hands in play at once, even; figures do not depend on it (up to {arena.MAX_LANES})",
    )
    return parser


def _rules(text: str) -> Rules:
    """Reads the table's rules, and refuses those of which a match of pairs makes no sense."""
    rules = parse(text)
    if rules.hand_mode == "match" or rules.multi_ron:
        raise ValueError("--rules: pairs are single hands with one winner each.")
    return rules


def _circumstances(options: argparse.Namespace, rules: Rules, seconds: float) -> dict[str, Any]:
    """Records what the figures depend on."""
    versions = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return {
        "seed": options.seed,
        "rules": dataclasses.asdict(rules),
        "interval": "Student's t over pairs, 95 %",
        "seconds": seconds,
        "python": sys.version.split()[0],
        "versions": versions,
        "commit": commit(),
    }


def commit() -> str | None:
    """Names the commit of this checkout, `-dirty` where files differ; None outside of git."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
        cwd=pathlib.Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    return described.stdout.strip() if described.returncode == 0 else None


def _lines(played: arena.Match, options: argparse.Namespace, rules: Rules) -> Iterator[str]:
    """Writes the hands of a match as a record, with who played each seat of each."""
    assert played.actions is not None
    columns = np.zeros((max(map(len, played.actions)), len(played.actions)), np.uint8)
    for game, made in enumerate(played.actions):
        columns[: len(made), game] = made
    is_a = played.hands.is_a.reshape(len(played.actions), -1)
    names = np.where(is_a, options.a, options.b).tolist()
    return record.lines(
        arena.first_states(options.pairs, options.seed, rules), columns, rules, names
    )


def _check_path(option: str, path: pathlib.Path) -> None:
    """Makes sure before any hand is played that a file can be written.

    Raises:
      OSError: it cannot.
    """
    try:
        record.write_file(path, None)
    except OSError as error:
        raise OSError(f"{option}: {error}") from None


if __name__ == "__main__":
    main()
