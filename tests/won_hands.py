"""Won hands for tests: built backwards from sets, and turned into what `mjx.score` takes.

B = hands.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from mjx import state as st
from mjx.score import Win
from tests.oracle.rules import Rules
from tests.oracle.score import Items, Meld, WonHand, meld_tiles, score
from tests.oracle.tiles import FIRST_HONOR, NUM_COPIES, NUM_KINDS, WINDS, name, starts_chow

_SETS = {"pong": st.PONG, "kong": st.KONG, "ankong": st.CONCEALED_KONG}
_DECLARED = {"": 0, "tianting": 1, "diting": 2}
_SPECIAL = {
    "": 0,
    "sigangpai": st.FOUR_KONGS,
    "baxian": st.EIGHT_FLOWERS,
    "qiqiangyi": st.EIGHTH_FLOWER_ROBBED,
}
_ALL = tuple(range(NUM_KINDS))
_SUITS = tuple(range(FIRST_HONOR))
_HONORS = tuple(range(FIRST_HONOR, NUM_KINDS))
# Kinds to build from, and how likely a set is a chow: plain hands, chows of the suits, triplets,
# one suit with and without honours, the lower half of a suit (many readings), honours, winds,
# dragons.
_STYLES = (
    *((_ALL, 0.7), (_SUITS, 0.95), (_SUITS, 1.0), (_ALL, 0.0)),
    *((tuple(range(9)) + _HONORS, 0.6), (tuple(range(9, 18)), 0.6)),
    *(((0, 1, 2, 18, 19, 20, 21, 22), 0.5), (_HONORS, 0.0), ((*WINDS, 3, 4, 5), 0.2)),
    ((31, 32, 33, 12, 13, 14, 15), 0.3),
)


@dataclass(frozen=True)
class Won(WonHand):
    """A won hand, with what the reference keeps elsewhere."""

    after_flower: bool = False  # where `after_kong`: the tile replaced a flower
    special: str = ""  # the item of an ending that needs no complete hand


DEFAULT = Rules()


def random_hand(rng: random.Random, rules: Rules = DEFAULT) -> Won:
    """Builds a won hand of a table: sets and a pair, some laid down, and one tile taken as last.

    How it was won is drawn freely but consistently: no robbed kong of a tile that the hand holds
    another of, no first draw with melds, no replacement without what it replaced.

    Args:
      rng: the source of chance.
      rules: what the table knows; of other items there are none.
    """
    special = _random_special(rng, rules)
    if rules.ligu and rules.num_sets == 5 and not special and rng.random() < 0.15:
        concealed, melds = _random_ligu(rng), []
    else:
        concealed, melds = _random_complete(rng, rules, four_kongs=special == "sigangpai")
    flowers = _random_flowers(rng, special) if rules.n_flowers else ()
    if special:
        _shuffle(rng, concealed, melds)
    win_tile = rng.choice([kind for kind in _ALL for _ in range(concealed[kind])])
    concealed[win_tile] -= 1
    is_only = not concealed[win_tile] and all(win_tile not in meld_tiles(meld) for meld in melds)
    return Won(
        concealed=tuple(concealed),
        melds=tuple(melds),
        win_tile=win_tile,
        seat_wind=rng.randrange(4),
        round_wind=rng.randrange(4),
        flowers=flowers,
        special=special,
        **_random_situation(rng, rules, {form for form, _ in melds}, is_only, bool(flowers)),
    )


def items_of(won: Won, rules: Rules) -> Items:
    """Scores by the reference, special endings included."""
    return {won.special: getattr(rules, won.special)} if won.special else score(won, rules)


def to_wins(hands: Sequence[Won], rules: Rules = DEFAULT) -> Win:
    """Turns won hands of one table into a batch, as NumPy values [B, ...]."""
    concealed = np.array([won.concealed for won in hands], np.uint32)
    chows, sets = np.zeros_like(concealed), np.zeros_like(concealed)
    for row, won in enumerate(hands):
        for form, kind in won.melds:
            if form == "chow":
                chows[row, kind] += 1
            else:
                sets[row, kind] = _SETS[form]

    def column(values: Sequence[int], dtype: type) -> np.ndarray:
        return np.array(values, dtype)

    flowers = [sum(1 << flower - 1 for flower in won.flowers) for won in hands]
    return Win(
        hand=_words(concealed),
        chows=_words(chows),
        sets=_words(sets),
        kind=column([won.win_tile for won in hands], np.int32),
        self_draw=column([won.win_by == "self_draw" for won in hands], bool),
        robbed_kong=column([won.win_by == "rob_kong" for won in hands], bool),
        last_tile=column([won.last_tile for won in hands], bool),
        replacement=column([_replacement(won) for won in hands], np.int32),
        heavenly=column([won.heavenly for won in hands], bool),
        earthly=column([won.earthly for won in hands], bool),
        human=column([won.human for won in hands], bool),
        seat_wind=column([won.seat_wind for won in hands], np.int32),
        round_wind=column([won.round_wind for won in hands], np.int32),
        ready=column([_DECLARED[won.declared] for won in hands], np.int32)
        if rules.tianting or rules.diting
        else None,
        flowers=column(flowers, np.uint32) if rules.n_flowers else None,
        special=column([_SPECIAL[won.special] for won in hands], np.int32)
        if special_items(rules)
        else None,
    )


def to_win(won: Won, rules: Rules = DEFAULT) -> Win:
    """Turns one won hand into the library's."""
    return jax.tree.map(lambda leaf: leaf[0], to_wins([won], rules))


