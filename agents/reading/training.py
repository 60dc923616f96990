"""Training of the reading network: hands played on the fly, labels from what they hide.

B = lanes, and so decisions of a batch. O = 3 opponents, T = 34 kinds.
"""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import struct

from agents import options
from agents.policy import Policy
from agents.reading import features, labels, network
from mjx import actions
from mjx import state as st
from mjx.observe import Observation, observe
from mjx.rollout import auto_reset_step, rollout
from mjx.rules import DEFAULT, Rules
from mjx.seats import NUM_SEATS
from mjx.state import State
from mjx.step import init as init_hand

Array = jax.Array
Params = Any

_SEATS = np.arange(NUM_SEATS, dtype=np.int32)


@dataclasses.dataclass(frozen=True)
class Config:
    """How the network is trained."""

    lanes: int = 1024  # hands played at once, and decisions of a batch
    stride: int = 3  # decisions played from one batch to the next
    updates: int = 2000
    learning_rate: float = 2e-3
    weight_decay: float = 1e-4
    width: int = 48
    tai_weight: float = 0.02  # of the squared error of tai, a winning kind
    ready_weight: float = 0.3


class Batch(NamedTuple):
    """Decisions to learn from. Leading axis B."""

    features: features.Features
    labels: labels.Labels
    weight: Array  # float32[B,T]  1 for kinds that the observer holds or may draw, in live hands
    held: Array  # bool[B,T]     those that it holds, in live hands
    cells: Array  # int32[B,O,T]  place in a table of what is plain: see `cells_of`


class TrainState(struct.PyTreeNode):
    """All that training carries on."""

    params: Params
    opt_state: Any
    states: State  # the tables, [B, ...]


def deal(key: Array, num_lanes: int, rules: Rules = DEFAULT) -> State:
    """Deals hands with random dealers, round winds and short streaks: states [B, ...]."""

    def one(key: Array) -> State:
        wall_key, seat_key, streak_key = jax.random.split(key, 3)
        dealer, round_wind = jax.random.randint(seat_key, (2,), 0, NUM_SEATS)
        streak = jnp.minimum(jax.random.geometric(streak_key, 0.7, dtype=jnp.int32) - 1, 3)
        return init_hand(wall_key, rules, dealer, round_wind, streak)

    return jax.vmap(one)(jax.random.split(key, num_lanes))


def play(
    player: Policy, params: Any, key: Array, states: State, stride: int, rules: Rules = DEFAULT
) -> tuple[State, Batch]:
    """Plays on, and looks at the decision that each table has come to.

    Args:
      player: of all seats.
      params: the player's.
      key: typed key.
      states: the tables, leading axis B.
      stride: decisions to play.
      rules: the table's rules.

    Returns:
      The tables, and a batch of their decisions, questions among them; tables that wait for a new
      hand have weight 0.
    """
    states, _ = rollout(player.act, params, key, states, stride, rules)
    return states, look(states, rules)


def look(states: State, rules: Rules = DEFAULT) -> Batch:
    """Describes the decisions of states, leading axis B, as their deciders see them."""
    seats = states.current_player
    seen = jax.vmap(lambda s: observe(s, s.current_player, rules))(states)
    is_live = ~states.terminated[:, None]
    held = is_live & (seen.hand > 0)
    matters = held | (is_live & (seen.unseen > 0))
    return Batch(
        jax.vmap(features.features_of)(seen),
        labels.labels_of(states, seats, rules),
        matters.astype(jnp.float32),
        held,
        jax.vmap(cells_of)(seen),
    )


CELLS_A_KIND = 20  # of each number of melds and turn
NUM_CELLS = (features.MAX_MELDS + 1) * 16 * CELLS_A_KIND


