"""A network learned from discards, in whole passes over them, until it stops to get better.

B = batch, N = discards, T = 34 kinds.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import struct

from agents.learn import features, networks
from agents.learn.features import View
from agents.learn.networks import QNetwork
from agents.supervised.config import Config
from agents.supervised.records import Records

Array = jax.Array
Params = Any

_BLOCK = 256  # discards evaluated at once


class TrainState(struct.PyTreeNode):
    """Everything that a run is made of."""

    iteration: Array  # int32[]  epochs done
    params: Params  # the best so far, by the loss in validation
    current: Params
    optimiser: optax.OptState
    best_loss: Array  # float32[]
    best_epoch: Array  # int32[]
    key: Array  # the run's key, never changed


class Quality(NamedTuple):
    """How well discards are told."""

    loss: Array  # float32[]  mean
    accuracy: Array  # float32[]  share of discards whose kind has the highest score


class Trainer(NamedTuple):
    """A run's functions, none of them compiled yet."""

    network: QNetwork
    init: Callable[[], TrainState]
    epoch: Callable[[TrainState, Records, Records], tuple[TrainState, dict[str, Array]]]
    evaluate: Callable[[Params, Records], Quality]


def make(config: Config) -> Trainer:
    """Makes the functions of a run; `epoch` takes the records to learn from and to validate with.

    The last discards that fill no batch are left out of an epoch; its order is drawn anew.
    """
    network = networks.make(config.network)
    optimiser = optax.adamw(config.learning_rate, weight_decay=config.decay)

    def init() -> TrainState:
        params = first_params(network, config)
        return TrainState(
            iteration=jnp.int32(0),
            params=params,
            current=jax.tree.map(jnp.copy, params),
            optimiser=optimiser.init(params),
            best_loss=jnp.float32(jnp.inf),
            best_epoch=jnp.int32(0),
            key=jax.random.fold_in(jax.random.key(config.seed), 1),
        )

    def mean_loss(params: Params, view: View, action: Array) -> Array:
        scores, held = scores_of(network, params, view)
        return jnp.mean(jax.vmap(loss_of, (0, 0, 0, None))(scores, held, action, config.loss))

    def one_batch(carry: tuple, rows: Records) -> tuple[tuple, Array]:
        params, state = carry
        loss, gradient = jax.value_and_grad(mean_loss)(params, rows.view, rows.action)
        change, state = optimiser.update(gradient, state, params)
        return (optax.apply_updates(params, change), state), loss

    def epoch(
        state: TrainState, train: Records, validation: Records
    ) -> tuple[TrainState, dict[str, Array]]:
        number = len(train.action)
        batch = min(config.batch, number)
        order = jax.random.permutation(jax.random.fold_in(state.key, state.iteration), number)
        batches = order[: number // batch * batch].reshape(-1, batch)

        def step(carry: tuple, index: Array) -> tuple[tuple, Array]:
            return one_batch(carry, jax.tree.map(lambda x: x[index], train))

        (current, optimiser_state), losses = jax.lax.scan(
            step, (state.current, state.optimiser), batches
        )
        found = evaluate(current, validation)
        done, is_best = state.iteration + 1, found.loss < state.best_loss
        state = state.replace(
            iteration=done,
            params=jax.tree.map(lambda a, b: jnp.where(is_best, a, b), current, state.params),
            current=current,
            optimiser=optimiser_state,
            best_loss=jnp.where(is_best, found.loss, state.best_loss),
            best_epoch=jnp.where(is_best, done, state.best_epoch),
        )
        return state, {
            "train/loss": jnp.mean(losses),
            "validation/loss": found.loss,
            "validation/accuracy": found.accuracy,
        }

    def evaluate(params: Params, records: Records) -> Quality:
        number = len(records.action)
        places = np.arange(-(-number // _BLOCK) * _BLOCK, dtype=np.int32).reshape(-1, _BLOCK)

        def block(place: Array) -> tuple[Array, Array]:
            is_real = place < number
            rows = jax.tree.map(lambda x: x[jnp.minimum(place, number - 1)], records)
            scores, held = scores_of(network, params, rows.view)
            loss = jax.vmap(loss_of, (0, 0, 0, None))(scores, held, rows.action, config.loss)
            told = jnp.argmax(jnp.where(held, scores, -jnp.inf), axis=-1) == rows.action
            return jnp.sum(loss * is_real), jnp.sum(told & is_real, dtype=jnp.int32)

        losses, told = jax.lax.map(block, places)
        return Quality(jnp.sum(losses) / number, jnp.sum(told) / jnp.float32(number))

    return Trainer(network, init, epoch, evaluate)


def first_params(network: QNetwork, config: Config) -> Params:
    """Returns the untrained network's parameters."""
    return network.init(jax.random.fold_in(jax.random.key(config.seed), 0))


def is_over(state: TrainState, config: Config) -> bool:
    """Tells whether all epochs are done, or the loss in validation has long been no lower."""
    done = int(state.iteration)
    return done >= config.epochs or done - int(state.best_epoch) >= config.patience


def scores_of(network: QNetwork, params: Params, view: View) -> tuple[Array, Array]:
    """Returns the scores of the discards and which may be made: float32[B,T] and bool[B,T]."""
    scores = jax.vmap(network.apply, (None, 0))(params, view)
    return scores, jax.vmap(features.legal_discards)(view)


def loss_of(scores: Array, held: Array, action: Array, kind: str) -> Array:
    """Returns the loss of one discard among the kinds that were held: float32[].

    Args:
      scores: float32[T].
      held: bool[T], the discard's kind among them.
      action: int[] the kind discarded.
      kind: `cross_entropy`, or `hinge`: by how much another score comes nearer than 1 to that of
        the discard, the worst of them (Crammer and Singer, On the Algorithmic Implementation of
        Multiclass Kernel-based Vector Machines, 2001).
    """
    is_chosen = np.arange(features.NUM_KINDS) == action
    chosen = jnp.sum(jnp.where(is_chosen, scores, 0))
    if kind == "cross_entropy":
        return jax.nn.logsumexp(jnp.where(held, scores, -jnp.inf)) - chosen
    return jnp.max(jnp.where(held & ~is_chosen, jnp.maximum(1 + scores - chosen, 0), 0))
