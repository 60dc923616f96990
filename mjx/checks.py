"""What `init` and `step` refuse, where the values are known: outside of any transformation."""

import jax
import jax.numpy as jnp
import numpy as np

from mjx import actions
from mjx import state as st
from mjx.rules import Rules
from mjx.seats import NUM_SEATS
from mjx.state import State

Array = jax.Array


def check_action(state: State, action: Array) -> None:
    """Refuses an illegal action."""
    if any(isinstance(x, jax.core.Tracer) for x in (state.legal[0], state.terminated, action)):
        return
    if np.ndim(action) or np.ndim(state.terminated):
        raise ValueError("step plays one hand: vmap it over a batch of states and actions.")
    if not np.issubdtype(np.asarray(action).dtype, np.integer):
        raise ValueError(f"An action is an id, a whole number, not {action!r}.")
    mask = np.asarray(state.legal_action_mask)
    if not 0 <= int(action) < actions.NUM_ACTIONS or not mask[int(action)]:
        allowed = ", ".join(actions.NAMES[i] for i in np.flatnonzero(mask))
        raise ValueError(f"Action {int(action)} is not legal here. Legal: {allowed}.")


def check_numbers(**numbers: int | Array) -> None:
    """Refuses numbers out of range where they are known."""
    for name, value in numbers.items():
        if isinstance(value, jax.core.Tracer):
            continue
        low, high = _RANGES.get(name, (0, NUM_SEATS - 1))
        known = np.asarray(value)
        if known.ndim or known.dtype.kind not in "iu":
            raise ValueError(f"{name} is a whole number, not {value!r}.")
        if ((known < low) | (known > high)).any():
            raise ValueError(f"{name} is {low} to {high}, not {value}.")


_RANGES = {"streak": (0, 1_000_000), "dice_sum": (3, 18)}


def check_rules(state: State, rules: Rules) -> None:
    """Refuses a state that was dealt by rules with other fields; nothing of it is traced."""
    wanted = {
        "flowers": rules.n_flowers > 0,
        "sub_draws": rules.wall_mode == "stable_draw",
        "dice_sum": rules.seat_wind_mode == "wall_break",
        "scores": rules.hand_mode == "match",
        "winners": rules.multi_ron,
        "ready": rules.asks_ready,
        "barred": rules.swap_calling != "none",
        "win_barred": not rules.open_kong_win,
    }
    for name, is_there in wanted.items():
        if (getattr(state, name) is not None) != is_there:
            words = "lacks" if is_there else "has"
            raise ValueError(f"The state was dealt by other rules: it {words} `{name}`.")
    if state.history.shape[-1] != rules.max_discards:
        raise ValueError("The state was dealt by rules of another hand_tiles.")


def check_modes(
    rules: Rules,
    first_dealer: int | Array | None,
    scores: Array | None,
    dice_sum: int | Array | None,
) -> None:
    """Refuses what the rules have no use for, and a throw or scores that do not fit."""
    if rules.hand_mode != "match" and not (first_dealer is None and scores is None):
        raise ValueError('first_dealer and scores are given with Rules(hand_mode="match") only.')
    if rules.seat_wind_mode != "wall_break" and dice_sum is not None:
        raise ValueError('dice_sum is given with Rules(seat_wind_mode="wall_break") only.')
    if rules.seat_wind_mode == "wall_break" and dice_sum is None:
        raise ValueError('Rules(seat_wind_mode="wall_break") needs a dice_sum of 3 to 18.')
    if scores is not None:
        dtype = jnp.asarray(scores).dtype
        if np.shape(scores) != (NUM_SEATS,) or not jnp.issubdtype(dtype, jnp.integer):
            raise ValueError(f"scores are {NUM_SEATS} whole numbers, not {scores}.")
    check_numbers(
        **{} if first_dealer is None else {"first_dealer": first_dealer},
        **{} if dice_sum is None else {"dice_sum": dice_sum},
    )


def check_wall(wall: Array, rules: Rules) -> None:
    """Refuses a wall of the wrong shape, or of the wrong tiles where the values are known."""
    if np.shape(wall) != (rules.num_tiles,):
        raise ValueError(f"A wall is {rules.num_tiles} kinds, not an array {np.shape(wall)}.")
    if isinstance(wall, jax.core.Tracer):
        return
    if not np.array_equal(np.sort(np.asarray(wall)), st.all_tiles(rules)):
        once = ", and each of the flowers 34 to 41 once" if rules.n_flowers else ""
        raise ValueError(f"A wall holds each of the kinds 0 to 33 four times{once}.")
