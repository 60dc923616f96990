"""The facts about play (F01 to F26 of the case file), as scripted games of the reference."""

import pytest

from tests.oracle import cases
from tests.oracle.actions import (
    CHOW_LOW,
    CHOW_MIDDLE,
    CONCEALED_KONG,
    OPEN_KONG,
    PASS,
    PONG,
    WIN,
)
from tests.oracle.match import Match
from tests.oracle.scenes import SCENES
from tests.oracle.scripts import Scene, run
from tests.oracle.tiles import parse
from tests.oracle.walls import wall_with


def test_every_flow_fact_has_a_test():
    facts = {case["id"] for case in cases.load("facts", "flow")}
    tested = {f.split("_")[1].upper() for f in globals() if f.startswith("test_f")}
    assert facts == tested


def test_f01_win_before_pong_before_chow():
    game = SCENES["all_claims"].play()
    assert (game.current_player, game.legal_actions()) == (3, [WIN, PASS])
    hands = [list(hand) for hand in game.hands]
    run(game, "3:win")
    assert (game.winner, game.win_by) == (3, "discard")
    assert game.hands == hands
    assert game.melds == [[], [], [], []]
    assert game.rivers[0][parse("5p")] == 1

    game = SCENES["all_claims"].play()
    run(game, "3:pass")
    assert (game.current_player, game.legal_actions()) == (2, [PONG, PASS])
    run(game, "2:pass")
    assert (game.current_player, game.legal_actions()) == (1, [CHOW_MIDDLE, PASS])
    run(game, "1:chow_middle")
    assert game.melds[1] == [("chow", parse("4p"))]
    assert game.rivers[0][parse("5p")] == 0
    assert game.history == [(0, parse("5p"), True)]


def test_f02_next_in_turn_order_wins_alone():
    game = SCENES["two_winners"].play()
    run(game, "1:win")
    assert game.winners == [1]
    assert game.locked == [False] * 4
    # A concealed hand with a closed wait, won by renhu's discard: 16 + 1, and the dealer's 1.
    assert game.rewards == [-(1000 + 500 * 18), 1000 + 500 * 18, 0, 0]


def test_f03_a_pass_lets_the_next_one_win():
    game = SCENES["two_winners"].play()
    run(game, "1:pass")
    assert game.locked == [False, True, False, False]
    run(game, "3:win")
    assert game.winners == [3]


def test_f04_chow_from_the_player_before_only():
    for seat in (0, 1, 3):
        game = SCENES[f"chow_from_{seat}"].play()
        offered = []
        while game.actor == seat and game.current_player != seat:
            offered += [a for a in game.legal_actions() if game.current_player == 2]
            game.step(PASS)
        assert (CHOW_LOW in offered) == (seat == 1)


def test_f05_a_robbed_kong_is_not_made():
    game = SCENES["rob_kong"].play()
    kind, drawable = parse("5m"), game.drawable
    assert (game.current_player, game.legal_actions()) == (1, [WIN, PASS])
    assert game.hands[0][kind] == 0
    run(game, "1:win")
    assert game.melds[0] == [("pong", kind)]
    assert game.drawable == drawable
    # menqing 1, duting 1, qianggang 1; the dealer, seat 3, has no part in it.
    assert game.tai_items == {"menqing": 1, "duting": 1, "qianggang": 1}
    assert game.rewards == [-2500, 2500, 0, 0]


def test_f06_a_kong_not_robbed_draws_from_the_tail():
    game = SCENES["rob_kong"].play()
    drawable = game.drawable
    run(game, "1:pass")
    assert game.melds[0] == [("kong", parse("5m"))]
    assert (game.current_player, game.drawn) == (0, parse("9m"))
    assert game.drawable == drawable - 1
    assert game.locked[1]


def test_f07_replacements_leave_the_reserve_a_count():
    game = SCENES["late_kong"].play()
    assert (game.drawable, len(game.wall.left())) == (1, 17)
    assert game.drawn == SCENES["late_kong"].wall[-1]


def test_f08_the_last_discard_may_be_won_only():
    game = SCENES["last_discard"].play()
    assert game.drawable == 0
    run(game, "3:F")
    assert (game.current_player, game.legal_actions()) == (0, [WIN, PASS])
    run(game, "0:pass")
    assert game.terminated
    assert game.winner is None
    assert game.rewards == [0, 0, 0, 0]

    game = SCENES["last_discard"].play()
    run(game, "3:F 0:win")
    assert game.tai_items == {"menqing": 1, "duting": 1, "hedi": 1}


def test_f09_no_kong_without_a_tile_to_draw():
    game = SCENES["last_discard"].play()
    assert game.hands[3][parse("E")] == 4
    assert all(action < CONCEALED_KONG for action in game.legal_actions())


def test_f10_dealer_stays():
    for winners in ([2], []):
        after = Match(dealer=2, streak=2, num_changes=2).after(winners)
        assert after == Match(dealer=2, streak=3, num_changes=2)
        assert after.round_wind == 0


