"""One of the processes of a run whose game is made up, and so is quickly compiled.

    python -m tests.learn.processes FOLDER PORT NUMBER RANK

The run is stopped on the way, by a wish of the last process alone, and gone on with.
"""

import dataclasses
import pathlib
import sys

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

import train
from agents.learn import features, loop, selfplay
from agents.learn.checkpoints import Run
from agents.learn.config import (
    Config,
    EvaluationConfig,
    LearningConfig,
    NetworkConfig,
    SelfPlayConfig,
)
from agents.learn.dqn import Transition
from agents.learn.selfplay import Tally

OFFERED = 5


def settings():
    """The run's; made only when JAX may start, since they try the opponents' names."""
    return Config(
        name="made_up",
        iterations=8,
        log_every=2,
        checkpoint_every=4,
        network=NetworkConfig(kind="linear"),
        selfplay=SelfPlayConfig(games=8, steps=16, epsilon_iterations=4),
        learning=LearningConfig(batch=8, updates=3, target_period=5, capacity=256, warmup=100),
        evaluation=EvaluationConfig(every=8),
    )


def deal(key):
    """A game is a number."""
    return jax.random.bits(key, dtype=jnp.uint32) % 8


def play(games, keys, epsilon, decide, discount, config):
    """Each decision draws transitions, and moves the number on; has no use for the player."""
    del decide, config

    def one(game, key):
        flat, view_of = ravel_pytree(features.blank_view())
        drawn = jax.random.bits(key, (2, OFFERED, flat.size), jnp.uint8) % 4
        now, after = (jax.vmap(view_of)(one) for one in drawn.astype(flat.dtype))
        action = now.hand.counts[:, 0] + 8 * now.hand.counts[:, 1]
        reward = 0.1 * (action + game).astype(jnp.float32)
        is_real = now.hand.turn + now.hand.num_melds < 3
        row = Transition(now, action, reward, jnp.full(OFFERED, discount), after)
        count = jnp.sum(is_real, dtype=jnp.int32)
        tally = Tally(jnp.int32(1), *(count for _ in Tally._fields[1:-1]), epsilon * game)
        return (game + count.astype(jnp.uint32)) % 8, row, is_real, tally

    return jax.vmap(one)(games, keys)


class Players:
    """Play no matches."""

    def short(self, params):
        """None, but the parameters must be there to play with."""
        jax.device_get(params)
        return ()


class Stop:
    """A wish of the last process alone, after four iterations."""

    def __init__(self):
        """Begins without a wish."""
        self.asked = 0

    @property
    def wanted(self):
        """The wish: at the third time of asking."""
        self.asked += 1
        return self.asked == 3 and jax.process_index() == jax.process_count() - 1


def main(folder, port, number, rank):
    """Runs to the end, in two parts."""
    if number > 1:
        jax.distributed.initialize(f"localhost:{port}", number, rank)
    assert (jax.process_count(), jax.local_device_count()) == (number, 1)
    selfplay.init, selfplay.play = deal, play
    config = settings()
    trainer = loop.make(config, lambda network: None)
    loop.make = lambda *_: trainer  # compiled once for both parts
    for done in (4, config.iterations):
        run = Run(folder, config)
        state = train.train(config, run, Players(), Stop())
        run.close()
        assert int(state.iteration) == done, state.iteration
        assert len(state.games.sharding.device_set) == number
    try:
        Run(folder, dataclasses.replace(config, seed=1))
    except ValueError as refusal:
        print(f"refused: {refusal}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:]))
