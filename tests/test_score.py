"""Tai and payments against the case files, the plain reference, and arithmetic.

Random won hands under all options are compared in `test_wins.py`.
"""

import dataclasses
import random
from functools import cache, partial

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjx
from mjx import packed, tables
from mjx import state as st
from mjx.rules import DEFAULT, Rules
from mjx.score import (
    ITEMS,
    NAMES,
    NUM_ITEMS,
    payments,
    points,
    result_of,
    settle,
    shapes,
    tai,
    total,
    win_of,
)
from mjx.seats import SeatHands, place_of
from mjx.state import DRAWN, ILLEGAL, ON_DISCARD, ROBBED_KONG, RUNNING, SELF_DRAW
from tests.oracle import cases, hand, score
from tests.oracle import rules as oracle_rules
from tests.won_hands import Won, items_of, random_hand, to_win, to_wins

_ENDINGS = {"self_draw": SELF_DRAW, "discard": ON_DISCARD, "rob_kong": ROBBED_KONG}


@partial(jax.jit, static_argnames="rules")
def _score(wins, rules):
    """Scores a batch: int16[B, NUM_ITEMS], int32[B]."""
    return jax.vmap(lambda win: (tai(win, rules), total(win, rules)))(wins)


def _as_dict(row):
    return {item: int(value) for item, value in zip(ITEMS, row, strict=True) if value}


@pytest.mark.parametrize("case", cases.load("hands"), ids=lambda case: case["id"])
def test_won_hand_has_the_tai_of_the_case(case):
    won = Won(**vars(cases.won_hand_of(case)))
    wins = to_wins([won], cases.rules_of(case))
    rows, totals = _score(wins, Rules(**case.get("options", {})))
    of_dealer = ("dealer", "dealer_streak")
    expected = {item: n for item, n in case["expected_tai"].items() if item not in of_dealer}
    assert _as_dict(rows[0]) == expected
    dealer_tai = sum(case["expected_tai"].get(item, 0) for item in of_dealer)
    assert totals[0] + dealer_tai == case["total"]


def test_tie_goes_to_the_earlier_item():
    # 111222333m as chows: pinghu 2. As triplets: three concealed triplets 2. Menqing either way.
    counts = [0] * 34
    for kind in (0, 0, 0, 1, 1, 1, 2, 2, 2, 9, 9, 12, 13, 14, 21, 22):
        counts[kind] += 1
    won = Won(tuple(counts), (), 23, "discard", seat_wind=1, round_wind=0)
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


@cache
def _dealt(dealer):
    """Deals a hand."""
    return mjx.init(jax.random.key(5), DEFAULT, dealer)


def _state(dealer=0, **fields):
    """Takes a dealt hand and sets some fields of the state; those of other tables are words."""
    state = _dealt(dealer)
    like = {
        name: SeatHands.from_array(jnp.asarray(value, jnp.uint32))
        if name in ("hands", "chows", "sets")
        else jnp.asarray(value, getattr(getattr(state, name), "dtype", jnp.uint32))
        for name, value in fields.items()
    }
    return state.replace(**like)


@pytest.mark.parametrize(
    "rules", [DEFAULT, Rules(hand_tiles=13), Rules(n_flowers=8), Rules(wall_mode="stable_draw")]
)
def test_first_draws_are_told_by_turn_order(rules):
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
    drawers = [[(row[0] + turn) % 4 for turn in range(row[2] + 1)] for row in grid.tolist()]
    plain = [sum(1 << 8 * seat for seat in seats[1:]) for seats in drawers]

    def first_of(dealer, winner, draws, ending, melds, sub_draws):
        state = _state().replace(dealer=dealer, winner=winner, ending=ending)
        if rules.wall_mode == "stable_draw":
            state = state.replace(sub_draws=sub_draws)
        else:
            state = state.replace(head=4 * rules.hand_tiles + 1 + draws)
        chows = state.chows.plus(place_of((winner + 1) % 4, jnp.int32(2)), melds.astype(jnp.uint32))
        win = win_of(state.replace(chows=chows, pending=state.drawn), rules)
        return jnp.stack([win.heavenly, win.earthly, win.human])

    found = jax.vmap(first_of)(*grid.T, np.array(plain, np.uint32)).tolist()
    for row, drew, flags in zip(grid.tolist(), drawers, found, strict=True):
        at = dict(zip(names, row, strict=True))
        is_dealer = at["winner"] == at["dealer"]
        first_own = drew[-1] == at["winner"] and drew.count(at["winner"]) == 1
        self_drawn = at["ending"] == SELF_DRAW
        if self_drawn and drew[-1] != at["winner"]:
            continue  # only who drew last can win so
        untouched = not at["melds"]
        assert flags == [
            untouched and self_drawn and first_own and is_dealer,
            untouched and self_drawn and first_own and not is_dealer,
            untouched and not self_drawn and at["winner"] not in drew,
        ], at


