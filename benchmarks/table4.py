"""Table 4 of Lei et al., Computer Engineering 47(3), 2021: how to learn, row by row, and its match.

Every row is a network that chooses the discards; all else is played by `greedy`'s rule in all of
them. Supervised rows learn from an agent's own play, since the paper's records of people are not
public. Reinforcement rows share one network and one set of hyper-parameters: DQN and Double DQN
play without search for the final points, the others by the search, with reward (8).

RUN/records.npz          the records, and records.json what they are
RUN/ROW/                 a run's folder (`agents.learn.checkpoints`)
RUN/ROW/trained.json     what learning took and gave
RUN/ROW/calibration.json predicted against realised returns, of reinforcement rows
RUN/ROW/match.json       the row's match
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
from tqdm import tqdm

import train
from agents import arena, policy, results
from agents.learn import calibration, checkpoints, evaluation, loop, networks, player
from agents.learn import config as settings
from agents.learn.config import Config
from agents.learn.stop import Stop
from agents.supervised import config as supervised
from agents.supervised import records, training
from benchmarks.table4_rows import ROWS, Size, reinforcement_config, supervised_config
from eval import commit


class StoppedError(Exception):
    """The run was asked to stop, and is saved."""


def play(folder: Path, size: Size, rows: Sequence[str], seed: int) -> list[dict[str, Any]]:
    """Learns and plays the rows; what is in the folder is not done again.

    Args:
      folder: RUN above.
      size: of everything.
      rows: names in `ROWS`.
      seed: of the match's walls, the same for all rows, of learning and, plus one, of records.

    Returns:
      The rows with their matches, as they are kept.

    Raises:
      ValueError: no such row, or the folder holds rows with other settings.
      StoppedError: the run was stopped.
    """
    if unknown := [row for row in rows if row not in ROWS]:
        raise ValueError(f"No row is named {unknown[0]!r}; there are {', '.join(ROWS)}.")
    folder.mkdir(parents=True, exist_ok=True)
    opponent = policy.load(size.opponent)
    split = None
    for row in rows:
        if not (folder / row / "trained.json").exists():
            if ROWS[row].loss is None:
                _reinforce(folder / row, reinforcement_config(size, row, seed))
            else:
                split = split or _split(folder, supervised_config(size, row, seed))
                _supervise(folder / row, supervised_config(size, row, seed), split)
        _keep_settings(folder / row, size, row, seed)
        if ROWS[row].loss is None and not (folder / row / "calibration.json").exists():
            _calibrate(folder / row, reinforcement_config(size, row, seed), size)
        asked = {"opponent": size.opponent, "pairs": size.pairs, "seed": seed}
        played = _read(folder / row / "match.json")
        if played is None or played["of"] != asked:
            _match(folder, row, asked, opponent)
    return [_row(folder / row) for row in rows]


def agent(folder: Path, row: str) -> str:
    """Names a row's player as `agents.policy.load` reads it."""
    about = ROWS[row]
    kind = "supervised" if about.loss else ("expectimax_ddqn" if about.searched else "ddqn")
    return f"{kind}:path={folder / row}"


def _keep_settings(folder: Path, size: Size, row: str, seed: int) -> None:
    """Refuses a folder whose row was learned with other settings."""
    asked: Any = reinforcement_config(size, row, seed)
    if ROWS[row].loss is not None:
        asked = supervised_config(size, row, seed)
    changed = settings.differences(checkpoints.read_config(folder, type(asked)), asked)
    if changed:
        raise ValueError(f"{folder} was learned with other settings: {'; '.join(changed)}.")


def _reinforce(folder: Path, config: Config) -> None:
    """Learns a reinforcement row, or goes on with it."""
    run = checkpoints.Run(folder, config)
    try:
        with Stop() as stop:
            state = train.train(config, run, evaluation.Players(config), stop)
        if int(state.iteration) < config.iterations:
            raise StoppedError
        lines = run.metrics()
        _keep_trained(
            folder,
            state.params,
            lines,
            iterations=config.iterations,
            decisions=sum(line["play/decisions"] for line in lines if "play/decisions" in line),
        )
    finally:
        run.close()


