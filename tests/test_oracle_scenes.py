"""Wins and passed wins under the default rules, in scripted games of the reference."""

import pytest

from tests.oracle.actions import CONCEALED_KONG, WIN
from tests.oracle.scenes import LOCKS, SCENES, WINS
from tests.oracle.tiles import parse

SELF_DRAWN = {"menqing_zimo": 3, "duting": 1}
ITEMS = {
    "tianhu": {"tianhu": 16},
    "tianhu_of_triplets": {"tianhu": 16, "anke5": 8, "pengpenghu": 4},
    "dihu": {"dihu": 16, "duting": 1},
    "no_dihu_after_a_kong": SELF_DRAWN,
    "no_dihu_after_a_claim": SELF_DRAWN,
    "renhu_after_discards_of_others": {"renhu": 16, "duting": 1},
    "no_renhu_after_the_first_draw": {"menqing": 1, "duting": 1},
    "no_renhu_for_the_dealer": {"menqing": 1, "duting": 1},
    "gangkai": SELF_DRAWN | {"gangkai": 1, "round_wind": 1, "seat_wind": 1},
    "gangkai_of_an_added_kong": {"zimo": 1, "gangkai": 1, "duting": 1},
    "open_kong": {"zimo": 1, "duting": 1},
    "own_kong_after_an_open_kong": {"zimo": 1, "gangkai": 1, "duting": 1},
    "haidi": SELF_DRAWN | {"haidi": 1},
    "haidi_on_a_replacement": SELF_DRAWN | {"haidi": 1, "round_wind": 1},
    "hedi": {"menqing": 1, "hedi": 1, "duting": 1},
    "dealer_discards": {"menqing": 1, "duting": 1},
}


@pytest.mark.parametrize("scene", WINS)
def test_items_of_a_win(scene):
    game = WINS[scene].play()
    assert game.terminated
    assert game.tai_items == ITEMS[scene]
    hand_tai, dealer_tai = sum(ITEMS[scene].values()), 1 + 2 * WINS[scene].streak
    paid = 0
    for seat in range(4):
        is_payer = seat in _payers(game)
        extra = dealer_tai if game.dealer in (seat, game.winner) else 0
        amount = 1000 + 500 * (hand_tai + extra) if is_payer else 0
        paid += amount
        assert seat == game.winner or game.rewards[seat] == -amount
    assert game.rewards[game.winner] == paid


def _payers(game):
    if game.win_by == "self_draw":
        return {0, 1, 2, 3} - {game.winner}
    return {game.giver}


@pytest.mark.parametrize(
    ("scene", "seat", "is_locked"),
    [
        ("kong_declines_the_win", 0, True),
        ("kong_then_incomplete", 0, False),
        ("declined_tianhu", 0, True),
        ("pong_leaves_it_incomplete", 3, False),
        ("pong_leaves_it_complete", 1, True),
        ("own_discard_would_have_won", 3, True),
        ("lifted_then_won", 3, False),
        ("passed_robbery", 1, True),
    ],
)
def test_lock(scene, seat, is_locked):
    game = LOCKS[scene].play()
    assert game.locked == [is_locked and other == seat for other in range(4)]


def test_locked_seat_may_not_win_with_the_replacement():
    game = LOCKS["kong_declines_the_win"].play()
    assert (game.current_player, game.drawn) == (0, parse("4m"))
    assert WIN not in game.legal_actions()
    game.step(parse("E"))
    assert game.locked[0]


def test_history_tells_drawn_tiles_from_held_ones():
    game = LOCKS["pong_leaves_it_incomplete"].play()
    # Seat 1 draws and throws E; seat 3 throws a 3m after its pong.
    thrown = [(seat, kind) for seat, kind, _ in game.history]
    assert thrown == [(0, parse("2m")), (1, parse("E")), (3, parse("3m"))]
    assert [drawn for _, _, drawn in game.history] == [True, True, False]


def test_hand_stays_as_it_was_after_a_win():
    game = SCENES["rob_kong"].play()
    game.step(WIN)
    assert sum(game.hands[1]) == 16
    assert game.hands[0][parse("5m")] == 0
    game = WINS["dihu"].play()
    assert sum(game.hands[1]) == 17


def test_kongs_are_offered_at_once_after_a_kong():
    game = SCENES["four_kongs"].new_game()
    kinds = [parse(tile) for tile in ("1m", "3p", "5s", "E")]
    while kinds:
        offered = [a - CONCEALED_KONG for a in game.legal_actions() if 34 <= a < 68]
        assert offered == kinds
        game.step(CONCEALED_KONG + kinds.pop(0))
    assert game.drawable == 51
