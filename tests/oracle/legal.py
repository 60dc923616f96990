"""What a seat may do: on its own turn, with another's discard, with a tile to be robbed.

The functions read a `Game` and change nothing. Tiles are kinds, seats 0-3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.oracle import actions
from tests.oracle.hand import is_win, waits
from tests.oracle.score import Meld, WonHand, meld_tiles, score
from tests.oracle.tiles import FIRST_HONOR, count

if TYPE_CHECKING:
    from tests.oracle.game import Game


@dataclass(frozen=True)
class Question:
    """A choice put to one seat out of turn; passing is always among the actions."""

    seat: int
    about: str  # "win", "pong", "chow" or "ready"
    actions: tuple[int, ...]


def turn_actions(game: Game) -> list[int]:
    """Lists the actions of the seat whose turn it is."""
    seat = game.actor
    hand = game.hands[seat]
    drawn = game.last_drawn
    if game.ready[seat]:
        found = [actions.DISCARD + drawn]
    else:
        found = [kind for kind in range(34) if hand[kind] and kind not in game.barred]
    if drawn is None:  # After a chow or pong: discard at once.
        return found
    if game.wall.can_kong(seat):
        found += [
            actions.CONCEALED_KONG + kind
            for kind in range(34)
            if hand[kind] == 4 and _keeps_ready(game, seat, kind)
        ]
        found += [
            actions.ADDED_KONG + kind
            for form, kind in game.melds[seat]
            if form == "pong" and hand[kind] and not game.ready[seat]
        ]
    if can_win(game, seat, drawn, "self_draw"):
        found.append(actions.WIN)
    return sorted(found)


def discard_questions(game: Game, discarder: int, kind: int) -> list[Question]:
    """Lists who is asked about a discard, in order: wins, then pong or kong, then chow."""
    others = [(discarder + turn) % 4 for turn in (1, 2, 3)]
    questions = win_questions(game, discarder, kind, "discard")
    if game.drawable <= game.rules.tail_no_calls:
        return questions
    for seat in others:
        found = _pong_actions(game, seat, discarder, kind)
        if found:
            questions.append(Question(seat, "pong", (*found, actions.PASS)))
    found = _chow_actions(game, others[0], kind)
    if found:
        questions.append(Question(others[0], "chow", (*found, actions.PASS)))
    return questions


def win_questions(game: Game, giver: int, kind: int, win_by: str) -> list[Question]:
    """Lists who is asked to win with another's tile, in turn order from the one who gives it."""
    return [
        Question(seat, "win", (actions.WIN, actions.PASS))
        for seat in ((giver + turn) % 4 for turn in (1, 2, 3))
        if can_win(game, seat, kind, win_by)
    ]


def ready_questions(game: Game, seats: list[int]) -> list[Question]:
    """Lists who of `seats` is asked to declare ready (報聽)."""
    return [
        Question(seat, "ready", (actions.PASS, actions.DECLARE))
        for seat in seats
        if ready_waits(game, seat, game.hands[seat])
    ]


def may_declare_diting(game: Game, seat: int) -> bool:
    """Tells whether a seat has just made its first discard, with no claim before it."""
    return (
        game.rules.diting > 0
        and not game.ready[seat]
        and sum(discarder == seat for discarder, _, _ in game.history) == 1
        and all(form == "ankong" for melds in game.melds for form, _ in melds)
    )


def can_win(game: Game, seat: int, kind: int, win_by: str) -> bool:
    """Tells whether a win is legal: the shape, the lock, the least tai."""
    is_self_drawn = win_by == "self_draw"
    if game.locked[seat] and not (is_self_drawn and game.rules.guoshui == "ron_only"):
        return False
    if is_self_drawn and game.is_win_barred:
        return False
    hand = list(game.hands[seat])
    if not is_self_drawn:
        hand[kind] += 1
    if not is_complete(game, seat, hand):
        return False
    if game.rules.min_tai == 0:
        return True
    items = score(won_hand(game, seat, kind, win_by), game.rules)
    return sum(items.values()) >= game.rules.min_tai


def is_complete(game: Game, seat: int, hand: list[int]) -> bool:
    """Tells whether a hand is complete together with the seat's melds."""
    return is_win(
        hand,
        len(game.melds[seat]),
        num_sets=game.rules.num_sets,
        ligu=game.rules.ligu > 0,
    )


def ready_waits(
    game: Game, seat: int, hand: list[int], more_melds: tuple[Meld, ...] = ()
) -> set[int]:
    """Lists what a hand waits for beside the seat's melds and more, but for kinds used up there."""
    melds = [*game.melds[seat], *more_melds]
    melded = count(kind for meld in melds for kind in meld_tiles(meld))
    return waits(
        hand,
        len(melds),
        melded,
        num_sets=game.rules.num_sets,
        ligu=game.rules.ligu > 0,
    )


