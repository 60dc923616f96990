"""The situations that the flow facts F01 to F26 are about."""

from tests.oracle.rules import Rules
from tests.oracle.scripts import Scene
from tests.oracle.walls import wall_with

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
