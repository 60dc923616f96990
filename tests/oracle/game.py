"""One hand of the game, from a given wall to its end.

A seat acts in turn (`actor`), or is asked out of turn: `_questions` holds the choices still to be
put to single seats about a discard, a tile to be robbed or a declaration; `_after` what happens
once nobody took it.
"""

from collections.abc import Callable

from tests.oracle import actions, legal
from tests.oracle.legal import Question
from tests.oracle.rules import Rules
from tests.oracle.score import Items, Meld, payments, score
from tests.oracle.tiles import FIRST_FLOWER
from tests.oracle.wall import Wall, check, deal, num_dealt

DEFAULT_RULES = Rules()


class Game:
    """A single hand; tests read its attributes and call `step`."""

    def __init__(
        self,
        wall: list[int],
        dealer: int = 0,
        round_wind: int = 0,
        streak: int = 0,
        rules: Rules = DEFAULT_RULES,
        dice_sum: int = 1,
    ) -> None:
        """Deals.

        Args:
          wall: kinds in draw order, 136 or, with flowers, 144.
          dealer: the dealer's seat.
          round_wind: 0-3 = E S W N.
          streak: hands that the dealer has held the deal before this one.
          rules: the options.
          dice_sum: the throw that breaks the wall; only `seat_wind_mode="wall_break"` reads it.
        """
        check(wall, rules)
        self.rules, self.dealer, self.round_wind, self.streak = rules, dealer, round_wind, streak
        self.dice_sum = dice_sum
        self._east = dealer
        if rules.seat_wind_mode == "wall_break":
            self._east = (dealer + dice_sum - 1) % 4
        self.wall = Wall(wall, num_dealt(rules), rules)
        self.hands = [[0] * 34 for _ in range(4)]
        self.melds: list[list[Meld]] = [[] for _ in range(4)]
        self.rivers = [[0] * 34 for _ in range(4)]
        self.flowers: list[list[int]] = [[] for _ in range(4)]  # 1-8
        self.history: list[tuple[int, int, bool]] = []
        self.locked = [False] * 4
        self.ready = [""] * 4  # "tianting" or "diting" once declared
        self.num_draws = [0] * 4  # normal draws
        self.has_call = False  # any chow, pong or kong so far
        self.is_win_barred = False  # in the turn of an open kong, with open_kong_win=False

        self.terminated = False
        self.rewards = [0] * 4
        self.winners: list[int] = []
        self.win_by: str | None = None
        self.tai_items_by_seat: dict[int, Items] = {}

        self.actor = dealer
        self.last_drawn: int | None = None
        self.drawn_as = "draw"  # or "own_kong", "open_kong", "flower"
        self.barred: frozenset[int] = frozenset()
        self._questions: list[Question] = []
        self.giver, self.given, self.giving_by = dealer, 0, "discard"
        self._after: Callable[[], None] = self._do_nothing
        self._legal: list[int] | None = None  # worked out once between two steps
        self._deal(wall)

    @property
    def current_player(self) -> int:
        """The seat that `step` acts for."""
        return self._questions[0].seat if self._questions else self.actor

    @property
    def question(self) -> Question | None:
        """What the current player is asked out of turn."""
        return self._questions[0] if self._questions else None

    @property
    def drawn(self) -> int | None:
        """The kind just drawn by the current player."""
        return None if self._questions else self.last_drawn

    @property
    def drawable(self) -> int:
        """Tiles that may still be drawn, A of the rules."""
        return self.wall.drawable

    @property
    def winner(self) -> int | None:
        """The winner, the first in turn order if there are several."""
        return self.winners[0] if self.winners else None

    @property
    def tai_items(self) -> Items:
        """The items of the (first) winner's hand, without the dealer's."""
        return self.tai_items_by_seat.get(self.winner, {})

    def seat_wind(self, seat: int) -> int:
        """Gives a seat's wind, 0-3 = E S W N."""
        return (seat - self._east) % 4

    def legal_actions(self) -> list[int]:
        """Lists the ids of the current player's legal actions; empty once the hand is over."""
        if self._legal is None:
            if self.terminated:
                self._legal = []
            elif self._questions:
                self._legal = sorted(self._questions[0].actions)
            else:
                self._legal = legal.turn_actions(self)
        return list(self._legal)

    def step(self, action: int) -> None:
        """Plays one action of the current player.

        Args:
          action: its id, see `actions`.

        Raises:
          ValueError: if it is not legal.
        """
        options = self.legal_actions()
        if action not in options:
            raise ValueError(f"action {action} is not among {options}")
        self._legal = None
        if self._questions:
            self._answer(action)
            return
        seat = self.actor
        if actions.WIN in options and action != actions.WIN and self.rules.guoshui != "ron_only":
            self._lock(seat)
        if action == actions.WIN:
            self._win([seat], "self_draw", [(seat + turn) % 4 for turn in (1, 2, 3)])
        elif action >= actions.ADDED_KONG:
            self._add_kong(action - actions.ADDED_KONG)
        elif action >= actions.CONCEALED_KONG:
            kind = action - actions.CONCEALED_KONG
            self.hands[seat][kind] -= 4
            self.melds[seat].append(("ankong", kind))
            self._complete_kong("own_kong")
        else:
            self._discard(action)

    def _deal(self, wall: list[int]) -> None:
        """Deals, replaces flowers, asks who is ready already; then the dealer begins."""
        dealt = deal(wall, self.dealer, self.rules)
        order = [(self.dealer + turn) % 4 for turn in range(4)]
        while not self.terminated and any(kind >= FIRST_FLOWER for row in dealt for kind in row):
            for seat in order:
                self._replace_flowers(seat, dealt[seat])
        for seat in order:
            for kind in dealt[seat]:
                self.hands[seat][kind] += kind < FIRST_FLOWER
        self.last_drawn = dealt[self.dealer][-1]
        if self.rules.tianting and not self.terminated:
            self._ask(legal.ready_questions(self, order[1:]), after=self._do_nothing)

    def _replace_flowers(self, seat: int, row: list[int]) -> None:
        """Exposes and replaces a seat's dealt flowers once; new ones wait for the next round."""
        for place in [place for place, kind in enumerate(row) if kind >= FIRST_FLOWER]:
            self._expose(seat, row[place])
            if self.terminated:
                row.pop(place)
                return
            row[place] = self.wall.draw_replacement(seat)
            if seat == self.dealer and place == self.rules.hand_tiles:
                self.drawn_as = "flower"

    def _draw(self, seat: int) -> None:
        """Begins a turn with a tile from the head, or ends the hand if none may be drawn."""
        if not self.wall.can_draw(seat):
            self.terminated = True
            return
        self.num_draws[seat] += 1
        self.is_win_barred = False
        self._take(seat, self.wall.draw(seat), "draw")

    def _take(self, seat: int, kind: int, drawn_as: str) -> None:
        """Gives a drawn tile to a seat, whose turn goes on with it; flowers are replaced."""
        self.actor = seat
        while kind >= FIRST_FLOWER:
            self._expose(seat, kind)
            if self.terminated or not self.wall.can_draw(seat):
                self.terminated = True
                return
            kind, drawn_as = self.wall.draw_replacement(seat), "flower"
        self.hands[seat][kind] += 1
        self.last_drawn, self.drawn_as = kind, drawn_as
        self.barred = frozenset()

    def _expose(self, seat: int, kind: int) -> None:
        """Lays down a flower; the eighth may end the hand (Appendix A)."""
        self.flowers[seat].append(kind - FIRST_FLOWER + 1)
        others = [other for other in range(4) if other != seat]
        if len(self.flowers[seat]) == 8:
            self._end_specially("baxian", self.rules.baxian, seat, "self_draw", others)
        for other in others:
            if len(self.flowers[other]) == 7:
                self._end_specially("qiqiangyi", self.rules.qiqiangyi, other, "rob_flower", [seat])

    def _end_specially(
        self, item: str, tai: int, winner: int, win_by: str, payers: list[int]
    ) -> None:
        """Ends the hand with a win that needs no complete hand, if the table knows it."""
        if tai and tai >= self.rules.min_tai and not self.locked[winner]:
            self._end_with(winner, win_by, payers, {item: tai})

    def _discard(self, kind: int) -> None:
        """Discards and asks the others."""
        seat = self.actor
        hand = self.hands[seat]
        mode = self.rules.guoshui
        if mode == "until_discard" or not legal.is_complete(self, seat, hand):
            self.locked[seat] = False
        hand[kind] -= 1
        self.rivers[seat][kind] += 1
        self.history.append((seat, kind, kind == self.last_drawn))
        self.last_drawn = None
        if legal.may_declare_diting(self, seat):
            self._ask(
                legal.ready_questions(self, [seat]),
                after=lambda: self._ask_about_discard(seat, kind),
            )
        else:
            self._ask_about_discard(seat, kind)

    def _ask_about_discard(self, seat: int, kind: int) -> None:
        """Puts the questions about a discard; without a claim the next seat draws."""
        self.giver, self.given, self.giving_by = seat, kind, "discard"
        self._ask(
            legal.discard_questions(self, seat, kind), after=lambda: self._draw((seat + 1) % 4)
        )

    def _add_kong(self, kind: int) -> None:
        """Declares an added kong, which the others may rob before it is made."""
        seat = self.actor
        self.hands[seat][kind] -= 1
        self.last_drawn = None
        self.giver, self.given, self.giving_by = seat, kind, "rob_kong"

        def make_kong() -> None:
            place = self.melds[seat].index(("pong", kind))
            self.melds[seat][place] = ("kong", kind)
            self._complete_kong("own_kong")

        self._ask(legal.win_questions(self, seat, kind, "rob_kong"), after=make_kong)

    def _complete_kong(self, drawn_as: str) -> None:
        """Draws the replacement for a kong that the actor has just laid down."""
        seat = self.actor
        self.has_call = True
        self.wall.keep_for_kong()
        if sum(form in ("kong", "ankong") for form, _ in self.melds[seat]) == 4:
            others = [other for other in range(4) if other != seat]
            self._end_specially("sigangpai", self.rules.sigangpai, seat, "self_draw", others)
            if self.terminated:
                return
        self._take(seat, self.wall.draw_replacement(seat), drawn_as)

    def _ask(self, questions: list[Question], after: Callable[[], None]) -> None:
        """Puts questions; `after` happens once all are answered with a pass."""
        self._questions, self._after = questions, after
        if not questions:
            after()

    def _answer(self, action: int) -> None:
        """Takes the answer to the first question."""
        question = self._questions.pop(0)
        if action == actions.WIN:
            self.winners.append(question.seat)
        elif action == actions.DECLARE:
            self.ready[question.seat] = "diting" if self.history else "tianting"
        elif action != actions.PASS:
            self._claim(question.seat, action)
            return
        elif question.about == "win":
            self._lock(question.seat)
        is_win_open = bool(self._questions) and self._questions[0].about == "win"
        if self.winners and not (self.rules.multi_ron and is_win_open):
            self._questions = []
            self._win(self.winners, self.giving_by, [self.giver])
        elif not self._questions:
            self._after()

    def _claim(self, seat: int, action: int) -> None:
        """Melds the discard."""
        kind = self.given
        self._questions = []
        self.rivers[self.giver][kind] -= 1
        for tile in legal.tiles_given(action, kind):
            self.hands[seat][tile] -= 1
        self.actor = seat
        self.has_call = True
        if action == actions.OPEN_KONG:
            self.is_win_barred = not self.rules.open_kong_win
            self.melds[seat].append(("kong", kind))
            self._complete_kong("open_kong")
            return
        if action == actions.PONG:
            self.melds[seat].append(("pong", kind))
        else:
            self.melds[seat].append(("chow", actions.chow_lowest(action, kind)))
        self.barred = legal.barred_discards(self, action, kind)

    def _lock(self, seat: int) -> None:
        """Remembers that a seat declined a legal win (過水)."""
        if self.rules.guoshui != "off":
            self.locked[seat] = True

    def _win(self, winners: list[int], win_by: str, payers: list[int]) -> None:
        """Ends the hand with a win of each of `winners`, paid by each of `payers`."""
        kind = self.last_drawn if win_by == "self_draw" else self.given
        for seat in winners:
            items = score(legal.won_hand(self, seat, kind, win_by), self.rules)
            self._end_with(seat, win_by, payers, items)

    def _end_with(self, seat: int, win_by: str, payers: list[int], items: Items) -> None:
        """Books one winner's items and ends the hand."""
        if seat not in self.winners:
            self.winners.append(seat)
        self.terminated, self.win_by = True, win_by
        self.tai_items_by_seat[seat] = items
        points = payments(seat, payers, sum(items.values()), self.dealer, self.streak, self.rules)
        self.rewards = [old + new for old, new in zip(self.rewards, points, strict=True)]

    def _do_nothing(self) -> None:
        """Goes on with the turn of the actor."""
