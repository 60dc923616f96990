"""The training loop as pure functions: self-play, replay, Double DQN, target network.

An iteration is `selfplay.steps` decisions in each of G games, then `learning.updates` gradient
steps. All randomness of an iteration comes from the run's key, the iteration's number, and the
number of the game or group, so a run that stops and goes on is the run that never stopped, and one
on eight devices is, up to rounding, the run on one. What is here called `on a device` sees that
device's groups: R of them, with G games.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import struct
from jax import lax
from jax.sharding import NamedSharding

from agents.learn import devices, dqn, features, networks, replay, selfplay
from agents.learn.config import Config
from agents.learn.dqn import Transition
from agents.learn.networks import QNetwork
from agents.learn.replay import Replay
from agents.learn.selfplay import Decide, Decision, Game, Tally
from mjx.observe import Observation

Array = jax.Array
Params = Any


class TrainState(struct.PyTreeNode):
    """Everything that a run is made of."""

    iteration: Array  # int32[]  iterations done
    num_updates: Array  # int32[]  gradient steps done
    params: Params  # θ
    target_params: Params  # θ⁻
    optimiser: optax.OptState
    replay: Replay  # [R, ...]  one of each group
    games: Game  # [G, ...]  group by group
    key: Array  # the run's key, never changed


class Trainer(NamedTuple):
    """A run's functions."""

    network: QNetwork
    init: Callable[[], TrainState]  # compiled already: it says which device holds what
    run: Callable[[TrainState], tuple[TrainState, dict[str, Array]]]  # `log_every` iterations


def make(
    config: Config,
    decide_with: Callable[[QNetwork], Decide],
    among: Sequence[jax.Device] | None = None,
) -> Trainer:
    """Makes the functions of a run.

    Args:
      config: the run's settings.
      decide_with: makes the player of all seats from the network; it reads the target network.
      among: devices that may share the games out; by default all there are.

    Returns:
      The functions.

    Raises:
      ConfigError: the groups cannot be shared out among the devices of several processes.
    """
    network = networks.make(config.network)
    optimiser = make_optimiser(config)
    decide = decide_with(network)
    mesh = devices.mesh(config.groups, among)
    whole: dict[str, Any] = {field.name: devices.WHOLE for field in dataclasses.fields(TrainState)}
    specs = TrainState(**whole).replace(replay=devices.SHARED_OUT, games=devices.SHARED_OUT)

    @functools.partial(jax.jit, out_shardings=jax.tree.map(lambda x: NamedSharding(mesh, x), specs))
    def init() -> TrainState:
        key = jax.random.key(config.seed)
        params = first_params(network, config)
        deal_keys = jax.random.split(jax.random.fold_in(key, 1), config.selfplay.games)
        blank = features.blank_view()
        row = Transition(blank, jnp.int8(0), jnp.float32(0), jnp.float32(0), blank)
        size = config.learning.capacity // config.groups
        return TrainState(
            iteration=jnp.int32(0),
            num_updates=jnp.int32(0),
            params=params,
            target_params=jax.tree.map(jnp.copy, params),
            optimiser=optimiser.init(params),
            replay=jax.vmap(replay.init, (None, None), axis_size=config.groups)(row, size),
            games=jax.vmap(selfplay.init)(deal_keys),
            key=jax.random.fold_in(key, 2),
        )

    def iterate(state: TrainState, _: None) -> tuple[TrainState, dict[str, Array]]:
        play_key, learn_key = jax.random.split(jax.random.fold_in(state.key, state.iteration))
        state, tally = play(state, play_key, decide, config)
        state, metrics = learn(state, learn_key, network, optimiser, config)
        metrics |= {f"play/{name}": value for name, value in tally._asdict().items()}
        return state.replace(iteration=state.iteration + 1), metrics

    @functools.partial(
        jax.shard_map,
        mesh=mesh,
        in_specs=(specs,),
        out_specs=(specs, devices.WHOLE),
        check_vma=False,
    )
    def run(state: TrainState) -> tuple[TrainState, dict[str, Array]]:
        state, metrics = lax.scan(iterate, state, None, length=config.log_every)
        return state, summary(metrics, state, config)

    return Trainer(network, init, run)


def first_params(network: QNetwork, config: Config) -> Params:
    """Returns the untrained network's parameters."""
    return network.init(jax.random.fold_in(jax.random.key(config.seed), 0))


def make_optimiser(config: Config) -> optax.GradientTransformation:
    """Makes Adam with clipped gradients and a cosine decay to a tenth."""
    learning = config.learning
    num_updates = config.iterations * learning.updates
    schedule = optax.cosine_decay_schedule(learning.learning_rate, num_updates, alpha=0.1)
    return optax.chain(optax.clip_by_global_norm(learning.clip), optax.adam(schedule))