def test_seat_winds_are_counted_from_the_dealer():
    for dealer in range(4):
        winds = [int(win_of(_state(dealer, winner=w), DEFAULT).seat_wind) for w in range(4)]
        assert winds == [(seat - dealer) % 4 for seat in range(4)]


def test_what_some_tables_need_is_read_where_they_do():
    win = win_of(_state(winner=2, ending=SELF_DRAW), DEFAULT)
    assert (win.ready, win.flowers, win.special) == (None, None, None)
    fields = {"ready": 0b0010_0100, "flowers": 0x81_F0_02_0C, "winner": 2, "ending": SELF_DRAW}
    table = Rules(n_flowers=8, tianting=8, diting=4)
    for seat, ready, flowers in ((0, 0, 0x0C), (1, 2, 0x02), (2, 1, 0xF0), (3, 0, 0x81)):
        win = win_of(_state(**{**fields, "winner": seat}), table)
        assert (int(win.ready), int(win.flowers), int(win.special)) == (ready, flowers, 0)
    win = win_of(_state(**{**fields, "ending": st.EIGHT_FLOWERS}), table)
    assert int(win.special) == st.EIGHT_FLOWERS
    assert win_of(_state(), Rules(n_flowers=8, baxian=0, qiqiangyi=0)).special is None
    assert win_of(_state(), Rules(sigangpai=8)).special is not None


def test_fields_left_out_score_nothing():
    won = random_hand(random.Random(1))
    table = Rules(n_flowers=8, tianting=8, diting=4, sigangpai=8)
    assert tai(to_win(won), table).tolist() == tai(to_win(won), DEFAULT).tolist()


def test_large_tai_are_not_cut_off():
    table = oracle_rules.Rules(n_flowers=8, flower=100)
    won = dataclasses.replace(random_hand(random.Random(1)), flowers=(1, 5), seat_wind=0)
    row, sum_of_row = _score(to_wins([won], table), Rules(n_flowers=8, flower=100))
    assert _as_dict(row[0]) == items_of(won, table)
    assert _as_dict(row[0])["flower"] == 200 and sum_of_row[0] > 200


def test_seven_pairs_and_a_triplet_agree_with_the_reference():
    rng = random.Random(3)
    hands = []
    for _ in range(600):
        counts = [0] * 34
        kinds = rng.sample(range(34), rng.choice((5, 6, 9)))
        while sum(counts) < 17:  # pairs with a few tiles more or less
            counts[rng.choice(kinds)] = rng.choice((2, 2, 2, 2, 3, 4))
        while sum(counts) > 17:
            counts[rng.choice([kind for kind in kinds if counts[kind]])] -= 1
        hands.append(counts)
    found = jax.jit(jax.vmap(mjx.hand.is_ligu))(packed.from_counts(np.array(hands))).tolist()
    assert found == [hand.is_ligu(counts) for counts in hands] and 20 < sum(found) < 500
    rest = [_without_one(rng, counts) for counts in hands]
    waits = jax.jit(jax.vmap(lambda tiles: mjx.hand.waits(tiles, ligu=True)))
    kinds = np.asarray(packed.kinds_to_bools(waits(packed.from_counts(np.array(rest)))))
    for counts, waited in zip(rest, kinds, strict=True):
        expected = hand.waits(counts, 0, [0] * 34, ligu=True)
        assert set(np.flatnonzero(waited).tolist()) == expected, counts
    assert kinds.sum() > 100


def _without_one(rng, counts):
    """Takes away a tile at random."""
    kind = rng.choice([kind for kind in range(34) for _ in range(counts[kind])])
    return [n - (k == kind) for k, n in enumerate(counts)]


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


