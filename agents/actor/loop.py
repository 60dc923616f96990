"""The training run as pure functions, on one device or on several.

Hands are shared out among the devices by groups; parameters are the same everywhere, gradients are
added up. What is random hangs on the run's key, the iteration and the lane, so a run that stops and
goes on is the run that never stopped, and one on eight devices is, up to rounding, the run on one.
G = groups, N = lanes.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import struct
from jax.sharding import Mesh, PartitionSpec

from agents import arena
from agents.actor import checkpoint, features, learning, network, selfplay
from agents.actor.config import GROUPS, Config
from agents.actor.learning import Told
from agents.actor.selfplay import Samples, Tally
from agents.linear import linear_es
from mjx.state import State

Array = jax.Array
Params = Any
Metrics = dict[str, Array]

_LEAST_RATE = 0.05  # of the learning rate, at the end
_AXIS = "groups"


class TrainState(struct.PyTreeNode):
    """Everything that a run is made of."""

    iteration: Array  # int32[]
    games: State  # [N, ...]
    params: Params  # the running mean of the actor, which plays in the end
    current: dict[str, Params]  # of `network.init`
    optimiser: Any  # optax's state
    key: Array  # the run's key, never changed


class Trainer(NamedTuple):
    """A run's functions, none of them compiled yet."""

    init: Callable[[], TrainState]
    run: Callable[[TrainState], tuple[TrainState, Metrics]]  # one iteration


def make(config: Config, devices: int | None = None) -> Trainer:
    """Makes the functions of a run.

    Args:
      config: the run's settings.
      devices: so many of this process share the hands; by default all, as far as the groups go.
    """
    wanted = jax.local_device_count() if devices is None else devices
    number = max(n for n in range(1, min(wanted, GROUPS) + 1) if GROUPS % n == 0)
    mesh = Mesh(np.array(jax.local_devices()[:number]), (_AXIS,))
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam())

    def init() -> TrainState:
        key = jax.random.key(config.seed)
        current = network.init(jax.random.fold_in(key, 0), config.width)
        if config.start:
            current["actor"] = checkpoint.actor_from(config.start, current["actor"])
        keys = selfplay.keys_of(jax.random.fold_in(key, 1), config.selfplay.lanes)
        return TrainState(
            iteration=jnp.int32(0),
            games=selfplay.deal(keys),
            params=current["actor"],
            current=current,
            optimiser={name: optimiser.init(part) for name, part in current.items()},
            key=jax.random.fold_in(key, 2),
        )

    run = functools.partial(_iterate, config=config, optimiser=optimiser, mesh=mesh)
    return Trainer(init, run)


def _iterate(
    state: TrainState, config: Config, optimiser: optax.GradientTransformation, mesh: Mesh
) -> tuple[TrainState, Metrics]:
    """Plays a round and learns from it."""
    key = jax.random.fold_in(state.key, state.iteration)
    keys = selfplay.keys_of(jax.random.fold_in(key, 0), config.selfplay.lanes)
    learn_keys = selfplay.keys_of(jax.random.fold_in(key, 1), GROUPS)
    rate = _rates(state.iteration, config)
    games, current, optimised, tally, told = jax.shard_map(
        functools.partial(_on_device, config=config, optimiser=optimiser),
        mesh=mesh,
        in_specs=(PartitionSpec(_AXIS),) * 4 + (PartitionSpec(),) * 4,
        out_specs=(PartitionSpec(_AXIS),) + (PartitionSpec(),) * 4,
        check_vma=False,
    )(
        state.games,
        keys,
        seats(config),
        learn_keys,
        state.current,
        state.optimiser,
        rate,
        features.prior(),
    )
    is_begun = state.iteration >= config.learning.critic_first
    share = jnp.where(is_begun, config.learning.mean, 1.0)
    # The mean begins as the first actor that has learned anything.
    share = jnp.where(state.iteration == config.learning.critic_first, 1.0, share)
    mean = jax.tree.map(lambda old, new: old + share * (new - old), state.params, current["actor"])
    number = jnp.maximum(told.number, 1)
    metrics = {
        "play/hands": tally.hands,
        "play/drawn": tally.drawn / jnp.maximum(tally.hands, 1),
        "play/deal_ins": tally.deal_ins / jnp.maximum(tally.hands, 1),
        "play/decisions": tally.decisions,
        "learn/entropy": told.entropy / number,
        "learn/away": told.away / number,
        "learn/divergence": told.divergence / number,
        "learn/surprise": told.surprise / number,
        "learn/explained": learning.explained(told),
    }
    return (
        state.replace(
            iteration=state.iteration + 1,
            games=games,
            params=mean,
            current=current,
            optimiser=optimised,
        ),
        metrics,
    )