def special_items(rules: Rules) -> list[str]:
    """Lists the items of endings that need no complete hand, as far as the table knows them."""
    names = ["sigangpai", *(("baxian", "qiqiangyi") if rules.n_flowers else ())]
    return [item for item in names if getattr(rules, item)]


def to_text(won: Won) -> str:
    """Writes a hand for a reader."""
    concealed = " ".join(name(kind) for kind in _ALL for _ in range(won.concealed[kind]))
    melds = ", ".join(f"{form} {name(kind)}" for form, kind in won.melds)
    flags = [
        *("last_tile", "after_kong", "after_open_kong", "after_flower"),
        *("heavenly", "earthly", "human"),
    ]
    said = [flag for flag in flags if getattr(won, flag)] + [won.declared, won.special]
    return (
        f"{concealed} | melds: {melds or 'none'} | {won.win_by} {name(won.win_tile)}"
        f" | seat {'ESWN'[won.seat_wind]}, round {'ESWN'[won.round_wind]}"
        f" | flowers {list(won.flowers)} | {' '.join(filter(None, said))}"
    )


def _random_special(rng: random.Random, rules: Rules) -> str:
    """Draws one of the special endings that the table knows, mostly none."""
    names = special_items(rules)
    return rng.choice(names) if names and rng.random() < 0.06 else ""


def _random_complete(
    rng: random.Random, rules: Rules, four_kongs: bool
) -> tuple[list[int], list[Meld]]:
    """Draws a complete hand: concealed counts and melds; on demand four of these are kongs."""
    sets = None
    while sets is None:
        kinds, chow_share = (_ALL, 0.0) if four_kongs else rng.choice(_STYLES)
        sets, pair = _random_sets(rng, kinds, chow_share, rules.num_sets)
    held = _counts(sets)
    held[pair] += 2
    concealed, melds = [0] * NUM_KINDS, []
    concealed[pair] = 2
    laid_down = rng.choice((0.0, 0.0, 0.3, 0.7, 1.0))
    kong_share = rng.choice((0.2, 0.5, 1.0))
    # Concealed kongs leave a hand concealed: some hands lay down nothing else.
    only_own = rng.random() < 0.25
    for place, (form, kind) in enumerate(sets):
        is_kong = form == "pong" and held[kind] == 3 and rng.random() < kong_share
        if four_kongs:
            is_laid, is_kong = place < 4 or rng.random() < 0.5, place < 4
        else:
            is_laid = rng.random() < laid_down and (is_kong or not only_own)
        if not is_laid:
            for tile in meld_tiles((form, kind)):
                concealed[tile] += 1
        elif is_kong:
            melds.append(("ankong" if only_own else rng.choice(("kong", "ankong")), kind))
        else:
            melds.append((form, kind))
    return concealed, melds


def _random_sets(
    rng: random.Random, kinds: Sequence[int], chow_share: float, num_sets: int
) -> tuple[list[Meld] | None, int]:
    """Draws sets and a pair with at most four of a kind; no sets if it got stuck."""
    sets: list[Meld] = []
    counts = [0] * NUM_KINDS
    for _ in range(60):
        kind = rng.choice(kinds)
        form = "chow" if starts_chow(kind) and rng.random() < chow_share else "pong"
        room = min(NUM_COPIES - counts[k] for k in meld_tiles((form, kind)))
        if room >= (1 if form == "chow" else 3):
            sets.append((form, kind))
            for tile in meld_tiles((form, kind)):
                counts[tile] += 1
        if len(sets) == num_sets:
            break
    free = [kind for kind in kinds if counts[kind] <= NUM_COPIES - 2]
    return (sets, rng.choice(free)) if len(sets) == num_sets and free else (None, -1)


