"""Tai and payments against the case files, the plain reference, and arithmetic.

Every item of random won hands must agree, not the sums alone.
"""

import dataclasses
import random
from collections import Counter
from functools import partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mjx import packed, tables
from mjx.rules import DEFAULT, Rules
from mjx.score import ITEMS, NAMES, NUM_ITEMS, payments, settle, shapes, tai, total, win_of
from mjx.seats import SeatHands, place_of
from mjx.state import DRAWN, ILLEGAL, ON_DISCARD, ROBBED_KONG, RUNNING, SELF_DRAW, deal, shuffle
from tests.oracle import cases, hand, score
from tests.oracle import rules as oracle_rules
from tests.won_hands import random_hand, to_win, to_wins

_OPTIONS = {
    "ziyise": (0, 8, 16),
    "ziyise_excludes_pengpeng": (False, True),
    "xiaosixi_excludes_winds": (False, True),
    "quanqiu": (0, 1, 2),
    "quanqiu_excludes_duting": (False, True),
    "banqiu": (0, 1),
    "hedi": (0, 1),
    "haidi_stacks_gangkai": (False, True),
    "menqing_zimo": (0, 2, 3),
    "pinghu_with_menqing": (False, True),
    "pinghu_on_rob_kong": (False, True),
    "tianhu": (0, 16, 24),
    "dihu": (0, 16),
    "renhu": (0, 8),
    "open_kong_gangkai": (False, True),
    "tai_cap": (None, 8),
}


@partial(jax.jit, static_argnames="rules")
def _score(wins, rules):
    """Scores a batch: int8[B, NUM_ITEMS], int32[B]."""
    return jax.vmap(lambda win: (tai(win, rules), total(win, rules)))(wins)


def _as_dict(row):
    return {item: int(value) for item, value in zip(ITEMS, row, strict=True) if value}


def _assert_agrees(hands, options):
    """Compares a batch with the reference, and returns how often each item occurred."""
    rows, totals = _score(to_wins(hands), Rules(**options))
    reference = oracle_rules.Rules(**options)
    seen = Counter()
    for won, row, sum_of_row in zip(hands, np.asarray(rows), np.asarray(totals), strict=True):
        expected = score.score(won, reference)
        assert _as_dict(row) == expected, won
        cap = reference.tai_cap
        assert sum_of_row == min(sum(expected.values()), 10**6 if cap is None else cap), won
        seen.update(expected)
    return seen


def _supported_cases():
    """Lists the cases whose options are built."""
    supported = []
    for case in cases.load("hands"):
        try:
            Rules(**case.get("options", {}))
        except NotImplementedError:
            continue
        supported.append(case)
    return supported


@pytest.mark.parametrize("case", _supported_cases(), ids=lambda case: case["id"])
def test_won_hand_has_the_tai_of_the_case(case):
    rows, totals = _score(to_wins([cases.won_hand_of(case)]), Rules(**case.get("options", {})))
    of_dealer = ("dealer", "dealer_streak")
    expected = {item: n for item, n in case["expected_tai"].items() if item not in of_dealer}
    assert _as_dict(rows[0]) == expected
    dealer_tai = sum(case["expected_tai"].get(item, 0) for item in of_dealer)
    assert totals[0] + dealer_tai == case["total"]


def test_cases_left_out_are_those_with_flowers_or_ligu():
    left_out = [case for case in cases.load("hands") if case not in _supported_cases()]
    assert all({"n_flowers", "ligu"} & set(case["options"]) for case in left_out)


def test_random_hands_agree_with_the_reference():
    rng = random.Random(7)
    seen = _assert_agrees([random_hand(rng) for _ in range(4000)], {})
    assert min(seen[item] for item in ITEMS) >= 5, seen


@pytest.mark.parametrize("seed", range(6))
def test_random_options_agree_with_the_reference(seed):
    rng = random.Random(100 + seed)
    options = {name: rng.choice(values) for name, values in _OPTIONS.items()}
    _assert_agrees([random_hand(rng) for _ in range(700)], options)


