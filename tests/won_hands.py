"""Won hands for tests: built backwards from sets, and turned into what `mjx.score` takes."""

import random
from collections.abc import Sequence

import jax
import numpy as np

from mjx.score import Win
from mjx.state import AFTER_OPEN_KONG, AFTER_OWN_KONG, CONCEALED_KONG, KONG, PLAIN_DRAW, PONG
from tests.oracle.score import Meld, WonHand, meld_tiles
from tests.oracle.tiles import FIRST_HONOR, NUM_COPIES, NUM_KINDS, WINDS, starts_chow

_SETS = {"pong": PONG, "kong": KONG, "ankong": CONCEALED_KONG}
_ALL = tuple(range(NUM_KINDS))
_HONORS = tuple(range(FIRST_HONOR, NUM_KINDS))
# Kinds to build from, and how likely a set is a chow: plain hands, chows of the suits, triplets,
# one suit with and without honours, the lower half of a suit (many readings), honours, winds.
_STYLES = (
    *((_ALL, 0.7), (tuple(range(FIRST_HONOR)), 0.95), (_ALL, 0.0)),
    *((tuple(range(9)) + _HONORS, 0.6), (tuple(range(9, 18)), 0.6)),
    *(((0, 1, 2, 18, 19, 20, 21, 22), 0.5), (_HONORS, 0.0), ((*WINDS, 3, 4, 5), 0.2)),
)


def random_hand(rng: random.Random) -> WonHand:
    """Builds a won hand: sets and a pair, some of them laid down, and one tile taken as the last.

    How it was won is drawn freely but consistently: no robbed kong of a tile that the hand holds
    three of, no first draw with melds, no replacement without a self-draw.
    """
    sets, pair = None, -1
    while sets is None:
        kinds, chow_share = rng.choice(_STYLES)
        sets, pair = _random_sets(rng, kinds, chow_share)
    laid_down = rng.choice((0.0, 0.0, 0.3, 0.7, 1.0))
    held = _count(sets) + 2 * np.eye(NUM_KINDS, dtype=int)[pair]
    concealed, melds = 2 * np.eye(NUM_KINDS, dtype=int)[pair], []
    for form, kind in sets:
        if rng.random() >= laid_down:
            concealed += _count([(form, kind)])
            continue
        if form == "pong" and held[kind] == 3 and rng.random() < 0.5:
            form = rng.choice(("kong", "ankong"))
        melds.append((form, kind))
    win_tile = rng.choice(np.repeat(np.arange(NUM_KINDS), concealed).tolist())
    concealed[win_tile] -= 1
    return WonHand(
        concealed=tuple(concealed.tolist()),
        melds=tuple(melds),
        win_tile=win_tile,
        seat_wind=rng.randrange(4),
        round_wind=rng.randrange(4),
        **_random_situation(rng, is_first_possible=not melds),
    )


def to_win(hand: WonHand) -> Win:
    """Turns the reference's won hand into the library's, as NumPy values."""
    chows, sets = np.zeros(NUM_KINDS, np.uint32), np.zeros(NUM_KINDS, np.uint32)
    for form, kind in hand.melds:
        if form == "chow":
            chows[kind] += 1
        else:
            sets[kind] = _SETS[form]
    replacement = AFTER_OPEN_KONG if hand.after_open_kong else AFTER_OWN_KONG
    return Win(
        hand=_words(np.array(hand.concealed, np.uint32)),
        chows=_words(chows),
        sets=_words(sets),
        kind=np.int32(hand.win_tile),
        self_draw=np.bool_(hand.win_by == "self_draw"),
        robbed_kong=np.bool_(hand.win_by == "rob_kong"),
        last_tile=np.bool_(hand.last_tile),
        replacement=np.int32(replacement if hand.after_kong else PLAIN_DRAW),
        heavenly=np.bool_(hand.heavenly),
        earthly=np.bool_(hand.earthly),
        human=np.bool_(hand.human),
        seat_wind=np.int32(hand.seat_wind),
        round_wind=np.int32(hand.round_wind),
    )


def to_wins(hands: Sequence[WonHand]) -> Win:
    """Turns won hands into one batch."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *map(to_win, hands))


def _random_sets(
    rng: random.Random, kinds: Sequence[int], chow_share: float
) -> tuple[list[Meld] | None, int]:
    """Draws five sets and a pair with at most four of a kind; no sets if it got stuck."""
    sets: list[Meld] = []
    for _ in range(100):
        kind = rng.choice(kinds)
        form = "chow" if starts_chow(kind) and rng.random() < chow_share else "pong"
        if _count([*sets, (form, kind)]).max() <= NUM_COPIES:
            sets.append((form, kind))
        if len(sets) == 5:
            break
    free = [kind for kind in kinds if _count(sets)[kind] <= NUM_COPIES - 2]
    return (sets, rng.choice(free)) if len(sets) == 5 and free else (None, -1)


def _random_situation(rng: random.Random, is_first_possible: bool) -> dict[str, object]:
    """Draws how a hand was won, as fields of `WonHand`."""
    situation: dict[str, object] = {"win_by": rng.choice(("self_draw", "discard", "discard"))}
    self_draw = situation["win_by"] == "self_draw"
    if is_first_possible and rng.random() < 0.15:
        first = rng.choice(("heavenly", "earthly")) if self_draw else "human"
        # With flowers the dealt hand may be won on a replacement.
        return situation | {first: True, "after_kong": first == "heavenly" and rng.random() < 0.5}
    if not self_draw and rng.random() < 0.2:
        situation["win_by"] = "rob_kong"
    if self_draw and rng.random() < 0.4:
        situation |= {"after_kong": True, "after_open_kong": rng.random() < 0.4}
    return situation | {"last_tile": rng.random() < 0.15}


def _count(melds: Sequence[Meld]) -> np.ndarray:
    """Counts the tiles of sets: int[34]."""
    return np.bincount([k for meld in melds for k in meld_tiles(meld)], minlength=NUM_KINDS)


def _words(values: np.ndarray) -> np.ndarray:
    """Packs three bits a kind, nine kinds a word: uint32[4]."""
    words = np.zeros(4, np.uint32)
    for kind, value in enumerate(values):
        words[kind // 9] |= np.uint32(int(value) << 3 * (kind % 9))
    return words
