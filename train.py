"""Trains players by self-play, and says how strong they have become.

    python train.py                                    # configs/cpu.yaml
    python train.py --config configs/smoke.yaml        # everything once
    python train.py --seed 1 --learning.batch 512      # any setting
    python train.py --config configs/strong.yaml       # the residual
    python train.py --config configs/doudizhu.yaml     # the second game
    python train.py --config configs/accelerator.yaml --distributed    # on each host of a cluster

Everything goes to runs/NAME. Stopped at any moment and started again with the same settings, it
goes on from its last checkpoint as if it had never stopped.
"""

import pathlib
import sys
import time
from typing import Any

import jax
from tqdm import tqdm

from agents.learn import config as settings
from agents.learn import curves, devices, evaluation, loop, player, progress
from agents.learn.checkpoints import CheckpointError, Run
from agents.learn.config import Config, ConfigError
from agents.learn.loop import TrainState
from agents.learn.stop import Stop
from eval import use_all_cores

DEFAULT = pathlib.Path(__file__).parent / "configs" / "cpu.yaml"
RUNS = pathlib.Path("runs")
DISTRIBUTED = "--distributed"


def main(arguments: list[str] | None = None) -> int:
    """Runs, or goes on with, a training run; returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if settings.named(arguments, "game") == "doudizhu":
        from agents.doudizhu.learn import command

        return command.main(arguments, RUNS)
    if settings.named(arguments, "method") == "residual":
        from agents.residual import command as residual

        return residual.main(arguments, RUNS)
    try:
        if DISTRIBUTED in arguments:
            join_cluster()
        config = settings.parse([one for one in arguments if one != DISTRIBUTED], DEFAULT)
        devices.mesh(config.groups)  # refuses what cannot be shared out
        run = Run(RUNS / config.name, config)
    except (ConfigError, CheckpointError, OSError) as error:
        return refuse(error)
    try:
        if run.results() is None:
            players = evaluation.Players(config)
            with Stop() as stop:
                state = train(config, run, players, stop)
            if int(state.iteration) < config.iterations:
                print(f"Stopped after {int(state.iteration)} iterations; start again to go on.")
                return 130
            if devices.is_first():
                run.finish([progress.match(pairing) for pairing in players.final(state.params)])
        if devices.is_first():
            curves.draw(run.metrics(), config.name).savefig(run.folder / "curves.png", dpi=120)
            print(evaluation.table(run.results() or []))
            print(f"All of it is in {run.folder}.")
        devices.wait("the end")
    except CheckpointError as error:
        return refuse(error)
    finally:
        run.close()
    return 0


def refuse(error: Exception) -> int:
    """Says what is wrong; returns the exit status."""
    print(f"train.py: {error}", file=sys.stderr)
    return 2


def join_cluster() -> None:
    """Makes this process one of several, as the cluster it was started by says.

    Raises:
      ConfigError: no cluster that JAX knows, or its processes do not find each other.
    """
    try:
        jax.distributed.initialize()
    except (ValueError, RuntimeError) as error:
        raise ConfigError(f"{DISTRIBUTED}: JAX can join no cluster: {error}") from error


def train(config: Config, run: Run, players: evaluation.Players, stop: Stop) -> TrainState:
    """Goes on with a run until its end or until it is stopped; either way it is saved."""
    trainer = loop.make(config, lambda network: player.decide_with(network, config.search))
    restored = run.restore(trainer.init)
    state = trainer.init() if restored is None else restored
    start = int(state.iteration)
    print(
        f"{'Going on' if start else 'Starting'} with {run.folder} at iteration {start}, on "
        f"{len(state.iteration.sharding.device_set)} devices; compiling."
    )
    chunk = jax.jit(trainer.run, donate_argnums=0)
    hidden = None if devices.is_first() else True
    with tqdm(total=config.iterations, initial=start, unit=" iterations", disable=hidden) as bar:
        while int(state.iteration) < config.iterations and not devices.any_wants(stop.wanted):
            state = advance(chunk, state, config, run, players, bar)
    run.save(state)
    return state


def advance(
    chunk: Any, state: TrainState, config: Config, run: Run, players: evaluation.Players, bar: tqdm
) -> TrainState:
    """Runs `log_every` iterations, then logs, saves and evaluates where they are due."""
    begin = time.perf_counter()
    state, metrics = chunk(state)
    values = {name: value.item() for name, value in jax.device_get(metrics).items()}
    took = time.perf_counter() - begin
    done = int(state.iteration)
    rate = values["play/decisions"] / took
    values |= {"time/decisions_per_s": rate, "time/seconds": took}
    bar.update(done - bar.n)
    bar.set_postfix(loss=f"{values['learn/loss']:.3g}", decisions_per_s=f"{rate:.0f}")
    if devices.is_first():
        run.log({"iteration": done, **values})
        if done % config.evaluation.every == 0 or done == config.iterations:
            bar.set_description("evaluating")
            for pairing in players.short(state.params):
                run.log({"iteration": done, **evaluation.metrics(evaluation.play(pairing))})
            bar.set_description("training")
    devices.wait(f"iteration {done}")
    if done % config.checkpoint_every == 0:
        run.save(state)
    return state


if __name__ == "__main__":
    if settings.named(sys.argv[1:], "method") == "residual":
        use_all_cores()
    sys.exit(main())