def seats(config: Config) -> Array:
    """Marks the actor's seats in each lane: bool[N, P]; two of a table's four, or all."""
    ours = arena.seats_of_a(jnp.arange(config.selfplay.lanes, dtype=jnp.int32))
    return ours if config.selfplay.opponent == "linear_es" else jnp.ones_like(ours)


def _rates(iteration: Array, config: Config) -> dict[str, Array]:
    """Returns the learning rates of an iteration."""
    begin = config.learning.critic_first
    done = (iteration - begin) / max(config.iterations - begin, 1)
    wave = (1 + jnp.cos(jnp.pi * jnp.clip(done, 0, 1))) / 2
    rate = config.learning.learning_rate
    actor = rate * (_LEAST_RATE + (1 - _LEAST_RATE) * wave)
    return {"actor": jnp.where(iteration < begin, 0.0, actor), "critic": jnp.float32(2 * rate)}


def _on_device(
    games: State,
    keys: Array,
    ours: Array,
    learn_keys: Array,
    current: dict,
    optimised: dict,
    rate: dict,
    prior: linear_es.Params,
    config: Config,
    optimiser: optax.GradientTransformation,
) -> tuple[State, dict, dict, Tally, Told]:
    """Does one device's part of an iteration: its groups' hands, everybody's gradients."""
    steps, trace = config.selfplay.steps, config.selfplay.trace
    groups = len(learn_keys)
    games, samples, tally = selfplay.play(current, prior, games, keys, groups, steps, trace, ours)
    batches = _batches(samples, learn_keys, config)

    def one_update(carry: tuple, index: Array) -> tuple:
        current, optimised = carry
        batch = jax.tree.map(lambda x: x[index], batches[0])
        batch = batch.replace(is_real=batch.is_real & batches[1][index])
        (_, told), gradients = jax.value_and_grad(learning.loss, has_aux=True)(
            current, batch, config.learning.stay, config.learning.clip
        )
        gradients, told = jax.lax.psum((gradients, told), _AXIS)
        gradients = jax.tree.map(lambda x: x / jnp.maximum(told.number, 1), gradients)
        new, kept = {}, {}
        for name, part in gradients.items():
            change, kept[name] = optimiser.update(part, optimised[name])
            change = jax.tree.map(lambda x, name=name: -rate[name] * x, change)
            new[name] = optax.apply_updates(current[name], change)
        return (new, kept), told

    (current, optimised), told = jax.lax.scan(one_update, (current, optimised), batches[2])
    tally = jax.lax.psum(tally, _AXIS)
    return games, current, optimised, tally, jax.tree.map(jnp.sum, told)


def _batches(samples: Samples, keys: Array, config: Config) -> tuple[Samples, Array, Array]:
    """Puts the real decisions of each group in order, and draws batches of them.

    Returns:
      The decisions, one axis; which of them are there, since a group may have too few; and the
      indices of each batch, int32[updates, batch].
    """
    groups = len(keys)
    steps, lanes = samples.is_real.shape
    each = config.learning.batch // GROUPS
    num_batches = config.choices // config.learning.batch
    size = num_batches * each

    def of_group(x: Array) -> Array:
        x = x.reshape(steps, groups, lanes // groups, *x.shape[2:])
        return jnp.swapaxes(x, 0, 1).reshape(groups, -1, *x.shape[3:])

    grouped = jax.tree.map(of_group, samples)
    rows = jax.vmap(lambda real: jnp.nonzero(real, size=size, fill_value=0)[0])(grouped.is_real)
    number = jnp.sum(grouped.is_real, axis=1, dtype=jnp.int32)
    is_there = jnp.arange(size, dtype=jnp.int32)[None] < number[:, None]
    taken = jax.vmap(lambda one, row: jax.tree.map(lambda x: x[row], one))(grouped, rows)
    flat = jax.tree.map(lambda x: x.reshape(groups * size, *x.shape[2:]), taken)

    def orders(key: Array, group: Array) -> Array:
        """Draws each epoch's order of one group: int32[updates, each]."""
        keys = jax.random.split(key, config.learning.epochs)
        order = jax.vmap(lambda key: jax.random.permutation(key, size))(keys)
        return order.astype(jnp.int32).reshape(-1, each) + size * group

    drawn = jax.vmap(orders)(keys, jnp.arange(groups, dtype=jnp.int32))
    return flat, jnp.ravel(is_there), jnp.swapaxes(drawn, 0, 1).reshape(-1, groups * each)