def won_hand(game: Game, seat: int, kind: int, win_by: str) -> WonHand:
    """Describes a win that is being made or considered."""
    is_self_drawn = win_by == "self_draw"
    hand = list(game.hands[seat])
    if is_self_drawn:
        hand[kind] -= 1
    is_dealer = seat == game.dealer
    is_untouched = not game.has_call
    draws = game.num_draws[seat]
    return WonHand(
        concealed=tuple(hand),
        melds=tuple(game.melds[seat]),
        win_tile=kind,
        win_by=win_by,
        seat_wind=game.seat_wind(seat),
        round_wind=game.round_wind,
        last_tile=game.drawable == 0,
        after_kong=is_self_drawn and game.drawn_as != "draw",
        after_open_kong=is_self_drawn and game.drawn_as == "open_kong",
        heavenly=is_self_drawn and is_untouched and is_dealer and draws == 0,
        earthly=is_self_drawn and is_untouched and not is_dealer and draws == 1,
        human=win_by == "discard" and is_untouched and not is_dealer and draws == 0,
        declared=game.ready[seat],
        flowers=tuple(game.flowers[seat]),
    )


def barred_discards(game: Game, action: int, kind: int) -> frozenset[int]:
    """Lists the kinds that may not be discarded right after a chow or pong (食替)."""
    mode = game.rules.swap_calling
    if mode == "none":
        return frozenset()
    if action == actions.PONG:
        return frozenset({kind} if mode == "same_and_suji" else ())
    barred = {kind}
    if mode == "same_and_suji":
        # The claimed tile may end the run: then the tile past the run's other end goes too.
        if action == actions.CHOW_LOW and kind % 9 <= 5:
            barred.add(kind + 3)
        if action == actions.CHOW_HIGH and kind % 9 >= 3:
            barred.add(kind - 3)
    return frozenset(barred)


def tiles_given(action: int, kind: int) -> list[int]:
    """Lists the tiles that a seat lays down from its hand to claim a discard."""
    if action == actions.PONG:
        return [kind] * 2
    if action == actions.OPEN_KONG:
        return [kind] * 3
    lowest = actions.chow_lowest(action, kind)
    return [tile for tile in (lowest, lowest + 1, lowest + 2) if tile != kind]


def _pong_actions(game: Game, seat: int, discarder: int, kind: int) -> list[int]:
    """Lists the pong and open kong that a seat may make with a discard."""
    if game.ready[seat]:
        return []
    found = []
    if game.hands[seat][kind] >= 2 and _leaves_discard(game, seat, actions.PONG, kind):
        found.append(actions.PONG)
    is_barred = game.rules.forbid_upstream_kong and seat == (discarder + 1) % 4
    if game.hands[seat][kind] == 3 and not is_barred and game.wall.can_kong(seat):
        found.append(actions.OPEN_KONG)
    return found


def _chow_actions(game: Game, seat: int, kind: int) -> list[int]:
    """Lists the chows that the next seat may make with a discard."""
    if game.ready[seat] or kind >= FIRST_HONOR:
        return []
    found = []
    for action in (actions.CHOW_LOW, actions.CHOW_MIDDLE, actions.CHOW_HIGH):
        lowest = actions.chow_lowest(action, kind)
        is_run = lowest >= 0 and lowest // 9 == kind // 9 and lowest % 9 <= 6
        if (
            is_run
            and all(game.hands[seat][tile] for tile in tiles_given(action, kind))
            and _leaves_discard(game, seat, action, kind)
        ):
            found.append(action)
    return found


def _leaves_discard(game: Game, seat: int, action: int, kind: int) -> bool:
    """Tells whether a claim leaves a tile that may be discarded."""
    hand = list(game.hands[seat])
    for tile in tiles_given(action, kind):
        hand[tile] -= 1
    barred = barred_discards(game, action, kind)
    return any(hand[tile] for tile in range(34) if tile not in barred)


def _keeps_ready(game: Game, seat: int, kind: int) -> bool:
    """Tells whether a concealed kong leaves the wait of a seat that declared ready as it was."""
    if not game.ready[seat]:
        return True
    before = list(game.hands[seat])
    before[game.last_drawn] -= 1
    after = list(game.hands[seat])
    after[kind] = 0
    kong = (("ankong", kind),)
    return ready_waits(game, seat, before) == ready_waits(game, seat, after, kong)
