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
import optax
from flax import struct
from jax.sharding import Mesh, NamedSharding

from agents import policy
from agents.learn import devices
from agents.policy import Policy
from agents.residual import branches, features, learning, network
from agents.residual.branches import POINTS, Branches
from agents.residual.config import GROUPS, Config
from agents.residual.features import Prior
from agents.residual.learning import Gain, Told
from mjx.state import State

Array = jax.Array
Params = Any
Metrics = dict[str, Array]

_LEAST_RATE = 0.02  # of the learning rate, at the end


class TrainState(struct.PyTreeNode):
    """Everything that a run is made of."""

    iteration: Array  # int32[]
    games: State  # [N, ...]
    params: Params
    optimiser: Any  # optax's state
    key: Array  # the run's key, never changed


class Trainer(NamedTuple):
    """A run's functions, none of them compiled yet."""

    init: Callable[[], TrainState]
    run: Callable[[TrainState], tuple[TrainState, Metrics]]  # one iteration


def make(config: Config, number: int | None = None) -> Trainer:
    """Makes the functions of a run.

    Args:
      config: the run's settings.
      number: so many devices of this process share the hands, as far as the groups go; by
        default all.
    """
    mesh = devices.mesh(GROUPS, jax.local_devices()[:number])
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam())

    def init() -> TrainState:
        key = jax.random.key(config.seed)
        keys = branches.keys_of(jax.random.fold_in(key, 1), config.play.lanes)
        params = network.init()
        begun = TrainState(
            iteration=jnp.int32(0),
            games=branches.deal(keys),
            params=params,
            optimiser=optimiser.init(params),
            key=jax.random.fold_in(key, 2),
        )
        # Where an iteration leaves it, so that the second is not compiled anew.
        everywhere, by_group = (NamedSharding(mesh, x) for x in (devices.WHOLE, devices.SHARED_OUT))
        places = jax.tree.map(lambda _: everywhere, begun)
        places = places.replace(games=jax.tree.map(lambda _: by_group, begun.games))
        return jax.lax.with_sharding_constraint(begun, places)

    run = functools.partial(
        _iterate,
        config=config,
        optimiser=optimiser,
        mesh=mesh,
        walker=policy.load(config.play.walker),
    )
    return Trainer(init, run)


def _iterate(
    state: TrainState,
    config: Config,
    optimiser: optax.GradientTransformation,
    mesh: Mesh,
    walker: Policy,
) -> tuple[TrainState, Metrics]:
    """Branches a round of decisions and learns from it."""
    key = jax.random.fold_in(state.key, state.iteration)
    games, params, optimised, gain, told = jax.shard_map(
        functools.partial(_on_device, config=config, optimiser=optimiser, walker=walker),
        mesh=mesh,
        in_specs=(devices.SHARED_OUT,) + (devices.WHOLE,) * 6,
        out_specs=(devices.SHARED_OUT,) + (devices.WHOLE,) * 4,
        check_vma=False,
    )(
        state.games,
        key,
        state.params,
        state.optimiser,
        _rate(state.iteration, config),
        features.prior(),
        walker.params,
    )
    decisions, number = jnp.maximum(gain.number, 1), jnp.maximum(told.number, 1)
    metrics = {
        "play/decisions": gain.number,
        "play/other": gain.other / decisions,
        "play/gain": POINTS * gain.points / decisions,
        "play/gain_error": POINTS * jnp.sqrt(gain.squared) / decisions,
        "learn/loss": told.error / number,
        "learn/less": (told.begun - told.error) / number,
    }
    return (
        state.replace(
            iteration=state.iteration + 1,
            games=games,
            params=params,
            optimiser=optimised,
        ),
        metrics,
    )


def _rate(iteration: Array, config: Config) -> Array:
    """Returns the learning rate of an iteration."""
    wave = (1 + jnp.cos(jnp.pi * jnp.clip(iteration / config.iterations, 0, 1))) / 2
    return config.learning.learning_rate * (_LEAST_RATE + (1 - _LEAST_RATE) * wave)


def _on_device(
    games: State,
    key: Array,
    params: Params,
    optimised: Any,
    rate: Array,
    prior: Prior,
    walker_params: Any,
    config: Config,
    optimiser: optax.GradientTransformation,
    walker: Policy,
) -> tuple[State, Params, Any, Gain, Told]:
    """Does one device's part of an iteration: its groups' hands, everybody's gradients."""
    play_key, learn_key = (jax.random.fold_in(key, use) for use in range(2))
    learn_keys = devices.keys(learn_key, GROUPS)
    games, samples = branches.play(
        walker,
        walker_params,
        prior,
        games,
        devices.keys(play_key, config.play.lanes),
        len(learn_keys),
        config.play.steps,
        config.play.stride,
    )
    gain = learning.gain(params, samples)  # before anything is learned from them
    flat, is_there, orders = _batches(samples, learn_keys, config)

    def one_update(carry: tuple, index: Array) -> tuple:
        params, optimised = carry
        batch = jax.tree.map(lambda x: x[index], flat)
        batch = batch.replace(is_real=batch.is_real & is_there[index])
        (_, told), gradients = jax.value_and_grad(learning.loss, has_aux=True)(params, batch)
        gradients, told = jax.lax.psum((gradients, told), devices.AXIS)
        gradients = jax.tree.map(lambda x: x / jnp.maximum(told.number, 1), gradients)
        change, optimised = optimiser.update(gradients, optimised)
        change = jax.tree.map(lambda x: -rate * x, change)
        return (optax.apply_updates(params, change), optimised), told

    (params, optimised), told = jax.lax.scan(one_update, (params, optimised), orders)
    gain = jax.lax.psum(gain, devices.AXIS)
    return games, params, optimised, gain, jax.tree.map(jnp.sum, told)


def _batches(samples: Branches, keys: Array, config: Config) -> tuple[Branches, Array, Array]:
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
