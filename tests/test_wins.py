"""Won hands under all options against the reference: a small run of `python -m tests.wins`."""

import dataclasses
import random
import sys
from collections import Counter

import pytest

from mjx.rules import Rules
from mjx.score import ITEMS
from tests import wins
from tests.oracle import rules as reference
from tests.won_hands import random_hand

# What changes the play or the payment, but no item.
FLOW = {
    *("reserve", "reserve_per_kong", "concealed_kong_shown", "seat_wind_mode", "hand_mode"),
    *("base", "unit", "min_tai", "streak_cap", "wall_mode", "multi_ron", "guoshui"),
    *("swap_calling", "forbid_upstream_kong", "open_kong_win", "tail_no_calls"),
}


def test_every_item_occurs_and_agrees():
    seen = wins.run_block(1, 4000)
    assert min(seen[item] for item in ITEMS) >= 3, seen


@pytest.mark.parametrize("seed", [0, *range(3, 25, 2)])
def test_random_tables_agree(seed):
    seen = wins.run_block(seed, 500)
    assert len(+seen) > 20


def test_tables_draw_every_option():
    tables = [wins.table_of(seed) for seed in range(200)]
    default = reference.Rules()
    drawn = {
        field.name
        for field in dataclasses.fields(Rules)
        if any(getattr(table, field.name) != getattr(default, field.name) for table in tables)
    }
    assert drawn >= {field.name for field in dataclasses.fields(Rules)} - FLOW
    assert set(reference.PRESETS.values()) <= set(tables)


def test_hands_come_in_all_sorts():
    rng, table = random.Random(5), wins.table_of(1)
    hands = [random_hand(rng, table) for _ in range(3000)]
    kongs = Counter(sum("kong" in form for form, _ in won.melds) for won in hands)
    assert min(kongs[number] for number in range(6)) > 0, kongs
    assert {won.win_by for won in hands} == {"self_draw", "discard", "rob_kong"}
    assert {len(won.melds) for won in hands} == set(range(6))
    assert {len(won.flowers) for won in hands} == set(range(9))
    assert {won.declared for won in hands} == {"", "tianting", "diting"}
    assert {won.special for won in hands} == {"", "sigangpai", "baxian", "qiqiangyi"}
    for won in hands:
        assert sum(won.concealed) == 16 - 3 * len(won.melds)
        assert not won.after_kong or won.flowers or won.melds


def test_a_difference_names_seed_hand_and_items(monkeypatch):
    def items_of(won, table):
        return {"zimo": 1} if won.declared == "diting" else real(won, table)

    real = wins.items_of
    monkeypatch.setattr(wins, "items_of", items_of)
    with pytest.raises(AssertionError) as difference:
        wins.run_block(1, 4000)
    text = str(difference.value)
    assert text.startswith("seed 1: ") and "diting" in text.split("\n")[0]
    assert "reference: {'zimo': 1}\nmjx.score: {" in text


@pytest.mark.parametrize("found, status", [(5, 0), (0, 1), (None, 1)])
def test_command_fails_on_a_difference_and_on_what_never_occurred(
    monkeypatch, capsys, found, status
):
    def run(num_hands, seed, processes):
        if found is None:
            raise AssertionError("seed 7: 1m 1m")
        return Counter(dict.fromkeys(ITEMS, 5) | {"ligu": found})

    monkeypatch.setattr(wins, "run", run)
    monkeypatch.setattr(sys, "argv", ["wins", "--hands", "10"])
    assert wins.main() == status
    printed = capsys.readouterr().out
    assert ("NEVER" in printed) == (found == 0)
    assert ("seed 7: 1m 1m" in printed) == (found is None)
