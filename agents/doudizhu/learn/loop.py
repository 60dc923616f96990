"""The training run as pure functions: chunks of self-play, then epochs for one role after another.

All randomness of an iteration (a chunk or an epoch) comes from the run's key and the iteration's
number, so a run that stops and goes on is the run that never stopped. D = decisions, G = games at
once, K = candidates.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import struct
from jax import lax

from agents.doudizhu import networks
from agents.doudizhu.learn import selfplay
from agents.doudizhu.learn.config import Config
from agents.doudizhu.learn.selfplay import Samples
from agents.doudizhu.networks import Network
from doudizhu.state import NUM_PLAYERS, State
from doudizhu.step import init as deal

Array = jax.Array
Params = Any
Metrics = dict[str, Array]

_BLOCK = 4  # decisions


class TrainState(struct.PyTreeNode):
    """Everything that a run is made of."""

    iteration: Array  # int32[]  chunks and epochs done
    games: State  # [G, ...]
    samples: Samples  # [D, ...]
    params: Params  # the best of each role so far, leading axis 3
    current: Params  # of the role in training
    optimiser: Any  # optax.InjectHyperparamsState
    role: Array  # int32[]  in training; 3 once all are done
    epoch: Array  # int32[]  of that role
    best_error: Array  # float32[3]
    num_worse: Array  # int32[]  epochs since the best
    key: Array  # the run's key, never changed


class Trainer(NamedTuple):
    """A run's functions, none of them compiled yet."""

    network: Network
    init: Callable[[], TrainState]
    play: Callable[[TrainState], tuple[TrainState, Metrics]]  # one chunk
    learn: Callable[[TrainState], tuple[TrainState, Metrics]]  # one epoch


def make(config: Config) -> Trainer:
    """Makes the functions of a run."""
    network = networks.make(config.network)
    optimiser = optax.inject_hyperparams(optax.adam)(config.learning.learning_rate)
    num_decisions = config.selfplay.chunks * config.selfplay.games * config.selfplay.steps

    def init() -> TrainState:
        key = jax.random.key(config.seed)
        params = networks.init_roles(network, jax.random.fold_in(key, 0))
        deal_keys = jax.random.split(jax.random.fold_in(key, 1), config.selfplay.games)
        first = jax.tree.map(lambda leaf: leaf[0], params)
        return TrainState(
            iteration=jnp.int32(0),
            games=jax.vmap(deal)(deal_keys),
            samples=selfplay.blank(num_decisions),
            params=params,
            current=first,
            optimiser=optimiser.init(first),
            role=jnp.int32(0),
            epoch=jnp.int32(0),
            best_error=jnp.full(NUM_PLAYERS, jnp.inf, jnp.float32),
            num_worse=jnp.int32(0),
            key=jax.random.fold_in(key, 2),
        )

    return Trainer(
        network,
        init,
        lambda state: play(state, config),
        lambda state: learn(state, network, optimiser, config),
    )


def is_done(state: TrainState) -> bool:
    """Tells whether a run has come to its end."""
    return int(state.role) == NUM_PLAYERS


def play(state: TrainState, config: Config) -> tuple[TrainState, Metrics]:
    """Plays one chunk and keeps its samples."""
    games, samples, tally = selfplay.play(
        state.games,
        jax.random.fold_in(state.key, state.iteration),
        config.search.settings(),
        config.selfplay,
    )
    num = config.selfplay.games * config.selfplay.steps
    flat = jax.tree.map(lambda leaf: leaf.reshape(num, *leaf.shape[2:]), samples)
    kept = jax.tree.map(
        lambda old, new: lax.dynamic_update_slice_in_dim(old, new, state.iteration * num, 0),
        state.samples,
        flat,
    )
    num_games = tally.games.astype(jnp.float32)
    metrics = {
        "play/games": tally.games,
        "play/landlord_wins": tally.landlord_wins / jnp.where(num_games > 0, num_games, jnp.nan),
        "play/samples": tally.candidates,
        "play/decisions": jnp.int32(num),
    }
    return state.replace(iteration=state.iteration + 1, games=games, samples=kept), metrics