def cells_of(observation: Observation) -> Array:
    """Numbers what a plain table of danger goes by: int32[O, T] below `NUM_CELLS`.

    The opponent's melds and the turn, then the kind's sort and its unseen copies.
    """
    melds = options.sets_made(observation)[1:]
    turn = jnp.clip(observation.drawable // NUM_SEATS, 0, 15)
    sort = features.SORT * 5 + observation.unseen.astype(jnp.int32)
    return ((melds * 16 + turn) * CELLS_A_KIND)[:, None] + sort[None]


def losses(params: Params, batch: Batch, config: Config) -> tuple[Array, dict[str, Array]]:
    """Computes the loss float32[] and its parts: log losses and the squared error of tai."""
    found = jax.vmap(network.apply, (None, 0))(params, batch.features)
    truth = batch.labels.wins.astype(jnp.float32)
    weight = batch.weight[:, None]
    wins = optax.sigmoid_binary_cross_entropy(found.wins, truth)
    wins = jnp.sum(wins * weight) / (NUM_SEATS - 1) / jnp.maximum(jnp.sum(weight), 1)
    ready = truth.any(axis=-1).astype(jnp.float32)
    is_live = batch.weight.any(axis=-1, keepdims=True).astype(jnp.float32)
    readiness = optax.sigmoid_binary_cross_entropy(found.ready, ready)
    readiness = jnp.sum(readiness * is_live) / (NUM_SEATS - 1) / jnp.maximum(jnp.sum(is_live), 1)
    won = truth * weight
    tai = jnp.square(found.tai - batch.labels.tai.astype(jnp.float32))
    tai = jnp.sum(tai * won) / jnp.maximum(jnp.sum(won), 1)
    loss = _KINDS_THAT_MATTER * wins + config.ready_weight * readiness + config.tai_weight * tai
    return loss, {"wins": wins, "ready": readiness, "tai": tai}


_KINDS_THAT_MATTER = 30.0  # so that all kinds of an opponent together weigh like its readiness


def optimizer(config: Config) -> optax.GradientTransformation:
    """Makes the optimizer."""
    rate = optax.cosine_decay_schedule(config.learning_rate, config.updates, 0.02)
    return optax.chain(
        optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=config.weight_decay)
    )


def init(
    key: Array, config: Config, params: Params | None = None, rules: Rules = DEFAULT
) -> TrainState:
    """Starts training, from given parameters where there are some."""
    params_key, deal_key = jax.random.split(key)
    if params is None:
        params = network.init(params_key, config.width)
    return TrainState(params, optimizer(config).init(params), deal(deal_key, config.lanes, rules))


def learn(
    params: Params, opt_state: Any, batch: Batch, config: Config
) -> tuple[Params, Any, dict[str, Array]]:
    """Takes one step down the loss."""
    gradients, parts = jax.grad(losses, has_aux=True)(params, batch, config)
    changes, opt_state = optimizer(config).update(gradients, opt_state, params)
    return optax.apply_updates(params, changes), opt_state, parts


def update(
    player: Policy,
    player_params: Any,
    key: Array,
    state: TrainState,
    config: Config,
    rules: Rules = DEFAULT,
) -> tuple[TrainState, dict[str, Array]]:
    """Plays on and learns once from where the tables have come to."""
    states, batch = play(player, player_params, key, state.states, config.stride, rules)
    params, opt_state, parts = learn(state.params, state.opt_state, batch, config)
    return TrainState(params, opt_state, states), parts


class Hazards(NamedTuple):
    """How often a ready opponent wins: the tempo of play."""

    draw: Array  # float32[]  at its draw
    discard: Array  # float32[]  on a discard of another seat


def hazards(
    player: Policy,
    player_params: Any,
    key: Array,
    states: State,
    num_steps: int,
    rules: Rules = DEFAULT,
) -> Hazards:
    """Counts wins a ready seat and draw, and a ready seat and discard, over steps of play."""

    def one_step(carry: tuple[State, Array], key: Array) -> tuple:
        states, counts = carry
        act_key, deal_key = jax.random.split(key)
        seen = jax.vmap(lambda s: observe(s, s.current_player, rules))(states)
        keys = jax.random.split(act_key, len(states.terminated))
        action = player.act(player_params, keys, seen, seen.legal_action_mask)
        ready = jax.vmap(lambda s, seat: labels.wins_of(s, seat).any(-1))
        actor = states.current_player
        others = jnp.sum(ready(states, actor), axis=-1, dtype=jnp.int32)
        own = ready(states, (actor + 1) % NUM_SEATS)[:, -1]  # the last opponent of the next seat
        has_drawn = (states.pending < 0) & (states.drawn >= 0)
        is_discard = action < actions.CONCEALED_KONG
        deal_keys = jax.random.split(deal_key, len(states.terminated))
        fresh, reached = jax.vmap(lambda k, s, a: auto_reset_step(k, s, a, rules))(
            deal_keys, states, action
        )
        more = jnp.stack(
            [
                jnp.sum(reached.ending == st.SELF_DRAW, dtype=jnp.int32),
                jnp.sum(own & has_drawn, dtype=jnp.int32),
                jnp.sum(reached.ending == st.ON_DISCARD, dtype=jnp.int32),
                jnp.sum(jnp.where(is_discard, others, 0), dtype=jnp.int32),
            ]
        )
        return (fresh, counts + more), None

    zero = jnp.zeros(4, jnp.int32)
    keys = jax.random.split(key, num_steps)
    (_, counts), _ = jax.lax.scan(one_step, (states, zero), keys)
    counts = jnp.maximum(counts, 1).astype(jnp.float32)
    return Hazards(counts[0] / counts[1], counts[2] / counts[3])
