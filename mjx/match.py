"""From hand to hand: who deals next, which round it is, when a match is over (rules 4).

A match is four rounds of four dealers; a dealer who wins or draws deals again. P = 4 seats.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjx.checks import check_rules
from mjx.rules import DEFAULT, Rules
from mjx.seats import NUM_SEATS
from mjx.state import State
from mjx.step import init

Array = jax.Array

NUM_CHANGES = 16  # changes of the dealer in a match


def next_hand(key: Array, state: State, rules: Rules = DEFAULT) -> State:
    """Deals the hand after a finished one.

    In a match the dealer stays after a win or a drawn hand, else the next seat deals; scores are
    carried on. A match that is over is absorbing: it comes back as it is, with zero rewards.
    Single hands are dealt by each seat in turn, wind by wind, without end.

    Args:
      key: typed key; all chance of the hand comes from it.
      state: one finished hand. Under a transformation, where nothing can be raised, a running
        one comes back as it is.
      rules: the table's rules.

    Returns:
      The state in which the dealer acts, with zero rewards unless flowers ended the hand at once.

    Raises:
      ValueError: a state dealt by other rules; outside of any transformation a running hand, or a
        batch.
    """
    check_rules(state, rules)
    _check_finished(state)
    goes_on = state.terminated
    if rules.hand_mode == "match":
        goes_on = goes_on & ~is_over(state, rules)
    kept = state.replace(rewards=jnp.zeros_like(state.rewards))
    return where(goes_on, deal_after(key, state, holds_on(state), rules), kept)


def is_over(state: State, rules: Rules = DEFAULT) -> Array:
    """Tells whether the last hand of a match is finished: bool[]; a single hand is its own."""
    if rules.hand_mode == "single":
        return state.terminated
    is_last = num_changes(state) == NUM_CHANGES - 1
    return state.terminated & is_last & ~holds_on(state)


class Place(NamedTuple):
    """Where a match stands: int32[] each, or plain numbers."""

    dealer: Any
    round_wind: Any  # 0-3 for E S W N
    streak: Any
    changes: Any  # of the dealer since the match began; `NUM_CHANGES` where it is over


def num_changes(state: State) -> Array:
    """Counts the changes of the dealer since the match began: int32[]."""
    return _changes(state.dealer, state.round_wind, _carried(state)[0])


def place_after(dealer: Any, round_wind: Any, streak: Any, first_dealer: Any, holds: Any) -> Place:
    """Tells where a match stands after a hand, of arrays int32[] or plain numbers.

    Args:
      dealer, round_wind, streak: of the hand.
      first_dealer: who dealt the first hand of the match.
      holds: bool[] the dealer deals again.

    Returns:
      The place of the next hand; after a match that of a new one, but for `changes`.
    """
    changes = _changes(dealer, round_wind, first_dealer) + 1 - holds
    return Place(
        dealer=(first_dealer + changes) % NUM_SEATS,
        round_wind=changes // 4 % 4,
        streak=(streak + 1) * holds,
        changes=changes,
    )


def holds_on(state: State) -> Array:
    """Tells whether the dealer of a finished hand deals again: bool[]."""
    wins = state.winner == state.dealer
    if state.winners is not None:
        wins = wins | ((state.winners >> state.dealer.astype(jnp.uint32)) & 1 > 0)
    return wins | (state.winner < 0)


def deal_after(key: Array, state: State, holds: Array, rules: Rules) -> State:
    """Deals the hand after this one, finished or not; after a match, the first of a new one.

    Args:
      key: typed key.
      state: one hand.
      holds: bool[] the dealer deals again; means nothing for single hands.
      rules: the table's rules.

    Returns:
      The state in which the dealer acts.
    """
    if rules.hand_mode == "single":
        dealer = (state.dealer + 1) % NUM_SEATS
        is_new_round = (dealer == 0).astype(jnp.int32)
        return init(key, rules, dealer, (state.round_wind + is_new_round) % 4, jnp.int32(0))
    first_dealer, scores = _carried(state)
    place = place_after(state.dealer, state.round_wind, state.streak, first_dealer, holds)
    return init(
        key,
        rules,
        place.dealer,
        place.round_wind,
        place.streak,
        first_dealer,
        jnp.where(place.changes == NUM_CHANGES, 0, scores),
    )


def deal_ahead(key: Array, state: State, rules: Rules) -> State:
    """Deals the next hand while this one is running, for `take_dealt` when it has ended.

    Returns:
      A state; in a match two, along a leading axis: if the dealer changes, if the dealer stays.
    """
    if rules.hand_mode == "single":
        return deal_after(key, state, jnp.bool_(False), rules)
    return jax.vmap(lambda holds: deal_after(key, state, holds, rules))(jnp.array([False, True]))


def take_dealt(ended: State, dealt: State, rules: Rules) -> State:
    """Picks the hand that follows an ended one from what was dealt ahead."""
    if rules.hand_mode == "single":
        return dealt
    changes, stays = (jax.tree.map(lambda x, i=i: x[i], dealt) for i in range(2))
    fresh = where(holds_on(ended), stays, changes)
    scores = jnp.where(is_over(ended, rules), 0, _carried(ended)[1])
    return fresh.replace(scores=scores + fresh.rewards.astype(jnp.int32))


def where(condition: Array, new: Any, old: Any) -> Any:
    """Chooses between two trees by one bool[]."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), new, old)


def _changes(dealer: Any, round_wind: Any, first_dealer: Any) -> Any:
    """Counts the changes of the dealer, of arrays or plain numbers."""
    return 4 * round_wind + (dealer - first_dealer) % NUM_SEATS


def _carried(state: State) -> tuple[Array, Array]:
    """Returns what a match carries on from hand to hand: the first dealer and the scores."""
    assert state.first_dealer is not None and state.scores is not None, "no state of a match"
    return state.first_dealer, state.scores


def _check_finished(state: State) -> None:
    """Refuses a running hand where it is known to run."""
    if isinstance(state.terminated, jax.core.Tracer):
        return
    if np.ndim(state.terminated):
        raise ValueError("next_hand follows one hand: vmap it over a batch of keys and states.")
    if not state.terminated:
        raise ValueError("The hand is still running: next_hand follows a finished one.")
