"""A won hand by itself: whether it can be, and what it is worth.

Checks are plain Python on the host; only `score_all` computes with JAX. B = hands.
"""

import functools
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjx import score, tables, tiles
from mjx import state as st
from mjx.rules import Rules
from mjx.score.payments import ALL_PAY
from mjx.score.win import has_special_endings
from mjx.tiles import NAMES, NUM_COPIES, NUM_KINDS

Array = jax.Array

WIN_BY = ("self_draw", "discard", "rob_kong")
FLAGS = (
    *("discarder_is_dealer", "last_tile", "after_kong", "after_open_kong"),
    *("heavenly", "earthly", "human", "tianting", "diting"),
)
_SETS = {"pong": st.PONG, "kong": st.KONG, "ankong": st.CONCEALED_KONG}
_FIRST = ("heavenly", "earthly", "human")


@dataclass(frozen=True)
class WonHand:
    """A won hand and how it was won."""

    concealed: tuple[int, ...]  # kinds, without the winning tile
    melds: tuple[tuple[str, int], ...]  # chow, pong, kong or ankong, and its lowest kind
    win_tile: int
    win_by: str = "discard"
    seat_wind: int = 1  # 0-3 for E S W N
    round_wind: int = 0
    is_dealer: bool = False
    streak: int = 0
    flags: frozenset[str] = frozenset()
    flowers: tuple[int, ...] = ()  # 1-8


class Scored(NamedTuple):
    """What a hand is worth."""

    tai: dict[str, int]  # with the dealer's items if the winner or the one payer deals
    total: int
    due: tuple[int, ...]  # points that each other seat pays, the dealer first if it pays


def check(hand: WonHand, rules: Rules) -> None:
    """Refuses what cannot be a won hand.

    Raises:
      ValueError: the reason.
    """
    held = _all_tiles(hand)
    with_win = held.copy()
    with_win[hand.win_tile] += 1
    if len(hand.melds) > rules.num_sets:
        raise ValueError(f"{len(hand.melds)} melds; a hand has {rules.num_sets} at most.")
    wanted = num_concealed(len(hand.melds), rules)
    if len(hand.concealed) != wanted:
        raise ValueError(
            f"{len(hand.concealed)} concealed tiles and {len(hand.melds)} meld(s); {wanted} tiles "
            "are expected, the winning tile not among them."
        )
    for kind in np.flatnonzero(with_win > NUM_COPIES):
        raise ValueError(f"{with_win[kind]} of {NAMES[kind]}; there are {NUM_COPIES}.")
    _check_situation(hand, rules)
    _check_first(hand)
    _check_ready(hand, rules)
    if special_ending(hand, rules):
        if hand.win_by != "self_draw":
            raise ValueError("Four kongs, and eight flowers, win at once: the win is self_draw.")
    elif not _is_complete(_counts((*hand.concealed, hand.win_tile)), hand.melds, rules):
        raise ValueError(_no_win(hand, held, rules))


def special_ending(hand: WonHand, rules: Rules) -> int:
    """Tells by which win that needs no complete hand this one was won: an ending, or 0."""
    num_kongs = sum(form in ("kong", "ankong") for form, _ in hand.melds)
    if num_kongs == 4 and rules.sigangpai >= max(rules.min_tai, 1):
        return st.FOUR_KONGS
    wins_by_flowers = len(hand.flowers) == 8 and rules.baxian >= max(rules.min_tai, 1)
    return st.EIGHT_FLOWERS if wins_by_flowers else 0


def num_concealed(num_melds: int, rules: Rules) -> int:
    """Counts the concealed tiles of a hand at rest."""
    return rules.hand_tiles - 3 * num_melds


def _counts(kinds: Sequence[int]) -> np.ndarray:
    """Counts kinds: int[34]."""
    return np.bincount(np.array(kinds, np.int64), minlength=NUM_KINDS)


def _all_tiles(hand: WonHand) -> np.ndarray:
    """Counts the tiles of hand and melds, without the winning one: int[34]."""
    kinds = list(hand.concealed)
    for form, kind in hand.melds:
        run = form == "chow"
        kinds += [kind, kind + 1, kind + 2] if run else [kind] * (3 if form == "pong" else 4)
    return _counts(kinds)


def _check_situation(hand: WonHand, rules: Rules) -> None:
    """Refuses ways to win that cannot be."""
    flags, is_drawn = hand.flags, hand.win_by == "self_draw"
    held = int(_all_tiles(hand)[hand.win_tile])
    forms = {form for form, _ in hand.melds}
    if hand.flowers and not rules.n_flowers:
        raise ValueError("Flowers need rules with n_flowers=8.")
    if hand.win_by == "rob_kong" and held:
        raise ValueError(
            f"A robbed kong shows all four {NAMES[hand.win_tile]}; this hand holds {held} of it."
        )
    if hand.win_by == "rob_kong" and "last_tile" in flags:
        raise ValueError("No kong is declared once the last tile is drawn: none can be robbed.")
    if "discarder_is_dealer" in flags and (is_drawn or hand.is_dealer):
        who = "a self-draw has no discarder" if is_drawn else "the winner is the dealer"
        raise ValueError(f"discarder_is_dealer: {who}.")
    if flags & {"after_kong", "after_open_kong"}:
        if not is_drawn:
            raise ValueError("A tile drawn after a kong is won with by self_draw.")
        if not forms & {"kong", "ankong"} and not hand.flowers:
            raise ValueError("after_kong: the hand has neither a kong nor a flower.")
    if "after_open_kong" in flags:
        if "kong" not in forms:
            raise ValueError("after_open_kong: the hand has no open kong.")
        if not rules.open_kong_win:
            raise ValueError("after_open_kong: no win in the turn of an open kong (open_kong_win).")