def _split(folder: Path, config: supervised.Config) -> records.Split:
    """Reads the records and splits them, or plays them first; on the device.

    Raises:
      ValueError: the folder holds others.
    """
    path, about = folder / "records.npz", folder / "records.json"
    asked = {"agent": config.agent, "hands": config.hands, "seed": config.records_seed}
    if not about.exists():
        start = time.perf_counter()
        with tqdm(total=config.hands, desc=config.agent, unit=" hands", disable=None) as bar:
            found = records.collect(
                policy.load(config.agent),
                config.hands,
                config.records_seed,
                report=lambda done: bar.update(done - bar.n),
            )
        records.save(path, found)
        took = {"discards": len(found.action), "seconds": time.perf_counter() - start}
        checkpoints.write_atomically(about, {"of": asked, **took, "commit": commit()})
    stored = json.loads(about.read_text(encoding="utf-8"))["of"]
    if stored != asked:
        raise ValueError(f"{path} is of {stored}, not of {asked}; delete it, or choose another.")
    return jax.tree.map(jax.numpy.asarray, records.split(records.load(path)))


def _supervise(folder: Path, config: supervised.Config, split: records.Split) -> None:
    """Learns a supervised row, or goes on with it."""
    run = checkpoints.Run(folder, config)
    trainer = training.make(config)
    try:
        state = run.restore(trainer.init) or jax.jit(trainer.init)()
        with (
            Stop() as stop,
            tqdm(total=config.epochs, desc=config.network.kind, disable=None) as bar,
        ):
            while not training.is_over(state, config) and not stop.wanted:
                start = time.perf_counter()
                state, metrics = training.epoch(
                    trainer, state, split.train, split.validation, config.batch
                )
                done, took = int(state.iteration), time.perf_counter() - start
                run.log({"iteration": done, **metrics, "time/seconds": took})
                run.save(state)
                bar.update(done - bar.n)
        if not training.is_over(state, config):
            raise StoppedError
        test = training.evaluate(trainer, state.params, split.test)
        sizes = {name: len(part.action) for name, part in split._asdict().items()}
        _keep_trained(
            folder,
            state.params,
            run.metrics(),
            epochs=int(state.iteration),
            best_epoch=int(state.best_epoch),
            discards=sizes,
            test=test._asdict(),
        )
    finally:
        run.close()


def _keep_trained(folder: Path, params: Any, lines: list[dict], **more: Any) -> None:
    """Writes what learning took, compiling included, and gave."""
    found = {
        "parameters": sum(leaf.size for leaf in jax.tree.leaves(params)),
        "seconds": sum(line["time/seconds"] for line in lines if "time/seconds" in line),
        "commit": commit(),
    }
    checkpoints.write_atomically(folder / "trained.json", found | more)


def _calibrate(folder: Path, config: Config, size: Size) -> None:
    """Measures predicted against realised returns of a reinforcement row."""
    network = networks.make(config.network)
    params = checkpoints.read_params(folder, lambda: loop.first_params(network, config))
    decide = player.decide_with(network, config.search)
    measure = jax.jit(
        lambda params, key: calibration.play(
            network, decide, params, key, size.games, size.steps, config
        )
    )
    discards = measure(params, jax.random.fold_in(jax.random.key(config.seed), 3))
    found = calibration.figures(jax.device_get(discards))
    about = {"games": size.games, "steps": size.steps, "commit": commit()}
    checkpoints.write_atomically(folder / "calibration.json", about | found)


def _match(folder: Path, row: str, of: dict[str, Any], opponent: policy.Policy) -> None:
    """Plays a row's match."""
    name, pairs = agent(folder, row), of["pairs"]
    with tqdm(total=2 * pairs, desc=name, unit=" hands", disable=None) as bar:
        match = arena.match(
            policy.load(name),
            opponent,
            pairs,
            of["seed"],
            clock=time.process_time,
            report=lambda done, _: bar.update(done - bar.n),
        )
    found = {"of": of, "commit": commit()} | results.figures(match, (name, of["opponent"]))
    checkpoints.write_atomically(folder / row / "match.json", found)
    print(f"{results.table(found)}\n", flush=True)


def _row(folder: Path) -> dict[str, Any]:
    """Reads a row's match, with what learning took under `trained` and the settings."""
    return _read(folder / "match.json") | {
        "row": folder.name,
        "trained": _read(folder / "trained.json"),
        "config": _read(folder / checkpoints.CONFIG)["config"],
        "calibration": _read(folder / "calibration.json"),
    }


def _read(path: Path) -> Any:
    """Reads a JSON file; None where there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
