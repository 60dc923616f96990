"""The tai of a won hand and who pays what (sections 5 to 7 of the rules, Appendix A).

A hand is read in every way that its tiles allow; each reading is scored on its own by plain rules
and the best one counts. `items` maps the id of an item to its tai.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.oracle.hand import Group, decompositions, is_ligu, waits
from tests.oracle.rules import Rules
from tests.oracle.tiles import DRAGONS, FIRST_HONOR, NUM_KINDS, WINDS, count

Meld = tuple[str, int]  # ("chow", lowest kind), ("pong" | "kong" | "ankong", kind)
Items = dict[str, int]

# The table's order, which also settles ties between readings of equal worth.
ITEM_ORDER = (
    *("zimo", "menqing", "menqing_zimo", "duting", "pinghu", "quanqiu", "banqiu", "qianggang"),
    *("gangkai", "haidi", "hedi", "round_wind", "seat_wind", "dragon_c", "dragon_f", "dragon_p"),
    *("xiaosanyuan", "dasanyuan", "xiaosixi", "dasixi", "anke3", "anke4", "anke5", "pengpenghu"),
    *("hunyise", "qingyise", "ziyise", "tianhu", "dihu", "renhu", "tianting", "diting"),
    *("sigangpai", "ligu", "flower", "flower_kong_season", "flower_kong_plant", "baxian"),
    "qiqiangyi",
)


@dataclass(frozen=True)
class WonHand:
    """A won hand and how it was won."""

    concealed: tuple[int, ...]  # 34 counts, without the winning tile
    melds: tuple[Meld, ...]
    win_tile: int
    win_by: str  # "self_draw", "discard" or "rob_kong"
    seat_wind: int  # 0-3 = E S W N
    round_wind: int  # 0-3 = E S W N
    last_tile: bool = False  # nothing drawable was left
    after_kong: bool = False  # the tile replaced a kong or a flower
    after_open_kong: bool = False  # it replaced an open kong
    heavenly: bool = False  # the dealer's dealt hand
    earthly: bool = False  # the first draw, before any claim or kong
    human: bool = False  # a discard before the first draw, before any claim or kong
    declared: str = ""  # "tianting" or "diting" if declared ready
    flowers: tuple[int, ...] = ()  # 1-8, see Appendix A


@dataclass(frozen=True)
class Reading:
    """One way to read the concealed tiles, and the place that the winning tile takes there."""

    pair: int
    groups: tuple[Group, ...]
    place: str  # "single", "shanpon", "closed", "edge", "two_sided", or "ligu"


def score(hand: WonHand, rules: Rules) -> Items:
    """Scores a won hand, without the dealer's items.

    Args:
      hand: the hand; its tiles must be a complete hand.
      rules: the options.

    Returns:
      The items of the best reading, those of no tai left out.
    """
    counts = list(hand.concealed)
    counts[hand.win_tile] += 1
    meld_counts = count(kind for meld in hand.melds for kind in meld_tiles(meld))
    num_waits = len(
        waits(
            hand.concealed,
            len(hand.melds),
            meld_counts,
            num_sets=rules.num_sets,
            ligu=rules.ligu > 0,
        )
    )
    scored = [
        _score_reading(hand, reading, num_waits, rules)
        for reading in _readings(hand, counts, rules)
    ]
    return max(
        scored,
        key=lambda items: (sum(items.values()), [items.get(item, 0) for item in ITEM_ORDER]),
    )


def dealer_items(is_dealer_in: bool, streak: int, rules: Rules) -> Items:
    """Scores the dealer and the streak for one payment.

    Args:
      is_dealer_in: whether the winner or the payer is the dealer.
      streak: hands that the dealer has held the deal before this one.
      rules: the options.

    Returns:
      The dealer's items; empty if the dealer is neither payer nor winner.
    """
    if rules.streak_cap is not None:
        streak = min(streak, rules.streak_cap)
    items = {"dealer": 1, "dealer_streak": 2 * streak} if is_dealer_in else {}
    return {item: tai for item, tai in items.items() if tai}


def payments(
    winner: int, payers: Sequence[int], hand_tai: int, dealer: int, streak: int, rules: Rules
) -> list[int]:
    """Settles one win.

    Args:
      winner: the winning seat.
      payers: the seats that pay, one or three.
      hand_tai: tai of the hand without the dealer's.
      dealer: the dealer's seat.
      streak: hands that the dealer has held the deal before this one.
      rules: the options; the cap is on the hand's tai.

    Returns:
      Points won and lost by seat; they sum to zero.
    """
    if rules.tai_cap is not None:
        hand_tai = min(hand_tai, rules.tai_cap)
    points = [0, 0, 0, 0]
    for payer in payers:
        extra = sum(dealer_items(dealer in (winner, payer), streak, rules).values())
        amount = rules.base + rules.unit * (hand_tai + extra)
        points[payer] -= amount
        points[winner] += amount
    return points


def meld_tiles(meld: Meld) -> list[int]:
    """Lists the tiles of a meld."""
    form, kind = meld
    if form == "chow":
        return [kind, kind + 1, kind + 2]
    return [kind] * (3 if form == "pong" else 4)


def _readings(hand: WonHand, counts: list[int], rules: Rules) -> list[Reading]:
    """Lists every reading of the concealed tiles, the winning tile included."""
    win_tile = hand.win_tile
    readings = set()
    for pair, groups in decompositions(counts, rules.num_sets - len(hand.melds)):
        if pair == win_tile:
            readings.add(Reading(pair, groups, "single"))
        for form, kind in groups:
            if form == "pong" and kind == win_tile:
                readings.add(Reading(pair, groups, "shanpon"))
            elif form == "chow" and kind <= win_tile <= kind + 2:
                readings.add(Reading(pair, groups, _chow_place(kind, win_tile)))
    if rules.ligu and not hand.melds and is_ligu(counts):
        readings.add(Reading(-1, (), "ligu"))
    if not readings:
        raise ValueError("not a complete hand")
    return list(readings)


def _chow_place(lowest: int, win_tile: int) -> str:
    """Names the wait that a chow was before the winning tile."""
    if win_tile == lowest + 1:
        return "closed"
    one_two = win_tile == lowest + 2 and lowest % 9 == 0
    eight_nine = win_tile == lowest and lowest % 9 == 6
    return "edge" if one_two or eight_nine else "two_sided"


def _score_reading(hand: WonHand, reading: Reading, num_waits: int, rules: Rules) -> Items:
    """Scores one reading: all items whose condition holds, then what excludes what."""
    items = _win_items(hand, rules) | _suit_items(hand, rules) | _flower_items(hand, rules)
    if reading.place == "ligu":
        items["ligu"] = rules.ligu
    else:
        items |= _wait_items(hand, reading, num_waits, rules)
        items |= _triplet_items(hand, reading) | _honor_items(hand, reading)
    items = {item: tai for item, tai in items.items() if tai}
    for item, excluded in _exclusions(rules):
        if item in items:
            items = {other: tai for other, tai in items.items() if other not in excluded}
    return items


def _exclusions(rules: Rules) -> list[tuple[str, set[str]]]:
    """Lists which item shuts out which others (section 7), in the order of application."""
    table = [
        ("tianting", {"menqing", "menqing_zimo"}),
        ("diting", {"menqing", "menqing_zimo"}),
        ("menqing_zimo", {"menqing", "zimo"}),
        ("tianhu", {"menqing_zimo", "menqing", "zimo", "duting", "gangkai"}),
        ("dihu", {"menqing_zimo", "menqing", "zimo"}),
        ("renhu", {"menqing"}),
        ("dasixi", {"round_wind", "seat_wind"}),
        ("xiaosanyuan", {"dragon_c", "dragon_f", "dragon_p"}),
        ("dasanyuan", {"dragon_c", "dragon_f", "dragon_p"}),
    ]
    if not rules.haidi_stacks_gangkai:
        table.append(("haidi", {"gangkai"}))
    if rules.quanqiu_excludes_duting:
        table.append(("quanqiu", {"duting"}))
    if rules.xiaosixi_excludes_winds:
        table.append(("xiaosixi", {"round_wind", "seat_wind"}))
    if rules.ziyise_excludes_pengpeng:
        table.append(("ziyise", {"pengpenghu"}))
    return table


def _win_items(hand: WonHand, rules: Rules) -> Items:
    """Scores the way in which the hand was won."""
    is_self_drawn = hand.win_by == "self_draw"
    is_menqing = _is_menqing(hand)
    is_exposed = len(hand.melds) == rules.num_sets and all(
        form != "ankong" for form, _ in hand.melds
    )
    is_kong_tile = hand.after_kong and (not hand.after_open_kong or rules.open_kong_gangkai)
    return {
        "zimo": 1 if is_self_drawn else 0,
        "menqing": 1 if is_menqing else 0,
        "menqing_zimo": rules.menqing_zimo if is_menqing and is_self_drawn else 0,
        "quanqiu": rules.quanqiu if is_exposed and not is_self_drawn else 0,
        "banqiu": rules.banqiu if is_exposed and is_self_drawn else 0,
        "qianggang": 1 if hand.win_by == "rob_kong" else 0,
        "gangkai": 1 if is_self_drawn and is_kong_tile else 0,
        "haidi": 1 if is_self_drawn and hand.last_tile else 0,
        "hedi": rules.hedi if hand.win_by == "discard" and hand.last_tile else 0,
        "tianhu": rules.tianhu if hand.heavenly else 0,
        "dihu": rules.dihu if hand.earthly else 0,
        "renhu": rules.renhu if hand.human else 0,
        "tianting": rules.tianting if hand.declared == "tianting" else 0,
        "diting": rules.diting if hand.declared == "diting" else 0,
    }


def _is_menqing(hand: WonHand) -> bool:
    """Tells whether the hand is concealed; concealed kongs leave it so."""
    return all(form == "ankong" for form, _ in hand.melds)


def _wait_items(hand: WonHand, reading: Reading, num_waits: int, rules: Rules) -> Items:
    """Scores what depends on the wait: duting and pinghu."""
    all_groups = [*reading.groups, *hand.melds]
    is_pinghu = (
        reading.place == "two_sided"
        and num_waits >= 2
        and all(form == "chow" for form, _ in all_groups)
        and reading.pair < FIRST_HONOR
        and not hand.flowers
        and hand.win_by != "self_draw"
        and (rules.pinghu_with_menqing or not _is_menqing(hand))
        and (rules.pinghu_on_rob_kong or hand.win_by != "rob_kong")
    )
    is_duting = num_waits == 1 and reading.place in ("single", "closed", "edge")
    return {"duting": 1 if is_duting else 0, "pinghu": 2 if is_pinghu else 0}


def _triplet_items(hand: WonHand, reading: Reading) -> Items:
    """Scores concealed triplets, and a hand of nothing but triplets."""
    num_concealed = sum(form == "pong" for form, _ in reading.groups)
    num_concealed += sum(form == "ankong" for form, _ in hand.melds)
    if reading.place == "shanpon" and hand.win_by != "self_draw":
        num_concealed -= 1
    items = {3: {"anke3": 2}, 4: {"anke4": 5}, 5: {"anke5": 8}}.get(num_concealed, {})
    if all(form != "chow" for form, _ in [*reading.groups, *hand.melds]):
        items = {**items, "pengpenghu": 4}
    return dict(items)


def _honor_items(hand: WonHand, reading: Reading) -> Items:
    """Scores winds and dragons."""
    triplets = {kind for form, kind in [*reading.groups, *hand.melds] if form != "chow"}
    num_winds = len(triplets & set(WINDS))
    num_dragons = len(triplets & set(DRAGONS))
    return {
        "round_wind": 1 if WINDS[hand.round_wind] in triplets else 0,
        "seat_wind": 1 if WINDS[hand.seat_wind] in triplets else 0,
        "dragon_c": 1 if DRAGONS[0] in triplets else 0,
        "dragon_f": 1 if DRAGONS[1] in triplets else 0,
        "dragon_p": 1 if DRAGONS[2] in triplets else 0,
        "xiaosanyuan": 4 if num_dragons == 2 and reading.pair in DRAGONS else 0,
        "dasanyuan": 8 if num_dragons == 3 else 0,
        "xiaosixi": 8 if num_winds == 3 and reading.pair in WINDS else 0,
        "dasixi": 16 if num_winds == 4 else 0,
    }


def _suit_items(hand: WonHand, rules: Rules) -> Items:
    """Scores a hand of one suit, with or without honors, or of honors only."""
    kinds = {kind for kind in range(NUM_KINDS) if hand.concealed[kind]} | {hand.win_tile}
    kinds |= {kind for _, kind in hand.melds}
    num_suits = len({kind // 9 for kind in kinds if kind < FIRST_HONOR})
    has_honors = any(kind >= FIRST_HONOR for kind in kinds)
    return {
        "hunyise": 4 if num_suits == 1 and has_honors else 0,
        "qingyise": 8 if num_suits == 1 and not has_honors else 0,
        "ziyise": rules.ziyise if num_suits == 0 else 0,
    }


def _flower_items(hand: WonHand, rules: Rules) -> Items:
    """Scores the own flowers and complete sets of four (Appendix A)."""
    items = {"flower": 0}
    for name, first in (("season", 1), ("plant", 5)):
        is_set = set(range(first, first + 4)) <= set(hand.flowers)
        items[f"flower_kong_{name}"] = rules.flower_kong if is_set else 0
        has_own = first + hand.seat_wind in hand.flowers
        is_counted = not (is_set and rules.flower_kong and rules.flower_kong_excludes_own)
        items["flower"] += rules.flower if has_own and is_counted else 0
    return items