def test_f11_the_fourth_change_brings_the_next_round():
    after = Match(dealer=3, streak=2, num_changes=3).after([1])
    assert (after.dealer, after.streak, after.round_wind) == (0, 0, 1)


def test_f12_sixteen_changes_end_the_game():
    match = Match()
    for turn in range(16):
        assert not match.is_over
        match = match.after([match.dealer]).after([(match.dealer + 1) % 4])
        assert match.num_changes == turn + 1
    assert match.is_over


@pytest.mark.parametrize(
    "scene", ["pong_of_a_complete_hand", "pong_with_four_of_a_kind", "chow_with_four_of_a_kind"]
)
def test_f13_after_a_claim_only_a_discard(scene):
    game = SCENES[scene].play()
    assert game.drawn is None
    assert game.legal_actions() == [kind for kind in range(34) if game.hands[1][kind]]


def test_f14_the_fourth_tile_may_be_added_later():
    game = SCENES["pong_with_the_fourth"].play()
    assert max(game.legal_actions()) < CONCEALED_KONG
    run(game, "1:1m 2:W 3:C 0:N")
    assert game.current_player == 1
    run(game, "1:addkong-5p")
    assert game.melds[1] == [("kong", parse("5p"))]


def test_f15_no_win_after_a_passed_win():
    game = SCENES["passed_win"].play()
    run(game, "1:5m")
    assert (3, WIN) not in _asked_until_turn(game)
    assert game.locked[3]
    game = SCENES["passed_win_then_drawn"].play()
    assert (game.current_player, game.drawn) == (3, parse("5m"))
    assert WIN not in game.legal_actions()


def test_f16_a_discard_from_an_incomplete_hand_lifts_the_lock():
    game = SCENES["passed_win"].play()
    run(game, "1:5m 2:N 3:9s")
    assert not game.locked[3]
    run(game, "0:C 1:C 2:C")
    assert (game.current_player, game.drawn) == (3, parse("5m"))
    assert WIN in game.legal_actions()


def test_f17_a_discard_from_a_complete_hand_does_not():
    for tile in ("5m", "E", "1s"):
        game = SCENES["passed_win_then_drawn"].play()
        run(game, f"3:{tile}")
        assert game.locked[3]


def test_f18_a_passed_self_draw_locks():
    game = SCENES["passed_self_draw"].play()
    assert game.locked == [False, False, False, True]


def test_f19_no_abortive_draw():
    game = SCENES["four_kongs"].play()
    assert len(game.melds[0]) == 4
    assert not game.terminated
    game = SCENES["four_winds"].play()
    assert not game.terminated
    assert game.current_player == 0


def test_f20_all_winners_are_paid_with_the_option():
    game = SCENES["three_winners"].play()
    run(game, "1:win 2:pass 3:win")
    assert game.winners == [1, 3]
    assert game.locked == [False, False, True, False]
    game = SCENES["three_winners"].play()
    run(game, "1:win 2:win 3:win")
    assert (game.winner, game.winners) == (1, [1, 2, 3])
    # Each has renhu 16, duting 1 and the dealer's 1.
    assert game.rewards == [-30000, 10000, 10000, 10000]


def test_f21_neither_the_claimed_kind_nor_the_other_end():
    game = SCENES["chow_low_no_suji"].play()
    assert game.hands[1][parse("5m")] == 2
    assert parse("5m") not in game.legal_actions()
    assert parse("2p") in game.legal_actions()


def test_f22_not_the_claimed_kind():
    game = SCENES["chow_high_no_same"].play()
    assert game.hands[1][parse("3m")] == 2
    assert parse("3m") not in game.legal_actions()


def test_f23_no_open_kong_from_the_player_before():
    game = SCENES["upstream_kong"].play()
    assert (game.current_player, game.legal_actions()) == (1, [PONG, PASS])
    free = Scene(SCENES["upstream_kong"].wall, "0:5m").play()
    assert free.legal_actions() == [PONG, OPEN_KONG, PASS]


def test_f24_seventy_one_tiles_stay():
    game = Scene(wall_with(["", "", "", ""])).play()
    assert [sum(hand) for hand in game.hands] == [17, 16, 16, 16]
    assert (len(game.wall.left()), game.drawable) == (71, 55)


def test_f25_near_the_end_only_wins():
    game = SCENES["tail_no_calls"].play()
    assert game.drawable == 3
    run(game, "0:5p")
    assert (game.current_player, game.legal_actions()) == (3, [WIN, PASS])
    run(game, "3:pass")
    assert (game.current_player, game.drawn is not None) == (1, True)


def test_f26_a_passed_win_leaves_the_other_claims():
    game = SCENES["pong_of_a_complete_hand"].play()
    assert game.melds[1] == [("pong", parse("5p"))]
    assert game.locked[1]


def _asked_until_turn(game):
    """Passes all questions; gives (seat, action) for everything that was offered."""
    offered = []
    while game.drawn is None:
        offered += [(game.current_player, action) for action in game.legal_actions()]
        game.step(PASS)
    return offered
