"""What the case files leave open in the scorer: options, ties, exclusions."""

import random
from dataclasses import replace

import pytest

from tests.oracle.hand import decompositions, is_win
from tests.oracle.rules import PRESETS, Rules
from tests.oracle.score import WonHand, score
from tests.oracle.tiles import count, parse, parse_tiles

DEFAULTS = Rules()


def hand_of(concealed, win_tile, *melds, **fields):
    """Builds a hand of the South player in the East round, won on a discard."""
    return WonHand(
        concealed=tuple(count(parse_tiles(concealed))),
        melds=tuple((form, parse(tile)) for form, tile in melds),
        win_tile=parse(win_tile),
        **{"win_by": "discard", "seat_wind": 1, "round_wind": 0} | fields,
    )


CONCEALED = hand_of("123456m 123456p 12s 99s", "3s", win_by="self_draw")
TWO_SIDED = hand_of("123456m 123456p 23s 99s", "4s")
EXPOSED = hand_of("E", "E", *[("chow", t) for t in ("1m", "4m", "1p", "4p", "1s")])
HONORS = hand_of("EEESSSCCCFFFWWNN", "W", win_by="self_draw")


@pytest.mark.parametrize(
    ("hand", "options", "items"),
    [
        # Not existing, menqing_zimo replaces neither of its parts.
        (CONCEALED, {"menqing_zimo": 0}, {"zimo": 1, "menqing": 1, "duting": 1}),
        (replace(CONCEALED, heavenly=True), {}, {"tianhu": 16}),
        (replace(CONCEALED, heavenly=True), {"tianhu": 0}, {"menqing_zimo": 3, "duting": 1}),
        (replace(CONCEALED, earthly=True), {"dihu": 0}, {"menqing_zimo": 3, "duting": 1}),
        (replace(TWO_SIDED, human=True), {}, {"renhu": 16, "pinghu": 2}),
        (replace(TWO_SIDED, human=True), {"renhu": 0}, {"menqing": 1, "pinghu": 2}),
        (TWO_SIDED, {"pinghu_with_menqing": False}, {"menqing": 1}),
        (replace(TWO_SIDED, win_by="rob_kong"), {}, {"menqing": 1, "pinghu": 2, "qianggang": 1}),
        (EXPOSED, {}, {"quanqiu": 2, "duting": 1}),
        (EXPOSED, {"quanqiu_excludes_duting": True}, {"quanqiu": 2}),
        (EXPOSED, {"quanqiu_excludes_duting": True, "quanqiu": 0}, {"duting": 1}),
        (replace(EXPOSED, win_by="self_draw"), {"banqiu": 0}, {"zimo": 1, "duting": 1}),
        (TWO_SIDED, {"tianting": 8}, {"menqing": 1, "pinghu": 2}),
        (replace(TWO_SIDED, declared="tianting"), {"tianting": 8}, {"tianting": 8, "pinghu": 2}),
        (
            replace(CONCEALED, declared="diting"),
            {"diting": 4},
            {"diting": 4, "zimo": 1, "duting": 1},
        ),
        (
            HONORS,
            {"ziyise_excludes_pengpeng": True},
            {
                **{"menqing_zimo": 3, "ziyise": 8, "anke5": 8, "round_wind": 1, "seat_wind": 1},
                **{"dragon_c": 1, "dragon_f": 1, "xiaosixi": 8},
            },
        ),
    ],
)
def test_option(hand, options, items):
    assert score(hand, replace(DEFAULTS, **options)) == items


def test_ziyise_not_listed_still_counts_the_rest():
    items = score(HONORS, replace(PRESETS["star31"], ziyise_excludes_pengpeng=True))
    assert "ziyise" not in items
    assert items["pengpenghu"] == 4


@pytest.mark.parametrize(
    ("flowers", "options", "items"),
    [
        ((2,), {}, {"flower": 1}),
        ((2, 6), {}, {"flower": 2}),
        ((1, 3, 5), {}, {}),
        ((1, 2, 3, 4), {}, {"flower": 1, "flower_kong_season": 2}),
        ((1, 2, 3, 4), {"flower_kong_excludes_own": True}, {"flower_kong_season": 2}),
        ((5, 6, 7, 8, 2), {}, {"flower": 2, "flower_kong_plant": 2}),
        ((1, 2, 3, 4), {"flower_kong_excludes_own": True, "flower_kong": 0}, {"flower": 1}),
    ],
)
def test_flowers(flowers, options, items):
    rules = Rules(n_flowers=8, **options)
    # Any flower, also another seat's, kills pinghu.
    assert score(replace(TWO_SIDED, flowers=flowers), rules) == {"menqing": 1, **items}


def test_three_equal_runs_read_as_triplets_where_that_pays():
    # 111222333m are three triplets: 2 tai, against nothing for the chows (self-drawn).
    hand = hand_of("111222333m 456p 78s EE", "9s", win_by="self_draw")
    assert score(hand, DEFAULTS) == {"menqing_zimo": 3, "anke3": 2}
    # On a discard with a suit pair the chows make pinghu, which is 2 too and comes first.
    hand = hand_of("111222333m 456p 78s 55s", "9s")
    assert score(hand, DEFAULTS) == {"menqing": 1, "pinghu": 2}


def test_discard_goes_to_the_chow_where_the_triplet_stays_concealed():
    # 11m + 123m takes 1m into the run, and 111m is the fourth concealed triplet.
    hand = hand_of("11123m 444m 777p 88s EE 8s", "1m")
    assert score(hand, DEFAULTS) == {"menqing": 1, "anke4": 5}


def test_every_reading_uses_all_tiles():
    rng = random.Random(5)
    for _ in range(200):
        hand = [0] * 34
        hand[rng.randrange(9)] += 2
        for _ in range(5):
            kind = rng.randrange(9)
            for tile in (kind, kind + 1, kind + 2) if kind <= 6 else (kind,) * 3:
                hand[tile] += 1
        found = decompositions(hand, 5)
        assert found
        assert is_win(hand, 0)
        assert len(set(found)) == len(found)
        for pair, groups in found:
            tiles = [pair, pair]
            for form, kind in groups:
                tiles += [kind, kind + 1, kind + 2] if form == "chow" else [kind] * 3
            assert count(tiles) == hand
