"""`train.py` for the residual: the terminal's and the clock's side of a run."""

import pathlib
import sys
import time
from collections.abc import Iterator
from typing import Any

import jax

from agents import policy
from agents.learn import config as settings
from agents.learn import evaluation, progress
from agents.learn.checkpoints import CheckpointError, Run
from agents.learn.config import ConfigError
from agents.learn.evaluation import Pairing
from agents.learn.stop import Stop
from agents.residual import curves, loop, network, player
from agents.residual.config import Config
from agents.residual.loop import TrainState

WEIGHTS = "weights.msgpack"


def main(arguments: list[str], runs: pathlib.Path) -> int:
    """Runs, or goes on with, a training run in a folder of `runs`; returns the exit status."""
    try:
        config = settings.parse(arguments, pathlib.Path(), Config)
        run = Run(runs / config.name, config)
    except (ConfigError, CheckpointError, ValueError, OSError) as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 2
    try:
        if run.results() is None:
            with Stop() as stop:
                state = train(config, run, stop)
            if int(state.iteration) < config.iterations:
                print(f"Stopped after {int(state.iteration)} iterations; start again to go on.")
                return 130
            (run.folder / WEIGHTS).write_bytes(network.to_bytes(jax.device_get(state.params)))
            run.finish([progress.match(pairing) for pairing in final(state.params, config)])
        curves.draw(run.metrics(), config.name).savefig(run.folder / "curves.png", dpi=120)
        print(evaluation.table(run.results() or []))
        print(f"All of it is in {run.folder}.")
    except CheckpointError as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 2
    finally:
        run.close()
    return 0


def train(config: Config, run: Run, stop: Stop) -> TrainState:
    """Goes on with a run until its end or until it is stopped; either way it is saved."""
    from tqdm import tqdm

    trainer = loop.make(config)
    restored = run.restore(trainer.init)
    state = jax.jit(trainer.init)() if restored is None else restored
    start = int(state.iteration)
    print(
        f"{'Going on' if start else 'Starting'} with {run.folder} at iteration {start}; compiling."
    )
    iterate = jax.jit(trainer.run, donate_argnums=0)
    watcher = player.policy("residual", ())
    others = {name: policy.load(name) for name in config.evaluation.opponents}
    with tqdm(total=config.iterations, initial=start, unit=" iterations", disable=None) as bar:
        while int(state.iteration) < config.iterations and not stop.wanted:
            begin = time.perf_counter()
            state, metrics = iterate(state)
            values = {name: value.item() for name, value in jax.device_get(metrics).items()}
            done = int(state.iteration)
            took = time.perf_counter() - begin
            rate = values["play/decisions"] / took
            bar.update(1)
            bar.set_postfix(decisions_per_s=f"{rate:.0f}")
            run.log({"iteration": done, **values, "time/seconds": took})
            if done % config.evaluation.every == 0:
                ours = watcher._replace(
                    params=watcher.params._replace(
                        residual=player.scaled(jax.device_get(state.params))
                    )
                )
                for other in others.values():
                    pairing = Pairing(ours, other, config.evaluation.pairs, evaluation.SHORT_SEED)
                    run.log({"iteration": done, **evaluation.metrics(evaluation.play(pairing))})
            if done % config.checkpoint_every == 0:
                run.save(state)
    run.save(state)
    return state


def final(params: Any, config: Config) -> Iterator[Pairing]:
    """Yields the matches at the end, each as it will stand in the table."""
    ours = player.policy("residual", player.scaled(jax.device_get(params)))
    for name in config.evaluation.final_opponents:
        yield Pairing(ours, policy.load(name), config.evaluation.final_pairs, evaluation.FINAL_SEED)