def learn(
    state: TrainState, network: Network, optimiser: optax.GradientTransformation, config: Config
) -> tuple[TrainState, Metrics]:
    """Trains the role whose turn it is for an epoch, and goes on to the next once it is done."""
    learning = config.learning
    is_role = state.samples.view.role == state.role
    is_held_out = jnp.asarray(held_out(config))
    train_rows, num_train = _rows(is_role & ~is_held_out)
    rate = learning.learning_rate * learning.decay ** state.epoch.astype(jnp.float32)
    hyperparams = {**state.optimiser.hyperparams, "learning_rate": rate}
    opt_state = state.optimiser._replace(hyperparams=hyperparams)

    def one_update(carry: tuple, key: Array) -> tuple:
        params, opt_state = carry
        row_key, draw_key = jax.random.split(key)
        place = jax.random.randint(row_key, (learning.batch,), 0, jnp.maximum(num_train, 1))
        batch = jax.tree.map(lambda leaf: leaf[train_rows[place]], state.samples)
        batch = draw(draw_key, batch, learning.candidates)
        loss, grads = gradients(network, params, batch)
        updates, opt_state = optimiser.update(grads, opt_state)
        return (optax.apply_updates(params, updates), opt_state), loss

    epoch_key = jax.random.fold_in(state.key, state.iteration)
    keys = jax.random.split(epoch_key, learning.updates)
    (params, opt_state), losses = lax.scan(one_update, (state.current, opt_state), keys)
    error = held_out_error(network, params, state.samples, is_role & is_held_out, config)
    metrics = {
        "learn/role": state.role,
        "learn/epoch": state.epoch,
        "learn/loss": jnp.mean(losses),
        "learn/error": error,
    }
    state = state.replace(iteration=state.iteration + 1, current=params, optimiser=opt_state)
    return _judged(state, error, optimiser, config), metrics


def held_out(config: Config) -> np.ndarray:
    """Marks the decisions of the games that nothing is learned from: bool[D]."""
    play = config.selfplay
    num = max(1, round(config.learning.held_out * play.games))
    return np.tile(np.arange(play.games) < num, play.chunks * play.steps)


def draw(key: Array, batch: Samples, num: int) -> Samples:
    """Draws of each decision of a batch so many of its candidates, without repetition.

    The weights are divided by the chance to be drawn, so that sums stay the same on average.
    """
    scores = jax.random.uniform(key, batch.ids.shape) + (batch.ids < 0)
    place = jnp.argsort(scores, axis=1)[:, :num]
    there = jnp.sum(batch.ids >= 0, axis=1, keepdims=True)
    ids, mean, visits = (
        jnp.take_along_axis(leaf, place, axis=1) for leaf in (batch.ids, batch.mean, batch.visits)
    )
    scale = jnp.maximum(there, num) / num
    return batch.replace(ids=ids, mean=mean, visits=visits.astype(jnp.float32) * scale)


def gradients(network: Network, params: Params, batch: Samples) -> tuple[Array, Params]:
    """Returns the loss of `errors` and its gradients, summed over blocks.

    What a small block computes stays in the cache of a CPU, which makes it almost twice as fast.
    """
    block = _block(len(batch.ids))
    blocks = jax.tree.map(lambda leaf: leaf.reshape(-1, block, *leaf.shape[1:]), batch)
    share = jax.vmap(lambda part: jnp.sum(_weights(part)))(blocks)
    share = share / jnp.maximum(jnp.sum(share), 1.0)

    def one_block(total: tuple, part: tuple) -> tuple:
        samples, share = part
        found = jax.value_and_grad(lambda p: share * errors(network, p, samples)[0])(params)
        return jax.tree.map(jnp.add, total, found), None

    nothing = (jnp.float32(0), jax.tree.map(jnp.zeros_like, params))
    return lax.scan(one_block, nothing, (blocks, share))[0]


