"""Tunes the weights of `linear_es` by playing them against each other.

Example: python -m agents.linear --steps 24 --directions 64 --pairs 250 --seed 1 --weights new.json

After each step a line is added to `new.json.steps`, which holds all that is needed to go on, and
`new.json` is written anew. The same command, called again, goes on where it was stopped.
"""

import argparse
import json
import pathlib
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from tqdm import tqdm

from agents.linear import evolution, matches, weights
from mjx.record import write_file
from mjx.rules import DEFAULT

_DRAW, _PLAY = range(2)  # what the seed's keys are used for
_VECTORS = ("theta", "velocity", "total")


def main(arguments: list[str] | None = None) -> None:
    """Reads the command line, makes the steps that are left, writes weights after each."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        config = evolution.Config(
            steps=options.steps, directions=options.directions, rate=options.rate
        )
        if options.pairs < 1 or options.lanes < matches.LEAST_LANES:
            raise ValueError(f"pairs is 1 or more, lanes {matches.LEAST_LANES} or more.")
        start = weights.handmade()
        if options.start is not None:
            start = weights.from_text(options.start.read_text(encoding="utf-8"))
        if options.reads and start.danger is None:
            start = weights.reading(start)
        settings = {name: getattr(options, name) for name in ("pairs", "seed")}
        settings |= vars(config) | {"start": weights.flat(start).tolist()}
        log = options.weights.with_name(options.weights.name + ".steps")
        state = _resume(log, settings) or evolution.init(jnp.asarray(weights.flat(start)))
    except (ValueError, OSError) as error:
        parser.error(str(error))
    keys = [jax.random.fold_in(jax.random.key(options.seed), use) for use in range(2)]
    spread = jnp.asarray(weights.flat(weights.spread(start.danger is not None)))
    with tqdm(total=config.steps, initial=int(state.step), unit=" steps", disable=None) as bar:
        while state.step < config.steps:
            before = time.perf_counter()
            drawn = evolution.directions(keys[_DRAW], state, config)
            given = weights.parted(np.asarray(evolution.contestants(state, drawn, spread)))
            leads = matches.leads_jit(
                jax.tree.map(jnp.asarray, given),
                jax.random.fold_in(keys[_PLAY], state.step),
                num_matches=config.directions,
                pairs=options.pairs,
                lanes=options.lanes,
                rules=DEFAULT,
            )
            state = jax.block_until_ready(evolution.update(state, drawn, leads, spread, config))
            _note(log, state, leads, time.perf_counter() - before)
            found = weights.parted(evolution.result(state, config))
            write_file(options.weights, [weights.to_text(found)])
            bar.update()


def _parser() -> argparse.ArgumentParser:
    """Makes the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--directions", type=int, default=64, help="matches a step")
    parser.add_argument("--pairs", type=int, default=250, help="walls a match, each played twice")
    parser.add_argument("--rate", type=float, default=evolution.Config.rate)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lanes", type=int, default=640, help="hands in play at once")
    parser.add_argument("--start", type=pathlib.Path, help="weights to start from")
    parser.add_argument("--reads", action="store_true", help="start to read hands")
    parser.add_argument("--weights", type=pathlib.Path, required=True, help="where to write them")
    return parser


def _resume(log: pathlib.Path, settings: dict[str, Any]) -> evolution.State | None:
    """Reads the last whole line of a run, and drops what was begun after it.

    Raises:
      ValueError: the file belongs to a run of other settings.
    """
    if not log.exists():
        write_file(log, [json.dumps(settings)])
        return None
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    if not whole or json.loads(whole[0]) != settings:
        raise ValueError(f"{log} is of a run of other settings; remove it to begin anew.")
    write_file(log, [line.rstrip("\n") for line in whole])
    if len(whole) == 1:
        return None
    last = json.loads(whole[-1])
    vectors = {name: jnp.asarray(last[name], jnp.float32) for name in _VECTORS}
    return evolution.State(step=jnp.int32(last["step"]), **vectors)


def _note(log: pathlib.Path, state: evolution.State, leads: jax.Array, seconds: float) -> None:
    """Adds a step to the run."""
    line = {"step": int(state.step), "seconds": round(seconds, 1)}
    line |= {"leads": np.asarray(leads).round(1).tolist()}
    line |= {name: np.asarray(getattr(state, name)).tolist() for name in _VECTORS}
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
