"""Plays two agents against each other and says which is stronger.

    python eval.py --a greedy --b random --pairs 500 --seed 0 --json result.json
    python eval.py --game doudizhu --a search --b random --deals 500 --seed 0

Mahjong is played two seats against two, each wall twice; Dou Dizhu landlord against peasants, each
deal twice.
"""

import argparse
import dataclasses
import importlib.metadata
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np
from tqdm import tqdm

from agents import arena, policy, results
from mjx import record
from mjx.rules import PRESETS, Rules, parse

LIBRARIES = ("jax", "jaxlib", "flax", "optax", "numpy", "scipy")


def main(arguments: list[str] | None = None) -> None:
    """Reads the command line, plays the match, prints and writes the figures."""
    choice = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    choice.add_argument("--game", choices=("mahjong", "doudizhu"), default="mahjong")
    game, _ = choice.parse_known_args(arguments)
    if game.game == "doudizhu":
        _doudizhu(arguments)
        return
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        options.lanes = arena.check(options.pairs, options.seed, options.lanes)
        rules = _rules(options.rules)
        a = policy.load(options.a, rules, time.perf_counter)
        b = a if options.b == options.a else policy.load(options.b, rules, time.perf_counter)
        for option, path in (("--json", options.json), ("--record", options.record)):
            if path is not None:
                _check_path(option, path)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    circumstances = _circumstances(options, policy.AGENTS)
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
    result |= circumstances | {"seconds": time.perf_counter() - start}
    result |= {"rules": dataclasses.asdict(rules), "interval": "Student's t over pairs, 95 %"}
    print(results.table(result))
    if options.json is not None:
        record.write_file(options.json, [json.dumps(result, indent=2, allow_nan=False)])
    if options.record is not None:
        record.write_file(options.record, _lines(played, options, rules))


def _doudizhu(arguments: list[str] | None) -> None:
    """Does the same for Dou Dizhu."""
    from agents.doudizhu import arena, players, results

    parser = _common("cnn_search")
    parser.add_argument("--deals", type=int, required=True, help="each played twice")
    options = parser.parse_args(arguments)
    try:
        options.lanes = arena.check(options.deals, options.seed, options.lanes)
        a = players.load(options.a)
        b = a if options.b == options.a else players.load(options.b)
        if options.json is not None:
            _check_path("--json", options.json)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    circumstances = _circumstances(options, players.AGENTS)
    start = time.perf_counter()
    with tqdm(total=2 * options.deals, unit=" games", disable=None) as bar:
        played = arena.match(
            a,
            b,
            options.deals,
            options.seed,
            lanes=options.lanes,
            clock=time.perf_counter,
            report=lambda done, _: bar.update(done - bar.n),
        )
    result = results.figures(played, (options.a, options.b))
    result |= circumstances | {"seconds": time.perf_counter() - start}
    result |= {"interval": "Student's t over deals, 95 %"}
    print(results.table(result))
    if options.json is not None:
        record.write_file(options.json, [json.dumps(result, indent=2, allow_nan=False)])


def _common(strongest: str) -> argparse.ArgumentParser:
    """Makes the part of the command line that both games share."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", choices=("mahjong", "doudizhu"), default="mahjong")
    parser.add_argument(
        "--a", default=strongest, help="an agent by name, such as greedy or ddqn:path=runs/cpu"
    )
    parser.add_argument("--b", required=True, help="the agent it plays against")
    parser.add_argument("--seed", type=int, required=True, help="the same seed, the same figures")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write them here")
    parser.add_argument(
        "--lanes",
        type=int,
        help="games in play at once, even; figures do not depend on it",
    )
    return parser


def _parser() -> argparse.ArgumentParser:
    """Makes the command line."""
    parser = _common("shipped")
    parser.add_argument("--pairs", type=int, required=True, help="walls, each played twice")
    parser.add_argument(
        "--record", type=pathlib.Path, metavar="FILE", help="also write all hands here"
    )
    parser.add_argument(
        "--rules",
        default="AT",
        help=f"the table: one of {', '.join(PRESETS)}, and fields, such as wan,reserve=0",
    )
    return parser


def _rules(text: str) -> Rules:
    """Reads the table's rules, and refuses those of which a match of pairs makes no sense."""
    rules = parse(text)
    if rules.hand_mode == "match" or rules.multi_ron:
        raise ValueError("--rules: pairs are single hands with one winner each.")
    return rules


def _circumstances(
    options: argparse.Namespace, agents: Mapping[str, policy.Agent]
) -> dict[str, Any]:
    """Records what the figures depend on, before a long match, during which files may change."""
    versions = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return {
        "command": _command(options),
        "seed": options.seed,
        "lanes": options.lanes,
        "players": {side: policy.settings(getattr(options, side), agents) for side in "ab"},
        "python": sys.version.split()[0],
        "versions": versions,
        "backend": jax.default_backend(),
        "devices": jax.device_count(),
        "commit": commit(),
    }


def _command(options: argparse.Namespace) -> str:
    """Words the command that plays the match again, wherever its figures are written."""
    words = ["python", "eval.py"]
    for name, value in vars(options).items():
        if name not in ("json", "record"):
            words += [f"--{name}", str(value)]
    return shlex.join(words)


def commit() -> str | None:
    """Names the commit of this checkout, `-dirty` where files differ; None outside of git."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
        cwd=pathlib.Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    return described.stdout.strip() if described.returncode == 0 else None


def use_all_cores() -> None:
    """Gives JAX a device for each core that it may use, before anything is computed.

    A search is many small steps, which keep no more than one core busy.
    """
    may_use = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
    jax.config.update("jax_num_cpu_devices", len(may_use(0)))


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
    use_all_cores()
    main()
