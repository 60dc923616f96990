"""Trains the reading network from self-play, and says how well it reads.

Example: python -m agents.reading --updates 2000 --weights agents/reading/weights.msgpack
         python -m agents.reading --updates 0 --start agents/reading/weights.msgpack --plot out.png
"""

import argparse
import pathlib
import time
from typing import Any

import jax
import numpy as np
from flax import serialization
from tqdm import trange

from agents import policy
from agents.reading import measure, network, training

_TRAIN, _COUNT, _TABLE, _TEST = range(4)  # what the seed's keys are used for


def main(arguments: list[str] | None = None) -> None:
    """Reads the command line, trains, measures, writes weights and the figure."""
    options = _parser().parse_args(arguments)
    config = training.Config(
        lanes=options.lanes,
        stride=options.stride,
        updates=options.updates,
        learning_rate=options.learning_rate,
    )
    keys = [jax.random.fold_in(jax.random.key(options.seed), use) for use in range(4)]
    weights = _start(options.start)
    if options.updates:
        players = [policy.load(name) for name in options.players.split("+")]
        weights["network"] = _train(keys[_TRAIN], config, players, weights.get("network"))
    if "draw" not in weights:
        weights |= _hazards(keys[_COUNT], config)
    if options.weights is not None:
        options.weights.write_bytes(network.to_bytes(weights))
    if options.batches:
        player = policy.load(options.test_player)
        found = _measure(keys[_TABLE], keys[_TEST], config, player, weights, options.batches)
        for name, pairs in found.items():
            print(
                f"{name:28}log loss {measure.log_loss(pairs):.5f}  AUC {measure.auc(pairs):.4f}"
                f"  mean {pairs.chance.mean():.5f}  of {len(pairs.truth)}, {pairs.truth.mean():.5f}"
            )
        if options.plot is not None:
            title = f"Chance that an opponent wins on a tile held ({options.test_player})"
            measure.draw(found, title).savefig(options.plot, dpi=110)


def _parser() -> argparse.ArgumentParser:
    """Makes the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--updates", type=int, default=2000, help="batches to learn from; 0: none")
    parser.add_argument("--lanes", type=int, default=512, help="decisions of a batch")
    parser.add_argument("--stride", type=int, default=3, help="decisions played between batches")
    parser.add_argument("--learning-rate", type=float, default=2e-3)
    parser.add_argument(
        "--players", default="greedy", help="whose play is read, several in turn: a+b"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=pathlib.Path, help="weights to go on from")
    parser.add_argument("--weights", type=pathlib.Path, help="where to write weights")
    parser.add_argument("--batches", type=int, default=60, help="to measure on; 0: do not")
    parser.add_argument("--test-player", default="greedy", help="whose play is measured on")
    parser.add_argument("--plot", type=pathlib.Path, help="where to draw the calibration")
    return parser


def _start(path: pathlib.Path | None) -> dict[str, Any]:
    """Reads weights to go on from."""
    return dict(serialization.msgpack_restore(path.read_bytes())) if path is not None else {}


def _train(key: jax.Array, config: training.Config, players: list, params: Any) -> Any:
    """Trains, the players taking turns batch by batch; each plays tables of its own."""
    key, init_key = jax.random.split(key)
    first = training.init(init_key, config, params)
    tables = [training.deal(jax.random.fold_in(key, i), config.lanes) for i in range(len(players))]
    plays = [_player(player, config) for player in players]
    learn = jax.jit(lambda p, o, batch: training.learn(p, o, batch, config))
    params, opt_state, mean = first.params, first.opt_state, {}
    with trange(config.updates, unit=" updates", disable=None) as bar:
        for step in bar:
            who = step % len(players)
            tables[who], batch = plays[who](jax.random.fold_in(key, step + 100), tables[who])
            params, opt_state, parts = learn(params, opt_state, batch)
            parts = {name: float(value) for name, value in jax.device_get(parts).items()}
            mean = {name: 0.98 * mean.get(name, parts[name]) + 0.02 * parts[name] for name in parts}
            bar.set_postfix({name: f"{value:.4f}" for name, value in mean.items()})
    return params


def _player(player: policy.Policy, config: training.Config) -> Any:
    """Compiles the play of one player: (key, states) -> (states, batch)."""
    play = jax.jit(
        lambda params, key, states: training.play(player, params, key, states, config.stride)
    )
    return lambda key, states: play(player.params, key, states)


def _hazards(key: jax.Array, config: training.Config) -> dict[str, Any]:
    """Counts how often ready seats win."""
    deal_key, play_key = jax.random.split(key)
    greedy = policy.load("greedy")
    count = jax.jit(
        lambda key, states: training.hazards(greedy, greedy.params, key, states, num_steps=200)
    )
    found = count(play_key, training.deal(deal_key, config.lanes))
    print(f"a ready seat wins {float(found.draw):.4f} of its draws, {float(found.discard):.4f} of")
    print("the discards of each other seat")
    return found._asdict()


def _measure(
    table_key: jax.Array,
    test_key: jax.Array,
    config: training.Config,
    player: policy.Policy,
    weights: dict[str, Any],
    batches: int,
) -> dict[str, measure.Pairs]:
    """Compares the network with a constant and with tables, on hands nobody has learned from."""
    chances = jax.jit(jax.vmap(network.chances, (None, 0)))
    plain = measure.Table(training.NUM_CELLS // training.CELLS_A_KIND)
    fine = measure.Table(training.NUM_CELLS)
    for _, cells, truth in _pairs(table_key, config, player, batches):
        plain.add(cells // training.CELLS_A_KIND, truth)
        fine.add(cells, truth)
    parts: dict[str, list] = {"network": [], "melds, turn": [], "melds, turn, sort, unseen": []}
    truths = []
    for batch, cells, truth in _pairs(test_key, config, player, batches):
        read = np.asarray(chances(weights["network"], batch.features).wins)
        parts["network"].append(read[_held(batch)])
        parts["melds, turn"].append(plain.chance(cells // training.CELLS_A_KIND))
        parts["melds, turn, sort, unseen"].append(fine.chance(cells))
        truths.append(truth)
    truth = np.concatenate(truths)
    found = {name: measure.Pairs(np.concatenate(each), truth) for name, each in parts.items()}
    return found | {"constant": measure.Pairs(np.full(len(truth), truth.mean()), truth)}


def _pairs(key: jax.Array, config: training.Config, player: policy.Policy, batches: int):
    """Yields batches of other hands, and the cells and truth of their pairs."""
    play = _player(player, config)
    deal_key, key = jax.random.split(key)
    states = training.deal(deal_key, config.lanes)
    for step in range(-20, batches):  # the first ones are all at the same turn
        states, batch = play(jax.random.fold_in(key, step + 20), states)
        if step >= 0:
            held = _held(batch)
            yield batch, np.asarray(batch.cells)[held], np.asarray(batch.labels.wins)[held]


def _held(batch: training.Batch) -> np.ndarray:
    """Marks the pairs that are measured: bool[B, O, T]."""
    return np.broadcast_to(np.asarray(batch.held)[:, None], batch.labels.wins.shape)


if __name__ == "__main__":
    start = time.perf_counter()
    main()
    print(f"{time.perf_counter() - start:.0f} s")
