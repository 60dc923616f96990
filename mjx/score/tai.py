"""The tai of a won hand (台數), item by item or in all.

Suits, honours, flowers and the situation are read off tile counts and melds. Only pinghu,
concealed triplets, pengpenghu and duting depend on how the concealed tiles are split: their best
reading comes from the tables of `mjx.score.shapes`. Items that a table does not know are left out
when a function is compiled.

S = 4 suits.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjx import hand, packed, tables
from mjx.rules import Rules
from mjx.score import shapes
from mjx.score.items import ITEMS
from mjx.score.win import Win
from mjx.stage import stage
from mjx.state import (
    AFTER_FLOWER,
    AFTER_OPEN_KONG,
    AFTER_OWN_KONG,
    CONCEALED_KONG,
    EIGHT_FLOWERS,
    EIGHTH_FLOWER_ROBBED,
    FOUR_KONGS,
    KONG,
    PONG,
)

Array = jax.Array
Items = dict[str, Array]  # id to int32[] tai

_SUITS = np.arange(4, dtype=np.int32)
_OPEN_SETS = packed.MARKS * np.uint32(PONG | KONG)
_CONCEALED_KONGS = packed.MARKS * np.uint32(CONCEALED_KONG)
_WINDS, _DRAGONS = np.uint32(0o1111), np.uint32(0o1110000)  # marks of the honours

# A reading's worth as one number: its tai, and below that a bit for each of its items in the
# table's order, so that the larger number is the better reading, ties included.
_READING = {"duting": 1, "pinghu": 2, "anke3": 2, "anke4": 5, "anke5": 8, "pengpenghu": 4}
_WORTH = {
    item: (value << len(_READING)) + (1 << (len(_READING) - 1 - place))
    for place, (item, value) in enumerate(_READING.items())
}
_READING_BITS = (1 << len(_READING)) - 1


class _Facts(NamedTuple):
    """What several items ask about a win."""

    tiles: Array  # uint32[S]  concealed tiles with the winning one
    num_melds: Array  # int32[]
    concealed_kongs: Array  # int32[]
    has_chows: Array  # bool[]     a chow is laid down
    is_concealed: Array  # bool[]     門清: no meld but concealed kongs
    triplets: Array  # uint32[]   marks of the honours held as triplet or kong
    pairs: Array  # uint32[]   marks of the honours held as pair
    one_suit: Array  # bool[]     exactly one suit, honours aside
    no_suit: Array  # bool[]     honours alone
    has_honours: Array  # bool[]


class _Triplets(NamedTuple):
    """The most triplets of the concealed tiles for each sort of place of the winning tile."""

    tight: Array  # int32[]  -1 without such a reading
    shanpon: Array  # int32[]
    two_sided: Array  # int32[]
    all_chows: Array  # bool[]   there is a two-sided reading without triplets


def tai(win: Win, rules: Rules) -> Array:
    """Scores a won hand, without the dealer's items.

    Args:
      win: the hand; with its winning tile it must be complete, but for a special ending.
      rules: the options.

    Returns:
      int16[NUM_ITEMS] tai by item, in the order of `ITEMS`; zero where an item does not count.
    """
    items = _items(win, rules)
    return jnp.stack([items.get(item, jnp.int32(0)) for item in ITEMS]).astype(jnp.int16)


def total(win: Win, rules: Rules) -> Array:
    """Adds up the tai of a won hand, at most `rules.tai_cap`: int32[]; arguments as `tai`."""
    tai_total = functools.reduce(jnp.add, _items(win, rules).values())
    return tai_total if rules.tai_cap is None else jnp.minimum(tai_total, rules.tai_cap)


def _items(win: Win, rules: Rules) -> Items:
    """Scores all items that the table knows, exclusions included."""
    facts = _facts(win)
    situation = _situation(win, facts, rules)
    honours, suits = _honours(win, facts, rules), _suits(facts, rules)
    of_sets = honours | _reading(win, facts, situation, suits, rules)
    if _knows_ligu(rules):
        of_sets = _or_ligu(of_sets, facts, rules)
    items = situation | suits | of_sets
    if win.flowers is not None:
        items |= _flowers(win.flowers, win.seat_wind, rules)
    return items if win.special is None else _or_special(items, win.special, rules)


def _count(cond: Array, value: int) -> Array:
    """Gives an item its tai where its condition holds: int32[]."""
    return jnp.where(cond, jnp.int32(value), jnp.int32(0))


def _facts(win: Win) -> _Facts:
    """Gathers what several items ask about a win."""
    concealed = win.hand + packed.in_suit(packed.suit_of(win.kind), packed.tile(win.kind))
    honours, honour_sets = concealed[3], win.sets[3]
    three = packed.at_least(honours, 3)
    melded = (honour_sets | honour_sets >> 1 | honour_sets >> 2) & packed.MARKS
    concealed_kongs = _num_marks(win.sets & _CONCEALED_KONGS)
    num_chows = jnp.sum(packed.num_tiles(win.chows), dtype=jnp.int32)
    open_sets = _num_marks(win.sets & _OPEN_SETS)
    is_used = (concealed | win.chows | win.sets) != 0
    num_suits = jnp.sum(is_used[:3], dtype=jnp.int32)
    return _Facts(
        tiles=concealed,
        num_melds=num_chows + open_sets + concealed_kongs,
        concealed_kongs=concealed_kongs,
        has_chows=num_chows > 0,
        is_concealed=num_chows + open_sets == 0,
        triplets=three | melded,
        pairs=packed.at_least(honours, 2) & ~three,
        one_suit=num_suits == 1,
        no_suit=num_suits == 0,
        has_honours=is_used[3],
    )


def _num_marks(marks: Array) -> Array:
    """Counts the bits set in words uint32[S]: int32[]."""
    return jnp.sum(lax.population_count(marks), dtype=jnp.uint32).astype(jnp.int32)


def _situation(win: Win, facts: _Facts, rules: Rules) -> Items:
    """Scores how the hand was won."""
    self_draw, on_claim = win.self_draw, ~win.self_draw
    heavenly = win.heavenly & (rules.tianhu > 0)
    earthly = win.earthly & (rules.dihu > 0)
    human = win.human & (rules.renhu > 0)
    first_draw = heavenly | earthly
    can_menqing = facts.is_concealed & ~first_draw
    ready = _ready(win, rules)
    for item in ready.values():
        can_menqing &= item == 0
    buqiu = can_menqing & self_draw & (rules.menqing_zimo > 0)
    is_exposed = (facts.num_melds == rules.num_sets) & (facts.concealed_kongs == 0)
    after_kong = win.replacement == AFTER_OWN_KONG
    if win.flowers is not None:
        after_kong |= win.replacement == AFTER_FLOWER
    if rules.open_kong_gangkai:
        after_kong |= win.replacement == AFTER_OPEN_KONG
    gangkai = self_draw & after_kong & ~heavenly
    if not rules.haidi_stacks_gangkai:
        gangkai &= ~win.last_tile
    return {
        "zimo": _count(self_draw & ~buqiu & ~first_draw, 1),
        "menqing": _count(can_menqing & ~buqiu & ~human, 1),
        "menqing_zimo": _count(buqiu, rules.menqing_zimo),
        "quanqiu": _count(is_exposed & on_claim, rules.quanqiu),
        "banqiu": _count(is_exposed & self_draw, rules.banqiu),
        "qianggang": _count(win.robbed_kong, 1),
        "gangkai": _count(gangkai, 1),
        "haidi": _count(self_draw & win.last_tile, 1),
        "hedi": _count(on_claim & ~win.robbed_kong & win.last_tile, rules.hedi),
        "tianhu": _count(heavenly, rules.tianhu),
        "dihu": _count(earthly, rules.dihu),
        "renhu": _count(human, rules.renhu),
        **ready,
    }


def _ready(win: Win, rules: Rules) -> Items:
    """Scores a hand that was declared ready; only the items that the table knows."""
    if win.ready is None:
        return {}
    items = {"tianting": (1, rules.tianting), "diting": (2, rules.diting)}
    return {item: _count(win.ready == code, n) for item, (code, n) in items.items() if n}


def _honours(win: Win, facts: _Facts, rules: Rules) -> Items:
    """Scores winds and dragons."""
    triplets = facts.triplets
    num_winds = lax.population_count(triplets & _WINDS)
    num_dragons = lax.population_count(triplets & _DRAGONS)
    small_winds = (num_winds == 3) & ((facts.pairs & _WINDS) != 0)
    small_dragons = (num_dragons == 2) & ((facts.pairs & _DRAGONS) != 0)
    winds = num_winds < 4
    if rules.xiaosixi_excludes_winds:
        winds &= ~small_winds
    dragons = (num_dragons < 3) & ~small_dragons
    items = {
        "round_wind": _count(winds & packed.mark_in(triplets, win.round_wind), 1),
        "seat_wind": _count(winds & packed.mark_in(triplets, win.seat_wind), 1),
        "xiaosanyuan": _count(small_dragons, 4),
        "dasanyuan": _count(num_dragons == 3, 8),
        "xiaosixi": _count(small_winds, 8),
        "dasixi": _count(num_winds == 4, 16),
    }
    for place, item in enumerate(("dragon_c", "dragon_f", "dragon_p"), start=4):
        items[item] = _count(dragons & packed.mark_in(triplets, jnp.int32(place)), 1)
    return items


def _suits(facts: _Facts, rules: Rules) -> Items:
    """Scores hands of one suit, and of honours alone."""
    return {
        "hunyise": _count(facts.one_suit & facts.has_honours, 4),
        "qingyise": _count(facts.one_suit & ~facts.has_honours, 8),
        "ziyise": _count(facts.no_suit, rules.ziyise),
    }


def _reading(win: Win, facts: _Facts, situation: Items, suits: Items, rules: Rules) -> Items:
    """Scores the items that depend on the reading, by the best one."""
    single_wait = num_waits(win, rules) == 1
    can_duting = single_wait & (situation["tianhu"] == 0)
    if rules.quanqiu_excludes_duting:
        can_duting &= situation["quanqiu"] == 0
    can_pinghu = ~single_wait & ~win.self_draw & ~facts.has_honours & jnp.all(win.sets == 0)
    if not rules.pinghu_with_menqing:
        can_pinghu &= ~facts.is_concealed
    if not rules.pinghu_on_rob_kong:
        can_pinghu &= ~win.robbed_kong
    if win.flowers is not None:
        can_pinghu &= win.flowers == 0
    can_pengpeng = ~facts.has_chows
    if rules.ziyise_excludes_pengpeng:
        can_pengpeng &= suits["ziyise"] == 0

    at_best = _triplets(win, facts)
    wanted = rules.num_sets - facts.num_melds

    def worth(most: Array, lost: Array | int, extra: Array | int) -> Array:
        """Values the reading with so many triplets, `lost` of them not concealed: int32[]."""
        concealed = most + facts.concealed_kongs - lost
        anke = jnp.where(concealed == 3, _WORTH["anke3"], 0)
        anke = jnp.where(concealed == 4, _WORTH["anke4"], anke)
        anke = jnp.where(concealed == 5, _WORTH["anke5"], anke)
        pengpeng = _count(can_pengpeng & (most == wanted), _WORTH["pengpenghu"])
        return jnp.where(most >= 0, anke + pengpeng + extra, 0).astype(jnp.int32)

    best = functools.reduce(
        jnp.maximum,
        (
            worth(at_best.tight, lost=0, extra=_count(can_duting, _WORTH["duting"])),
            worth(at_best.shanpon, lost=_count(~win.self_draw, 1), extra=0),
            worth(at_best.two_sided, lost=0, extra=0),
            _count(can_pinghu & at_best.all_chows, _WORTH["pinghu"]),
        ),
    )
    counted = {item: best & _WORTH[item] & _READING_BITS for item in _READING}
    return {item: _count(counted[item] != 0, value) for item, value in _READING.items()}


def _triplets(win: Win, facts: _Facts) -> _Triplets:
    """Looks up the readings of the four suits and joins them."""
    key, rows = _shapes()
    is_here = packed.suit_of(win.kind) == _SUITS
    column = jnp.where(is_here, win.kind % packed.RANKS, shapes.WHOLE)
    codes = stage(hand.suit_codes, facts.tiles)
    row = stage(lambda codes: key[codes].astype(jnp.int32), codes)
    entries = stage(lambda row, column: rows[row, column].astype(jnp.int32), row, column)
    here = jnp.sum(jnp.where(is_here, entries, 0), dtype=jnp.int32)
    most = ((entries >> shapes.MOST) & shapes.PLACE_MASK) - 1
    others = jnp.sum(jnp.where(is_here, 0, most), dtype=jnp.int32)

    def joined(place: int) -> Array:
        most_here = (here >> place) & shapes.PLACE_MASK
        return jnp.where(most_here > 0, others + most_here - 1, -1)

    return _Triplets(
        tight=joined(shapes.TIGHT),
        shanpon=joined(shapes.SHANPON),
        two_sided=joined(shapes.TWO_SIDED),
        all_chows=jnp.all((entries >> shapes.ALL_CHOWS) & 1 > 0),
    )


def _or_ligu(of_sets: Items, facts: _Facts, rules: Rules) -> Items:
    """Puts seven pairs and a triplet in the place of what pays less; a tie goes to the sets."""
    tai_of_sets = functools.reduce(jnp.add, of_sets.values())
    pays_more = ~hand.is_win(facts.tiles) | (tai_of_sets < rules.ligu)
    takes = hand.is_ligu(facts.tiles) & pays_more
    items = {item: jnp.where(takes, 0, value) for item, value in of_sets.items()}
    return items | {"ligu": _count(takes, rules.ligu)}


def _flowers(flowers: Array, seat_wind: Array, rules: Rules) -> Items:
    """Scores the own flowers and the sets of four."""
    items = {"flower": jnp.int32(0)}
    for item, first in (("flower_kong_season", 0), ("flower_kong_plant", 4)):
        four = (flowers >> first) & 0xF
        is_set = four == 0xF
        is_counted = (four >> seat_wind.astype(jnp.uint32)) & 1 > 0
        if rules.flower_kong_excludes_own and rules.flower_kong > 0:
            is_counted &= ~is_set
        items["flower"] += _count(is_counted, rules.flower)
        items[item] = _count(is_set, rules.flower_kong)
    return items


def _or_special(items: Items, special: Array, rules: Rules) -> Items:
    """Scores a win that needs no complete hand: its one item instead of all others."""
    items = {item: jnp.where(special == 0, value, 0) for item, value in items.items()}
    return items | {
        "sigangpai": _count(special == FOUR_KONGS, rules.sigangpai),
        "baxian": _count(special == EIGHT_FLOWERS, rules.baxian),
        "qiqiangyi": _count(special == EIGHTH_FLOWER_ROBBED, rules.qiqiangyi),
    }


def num_waits(win: Win, rules: Rules) -> Array:
    """Counts the kinds that the hand waited for, but for those it holds four of itself: int32[]."""
    waits = hand.waits(win.hand, ligu=_knows_ligu(rules))
    return _num_marks(hand.live_waits(waits, win.hand, win.chows, win.sets))


def _knows_ligu(rules: Rules) -> bool:
    """Tells whether 17 tiles may be seven pairs and a triplet; fewer never are."""
    return rules.ligu > 0 and rules.num_sets == tables.MAX_SETS


@functools.cache
def _shapes() -> tuple[Array, Array]:
    """Holds the tables of readings on the device: uint16[NUM_CODES], uint16[N, 10]."""
    with jax.ensure_compile_time_eval():
        return jnp.asarray(shapes.shapes().key), jnp.asarray(shapes.shapes().rows)