def _finished(hands, dealer, giver, streak, **fields):
    """Puts won hands, by the winner's seat, into a finished state; all have one winning tile."""
    winner, won = next(iter(hands.items()))
    self_draw = won.win_by == "self_draw"
    rows = {name: np.zeros((4, 4), np.uint32) for name in ("hands", "chows", "sets")}
    for seat, held in hands.items():
        win = to_win(held)
        rows["hands"][seat], rows["chows"][seat], rows["sets"][seat] = win.hand, win.chows, win.sets
    if self_draw:
        rows["hands"][winner, won.win_tile // 9] += np.uint32(1 << 3 * (won.win_tile % 9))
    fields = {
        "drawn": won.win_tile if self_draw else -1,
        "pending": -1 if self_draw else won.win_tile,
        "head": 90,
        "tail": 105 if won.last_tile else 120,
        "replacement": to_win(won).replacement,
        "round_wind": won.round_wind,
        "actor": winner if self_draw else giver,
        "ending": _ENDINGS[won.win_by],
    } | fields
    return _state(dealer, winner=winner, streak=streak, **rows, **fields)


def _late_hand(rng):
    """Builds a won hand that is no first draw."""
    return dataclasses.replace(random_hand(rng), heavenly=False, earthly=False, human=False)


def _settled(states, rules):
    """Settles states as one batch, by way of their stacked results: lists of points."""
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    results = jax.jit(jax.vmap(lambda state: result_of(state, rules)))(batch)
    paid = jax.jit(jax.vmap(lambda result: points(result, rules)))(results)
    assert paid.dtype == jnp.float32
    assert paid.tolist() == jax.jit(jax.vmap(lambda s: settle(s, rules)))(batch).tolist()
    assert results.is_won.shape == (len(states),)
    return paid.tolist()


def test_settled_states_agree_with_the_reference():
    rng, reference = random.Random(11), oracle_rules.Rules()
    states, expected = [], []
    for _ in range(60):
        won = _late_hand(rng)
        winner, streak = rng.randrange(4), rng.randrange(3)
        dealer = (winner - won.seat_wind) % 4
        actor = (winner + rng.randrange(1, 4)) % 4
        states.append(_finished({winner: won}, dealer, actor, streak))
        hand_tai = sum(score.score(won, reference).values())
        others = [seat for seat in range(4) if seat != winner]
        payers = others if won.win_by == "self_draw" else [actor]
        expected.append(score.payments(winner, payers, hand_tai, dealer, streak, reference))
    assert _settled(states, DEFAULT) == expected


def test_several_winners_are_paid_each():
    rng = random.Random(12)
    options = {"multi_ron": True, "tai_cap": 7}
    reference = oracle_rules.Rules(**options)
    pools = {}
    for _ in range(3000):
        won = dataclasses.replace(_late_hand(rng), last_tile=False, round_wind=0)
        pools.setdefault((won.win_by, won.win_tile), []).append(won)
    pools = [pool for pool in pools.values() if len(pool) >= 3]
    states, expected, numbers = [], [], set()
    for _ in range(80):
        pool = rng.choice(pools)
        dealer, actor, streak = rng.randrange(4), rng.randrange(4), rng.randrange(3)
        others = [(actor + turn) % 4 for turn in (1, 2, 3)]
        is_drawn = pool[0].win_by == "self_draw"
        seats = [actor] if is_drawn else sorted(rng.sample(others, rng.randrange(1, 4)))
        seats.sort(key=lambda seat: (seat - actor) % 4)
        hands = {
            seat: dataclasses.replace(won, seat_wind=(seat - dealer) % 4)
            for seat, won in zip(seats, rng.sample(pool, 3), strict=False)
        }
        bits = sum(1 << seat for seat in seats)
        states.append(_finished(hands, dealer, actor, streak, winners=bits))
        paid = np.zeros(4)
        for seat, won in hands.items():
            hand_tai = sum(score.score(won, reference).values())
            payers = others if is_drawn else [actor]
            paid += score.payments(seat, payers, hand_tai, dealer, streak, reference)
        expected.append(paid.tolist())
        numbers.add(0 if is_drawn else len(seats))
    assert numbers == {0, 1, 2, 3}
    assert _settled(states, Rules(**options)) == expected
    several = result_of(states[0], Rules(**options))
    assert several.winner.shape == several.win.kind.shape == (3,)


@pytest.mark.parametrize("multi_ron", [False, True])
def test_special_endings_are_paid_by_all_or_by_who_drew_the_flower(multi_ron):
    rng = random.Random(13)
    options = {"n_flowers": 8, "sigangpai": 9, "baxian": 8, "qiqiangyi": 7, "multi_ron": multi_ron}
    reference = oracle_rules.Rules(**options)
    endings = {
        "sigangpai": st.FOUR_KONGS,
        "baxian": st.EIGHT_FLOWERS,
        "qiqiangyi": st.EIGHTH_FLOWER_ROBBED,
    }
    states, expected = [], []
    for item in list(endings) * 8:
        winner, dealer, streak = rng.randrange(4), rng.randrange(4), rng.randrange(3)
        actor = (winner + rng.randrange(1, 4)) % 4
        fields = {"ending": endings[item], "actor": actor, "pending": -1, "drawn": -1}
        fields |= {"flowers": 0, **({"winners": 0} if multi_ron else {})}
        states.append(_finished({winner: _late_hand(rng)}, dealer, actor, streak, **fields))
        others = [seat for seat in range(4) if seat != winner]
        payers = [actor] if item == "qiqiangyi" else others
        tai_of = getattr(reference, item)
        expected.append(score.payments(winner, payers, tai_of, dealer, streak, reference))
    assert _settled(states, Rules(**options)) == expected


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
    assert rows.dtype == jnp.int16 and totals.dtype == jnp.int32
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
        of_state(_finished({1: _late_hand(rng)}, 0, 2, 0))


def test_every_item_has_its_names():
    assert score.ITEM_ORDER == ITEMS
    assert all(name.english and name.chinese for name in NAMES.values())
    assert len({name.chinese for name in NAMES.values()}) == NUM_ITEMS
