"""Self-play: many hands at once, carried over from call to call, and the transitions they give.

G = games, P = 4 seats, K = P + 1 transitions that one decision can complete. A transition leads
from a seat's discard to the *same* seat's next discard, so each seat has at most one open
transition, which waits in `Pending`; its last one is closed by the end of the hand. A seat that
never discarded has none.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from agents.learn import features
from agents.learn.config import SelfPlayConfig
from agents.learn.dqn import Transition
from agents.learn.features import View
from mjx import actions
from mjx import state as st
from mjx.observe import Observation, observe
from mjx.rules import DEFAULT, Rules
from mjx.state import State
from mjx.step import init as init_hand
from mjx.step import step

Array = jax.Array
Params = Any

POINTS = 1000.0  # points in one unit of reward
_seats = np.arange(st.NUM_SEATS)


class Decision(NamedTuple):
    """What a search says about decisions."""

    action: Array  # int32[G]     its choice
    value: Array  # float32[G]   what it expects of it, in points


Decide = Callable[[Params, Observation, Array], Decision]  # (params, [G] observations, masks)


class Pending(struct.PyTreeNode):
    """Each seat's last discard, waiting for what comes of it."""

    waiting: Array  # bool[P]
    view: View  # [P, ...]
    action: Array  # int8[P]
    value: Array  # float32[P]  of the search, in thousands of points


class Game(struct.PyTreeNode):
    """One table: the hand being played and the discards that wait."""

    state: State
    pending: Pending


class Tally(NamedTuple):
    """What happened, to be summed over steps and games."""

    decisions: Array  # int32[] each
    discards: Array
    transitions: Array
    hands: Array
    drawn: Array
    self_draws: Array
    on_discards: Array
    winner_points: Array  # float32[] in thousands of points


def init(key: Array, rules: Rules = DEFAULT) -> Game:
    """Deals one table's first hand, from a random seat and in a random round."""
    return Game(deal(key, rules), _no_pending())


def deal(key: Array, rules: Rules = DEFAULT) -> State:
    """Deals a hand with a random dealer, round wind, and a streak of 0 to 3, mostly 0."""
    wall_key, dealer_key, wind_key, streak_key = jax.random.split(key, 4)
    streak = jnp.minimum(jax.random.geometric(streak_key, 0.7, dtype=jnp.int32) - 1, 3)
    return init_hand(
        wall_key,
        rules,
        jax.random.randint(dealer_key, (), 0, st.NUM_SEATS),
        jax.random.randint(wind_key, (), 0, st.NUM_SEATS),
        streak,
    )


def play(
    games: Game,
    keys: Array,
    epsilon: Array,
    decide: Callable[[Observation, Array], Decision],
    discount: float,
    config: SelfPlayConfig,
    rules: Rules = DEFAULT,
) -> tuple[Game, Transition, Array, Tally]:
    """Plays one decision at each of G tables, and deals anew where it ends the hand.

    Args:
      games: the tables, [G, ...].
      keys: a typed key for each table, [G].
      epsilon: float32[] chance of a random action; a win is never passed up by chance.
      decide: the player of all four seats, of G decisions at once.
      discount: of each seat's next discard.
      config: which reward.
      rules: the tables' rules.

    Returns:
      The tables; transitions [G, K, ...]; which of them are real, bool[G,K]; tallies [G].
    """
    observations = jax.vmap(lambda state: observe(state, state.current_player, rules))(games.state)
    decisions = decide(observations, observations.legal_action_mask)
    share = config.reward_share if config.reward == "expectimax" else 0.0

    def one(
        game: Game, key: Array, observation: Observation, decision: Decision
    ) -> tuple[Game, Transition, Array, Tally]:
        explore_key, deal_key = jax.random.split(key)
        mask = observation.legal_action_mask
        action = explore(explore_key, decision.action, mask, epsilon)
        after = step(game.state, action, rules)
        pending, transitions, valid = book(
            game.pending,
            game.state.current_player,
            action,
            features.view_of(observation),
            decision.value / POINTS,
            after.rewards / POINTS,
            after.terminated,
            discount,
            share,
        )
        game = _next_hand(Game(after, pending), deal_key, rules)
        return game, transitions, valid, _tally(after, action, valid)

    return jax.vmap(one)(games, keys, observations, decisions)