def _check_first(hand: WonHand) -> None:
    """Refuses wins of the first go-around that cannot be."""
    first = [flag for flag in _FIRST if flag in hand.flags]
    if not first:
        return
    if len(first) > 1:
        raise ValueError(f"A hand is not {' and '.join(first)} at once.")
    ways = {"heavenly": "self_draw", "earthly": "self_draw", "human": "discard"}
    if hand.win_by != ways[first[0]]:
        raise ValueError(f"{first[0]}: won by {ways[first[0]]}, not by {hand.win_by}.")
    if (first[0] == "heavenly") != hand.is_dealer:
        raise ValueError(f"{first[0]}: {'only' if first[0] == 'heavenly' else 'not'} the dealer.")
    if hand.melds:
        raise ValueError(f"{first[0]}: nobody has melded yet, but this hand has melds.")
    if "last_tile" in hand.flags:
        raise ValueError(f"{first[0]}: the first go-around does not draw the last tile.")


def _check_ready(hand: WonHand, rules: Rules) -> None:
    """Refuses declarations that cannot be."""
    declared = [flag for flag in ("tianting", "diting") if flag in hand.flags]
    if len(declared) > 1:
        raise ValueError("A hand is declared ready once: tianting or diting.")
    for flag in declared:
        if not getattr(rules, flag):
            raise ValueError(f"{flag}: these rules do not know it ({flag}=0).")
        if any(form != "ankong" for form, _ in hand.melds):
            raise ValueError(f"{flag}: a hand declared ready claims nothing, but this one has.")
        if "heavenly" in hand.flags or (flag == "tianting" and hand.is_dealer):
            raise ValueError(f"{flag}: the dealer is not asked at the deal.")
        if flag == "diting" and hand.flags & set(_FIRST):
            raise ValueError("diting: declared with the first discard, after such a win.")


def _is_complete(counts: np.ndarray, melds: Sequence[Any], rules: Rules) -> bool:
    """Tells whether concealed tiles are sets and a pair, or seven pairs and a triplet."""
    codes = [
        int(sum(int(n) * 5**rank for rank, n in enumerate(counts[9 * suit : 9 * suit + 9])))
        for suit in range(tiles.NUM_SUITS)
    ]
    codes[-1] += tables.HONOUR_OFFSET
    entries = [int(entry) for entry in tables.wins()[codes]]
    bare = sum(entry >> tables.COMPLETE & 1 for entry in entries)
    paired = sum(entry >> tables.COMPLETE_WITH_PAIR & 1 for entry in entries)
    odd = counts[counts % 2 == 1]
    is_ligu = bool(rules.ligu) and not melds and odd.tolist() == [3] and counts.sum() == 17
    return (bare == 3 and paired == 1) or is_ligu


def _no_win(hand: WonHand, held: np.ndarray, rules: Rules) -> str:
    """Says what a hand that is not complete waits for."""
    waits = [
        NAMES[kind]
        for kind in range(NUM_KINDS)
        if held[kind] < NUM_COPIES
        and _is_complete(_counts((*hand.concealed, kind)), hand.melds, rules)
    ]
    waiting = f"it waits for {' '.join(waits)}" if waits else "it waits for nothing"
    return f"Not a winning hand with {NAMES[hand.win_tile]}: {waiting}."


def score_all(hands: Sequence[tuple[WonHand, Rules]]) -> list[Scored | ValueError]:
    """Scores checked hands, those of the same rules together.

    Returns:
      For each hand what it is worth, or why it may not be won.
    """
    by_rules: dict[Rules, list[int]] = defaultdict(list)
    for place, (_, rules) in enumerate(hands):
        by_rules[rules].append(place)
    found: dict[int, Scored | ValueError] = {}
    for rules, places in by_rules.items():
        group = [hands[place][0] for place in places]
        size = max(16, 1 << (len(group) - 1).bit_length())  # few sizes, few programs
        columns = _columns(group + group[-1:] * (size - len(group)), rules)
        rows = jax.device_get(_score(columns, rules=rules))
        for lane, place in enumerate(places):
            found[place] = _scored(group[lane], rows[0][lane], rows[1][lane], rules)
    return [found[place] for place in range(len(hands))]


