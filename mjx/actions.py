"""The action ids: one space for every decision of the game.

| ids | action |
|---|---|
| 0-33 | discard that kind |
| 34-67 | concealed kong (暗槓) of kind id - 34 |
| 68-101 | added kong (加槓) of kind id - 68 |
| 102-104 | chow (吃) with the claimed tile lowest, in the middle, highest |
| 105 | pong (碰) |
| 106 | open kong (明槓) |
| 107 | win (胡): self-drawn, on a discard, or robbing a kong |
| 108 | pass |
| 109 | declare oneself ready (報聽), where the rules know it |

A game keeps its legal actions as five words, `uint32[5]`: for each suit the kinds that may be
discarded, konged from the hand, and konged onto a pong, in the three bits of each rank; then one
word for the calls, bit = id - 102.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from mjx import tiles
from mjx.packed import BITS, RANKS, along, choose

Array = jax.Array

DISCARD = 0
CONCEALED_KONG = 34
ADDED_KONG = 68
CHOW_LOW, CHOW_MIDDLE, CHOW_HIGH = 102, 103, 104
PONG = 105
OPEN_KONG = 106
WIN = 107
PASS = 108
DECLARE_READY = 109
NUM_ACTIONS = 110

CALLS = (
    *("chow_low", "chow_middle", "chow_high", "pong", "open_kong"),
    *("win", "pass", "declare_ready"),
)
_OWN_TURN = {"discard": DISCARD, "concealed_kong": CONCEALED_KONG, "added_kong": ADDED_KONG}
NAMES = tuple(f"{verb} {kind}" for verb in _OWN_TURN for kind in tiles.NAMES) + CALLS

CALL_WORD = 4  # the word of the calls, after the four suits
_ids = np.arange(NUM_ACTIONS)
_kinds = _ids % tiles.NUM_KINDS
_WORD = np.where(_ids < CHOW_LOW, _kinds // RANKS, CALL_WORD)
_SHIFT = np.where(_ids < CHOW_LOW, BITS * (_kinds % RANKS) + _ids // 34, _ids - CHOW_LOW)
_SHIFT = _SHIFT.astype(np.uint32)


def call_bit(action: int) -> int:
    """Returns the bit of a call in the word of the calls."""
    return 1 << (action - CHOW_LOW)


def unpack(words: Array) -> Array:
    """Spreads legal words uint32[..., 5] into a mask bool[..., NUM_ACTIONS]."""
    spread = words[..., _WORD]
    return (spread >> along(_SHIFT, spread)) & 1 > 0


def pack(mask: Array) -> Array:
    """Gathers a mask bool[..., NUM_ACTIONS] into legal words uint32[..., 5]."""
    bits = mask.astype(jnp.uint32) << along(_SHIFT, mask)
    words = [jnp.sum(bits[..., _WORD == w], axis=-1, dtype=jnp.uint32) for w in range(5)]
    return jnp.stack(words, axis=-1)


def is_legal(words: Sequence[Array], action: Array) -> Array:
    """Tells whether five legal words uint32[] hold an action id: bool[], false out of range."""
    is_call = action >= CHOW_LOW
    kind = action % tiles.NUM_KINDS
    word = jnp.where(is_call, CALL_WORD, kind // RANKS)
    of_tile = BITS * (kind % RANKS) + action // tiles.NUM_KINDS
    bit = jnp.where(is_call, action - CHOW_LOW, of_tile)
    is_held = choose(word, words) >> jnp.clip(bit, 0, 31).astype(jnp.uint32) & 1 > 0
    return is_held & (action >= 0) & (action < NUM_ACTIONS)


def id_at(word: Array, bit: Array) -> Array:
    """Returns the action that a bit of the legal words stands for: int32[]."""
    of_tile = tiles.NUM_KINDS * (bit % BITS) + RANKS * word + bit // BITS
    return jnp.where(word == CALL_WORD, CHOW_LOW + bit, of_tile)


def to_text(action: int) -> str:
    """Names an action, such as `discard 5m` or `pong`; the inverse of `from_text`.

    Raises:
      ValueError: not an id of 0 to 109.
    """
    if not 0 <= action < NUM_ACTIONS:
        raise ValueError(f"An action id is 0 to {NUM_ACTIONS - 1}, not {action}.")
    return NAMES[action]


def from_text(text: str) -> int:
    """Returns the id of a named action.

    Raises:
      ValueError: no action has this name.
    """
    if text not in NAMES:
        raise ValueError(
            f"No action is named {text!r}: write 'discard 5m', 'concealed_kong E', "
            f"'added_kong 9s', or one of {', '.join(CALLS)}."
        )
    return NAMES.index(text)
