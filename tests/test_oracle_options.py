"""What the options change in the flow of the reference's game."""

import random
from dataclasses import replace

import pytest

from tests.oracle import actions
from tests.oracle.actions import CONCEALED_KONG, DECLARE, PASS, WIN
from tests.oracle.game import Game
from tests.oracle.players import choose
from tests.oracle.rules import PRESETS, Rules
from tests.oracle.scenes import LOCKS, SCENES, WAITS_GREEN, WINS
from tests.oracle.score import meld_tiles
from tests.oracle.scripts import Scene, run
from tests.oracle.tiles import parse
from tests.oracle.walls import random_wall, rich_wall, wall_with, with_tile_at

FLOWERS = Rules(n_flowers=8)


def with_rules(scene, **options):
    return replace(scene, rules=replace(scene.rules, **options))


@pytest.mark.parametrize(
    "rules",
    [
        *PRESETS.values(),
        FLOWERS,
        Rules(n_flowers=8, wall_mode="stable_draw"),
        Rules(wall_mode="stable_draw", reserve_per_kong=1),
        Rules(reserve=0, reserve_per_kong=2, tail_no_calls=5),
        Rules(multi_ron=True, guoshui="off", min_tai=2),
        Rules(guoshui="until_discard", swap_calling="same", open_kong_win=False),
        Rules(guoshui="ron_only", swap_calling="same_and_suji", tai_cap=8, streak_cap=1),
        Rules(tianting=8, diting=4, ligu=8, sigangpai=8),
        Rules(hand_tiles=13, reserve=0, n_flowers=8, tianting=8, diting=4, sigangpai=8),
        Rules(seat_wind_mode="wall_break", menqing_zimo=0, tianhu=0, dihu=0, renhu=0),
    ],
)
def test_random_games_keep_the_tiles_and_the_points(rules):
    for seed in range(15):
        rng = random.Random(seed)
        # Some games are played with an eye on winning, since random play hardly ever does.
        is_rich = seed % 3 == 0
        wall = rich_wall(seed, rules) if is_rich else random_wall(seed, rules)
        game = Game(wall, seed % 4, seed // 4, seed % 3, rules, dice_sum=7)
        dealt = len(game.wall.left()) + sum(map(sum, game.hands)) + sum(map(len, game.flowers))
        while not game.terminated:
            options = game.legal_actions()
            assert options and options != [PASS]
            game.step(choose(game, rng) if is_rich else rng.choice(options))
        assert dealt - _num_tiles(game) in ({0, 1} if game.win_by == "rob_kong" else {0})
        assert sum(game.rewards) == 0
        assert (game.winner is None) == (game.rewards == [0, 0, 0, 0])


def _num_tiles(game):
    melded = sum(len(meld_tiles(meld)) for melds in game.melds for meld in melds)
    held = sum(map(sum, game.hands)) + sum(map(sum, game.rivers))
    return held + melded + len(game.wall.left()) + sum(map(len, game.flowers))


def test_guoshui_until_discard():
    game = with_rules(SCENES["passed_win_then_drawn"], guoshui="until_discard").play()
    assert game.locked[3]
    assert WIN not in game.legal_actions()
    run(game, "3:E")
    assert not game.locked[3]
    game = with_rules(LOCKS["kong_declines_the_win"], guoshui="until_discard").play()
    assert game.locked[0]
    assert WIN not in game.legal_actions()


def test_guoshui_ron_only():
    game = with_rules(SCENES["passed_win_then_drawn"], guoshui="ron_only").play()
    assert game.locked[3]
    assert WIN in game.legal_actions()
    game = with_rules(SCENES["passed_self_draw"], guoshui="ron_only").play()
    assert game.locked == [False] * 4
    game = with_rules(LOCKS["passed_robbery"], guoshui="ron_only").play()
    assert game.locked[1]


def test_guoshui_off():
    game = with_rules(SCENES["passed_win"], guoshui="off").play()
    assert game.locked == [False] * 4
    run(game, "1:5m 3:win")
    assert game.winner == 3


def test_swap_calling_bars_the_kind_of_a_pong():
    scene = Scene(wall_with(["", "555p 258m 258s ESWNCFP", "", ""], "5p"), "0:5p 1:pong")
    for mode, is_barred in (("none", False), ("same", False), ("same_and_suji", True)):
        game = with_rules(scene, swap_calling=mode).play()
        assert (parse("5p") not in game.legal_actions()) == is_barred


def test_a_claim_that_leaves_no_discard_is_illegal():
    # Four melds and 3m 4m 5m 5m: a chow of 2m leaves 5m only, the other end of the run.
    scene = SCENES["chow_from_1"]
    for mode, is_offered in (("none", True), ("same", True), ("same_and_suji", False)):
        game = Game(scene.wall, 1, rules=Rules(swap_calling=mode))
        lowest = [parse(tile) for tile in ("1p", "1p", "1p", "1p")]
        game.melds[2] = [("chow", kind) for kind in lowest]
        game.hands[2] = [0] * 34
        for tile in ("3m", "4m", "5m", "5m"):
            game.hands[2][parse(tile)] += 1
        run(game, "1:2m")
        offered = []
        while game.actor == 1:
            offered += game.legal_actions() if game.current_player == 2 else []
            game.step(PASS)
        assert (actions.CHOW_LOW in offered) == is_offered


def test_open_kong_win():
    scene = Scene(WINS["open_kong"].wall, "0:5p 1:kong")
    assert WIN in scene.play().legal_actions()
    game = with_rules(scene, open_kong_win=False).play()
    assert WIN not in game.legal_actions()
    assert game.locked == [False] * 4
    further = Scene(WINS["own_kong_after_an_open_kong"].wall, "0:5p 1:kong 1:ankong-9m")
    assert WIN in further.play().legal_actions()
    assert WIN not in with_rules(further, open_kong_win=False).play().legal_actions()


def test_open_kong_gangkai():
    game = with_rules(WINS["open_kong"], open_kong_gangkai=True).play()
    assert game.tai_items == {"zimo": 1, "gangkai": 1, "duting": 1}


@pytest.mark.parametrize(("drift_to", "seat", "is_legal"), [(2, 1, True), (1, 2, False)])
def test_reserve_per_kong(drift_to, seat, is_legal):
    hands = ["", "", "", ""]
    hands[seat] = "EEEE 258m 258p 258s NCF"
    game = Scene(wall_with(hands), drift_to=drift_to, rules=Rules(reserve_per_kong=1)).play()
    assert game.current_player == seat
    assert (CONCEALED_KONG + parse("E") in game.legal_actions()) == is_legal
    if is_legal:
        run(game, f"{seat}:ankong-E")
        assert game.drawable == 0


def test_min_tai():
    # The robber's hand has 3 tai.
    assert with_rules(SCENES["rob_kong"], min_tai=3).play().current_player == 1
    game = with_rules(SCENES["rob_kong"], min_tai=4).play()
    assert (game.current_player, game.drawn) == (0, parse("9m"))
    assert game.locked == [False] * 4


def test_caps():
    # Hand tai 1 + 1, the dealer pays 1 + 2 x 3.
    scene = WINS["dealer_discards"]
    assert scene.play().rewards[0] == -(1000 + 500 * 9)
    assert with_rules(scene, tai_cap=1).play().rewards[0] == -(1000 + 500 * 8)
    assert with_rules(scene, streak_cap=2).play().rewards[0] == -(1000 + 500 * 7)


def test_wall_break_moves_the_seat_winds():
    wall = wall_with(["", "", "", ""])
    game = Game(wall, dealer=2, rules=Rules(seat_wind_mode="wall_break"), dice_sum=7)
    assert [game.seat_wind(seat) for seat in range(4)] == [0, 1, 2, 3]
    assert Game(wall, dealer=2, dice_sum=7).seat_wind(2) == 0


def test_stable_draw_takes_from_the_own_wall():
    scene = Scene(
        wall_with(["EEEE", "", "", ""]), "0:ankong-E", rules=Rules(wall_mode="stable_draw")
    )
    game = scene.play()
    assert game.drawn == scene.wall[65 + 16]
    game.step(game.drawn)
    while PASS in game.legal_actions():
        game.step(PASS)
    assert game.drawn == scene.wall[65 + 17]
    assert game.drawable == 53


def test_thirteen_tiles():
    rules = PRESETS["thirteen"]
    wall = wall_with(["123456789m 12p EE", "", "", ""], "3p", rules=rules)
    game = Game(wall, rules=rules)
    assert [sum(hand) for hand in game.hands] == [14, 13, 13, 13]
    assert game.drawable == 136 - 53
    run(game, "0:win")
    assert game.tai_items == {"tianhu": 16}


def test_sigangpai():
    game = with_rules(SCENES["four_kongs"], sigangpai=8).new_game()
    run(game, "0:ankong-1m 0:ankong-3p 0:ankong-5s 0:ankong-E")
    assert (game.winner, game.tai_items) == (0, {"sigangpai": 8})
    assert game.rewards == [16500, -5500, -5500, -5500]


def test_tianting():
    scene = Scene(
        wall_with(["", WAITS_GREEN, "", ""], "1p 9s N N 2s 3p F"), rules=Rules(tianting=8)
    )
    game = scene.play()
    assert (game.current_player, game.legal_actions()) == (1, [PASS, DECLARE])
    run(game, "1:declare")
    assert game.ready == ["", "tianting", "", ""]
    assert game.current_player == 0
    # Seat 1 could chow the 1p; declared, it is not asked and draws.
    run(game, "0:1p")
    assert (game.current_player, game.legal_actions()) == (1, [parse("9s")])
    run(game, "1:9s 2:N 3:N 0:2s 1:3p 2:F 1:win")
    assert game.tai_items == {"tianting": 8, "duting": 1}

    game = scene.play()
    run(game, "1:pass 0:1p")
    assert game.current_player == 1
    assert actions.CHOW_LOW in game.legal_actions()


def test_diting_and_a_kong_that_keeps_the_wait():
    wall = wall_with(
        ["", "EEE 123m 123p 123s 99s FP", "", ""],
        "N F N N N E",
        replacements="P",
    )
    scene = Scene(wall, "0:N 1:P", rules=Rules(diting=4))
    game = scene.play()
    assert (game.current_player, game.legal_actions()) == (1, [PASS, DECLARE])
    run(game, "1:declare 2:N 3:N 0:N")
    # 9s and F are waited for; the kong of E leaves it so.
    assert (game.current_player, game.drawn) == (1, parse("E"))
    assert game.legal_actions() == [parse("E"), CONCEALED_KONG + parse("E")]
    run(game, "1:ankong-E")
    assert game.legal_actions() == [parse("P")]


def test_dealt_flowers_are_replaced_round_by_round():
    # The tail gives f3 and 9m to the dealer, then 8m to seat 1, then 7m for f3.
    wall = wall_with(["f1 f2", "f5", "", ""], "C", replacements="f3 9m 8m 7m", rules=FLOWERS)
    wall = with_tile_at(wall, 100, "f4")
    game = Game(wall, rules=FLOWERS)
    assert game.flowers == [[1, 2, 3], [5], [], []]
    assert [sum(hand) for hand in game.hands] == [17, 16, 16, 16]
    assert game.hands[0][parse("9m")] >= 1
    assert game.hands[1][parse("8m")] >= 1
    assert game.drawn == parse("C")
    assert game.drawable == 144 - 65 - 16 - 4


def test_flower_replacement_is_gangkai():
    wall = wall_with(["", WAITS_GREEN, "", ""], "9s N N N N f2", "F", rules=FLOWERS)
    game = Game(wall, rules=FLOWERS)
    run(game, "0:9s 1:N 2:N 3:N 0:N 1:win")
    # Seat 1 is South, whose season is f2.
    assert game.tai_items == {"menqing_zimo": 3, "duting": 1, "gangkai": 1, "flower": 1}


def test_last_tile_a_flower_ends_the_hand():
    wall = with_tile_at(wall_with(["", "", "", ""], rules=FLOWERS), 65 + 62, "f1")
    game = Scene(wall, drift_to=1, rules=FLOWERS).play()
    game.step(game.drawn)
    while not game.terminated and PASS in game.legal_actions():
        game.step(PASS)
    assert game.terminated
    assert game.winner is None
    assert game.flowers == [[], [], [], [1]]


def test_baxian_and_qiqiangyi():
    seven = "f1 f2 f3 f4 f5 f6 f7"
    wall = wall_with(["", seven, "", ""], "9s f8", "1m1m1m1m2m2m2m", rules=FLOWERS)
    game = Scene(wall, "0:9s", rules=FLOWERS).play()
    while PASS in game.legal_actions():
        game.step(PASS)
    assert (game.winner, game.win_by, game.tai_items) == (1, "self_draw", {"baxian": 8})
    assert game.rewards == [-5500, 15500, -5000, -5000]

    wall = wall_with(["", seven, "", ""], "9s N f8", "1m1m1m1m2m2m2m", rules=FLOWERS)
    game = Scene(wall, "0:9s 1:N", rules=FLOWERS).play()
    while PASS in game.legal_actions():
        game.step(PASS)
    assert (game.winner, game.win_by, game.tai_items) == (1, "rob_flower", {"qiqiangyi": 8})
    assert game.rewards == [0, 5000, -5000, 0]

    game = Scene(wall, "0:9s 1:N", rules=replace(FLOWERS, qiqiangyi=0)).play()
    while PASS in game.legal_actions():
        game.step(PASS)
    assert not game.terminated