def _next_hand(game: Game, key: Array, rules: Rules) -> Game:
    """Deals the next hand where this one has ended."""
    fresh = Game(deal(key, rules), _no_pending())
    ended = game.state.terminated
    return jax.tree.map(lambda new, old: jnp.where(ended, new, old), fresh, game)


def explore(key: Array, action: Array, mask: Array, epsilon: Array) -> Array:
    """Swaps an action for a random legal one with chance epsilon, unless a win is legal."""
    chance_key, choice_key = jax.random.split(key)
    swap = (jax.random.uniform(chance_key) < epsilon) & ~mask[actions.WIN]
    other = jnp.argmax(jnp.where(mask, jax.random.uniform(choice_key, mask.shape), -1.0))
    return jnp.where(swap, other.astype(jnp.int32), action)


def book(
    pending: Pending,
    seat: Array,
    action: Array,
    view: View,
    value: Array,
    points: Array,
    ended: Array,
    discount: float,
    reward_share: float,
) -> tuple[Pending, Transition, Array]:
    """Closes the transitions that one decision completes, and opens the one it begins.

    Args:
      pending: before the decision.
      seat: int32[] who decided.
      action: int32[] what.
      view: of the decision, if it was a discard.
      value: float32[] of the search.
      points: float32[P] of the end of the hand, else zero.
      ended: bool[].
      discount: of the next discard.
      reward_share: of the search's value, the reward of every discard but the last.

    Returns:
      The pending discards after it; K transitions, the one that the seat's own discard closes
      and then one for each seat at the end of the hand; which of them are real, bool[K].
    """
    is_discard = action < actions.CONCEALED_KONG
    ours = _seats == seat
    mine = jax.tree.map(lambda x: x[seat], pending)
    next_one = Transition(
        view=mine.view,
        action=mine.action,
        reward=reward_share * mine.value,
        discount=jnp.float32(discount),
        next_view=view,
    )
    opens = ours & is_discard

    def put(old: Array, new: Array) -> Array:
        here = opens.reshape(opens.shape + (1,) * new.ndim)
        return jnp.where(here, new[None].astype(old.dtype), old)

    opened = Pending(
        waiting=pending.waiting | opens,
        view=jax.tree.map(put, pending.view, view),
        action=put(pending.action, action),
        value=put(pending.value, value),
    )
    last_ones = Transition(
        view=opened.view,
        action=opened.action,
        reward=points,
        discount=jnp.zeros(st.NUM_SEATS, jnp.float32),
        next_view=opened.view,  # never looked at
    )
    transitions = jax.tree.map(
        lambda one, many: jnp.concatenate([one[None], many]), next_one, last_ones
    )
    valid = jnp.concatenate([(is_discard & mine.waiting)[None], opened.waiting & ended])
    return opened, transitions, valid


def _no_pending() -> Pending:
    """Makes the pending discards of a new hand: none."""
    blank = jax.tree.map(
        lambda x: jnp.zeros((st.NUM_SEATS, *x.shape), x.dtype), features.blank_view()
    )
    return Pending(
        waiting=jnp.zeros(st.NUM_SEATS, bool),
        view=blank,
        action=jnp.zeros(st.NUM_SEATS, jnp.int8),
        value=jnp.zeros(st.NUM_SEATS, jnp.float32),
    )


def _tally(after: State, action: Array, valid: Array) -> Tally:
    """Counts one decision."""
    ended = after.terminated

    def count(flag: Array) -> Array:
        return jnp.sum(flag, dtype=jnp.int32)

    return Tally(
        decisions=jnp.int32(1),
        discards=count(action < actions.CONCEALED_KONG),
        transitions=count(valid),
        hands=count(ended),
        drawn=count(ended & (after.ending == st.DRAWN)),
        self_draws=count(ended & (after.ending == st.SELF_DRAW)),
        on_discards=count(ended & (after.ending >= st.ON_DISCARD)),
        winner_points=jnp.where(ended, jnp.max(after.rewards), 0.0) / POINTS,
    )