# Compiling is nearly all the time that it takes, so it is kept short.
@functools.partial(
    jax.jit, static_argnames="rules", compiler_options={"xla_backend_optimization_level": 0}
)
def _score(columns: dict[str, Any], rules: Rules) -> tuple[Array, Array]:
    """Scores B hands: int[B, items] tai, int32[B, 4] points by seat."""

    def one(row: dict[str, Any]) -> tuple[Array, Array]:
        tai = score.tai(row["win"], rules)
        total = jnp.sum(tai, dtype=jnp.int32)
        if rules.tai_cap is not None:
            total = jnp.minimum(total, rules.tai_cap)
        seats = (row["winner"], row["payer"], row["dealer"], row["streak"])
        return tai, score.payments(total, *seats, rules)

    return jax.vmap(one)(columns)


def _columns(hands: Sequence[WonHand], rules: Rules) -> dict[str, Any]:
    """Lays hands out as arrays [B, ...]: the win, and seats that it is paid between."""

    def column(value: Callable[[WonHand], Any], dtype: type) -> np.ndarray:
        return np.array([value(hand) for hand in hands], dtype)

    def words(value: Callable[[WonHand], np.ndarray]) -> np.ndarray:
        rows = np.array([value(hand) for hand in hands], np.uint32)
        rows = np.pad(rows, ((0, 0), (0, 2))).reshape(-1, tiles.NUM_SUITS, 9)
        return (rows << np.arange(0, 27, 3, dtype=np.uint32)).sum(axis=-1, dtype=np.uint32)

    fields: dict[str, Any] = {
        "hand": words(lambda hand: _counts(hand.concealed)),
        "chows": words(lambda hand: _counts([k for form, k in hand.melds if form == "chow"])),
        "sets": words(_sets),
        "kind": column(lambda hand: hand.win_tile, np.int32),
        "self_draw": column(lambda hand: hand.win_by == "self_draw", bool),
        "robbed_kong": column(lambda hand: hand.win_by == "rob_kong", bool),
        "replacement": column(_replacement, np.int32),
        "seat_wind": column(lambda hand: hand.seat_wind, np.int32),
        "round_wind": column(lambda hand: hand.round_wind, np.int32),
    }
    for flag in ("last_tile", *_FIRST):
        fields[flag] = column(lambda hand, flag=flag: flag in hand.flags, bool)
    if rules.asks_ready:
        ready = {"tianting": 1, "diting": 2}
        fields["ready"] = column(lambda h: sum(ready.get(f, 0) for f in h.flags), np.int32)
    if rules.n_flowers:
        fields["flowers"] = column(lambda h: sum(1 << f - 1 for f in h.flowers), np.uint32)
    if has_special_endings(rules):
        fields["special"] = column(lambda hand: special_ending(hand, rules), np.int32)
    return {
        "win": score.Win(**fields),
        # Seats are counted from the dealer; who else wins or pays does not matter.
        "dealer": column(lambda hand: 0, np.int32),
        "winner": column(_winner, np.int32),
        "payer": column(_payer, np.int32),
        "streak": column(lambda hand: hand.streak, np.int32),
    }


def _sets(hand: WonHand) -> np.ndarray:
    """Lays pongs and kongs out by kind: int[34]."""
    row = np.zeros(NUM_KINDS, np.int64)
    for form, kind in hand.melds:
        row[kind] += _SETS.get(form, 0)
    return row


def _replacement(hand: WonHand) -> int:
    """Tells what kind of draw the winning tile was."""
    if "after_open_kong" in hand.flags:
        return st.AFTER_OPEN_KONG
    has_kong = any(form != "chow" and form != "pong" for form, _ in hand.melds)
    if "after_kong" in hand.flags:
        return st.AFTER_OWN_KONG if has_kong else st.AFTER_FLOWER
    return st.PLAIN_DRAW


def _winner(hand: WonHand) -> int:
    """Seats the winner, counted from the dealer."""
    return 0 if hand.is_dealer else 1


def _payer(hand: WonHand) -> int:
    """Seats the one who pays, counted from the dealer."""
    if hand.win_by == "self_draw":
        return ALL_PAY
    return 0 if "discarder_is_dealer" in hand.flags else 2


def _scored(
    hand: WonHand, tai: np.ndarray, points: np.ndarray, rules: Rules
) -> Scored | ValueError:
    """Names what a hand is worth, the dealer's items first."""
    counted = {item: int(n) for item, n in zip(score.ITEMS, tai.tolist(), strict=True) if n}
    total = score.capped(counted, rules)
    if sum(counted.values()) < rules.min_tai:
        return ValueError(
            f"{sum(counted.values())} tai; these rules ask for {rules.min_tai} at least."
        )
    winner, payer = _winner(hand), _payer(hand)
    payers = [payer] if payer != ALL_PAY else [seat for seat in range(4) if seat != winner]
    is_dealer_in = hand.is_dealer or "discarder_is_dealer" in hand.flags
    items = score.dealers_items(is_dealer_in, hand.streak, rules)
    due = tuple(-int(points[seat]) for seat in payers)
    return Scored(items | counted, total + sum(items.values()), due)
