"""Situations that random play hardly ever meets.

`SCENES` are those of the flow facts F01 to F26, `WINS` and `LOCKS` further ones under the default
rules. Engines can be compared on all of them by replaying `Scene.play_all`.
"""

from tests.oracle.rules import Rules
from tests.oracle.scripts import Scene
from tests.oracle.walls import wall_with, with_tile_at

# Hands that only wait, or only hold what the scene needs; honors and far tiles fill them up.
WAITS_5P = "123456789m 123s 46p EE"
WAITS_2M_5M = "34m 123456789p 123s EE"
WAITS_GREEN = "123456789m 123p 123s F"
DULL = "147m 147s 189p EWNCFPP"
CHOWS_5P = "46p 258m 47s 9p WWWNNNCC"
PONGS_5P = "55p 369m 369s SSSFFFPP"

MULTI_RON = Rules(multi_ron=True)

SCENES = {
    # Seat 0 discards 5p: seat 3 may win, seat 2 pong, seat 1 chow.
    "all_claims": Scene(wall_with(["", CHOWS_5P, PONGS_5P, WAITS_5P], "5p"), "0:5p"),
    "two_winners": Scene(wall_with(["", WAITS_5P, "", "123456789s 123p 46p PP"], "5p"), "0:5p"),
    "three_winners": Scene(
        wall_with(["", WAITS_5P, "456789s 123456m 46p SS", "123456789s 123p 46p PP"], "5p"),
        "0:5p",
        rules=MULTI_RON,
    ),
    # The same discard of 2m by each of the three others of seat 2, which holds 3m 4m.
    **{
        f"chow_from_{seat}": Scene(
            wall_with(["", "", "34m 258p 369s ESWNCFPP", ""], "2m", dealer=seat),
            f"{seat}:2m",
            dealer=seat,
        )
        for seat in (0, 1, 3)
    },
    # Seat 1 is ready for 5m only after the pong of 5m, then seat 0 adds the fourth.
    "rob_kong": Scene(
        wall_with(
            ["55m 258p 369s 19p SWNCFP", "46m 123456789s 123p EF", "", ""],
            draws="5m E N N 5m",
            replacements="9m",
            dealer=3,
        ),
        "3:5m 0:pong 0:P 1:F 2:N 3:N 0:addkong-5m",
        dealer=3,
    ),
    "late_kong": Scene(
        wall_with(["", "EEEE 258m 258p 258s NCF", "", ""]), "1:ankong-E", drift_to=2
    ),
    "last_discard": Scene(
        wall_with([WAITS_GREEN, "", "FF 258m 258p 258s 13579s", "F EEEE 147m 147p 147s NC"]),
        drift_to=0,
    ),
    # Seat 1 may win with 5p by its pair or triplet, or pong it and be complete all the same.
    "pong_of_a_complete_hand": Scene(
        wall_with(["", "55p 123456789m 123s EE", "", ""], "5p"), "0:5p 1:pass 1:pong"
    ),
    "pong_with_four_of_a_kind": Scene(
        wall_with(["", "55p EEEE 258m 258s 19pCF", "", ""], "5p"), "0:5p 1:pong"
    ),
    "chow_with_four_of_a_kind": Scene(
        wall_with(["", "46p EEEE 258m 258s 19pCF", "", ""], "5p"), "0:5p 1:chow_middle"
    ),
    "pong_with_the_fourth": Scene(
        wall_with(["", "555p 147m 147s ESWNCFP", DULL, ""], "5p W C N"), "0:5p 1:pong"
    ),
    # Seat 3 waits for 2m and 5m.
    "passed_win": Scene(wall_with(["", "", "", WAITS_2M_5M], "2m 5m N 9s C C C 5m"), "0:2m 3:pass"),
    "passed_win_then_drawn": Scene(
        wall_with(["", "", "", WAITS_2M_5M], "2m P N 5m C C C 5m"), "0:2m 3:pass 1:P 2:N"
    ),
    "passed_self_draw": Scene(
        wall_with(["", "", "", WAITS_2M_5M], "F P N 5m C C C 2m"), "0:F 1:P 2:N 3:E"
    ),
    "four_kongs": Scene(
        wall_with(["1111m 3333p 5555s EEEE", "", "", ""], "C", replacements="FPNS"),
        "0:ankong-1m 0:ankong-3p 0:ankong-5s 0:ankong-E 0:C",
    ),
    "four_winds": Scene(wall_with(["147m", "147p", "147s", "258m"], "E E E E"), "0:E 1:E 2:E 3:E"),
    "chow_low_no_suji": Scene(
        wall_with(["", "3455m 258p 258s ESWNCF", "", ""], "2m"),
        "0:2m 1:chow_low",
        rules=Rules(swap_calling="same_and_suji"),
    ),
    "chow_high_no_same": Scene(
        wall_with(["", "1233m 258p 258s ESWNCF", "", ""], "3m"),
        "0:3m 1:chow_high",
        rules=Rules(swap_calling="same"),
    ),
    "upstream_kong": Scene(
        wall_with(["", "555m 258p 258s ESWNCFP", "", ""], "5m"),
        "0:5m",
        rules=Rules(forbid_upstream_kong=True),
    ),
    # Seat 0 holds 5p with A = 3 left: seat 1 could chow, seat 2 pong, seat 3 win.
    "tail_no_calls": Scene(
        wall_with(["5p 147m 147s 19pESWNCFP", CHOWS_5P, "55p 369m 369s ESFFFPPP", WAITS_5P]),
        rules=Rules(tail_no_calls=3),
        drift_to=3,
    ),
}