def epsilon(iteration: Array, config: Config) -> Array:
    """Returns the chance of a random action: float32[]."""
    play = config.selfplay
    done = jnp.minimum(iteration / jnp.float32(play.epsilon_iterations), 1.0)
    return play.epsilon_start + done * (play.epsilon_end - play.epsilon_start)


def play(state: TrainState, key: Array, decide: Decide, config: Config) -> tuple[TrainState, Tally]:
    """Plays `selfplay.steps` decisions of each game on a device and stores the transitions."""
    chance = epsilon(state.iteration, config)

    def of_target(observations: Observation, masks: Array) -> Decision:
        return decide(state.target_params, observations, masks)

    def one_step(carry: tuple[Game, Replay], key: Array) -> tuple[tuple[Game, Replay], Tally]:
        games, buffer = carry
        keys = devices.keys(key, config.selfplay.games)
        games, transitions, valid, tally = selfplay.play(
            games, keys, chance, of_target, config.learning.discount, config.selfplay
        )
        groups = buffer.size.shape[0]
        grouped = jax.tree.map(lambda x: x.reshape(groups, -1, *x.shape[2:]), (transitions, valid))
        return (games, jax.vmap(replay.add)(buffer, *grouped)), _sums(tally)

    keys = jax.random.split(key, config.selfplay.steps)
    (games, buffer), tally = lax.scan(one_step, (state.games, state.replay), keys)
    return state.replace(games=games, replay=buffer), _sums(tally)


def learn(
    state: TrainState,
    key: Array,
    network: QNetwork,
    optimiser: optax.GradientTransformation,
    config: Config,
) -> tuple[TrainState, dict[str, Array]]:
    """Takes `learning.updates` gradient steps, none before every group's replay is warm.

    Each group gives an equal part of each batch; the gradient is the mean over all devices.
    """
    learning = config.learning
    sample = jax.vmap(functools.partial(replay.sample, batch=learning.batch // config.groups))
    q_values = jax.vmap(network.apply, in_axes=(None, 0))

    def one_update(state: TrainState, key: Array) -> tuple[TrainState, dict[str, Array]]:
        drawn = sample(state.replay, devices.keys(key, config.groups))
        params, opt_state, metrics = dqn.update(
            q_values,
            jax.vmap(features.legal_discards),
            optimiser,
            state.params,
            state.target_params,
            state.optimiser,
            jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), drawn),
            double=learning.double,
            loss=learning.loss,
            axis_name=devices.AXIS,
        )
        num_updates = state.num_updates + 1
        target = optax.periodic_update(
            params, state.target_params, num_updates, learning.target_period
        )
        state = state.replace(
            params=params, target_params=target, optimiser=opt_state, num_updates=num_updates
        )
        return state, metrics

    def warm(state: TrainState) -> tuple[TrainState, dict[str, Array]]:
        keys = jax.random.split(key, learning.updates)
        state, metrics = lax.scan(one_update, state, keys)
        return state, jax.tree.map(jnp.mean, metrics)

    def cold(state: TrainState) -> tuple[TrainState, dict[str, Array]]:
        shapes = jax.eval_shape(warm, state)[1]
        return state, jax.tree.map(lambda x: jnp.full(x.shape, jnp.nan, x.dtype), shapes)

    least = lax.pmin(jnp.min(state.replay.size), devices.AXIS)
    return lax.cond(least * config.groups >= learning.warmup, warm, cold, state)


def summary(metrics: dict[str, Array], state: TrainState, config: Config) -> dict[str, Array]:
    """Turns the metrics of some iterations into rates and means; NaN where nothing happened."""
    played = {
        name.removeprefix("play/"): jnp.sum(value)
        for name, value in metrics.items()
        if name.startswith("play/")
    }
    total, held = lax.psum((played, jnp.sum(state.replay.size)), devices.AXIS)
    hands = jnp.where(total["hands"] > 0, total["hands"].astype(jnp.float32), jnp.nan)
    wins = total["self_draws"] + total["on_discards"]
    means = {
        f"learn/{name}": jnp.nanmean(value)
        for name, value in metrics.items()
        if not name.startswith("play/")
    }
    return means | {
        "play/decisions": total["decisions"],
        "play/transitions": total["transitions"],
        "play/hands": total["hands"],
        "play/discards_per_hand": total["discards"] / hands,
        "play/drawn_rate": total["drawn"] / hands,
        "play/self_draw_share": total["self_draws"] / jnp.where(wins > 0, wins, jnp.nan),
        "play/winner_points": 1000.0
        * total["winner_points"]
        / jnp.where(wins > 0, wins.astype(jnp.float32), jnp.nan),
        "play/epsilon": epsilon(state.iteration - 1, config),
        "learn/updates": state.num_updates,
        "learn/replay_size": held,
    }


def _sums(tally: Tally) -> Tally:
    """Sums a tally over its leading axis."""
    return jax.tree.map(lambda x: jnp.sum(x, axis=0, dtype=x.dtype), tally)
