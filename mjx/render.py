"""A table as text with Unicode tiles; plain Python on the host."""

import jax
import jax.numpy as jnp
import numpy as np

from mjx import packed, tiles
from mjx import state as st
from mjx.rules import DEFAULT, Rules
from mjx.seats import NUM_SEATS, SeatHands
from mjx.state import State

_ENDINGS = (
    *("", "drawn", "self-draw", "won on a discard", "robbed a kong", "illegal action"),
    *("four kongs", "eight flowers", "robbed the eighth flower"),
)
_BACK = "\U0001f02b\ufe0e"


def render(state: State, seat: int | None = None, rules: Rules = DEFAULT) -> str:
    """Draws the table.

    Args:
      state: one hand, not a batch.
      seat: shows the concealed tiles of this seat only; by default those of all.
      rules: the table's rules.

    Returns:
      Lines of text: the wall, then for each seat hand, melds and discards.

    Raises:
      ValueError: a batch of states, or a seat that does not exist.
    """
    if np.ndim(state.terminated):
        raise ValueError("render draws one hand: pick one of the batch with jax.tree.map.")
    if seat is not None and not 0 <= seat < NUM_SEATS:
        raise ValueError(f"seat is 0 to {NUM_SEATS - 1}, not {seat}.")
    state = jax.device_get(state)
    head = (
        f"round {tiles.WINDS[int(state.round_wind)]} · dealer {int(state.dealer)} · "
        f"streak {int(state.streak)} · {int(st.drawable(state, rules))} tiles to draw"
    )
    if state.scores is not None:
        head += " · scores " + ", ".join(f"{int(points):+d}" for points in state.scores)
    lines = [head]
    for s in range(NUM_SEATS):
        lines += _seat_lines(state, s, seat, rules)
    if state.terminated:
        lines.append(_end(state))
    elif state.pending >= 0 and seat in (None, int(state.current_player)):
        lines.append(f"asked about {_tile(int(state.pending))}: seat {int(state.current_player)}")
    return "\n".join(lines)


def _seat_lines(state: State, seat: int, viewer: int | None, rules: Rules) -> list[str]:
    """Draws one seat."""
    hand = _counts(state.hands, seat)
    kinds = np.repeat(np.arange(tiles.NUM_KINDS), hand)
    # Whose answer is awaited gives a hand away, so only that seat is shown it.
    is_known = state.queue == 0 or viewer in (None, seat)
    turn = not state.terminated and is_known and int(state.current_player) == seat
    wind = tiles.WINDS[int(st.seat_wind(state, seat, rules))]
    if viewer is None or viewer == seat:
        shown = " ".join(_tile(int(kind)) for kind in kinds)
    else:
        shown = f"({len(kinds)} tiles)"
    hides_kongs = not rules.concealed_kong_shown and viewer not in (None, seat)
    melds = "  ".join(_flowers(state, seat) + _melds(state, seat, hides_kongs))
    thrown = [
        _tile(int(entry) & st.HISTORY_KIND)
        for entry in state.history[: int(state.num_discards)]
        if int(entry) >> st.HISTORY_SEAT_SHIFT & 3 == seat and not int(entry) & st.HISTORY_CLAIMED
    ]
    return [
        f"{'>' if turn else ' '} {seat} {wind}  {shown}" + (f"  | {melds}" if melds else ""),
        f"       {' '.join(thrown)}",
    ]


def _flowers(state: State, seat: int) -> list[str]:
    """Draws the flowers of a seat, as one group."""
    bits = 0 if state.flowers is None else int(state.flowers) >> tiles.NUM_FLOWERS * seat
    numbers = [i for i in range(tiles.NUM_FLOWERS) if bits >> i & 1]
    return ["".join(_tile(tiles.FIRST_FLOWER + i) for i in numbers)] if numbers else []


def _melds(state: State, seat: int, hides_kongs: bool) -> list[str]:
    """Draws the melds of a seat; a concealed kong in brackets, or its four backs."""
    chows = _counts(state.chows, seat)
    sets = _counts(state.sets, seat)
    drawn = ["".join(_tile(int(k) + i) for i in range(3)) for k in np.repeat(np.arange(34), chows)]
    forms = {st.PONG: "{0}{0}{0}", st.KONG: "{0}{0}{0}{0}", st.CONCEALED_KONG: "[{0}{0}{0}{0}]"}
    for k in np.flatnonzero(sets):
        is_hidden = hides_kongs and sets[k] == st.CONCEALED_KONG
        drawn.append(forms[int(sets[k])].format(_BACK if is_hidden else _tile(int(k))))
    return drawn


def _end(state: State) -> str:
    """Says how the hand ended."""
    points = ", ".join(f"{int(p):+d}" if np.isfinite(p) else "?" for p in state.rewards)
    who = f"seat {int(state.winner)}: " if state.winner >= 0 else ""
    return f"end: {who}{_ENDINGS[int(state.ending)]} · points {points}"


def _tile(kind: int) -> str:
    """Draws a tile with its name, since many terminals show the pictures too small."""
    return f"{tiles.glyph(kind)}{tiles.WALL_NAMES[kind]}"


def _counts(hands: SeatHands, seat: int) -> np.ndarray:
    """Unpacks one seat's words: int8[34]."""
    return np.asarray(packed.to_counts(jnp.stack(hands.rows[seat])))