def test_every_scoring_option_is_drawn():
    flow = {"base", "unit", "reserve", "streak_cap"}
    built = set()
    for field in dataclasses.fields(Rules):
        other = {bool: not field.default, int: 7}.get(type(field.default), 7)
        try:
            Rules(**{field.name: other})
        except (NotImplementedError, ValueError):
            continue
        built.add(field.name)
    assert built - flow == set(_OPTIONS)


def test_tie_goes_to_the_earlier_item():
    # 111222333m as chows: pinghu 2. As triplets: three concealed triplets 2. Menqing either way.
    counts = [0] * 34
    for kind in (0, 0, 0, 1, 1, 1, 2, 2, 2, 9, 9, 12, 13, 14, 21, 22):
        counts[kind] += 1
    won = score.WonHand(tuple(counts), (), 23, "discard", seat_wind=1, round_wind=0)
    drawn = dataclasses.replace(won, win_by="self_draw")
    rows, _ = _score(to_wins([won, drawn]), DEFAULT)
    assert _as_dict(rows[0]) == {"menqing": 1, "pinghu": 2}
    assert _as_dict(rows[1]) == {"menqing_zimo": 3, "anke3": 2}


def test_shapes_of_single_suits_agree_with_all_readings():
    rng = np.random.default_rng(3)
    codes = np.flatnonzero(tables.wins()[: tables.HONOUR_OFFSET] & 3)
    key, rows = shapes.shapes()
    for code in rng.choice(codes, 400, replace=False):
        counts = [int(n) for n in code // 5 ** np.arange(9) % 5] + [0] * 25
        if sum(counts) % 3 == 0:
            counts[27] = 2  # the pair elsewhere
        splits = [groups for _, groups in hand.decompositions(counts, sum(counts) // 3)]
        pairs = [pair for pair, _ in hand.decompositions(counts, sum(counts) // 3)]
        most = max(sum(form == "pong" for form, _ in groups) for groups in splits)
        only_chows = any(all(form == "chow" for form, _ in groups) for groups in splits)
        assert rows[key[code], shapes.WHOLE] == most + 1 + (only_chows << shapes.ALL_CHOWS)
        for rank in range(9):
            entry = int(rows[key[code], rank])
            assert entry == _entry_of_readings(rank, zip(pairs, splits, strict=True)), (code, rank)


def _entry_of_readings(rank, splits):
    """Packs what the readings of a suit give a winning tile of this rank."""
    most = {shapes.TIGHT: 0, shapes.SHANPON: 0, shapes.TWO_SIDED: 0}
    only_chows = False
    for pair, groups in splits:
        triplets = sum(form == "pong" for form, _ in groups)
        places = [shapes.TIGHT] if pair == rank else []
        for form, kind in groups:
            if form == "pong" and kind == rank:
                places.append(shapes.SHANPON)
            elif form == "chow" and rank in (kind, kind + 1, kind + 2):
                tight = rank == kind + 1 or (kind, rank) in ((0, 2), (6, 6))
                places.append(shapes.TIGHT if tight else shapes.TWO_SIDED)
        for place in places:
            most[place] = max(most[place], triplets + 1)
        only_chows |= shapes.TWO_SIDED in places and triplets == 0
    return sum(n << place for place, n in most.items()) + (only_chows << shapes.ALL_CHOWS)


@pytest.mark.parametrize("case", cases.load("facts", "payment"), ids=lambda case: case["id"])
def test_payment_of_the_case(case):
    payer = -1 if len(case["payers"]) == 3 else case["payers"][0]
    seats = (case["winner"], payer, case["dealer"], case["streak"])
    rules = Rules(base=case["base"], unit=case["unit"])
    paid = payments(jnp.int32(case["hand_tai"]), *map(jnp.int32, seats), rules)
    assert paid.dtype == jnp.int32
    assert paid.tolist() == case["expected_delta"]


@pytest.mark.parametrize("cap", [None, 0, 2])
def test_payments_of_all_seats_agree_with_the_reference(cap):
    rules, reference = Rules(streak_cap=cap), oracle_rules.Rules(streak_cap=cap)
    grid = np.array(
        [
            (winner, payer, dealer, streak)
            for winner in range(4)
            for payer in range(-1, 4)
            for dealer in range(4)
            for streak in (0, 1, 5)
            if payer != winner
        ],
        np.int32,
    )
    paid = jax.vmap(lambda *seats: payments(jnp.int32(3), *seats, rules))(*grid.T)
    for (winner, payer, dealer, streak), row in zip(grid.tolist(), paid.tolist(), strict=True):
        payers = [payer] if payer >= 0 else [seat for seat in range(4) if seat != winner]
        assert row == score.payments(winner, payers, 3, dealer, streak, reference)
        assert sum(row) == 0


def _state(dealer=0, **fields):
    """Deals a hand and sets some fields of the state."""
    wall = shuffle(jax.random.key(5))
    state = deal(wall, jnp.int32(dealer), jnp.int32(0), jnp.int32(0))
    like = {
        name: SeatHands.from_array(jnp.asarray(value, jnp.uint32))
        if name in ("hands", "chows", "sets")
        else jnp.asarray(value, getattr(state, name).dtype)
        for name, value in fields.items()
    }
    return state.replace(**like)


def test_first_draws_are_told_by_turn_order():
    names = ("dealer", "winner", "draws", "ending", "melds")
    grid = np.array(
        [
            (dealer, winner, draws, ending, melds)
            for dealer in range(4)
            for winner in range(4)
            for draws in range(6)
            for ending in (SELF_DRAW, ON_DISCARD)
            for melds in (0, 1)
        ],
        np.int32,
    )

    def first_of(dealer, winner, draws, ending, melds):
        state = _state().replace(dealer=dealer, winner=winner, head=65 + draws, ending=ending)
        chows = state.chows.plus(place_of((winner + 1) % 4, jnp.int32(2)), melds.astype(jnp.uint32))
        state = state.replace(chows=chows, pending=state.drawn)
        win = win_of(state, DEFAULT)
        return jnp.stack([win.heavenly, win.earthly, win.human, win.seat_wind == 0])

    found = jax.vmap(first_of)(*grid.T).tolist()
    for row, flags in zip(grid.tolist(), found, strict=True):
        at = dict(zip(names, row, strict=True))
        drawers = [(at["dealer"] + turn) % 4 for turn in range(at["draws"] + 1)]
        is_dealer = at["winner"] == at["dealer"]
        first_own = drawers[-1] == at["winner"] and drawers.count(at["winner"]) == 1
        drew = at["ending"] == SELF_DRAW
        untouched = not at["melds"]
        assert flags == [
            untouched and drew and first_own and is_dealer,
            untouched and drew and first_own and not is_dealer,
            untouched and not drew and at["winner"] not in drawers,
            is_dealer,
        ], at


def test_winning_tile_is_taken_out_only_on_a_self_draw():
    dealt = _state(dealer=2)
    drawn = int(dealt.drawn)
    before = np.asarray(packed.to_counts(dealt.hands.to_array()[2])).astype(int)
    win = win_of(_state(dealer=2, winner=2, ending=SELF_DRAW), DEFAULT)
    after = before - np.eye(34, dtype=int)[drawn]
    assert int(win.kind) == drawn
    assert packed.to_counts(win.hand).tolist() == after.tolist()
    for ending in (ON_DISCARD, ROBBED_KONG):
        fields = {"winner": 3, "ending": ending, "pending": 33, "drawn": -1}
        win = win_of(_state(dealer=2, **fields), DEFAULT)
        assert int(win.kind) == 33
        assert bool(win.robbed_kong) == (ending == ROBBED_KONG)
        assert not win.self_draw
        assert win.hand.tolist() == dealt.hands.to_array()[3].tolist()


def test_last_tile_counts_the_reserve():
    for tail, is_last in ((80, True), (81, False)):  # 65 to 80 are the 16 of the reserve
        win = win_of(_state(winner=0, ending=SELF_DRAW, tail=tail), DEFAULT)
        assert bool(win.last_tile) == is_last


def _finished(won, dealer, winner, actor, streak):
    """Puts a won hand into a finished state."""
    win = to_win(won)
    ending = {"self_draw": SELF_DRAW, "discard": ON_DISCARD, "rob_kong": ROBBED_KONG}[won.win_by]
    drawn = packed.in_suit(jnp.int32(won.win_tile // 9), packed.tile(jnp.int32(won.win_tile)))
    self_draw = ending == SELF_DRAW
    hands = np.zeros((4, 4), np.uint32)
    hands[winner] = win.hand + (np.asarray(drawn) if self_draw else np.uint32(0))
    row = np.eye(4, dtype=np.uint32)[winner][:, None]
    return _state(
        dealer=dealer,
        hands=hands,
        chows=row * win.chows[None],
        sets=row * win.sets[None],
        drawn=won.win_tile if self_draw else -1,
        pending=-1 if self_draw else won.win_tile,
        head=90,
        tail=105 if won.last_tile else 120,
        replacement=win.replacement,
        round_wind=won.round_wind,
        streak=streak,
        actor=winner if self_draw else actor,
        winner=winner,
        ending=ending,
    )


def test_settled_states_agree_with_the_reference():
    rng = random.Random(11)
    states, expected = [], []
    while len(states) < 60:
        won = random_hand(rng)
        if won.heavenly or won.earthly or won.human:
            continue
        winner, streak = rng.randrange(4), rng.randrange(3)
        dealer = (winner - won.seat_wind) % 4
        actor = (winner + rng.randrange(1, 4)) % 4
        states.append(_finished(won, dealer, winner, actor, streak))
        reference = oracle_rules.Rules()
        hand_tai = sum(score.score(won, reference).values())
        others = [seat for seat in range(4) if seat != winner]
        payers = others if won.win_by == "self_draw" else [actor]
        expected.append(score.payments(winner, payers, hand_tai, dealer, streak, reference))
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    points = jax.jit(jax.vmap(lambda state: settle(state, DEFAULT)))(batch)
    assert points.dtype == jnp.float32
    assert points.tolist() == expected


@pytest.mark.parametrize("ending", [RUNNING, DRAWN, ILLEGAL])
def test_nobody_pays_without_a_win(ending):
    assert settle(_state(ending=ending), DEFAULT).tolist() == [0, 0, 0, 0]
    later = _state(ending=ending, drawn=-1, pending=20, actor=2)
    assert settle(later, DEFAULT).tolist() == [0, 0, 0, 0]


def test_plain_jit_and_vmap_agree():
    rng = random.Random(2)
    hands = [random_hand(rng) for _ in range(20)]
    rows, totals = _score(to_wins(hands), DEFAULT)
    chex.assert_shape(rows, (20, NUM_ITEMS))
    assert rows.dtype == jnp.int8 and totals.dtype == jnp.int32
    of_one = jax.jit(lambda win: (tai(win, DEFAULT), total(win, DEFAULT)))
    for i, won in enumerate(hands):
        row, sum_of_row = of_one(to_win(won))
        assert row.tolist() == rows[i].tolist() and int(sum_of_row) == int(totals[i])
    assert tai(to_win(hands[0]), DEFAULT).tolist() == rows[0].tolist()
    assert int(total(to_win(hands[0]), DEFAULT)) == int(totals[0])


def test_second_call_does_not_compile_again():
    rng = random.Random(4)
    of_state = jax.jit(chex.assert_max_traces(lambda state: settle(state, DEFAULT), n=1))
    for _ in range(2):
        won = dataclasses.replace(random_hand(rng), heavenly=False, earthly=False, human=False)
        of_state(_finished(won, 0, 1, 2, 0))


def test_every_item_has_its_names():
    assert set(ITEMS) <= set(score.ITEM_ORDER)
    assert [item for item in score.ITEM_ORDER if item in ITEMS] == list(ITEMS)
    assert all(name.english and name.chinese for name in NAMES.values())
    assert len({name.chinese for name in NAMES.values()}) == NUM_ITEMS
