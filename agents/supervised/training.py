"""A network learned from discards, in whole passes over them, until it stops to get better.

B = batch, T = 34 kinds.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import struct

from agents.learn import features, networks
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

    loss: float  # mean
    accuracy: float  # share of discards whose kind has the highest score


class Trainer(NamedTuple):
    """A run's functions. The last three are compiled as they are used, batch by batch.

    Within one compiled loop over the batches the gradient of a convolution took six times as long
    on the CPU (jaxlib 0.10.2).
    """

    network: QNetwork
    init: Callable[[], TrainState]
    learn: Callable[[TrainState, Records, np.ndarray], tuple[TrainState, Array]]  # rows int32[B]
    count: Callable[[Params, Records, np.ndarray], tuple[Array, Array]]  # of rows, -1 for none
    keep_best: Callable[[TrainState, np.ndarray], TrainState]  # with the loss in validation


def make(config: Config) -> Trainer:
    """Makes the functions of a run."""
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

    def losses(params: Params, records: Records, rows: Array) -> tuple[Array, Array]:
        view, action, _ = jax.tree.map(lambda x: x[rows], records)
        scores = jax.vmap(network.apply, (None, 0))(params, view)
        held = jax.vmap(features.legal_discards)(view)
        loss = jax.vmap(loss_of, (0, 0, 0, None))(scores, held, action, config.loss)
        return loss, jnp.argmax(jnp.where(held, scores, -jnp.inf), axis=-1) == action

    def learn(state: TrainState, records: Records, rows: np.ndarray) -> tuple[TrainState, Array]:
        def mean_loss(params: Params) -> Array:
            return jnp.mean(losses(params, records, jnp.asarray(rows))[0])

        loss, gradient = jax.value_and_grad(mean_loss)(state.current)
        change, optimiser_state = optimiser.update(gradient, state.optimiser, state.current)
        current = optax.apply_updates(state.current, change)
        return state.replace(current=current, optimiser=optimiser_state), loss

    def count(params: Params, records: Records, rows: np.ndarray) -> tuple[Array, Array]:
        is_real = rows >= 0
        loss, told = losses(params, records, jnp.maximum(jnp.asarray(rows), 0))
        return jnp.sum(loss * is_real), jnp.sum(told & is_real, dtype=jnp.int32)

    def keep_best(state: TrainState, loss: np.ndarray) -> TrainState:
        done, is_best = state.iteration + 1, loss < state.best_loss
        return state.replace(
            iteration=done,
            params=jax.tree.map(lambda a, b: jnp.where(is_best, a, b), state.current, state.params),
            best_loss=jnp.minimum(loss, state.best_loss),
            best_epoch=jnp.where(is_best, done, state.best_epoch),
        )

    return Trainer(network, init, jax.jit(learn), jax.jit(count), jax.jit(keep_best))


def epoch(
    trainer: Trainer, state: TrainState, train: Records, validation: Records, batch: int
) -> tuple[TrainState, dict[str, float]]:
    """Learns from all discards once, in an order of its own, and looks at others.

    Args:
      trainer: of `make`.
      state: after the epoch before.
      train: to learn from; the last ones that fill no batch are left out.
      validation: to choose the best epoch by.
      batch: discards of one gradient step.

    Returns:
      The state, whose `iteration` is one more, and metrics.
    """
    number = len(train.action)
    batch = min(batch, number)
    order_key = jax.random.fold_in(state.key, state.iteration)
    order = np.asarray(jax.random.permutation(order_key, np.arange(number, dtype=np.int32)))
    losses = []
    for start in range(0, number - batch + 1, batch):
        state, loss = trainer.learn(state, train, order[start : start + batch])
        losses.append(loss)
    found = evaluate(trainer, state.current, validation)
    state = trainer.keep_best(state, np.asarray(found.loss, np.float32))
    return state, {
        "train/loss": float(np.mean(jax.device_get(losses))),
        "validation/loss": found.loss,
        "validation/accuracy": found.accuracy,
    }


def evaluate(trainer: Trainer, params: Params, records: Records) -> Quality:
    """Says how well parameters tell the discards of records."""
    number = len(records.action)
    rows = np.full(-(-number // _BLOCK) * _BLOCK, -1, np.int32)
    rows[:number] = np.arange(number)
    sums = [trainer.count(params, records, block) for block in rows.reshape(-1, _BLOCK)]
    loss, told = np.sum(np.array(jax.device_get(sums), np.float64), axis=0)
    return Quality(float(loss) / number, float(told) / number)


def first_params(network: QNetwork, config: Config) -> Params:
    """Returns the untrained network's parameters."""
    return network.init(jax.random.fold_in(jax.random.key(config.seed), 0))


def is_over(state: TrainState, config: Config) -> bool:
    """Tells whether all epochs are done, or the loss in validation has long been no lower."""
    done = int(state.iteration)
    return done >= config.epochs or done - int(state.best_epoch) >= config.patience


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