def errors(network: Network, params: Params, batch: Samples) -> tuple[Array, Array, Array]:
    """Compares one role's network with samples [B, ...] of drawn candidates.

    Returns:
      float32[] cross-entropy, the mean over the games behind the samples; float32[] the sum of
      the squared errors, each times its games, and float32[] the number of these games.
    """

    def one_state(view: Any, ids: Array) -> Array:
        shared = network.shared(params, view)
        return jax.vmap(network.logit, (None, None, 0))(params, shared, ids)

    logits = jax.vmap(one_state)(batch.view, batch.ids.astype(jnp.int32))
    mean = batch.mean.astype(jnp.float32)
    weight = _weights(batch)
    num = jnp.sum(weight)
    loss = jnp.sum(weight * optax.sigmoid_binary_cross_entropy(logits, mean))
    squared = jnp.sum(weight * jnp.square(jax.nn.sigmoid(logits) - mean))
    return loss / jnp.maximum(num, 1.0), squared, num


def _block(size: int) -> int:
    """Returns how many decisions of a batch are evaluated at once."""
    return math.gcd(size, _BLOCK) if jax.default_backend() == "cpu" else size


def _weights(batch: Samples) -> Array:
    """Returns the number of games behind each sample, scaled as drawn: float32[B, K]."""
    return jnp.where(batch.ids >= 0, batch.visits.astype(jnp.float32), 0.0)


def held_out_error(
    network: Network, params: Params, samples: Samples, wanted: Array, config: Config
) -> Array:
    """Returns the mean squared error by games on the decisions that are wanted, bool[D]."""
    size = _block(config.learning.batch)
    rows, num = _rows(wanted)
    rows = jnp.pad(rows, (0, size))

    def is_left(carry: tuple) -> Array:
        return carry[0] < num

    def one_block(carry: tuple) -> tuple:
        start, squared, games = carry
        index = lax.dynamic_slice(rows, (start,), (size,))
        batch = jax.tree.map(lambda leaf: leaf[index], samples)
        is_there = (start + jnp.arange(size, dtype=jnp.int32) < num)[:, None]
        # The same candidates every time: the error is compared from epoch to epoch.
        batch = draw(
            jax.random.fold_in(jax.random.key(0), start), batch, config.learning.candidates
        )
        batch = batch.replace(ids=jnp.where(is_there, batch.ids, jnp.int16(-1)))
        _, more_squared, more_games = errors(network, params, batch)
        return start + size, squared + more_squared, games + more_games

    zero = jnp.float32(0)
    _, squared, games = lax.while_loop(is_left, one_block, (jnp.int32(0), zero, zero))
    return squared / jnp.maximum(games, 1.0)


def _judged(
    state: TrainState, error: Array, optimiser: optax.GradientTransformation, config: Config
) -> TrainState:
    """Keeps the network if it is the best of its role; begins the next role if this one is done."""
    role = jnp.minimum(state.role, NUM_PLAYERS - 1)
    is_better = error < state.best_error[role]
    params = jax.tree.map(
        lambda best, new: jnp.where(is_better, best.at[role].set(new), best),
        state.params,
        state.current,
    )
    num_worse = jnp.where(is_better, 0, state.num_worse + 1)
    epoch = state.epoch + 1
    ends = (num_worse >= config.learning.patience) | (epoch >= config.learning.epochs)
    following = jnp.where(ends, state.role + 1, state.role)
    # What a role has learned is a better start for the next one than nothing is.
    first = jax.tree.map(lambda leaf: leaf[role], params)
    kept = (state.current, state.optimiser)
    fresh = (first, optimiser.init(first))
    current, opt_state = jax.tree.map(lambda a, b: jnp.where(ends, a, b), fresh, kept)
    return state.replace(
        params=params,
        current=current,
        optimiser=opt_state,
        role=following,
        epoch=jnp.where(ends, 0, epoch),
        best_error=state.best_error.at[role].min(error),
        num_worse=jnp.where(ends, 0, num_worse),
    )


def _rows(wanted: Array) -> tuple[Array, Array]:
    """Lists the places that are wanted, bool[D]: int32[D], zeros after them, and their number."""
    rows = jnp.nonzero(wanted, size=len(wanted), fill_value=0)[0].astype(jnp.int32)
    return rows, jnp.sum(wanted, dtype=jnp.int32)
