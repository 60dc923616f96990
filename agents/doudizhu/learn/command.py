"""`train.py` for this game: the terminal's and the clock's side of a run."""

import pathlib
import sys
import time
from typing import Any

import jax

from agents.doudizhu import nets
from agents.doudizhu.learn import curves, evaluation, loop
from agents.doudizhu.learn.config import Config
from agents.doudizhu.learn.loop import Trainer, TrainState
from agents.learn import config as settings
from agents.learn.checkpoints import CheckpointError, Run
from agents.learn.config import ConfigError
from agents.learn.stop import Stop


def main(arguments: list[str], runs: pathlib.Path) -> int:
    """Runs, or goes on with, a training run in a folder of `runs`; returns the exit status."""
    try:
        config = settings.parse(arguments, pathlib.Path(), Config)
        run = Run(runs / config.name, config)
    except (ConfigError, CheckpointError, OSError) as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 2
    try:
        if run.results() is None:
            trainer = loop.make(config)
            with Stop() as stop:
                state = train(config, trainer, run, stop)
            if not loop.is_done(state):
                print(f"Stopped after {int(state.iteration)} steps; start again to go on.")
                return 130
            pairings = evaluation.final(trainer.network, state.params, config)
            run.finish([match(pairing) for pairing in pairings])
        curves.draw(run.metrics(), config.name).savefig(run.folder / "curves.png", dpi=120)
        print(evaluation.table(run.results() or []))
        print(f"All of it is in {run.folder}.")
    except CheckpointError as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 2
    finally:
        run.close()
    return 0


def train(config: Config, trainer: Trainer, run: Run, stop: Stop) -> TrainState:
    """Goes on with a run until its end or until it is stopped; either way it is saved."""
    from tqdm import tqdm

    restored = run.restore(trainer.init)
    state = jax.jit(trainer.init)() if restored is None else restored
    start = int(state.iteration)
    print(f"{'Going on' if start else 'Starting'} with {run.folder} at step {start}; compiling.")
    play = jax.jit(trainer.play, donate_argnums=0)
    learn = jax.jit(trainer.learn, donate_argnums=0)
    total = config.selfplay.chunks + 3 * config.learning.epochs
    with tqdm(total=total, initial=start, unit=" steps", disable=None) as bar:
        while not loop.is_done(state) and not stop.wanted:
            is_playing = int(state.iteration) < config.selfplay.chunks
            begin = time.perf_counter()
            state, metrics = (play if is_playing else learn)(state)
            values = {name: value.item() for name, value in jax.device_get(metrics).items()}
            done = int(state.iteration)
            run.log({"iteration": done, **values, "time/seconds": time.perf_counter() - begin})
            bar.set_description("self-play" if is_playing else f"role {values['learn/role']}")
            bar.update(1)
            if done % config.checkpoint_every == 0:
                save(run, state, config)
    save(run, state, config)
    return state


def save(run: Run, state: TrainState, config: Config) -> None:
    """Writes a checkpoint, and the network as players read it."""
    run.save(state)
    if int(state.iteration) > config.selfplay.chunks:
        about: dict[str, Any] = {
            "config": settings.to_dict(config),
            "errors": [float(error) for error in jax.device_get(state.best_error)],
        }
        nets.write(run.folder / nets.NET, config.network, state.params, about)


def match(pairing: evaluation.Pairing) -> dict[str, Any]:
    """Plays one match of the final table under a progress bar."""
    from tqdm import tqdm

    names = f"{pairing.a.name} v {pairing.b.name}"
    with tqdm(total=2 * pairing.deals, desc=names, unit=" games", disable=None) as bar:

        def report(done: int, _: int) -> None:
            bar.update(done - bar.n)

        return evaluation.play(pairing, report)