def _random_ligu(rng: random.Random) -> list[int]:
    """Draws seven pairs and a triplet: counts."""
    counts = [0] * NUM_KINDS
    while sum(counts) < 17:
        counts = [0] * NUM_KINDS
        # Few kinds of a suit often make sets as well.
        kinds = rng.choice((_ALL, _SUITS, _HONORS, range(9), range(20, 25), (*range(5), 31)))
        triplet = rng.choice(kinds)
        counts[triplet] = 3
        for kind in rng.sample([kind for kind in kinds for _ in (0, 1)], k=len(kinds) * 2):
            if kind != triplet and sum(counts) < 17:
                counts[kind] += 2
    return counts


def _random_flowers(rng: random.Random, special: str) -> tuple[int, ...]:
    """Draws exposed flowers in the order drawn; a special ending says how many."""
    number = {"baxian": 8, "qiqiangyi": 7}.get(special)
    if number is None:
        share = rng.choice((0.0, 0.0, 0.2, 0.5, 0.9))
        four = rng.choice((range(0), range(0), range(1, 5), range(5, 9)))
        flowers = [f for f in range(1, 9) if f in four or rng.random() < share]
    else:
        flowers = rng.sample(range(1, 9), number)
    return tuple(rng.sample(flowers, len(flowers)))


def _shuffle(rng: random.Random, concealed: list[int], melds: Sequence[Meld]) -> None:
    """Exchanges the concealed tiles for any others: a special ending needs no complete hand."""
    melded = _counts(melds)
    left = [kind for kind in _ALL for _ in range(NUM_COPIES - melded[kind])]
    tiles = rng.sample(left, sum(concealed))
    concealed[:] = [tiles.count(kind) for kind in _ALL]


def _random_situation(
    rng: random.Random, rules: Rules, forms: set[str], is_only: bool, has_flowers: bool
) -> dict[str, object]:
    """Draws how a hand was won, as fields of `Won`.

    Args:
      rng: the source of chance.
      rules: the table.
      forms: the forms of the melds.
      is_only: the hand holds the winning tile once, so that it may be robbed.
      has_flowers: the hand has flowers, so that its last tile may have replaced one.
    """
    situation: dict[str, object] = {"win_by": rng.choice(("self_draw", "discard", "discard"))}
    self_draw = situation["win_by"] == "self_draw"
    declarable = [item for item in ("tianting", "diting") if getattr(rules, item)]
    if declarable and forms <= {"ankong"} and rng.random() < 0.4:
        situation["declared"] = rng.choice(declarable)
    after_flower = {"after_kong": True, "after_flower": True}
    if not forms and situation.get("declared") != "diting" and rng.random() < 0.2:
        first = rng.choice(("heavenly", "earthly")) if self_draw else "human"
        if first != "heavenly" or "declared" not in situation:  # the dealer is not asked so early
            is_replaced = self_draw and has_flowers and rng.random() < 0.5
            return situation | {first: True} | (after_flower if is_replaced else {})
    if not self_draw and is_only and rng.random() < 0.3:
        situation["win_by"] = "rob_kong"
    replaced = [after_flower] if has_flowers else []
    if forms & {"kong", "ankong"}:
        replaced.append({"after_kong": True})
    if "kong" in forms:
        replaced.append({"after_kong": True, "after_open_kong": True})
    if self_draw and replaced and rng.random() < 0.5:
        situation |= rng.choice(replaced)
    return situation | {"last_tile": rng.random() < 0.15}


def _replacement(won: Won) -> int:
    """Says what kind of draw the winning tile was."""
    if not won.after_kong:
        return st.PLAIN_DRAW
    if won.after_flower:
        return st.AFTER_FLOWER
    return st.AFTER_OPEN_KONG if won.after_open_kong else st.AFTER_OWN_KONG


def _counts(melds: Sequence[Meld]) -> list[int]:
    """Counts the tiles of sets."""
    counts = [0] * NUM_KINDS
    for meld in melds:
        for tile in meld_tiles(meld):
            counts[tile] += 1
    return counts


def _words(values: np.ndarray) -> np.ndarray:
    """Packs three bits a kind, nine kinds a word: uint32[B, 4] of uint32[B, 34]."""
    rows = np.pad(values, ((0, 0), (0, 2))).reshape(-1, 4, 9)
    return (rows << np.arange(0, 27, 3, dtype=np.uint32)).sum(axis=-1, dtype=np.uint32)
