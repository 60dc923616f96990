"""What the robot thinks of a decision, in words that a player understands. Runs on the host."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from agents.bdi import rearrange, robot, settings, tile_bytes
from agents.bdi.robot import Mind
from agents.bdi.settings import Settings
from mjx import actions, tiles
from mjx.observe import Observation

_SUITS = ("characters", "bamboo", "dots", "honours")
_NUM_RANKS = (9, 9, 9, 7)


def describe(observation: Observation, how: Settings | None = None) -> str:
    """Tells belief, goal, intentions and action of one decision.

    Args:
      observation: of one decision, not a batch.
      how: of the robot; by default as printed (`settings.of` makes others).

    Returns:
      Some lines of text.

    Raises:
      ValueError: a batch, or a decision that is another seat's.
    """
    if np.ndim(observation.pending):
        raise ValueError("describe takes one decision: pick one of the batch with jax.tree.map.")
    if not np.any(observation.legal_action_mask):
        raise ValueError("describe takes a decision of the seat that observes; nothing is legal.")
    how = how or settings.of()
    mind, written, action = jax.device_get(_look(observation, how))
    lines = ["belief"]
    lines += [_state(mind, written, suit) for suit in range(4) if mind.belief.states.tiles[suit]]
    lines += _goal(mind, how)
    lines += [f"  throw   {_throws(mind)}", f"  obtain  {_takes(mind)}"]
    asked = int(observation.pending)
    about = f", asked about {tiles.NAMES[asked]}" if asked >= 0 else ""
    return "\n".join([*lines, f"action: {actions.to_text(int(action))}{about}"])


@functools.partial(jax.jit, static_argnums=1)
def _look(observation: Observation, how: Settings) -> tuple[Mind, jax.Array, jax.Array]:
    """Thinks; also writes `Ar` of each suit out, int8[S, 17], and chooses the action."""
    legal = observation.legal_action_mask
    mind = robot.think(observation, legal, how)
    written = jax.vmap(rearrange.sequence)(mind.belief.states.kept, mind.belief.memory.unseen)
    batch = jax.tree.map(lambda leaf: leaf[None], observation)
    action = jnp.argmax(robot.action_scores(batch, legal[None], how)[0])
    return mind, written, action


def _state(mind: Mind, written: Any, suit: int) -> str:
    """Words the state of one suit: its tiles in the order kept, and what it lacks."""
    need, with_pair = (
        _pair(kept.need, suit)
        for kept in (mind.belief.states.kept, mind.belief.states.kept_with_pair)
    )
    kept = " ".join(_name(suit, int(rank)) for rank in written[suit] if rank >= 0)
    return f"  {_SUITS[suit]}: {kept}; {need} for sets, {with_pair} for sets and the pair"


def _goal(mind: Mind, how: Settings) -> list[str]:
    """Words the goals and why one was chosen."""
    bits, chosen = int(mind.goals.bits), int(mind.goals.chosen)
    if chosen < 0:
        draws = int(mind.belief.memory.draws_left)
        return [f"goal: none left, too far for {draws} draws; safe tiles first"]
    costs = [
        f"{_SUITS[suit]} {_pair(mind.goals.distances, suit)}"
        for suit in range(4)
        if bits >> suit & 1
    ]
    pair = "".join(_spread(mind.belief.states.pair[chosen], chosen))
    measure = "out + take" if how.weight == 1 else f"out + {how.weight} take"
    holder = f"the pair in {_SUITS[chosen]} (from {pair})" if pair else "no pair can be made"
    return [f"goal: {holder}, the least {measure} of: {', '.join(costs)}"]


def _throws(mind: Mind) -> str:
    """Words the tiles to throw, first to go first."""
    urgency = mind.intentions.urgency
    named = [
        (-int(urgency[suit, rank]), _name(suit, rank) * count)
        for suit, rank, count in _tiles(mind.intentions.throw)
    ]
    return ", ".join(name for _, name in sorted(named)) or "nothing"


def _takes(mind: Mind) -> str:
    """Words the tiles to obtain, with the copies not yet seen."""
    number = int(mind.intentions.take.sum())
    unseen = mind.belief.memory.unseen
    wanted = [
        f"{_name(suit, rank)} ({int(unseen[suit, rank])} unseen)"
        for suit, rank, _ in _tiles(mind.intentions.wanted)
    ]
    return f"{number} of {', '.join(wanted)}" if wanted else "nothing in particular"


def _pair(pair: Any, suit: int) -> str:
    """Writes a take-out pair."""
    return f"{int(pair.out[suit])} out {int(pair.take[suit])} in"


def _tiles(words: Any) -> list[tuple[int, int, int]]:
    """Lists suit, rank and count of words uint32[S]."""
    return [
        (suit, rank, int(words[suit]) >> 3 * rank & 7)
        for suit in range(4)
        for rank in range(_NUM_RANKS[suit])
        if int(words[suit]) >> 3 * rank & 7
    ]


def _spread(word: Any, suit: int) -> list[str]:
    """Names the tiles of one suit's word."""
    counts = [(int(word) >> 3 * rank & 7, rank) for rank in range(_NUM_RANKS[suit])]
    return [_name(suit, rank) for count, rank in counts for _ in range(count)]


def _name(suit: int, rank: int) -> str:
    """Names a tile."""
    return tiles.NAMES[9 * int(tile_bytes.GAME_SUIT[suit]) + rank]