# Complete but for 3p, with four E to be konged and a 9s to be paired.
KONG_HAND = "EEEE 123456789m 12p 9s"
OPEN_KONG_HAND = "555p 123456789m 12s 99p"

WINS = {
    "tianhu": Scene(wall_with(["123456789m 123p 123s E", "", "", ""], "E"), "0:win"),
    "tianhu_of_triplets": Scene(
        wall_with(["222444666m 222p 444p E", "", "", ""], "E"), "0:win", streak=2
    ),
    "dihu": Scene(wall_with(["", WAITS_GREEN, "", ""], "9s F"), "0:9s 1:win"),
    "no_dihu_after_a_kong": Scene(
        wall_with(["SSSS", WAITS_GREEN, "", ""], "9s F", replacements="W"),
        "0:ankong-S 0:9s 1:win",
    ),
    "no_dihu_after_a_claim": Scene(
        wall_with(["", WAITS_GREEN, "", "99s C"], "9s P F"),
        "0:9s 3:pong 3:C 0:P 1:win",
    ),
    "renhu_after_discards_of_others": Scene(
        wall_with(["", "", "", WAITS_GREEN], "9s N F"), "0:9s 1:N 2:F 3:win"
    ),
    "no_renhu_after_the_first_draw": Scene(
        wall_with(["", "", WAITS_GREEN, ""], "9s N N F"), "0:9s 1:N 2:N 3:F 2:win"
    ),
    "no_renhu_for_the_dealer": Scene(
        wall_with([WAITS_GREEN, "", "", ""], "9s F"), "0:9s 1:F 0:win"
    ),
    "gangkai": Scene(
        wall_with([KONG_HAND, "", "", ""], "9s", replacements="3p"), "0:ankong-E 0:win"
    ),
    "gangkai_of_an_added_kong": Scene(
        wall_with(["", "55p 123456789m 12s 99p E", "", ""], "5p W C N 5p", replacements="3s"),
        "0:5p 1:pong 1:E 2:W 3:C 0:N 1:addkong-5p 1:win",
    ),
    "open_kong": Scene(
        wall_with(["", OPEN_KONG_HAND, "", ""], "5p", replacements="3s"), "0:5p 1:kong 1:win"
    ),
    "own_kong_after_an_open_kong": Scene(
        wall_with(["", "555p 9999m 123456m 12s E", "", ""], "5p", replacements="E 3s"),
        "0:5p 1:kong 1:ankong-9m 1:win",
    ),
    "haidi": Scene(
        with_tile_at(wall_with(["", "", "", WAITS_GREEN]), 119, "F"), "3:win", drift_to=0
    ),
    "haidi_on_a_replacement": Scene(
        with_tile_at(wall_with(["", "", KONG_HAND, ""], replacements="3p"), 118, "9s"),
        "2:ankong-E 2:win",
        drift_to=1,
    ),
    "hedi": Scene(SCENES["last_discard"].wall, "3:F 0:win", drift_to=0),
    "dealer_discards": Scene(
        wall_with(["", "", WAITS_GREEN, ""], "9s N N N F"),
        "0:9s 1:N 2:N 3:N 0:F 2:win",
        streak=3,
    ),
}

# A complete hand with four 1m; konging them leaves 23m, which 4m would complete.
KONG_OR_WIN = "1111m 23m 456m 789m 123p E"

LOCKS = {
    "kong_declines_the_win": Scene(
        wall_with([KONG_OR_WIN, "", "", ""], "E", replacements="4m"), "0:ankong-1m"
    ),
    "kong_then_incomplete": Scene(
        wall_with([KONG_OR_WIN, "", "", ""], "E", replacements="9s"), "0:ankong-1m 0:9s"
    ),
    "declined_tianhu": Scene(wall_with(["123456789m 123p 123s E", "", "", ""], "E"), "0:1m"),
    "pong_leaves_it_incomplete": Scene(
        wall_with(["", "", "", WAITS_2M_5M], "2m E"), "0:2m 3:pass 1:E 3:pong 3:3m"
    ),
    "pong_leaves_it_complete": Scene(
        wall_with(["", "55p 123456789m 123s EE", "", ""], "5p"), "0:5p 1:pass 1:pong 1:E"
    ),
    "own_discard_would_have_won": Scene(
        # Seat 3 breaks its pair: complete before the discard, so the lock stays.
        wall_with(["", "", "", WAITS_2M_5M], "2m P N 5m C C C 9s"),
        "0:2m 3:pass 1:P 2:N 3:E",
    ),
    "lifted_then_won": Scene(
        SCENES["passed_win"].wall, "0:2m 3:pass 1:5m 2:N 3:9s 0:C 1:C 2:C 3:win"
    ),
    "passed_robbery": Scene(
        SCENES["rob_kong"].wall, SCENES["rob_kong"].script + " 1:pass", dealer=3
    ),
}
