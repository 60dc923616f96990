"""One decision: its effect on the table, then who acts next, or how the hand ends.

P = 4 seats, S = 4 suits. Each stage below is one question about the decision; `mjx.legal` then
lists what the next seat may do, from the same words.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjx import actions, claims, flowers, hand, legal, packed, ready, score, tiles
from mjx import state as st
from mjx.checks import check_action, check_modes, check_numbers, check_rules, check_wall
from mjx.rules import DEFAULT, Rules
from mjx.seats import NUM_SEATS, Words, place_of
from mjx.stage import stage
from mjx.state import State

Array = jax.Array

_NOTHING, _EVERYTHING = np.uint32(0), np.uint32(0xFFFFFFFF)


class Move(NamedTuple):
    """An action taken apart."""

    seat: Array  # int32[] who acts
    kind: Array  # int32[] the tile it is about
    discard: Array  # bool[] each of the following
    concealed_kong: Array
    added_kong: Array
    chow: Array
    pong: Array
    open_kong: Array
    win: Array
    passed: Array
    taken: Array  # uint32[] word of the tiles that leave the hand
    run: Array  # uint32[] word of the lowest tile of the chow
    # None where the rules do without:
    declares: Array | None = None  # bool[] oneself ready; counts as passed too
    opening: Array | None = None  # bool[] answers before the dealer's first action
    barred: tuple[Array, Array] | None = None  # int32[] kinds as `State.barred`


class Draw(NamedTuple):
    """A tile drawn, or the reason why none is."""

    drawer: Array  # int32[] seat
    kind: Array  # int32[]
    plain: Array  # bool[] from the head of the wall
    konged: Array  # bool[] after a kong, from its tail
    kong_stands: Array  # bool[] an added kong was not robbed
    is_out: Array  # bool[] no tile is left to draw
    chain: flowers.Chain | None = None  # flowers that came before it, where there are any
    wins_by_kongs: Array | None = None  # bool[] none is drawn, for four kongs end the hand

    @property
    def is_given(self) -> Array:
        """Whether the drawer receives the tile, and its turn goes on with it: bool[]."""
        draws = self.plain | self.konged
        if self.chain is None:
            return draws
        return draws & ~self.is_out & (self.chain.winner < 0)


class Changes(NamedTuple):
    """What an action moves: each a place and what is added there."""

    taken: tuple[Array, Array]  # from the hands; places as `seats.place_of`, words uint32[]
    drawn: tuple[Array, Array]  # to the hands
    run: tuple[Array, Array]  # to the chows
    set: tuple[Array, Array]  # to the sets
    entry: tuple[Array, Array]  # int32[] index of the history, int16[] bits


def init(
    key: Array,
    rules: Rules = DEFAULT,
    dealer: int | Array = 0,
    round_wind: int | Array = 0,
    streak: int | Array = 0,
    first_dealer: int | Array | None = None,
    scores: Array | None = None,
) -> State:
    """Shuffles and deals one hand (rules 1).

    Args:
      key: typed key; all chance of the hand comes from it.
      rules: the table's rules.
      dealer: int32[] seat 0-3.
      round_wind: int32[] 0-3 for E S W N.
      streak: int32[] hands the dealer has held on.
      first_dealer: int32[] seat that dealt the first hand of the match, 0 by default; only with
        `hand_mode="match"`.
      scores: int32[P] points of the match so far, zeros by default; likewise.

    Returns:
      The state in which the dealer acts on 17 tiles. With flowers the deal itself may end the
      hand: then it is `terminated`, with the points in `rewards`.

    Raises:
      ValueError: an argument out of range, where its value is known, or without its mode.
    """
    wall, dice_sum = st.shuffle(key, rules), None
    if rules.seat_wind_mode == "wall_break":
        dice_sum = jnp.sum(jax.random.randint(jax.random.fold_in(key, 1), (3,), 1, 7, jnp.int32))
    return init_from_wall(wall, rules, dealer, round_wind, streak, first_dealer, scores, dice_sum)


def init_from_wall(
    wall: Array,
    rules: Rules = DEFAULT,
    dealer: int | Array = 0,
    round_wind: int | Array = 0,
    streak: int | Array = 0,
    first_dealer: int | Array | None = None,
    scores: Array | None = None,
    dice_sum: int | Array | None = None,
) -> State:
    """Deals a given wall, int8[136] kinds in draw order; otherwise as `init`.

    With flowers a wall is int8[144], kinds 34-41 the flowers 1-8. `dice_sum`, int32[] of 3 to 18,
    is the throw that breaks the wall; `seat_wind_mode="wall_break"` needs it.

    Raises:
      ValueError: also a wall that does not hold each kind four times and each flower once, where
        its values are known; a throw that is missing or has no use.
    """
    check_wall(wall, rules)
    check_numbers(dealer=dealer, round_wind=round_wind, streak=streak)
    check_modes(rules, first_dealer, scores, dice_sum)
    state = st.deal(
        jnp.array(wall, jnp.int8),
        jnp.array(dealer, jnp.int32),
        jnp.array(round_wind, jnp.int32),
        jnp.array(streak, jnp.int32),
        rules,
    )
    if rules.seat_wind_mode == "wall_break":
        state = state.replace(dice_sum=jnp.array(dice_sum, jnp.int32))
    if rules.hand_mode == "match":
        state = state.replace(
            first_dealer=jnp.array(0 if first_dealer is None else first_dealer, jnp.int32),
            scores=jnp.array([0] * NUM_SEATS if scores is None else scores, jnp.int32),
        )
    state = _with_options(state, rules)
    if rules.n_flowers and (rules.baxian or rules.qiqiangyi):  # the deal may have ended the hand
        paid = stage(functools.partial(score.settle, rules=rules), state)
        state = _paid(state, jnp.where(state.terminated, paid, jnp.float32(0)))
    return state.replace(legal=legal.legal_words(state, rules))


def step(state: State, action: Array, rules: Rules = DEFAULT) -> State:
    """Carries out one decision of `state.current_player`.

    A finished hand is absorbing: it comes back as it is, with zero rewards. An illegal action
    raises where values are known; under a transformation, where nothing can be raised, it ends
    the hand with `ending == ILLEGAL` and NaN rewards for all, so that it cannot go unnoticed.

    Args:
      state: one hand.
      action: int32[] an id of `mjx.actions`, legal in this state.
      rules: the table's rules.

    Returns:
      The next state, its `rewards` in points.

    Raises:
      ValueError: a state dealt by other rules, or, outside of any transformation, an illegal
        action.
    """
    check_action(state, action)
    action = jnp.asarray(action, jnp.int32)
    is_legal = actions.is_legal(state.legal, action) | state.terminated
    if rules.multi_ron:  # a win may leave others to be asked, an illegal action does not
        state = state.replace(queue=jnp.where(is_legal, state.queue, _NOTHING))
    # Whatever is illegal ends the hand as a win would, without moving a tile.
    after = advance(state, jnp.where(is_legal, action, actions.WIN), rules)
    is_end = after.terminated & ~state.terminated
    paid = stage(functools.partial(score.settle, rules=rules), after)
    rewards = jnp.where(is_end, paid, jnp.float32(0))
    if rules.hand_mode == "match":
        after = _paid(after, jnp.where(is_legal, rewards, jnp.float32(0)))
    if after.winners is not None:
        after = after.replace(winners=jnp.where(is_legal, after.winners, _NOTHING))
    return after.replace(
        rewards=jnp.where(is_legal, rewards, jnp.float32(jnp.nan)),
        ending=jnp.where(is_legal, after.ending, st.ILLEGAL),
        winner=jnp.where(is_legal, after.winner, -1),
    )


def advance(state: State, action: Array, rules: Rules = DEFAULT) -> State:
    """Carries out a legal action without scoring: `rewards` stay as they are.

    What `step` is made of, for loops that score finished hands later. Any action leaves a
    finished hand as it is.

    Raises:
      ValueError: a state that was dealt by other rules.
    """
    check_rules(state, rules)
    move = stage(functools.partial(_take_apart, rules=rules), state, action)
    state = state.replace(**stage(functools.partial(_rest, rules=rules), state, move))
    asked = stage(functools.partial(_ask, rules=rules), state, move)
    goes_on = asked["queue"] == 0
    if state.winners is not None:
        # The hand is won once all have been asked, whatever the last one says.
        winners, winner = _winners(state, state.winners, move)
        state = state.replace(winners=winners, winner=winner)
        move = move._replace(win=goes_on & (move.win | (winners != 0)))
        goes_on &= ~move.win
    if move.opening is not None:
        goes_on &= ~move.opening
    draw = stage(functools.partial(_draw, rules=rules), state, move, goes_on)
    changes = stage(_changes, state, move, draw)
    moved = stage(_carry_out, state, move, changes)
    turned = stage(_turn, state, move, draw, asked["current_player"])
    turned |= _remember(state, move, draw, turned)
    state = state.replace(**{**asked, **moved, **turned})
    return state.replace(legal=stage(functools.partial(legal.legal_words, rules=rules), state))


def _paid(state: State, points: Array) -> State:
    """Hands out points float32[P], and adds them to the scores of a match."""
    if state.scores is not None:
        state = state.replace(scores=state.scores + points.astype(jnp.int32))
    return state.replace(rewards=points)


def _with_options(state: State, rules: Rules) -> State:
    """Adds what the rules of claims and turns remember, and asks who is ready at the deal."""
    if rules.multi_ron:
        won = jnp.where(state.winner >= 0, _bit_of(jnp.maximum(state.winner, 0)), _NOTHING)
        state = state.replace(winners=won)
    if rules.swap_calling != "none":
        state = state.replace(barred=(jnp.int32(-1), jnp.int32(-1)))
    if not rules.open_kong_win:
        state = state.replace(win_barred=jnp.bool_(False))
    if rules.asks_ready:
        state = state.replace(ready=jnp.uint32(0))
    return ready.ask_after_deal(state) if rules.tianting > 0 else state


def _take_apart(state: State, action: Array, rules: Rules) -> Move:
    """Reads an action in its state. A finished hand is won once more, which changes nothing."""
    action = jnp.where(state.terminated, actions.WIN, action)
    is_call = action >= actions.CHOW_LOW
    kind = jnp.where(is_call, state.pending, action % packed.NUM_KINDS)
    unit = packed.tile(jnp.maximum(kind, 0))
    low, middle, high = (
        action == a for a in (actions.CHOW_LOW, actions.CHOW_MIDDLE, actions.CHOW_HIGH)
    )
    up, down = unit << packed.BITS, unit >> packed.BITS
    down_2 = down >> packed.BITS
    copies = jnp.select(
        [action < actions.CONCEALED_KONG, action < actions.ADDED_KONG, ~is_call,
         action == actions.PONG, action == actions.OPEN_KONG],
        [jnp.uint32(n) for n in (1, 4, 1, 2, 3)],
        jnp.uint32(0),
    )  # fmt: skip
    run = jnp.select([low, middle, high], [unit, down, down_2], jnp.uint32(0))
    others = jnp.select(
        [low, middle, high], [up + (up << packed.BITS), down + up, down + down_2], jnp.uint32(0)
    )
    passed, options = action == actions.PASS, {}
    if rules.asks_ready:
        options["declares"] = action == actions.DECLARE_READY
        passed |= options["declares"]
    if rules.tianting > 0:
        options["opening"] = (state.queue != 0) & (state.drawn >= 0)
    if rules.swap_calling != "none":
        options["barred"] = claims.barred_kinds(action, kind, rules)
    return Move(
        **options,
        seat=state.current_player,
        kind=kind,
        discard=action < actions.CONCEALED_KONG,
        concealed_kong=(action >= actions.CONCEALED_KONG) & (action < actions.ADDED_KONG),
        added_kong=(action >= actions.ADDED_KONG) & ~is_call,
        chow=low | middle | high,
        pong=action == actions.PONG,
        open_kong=action == actions.OPEN_KONG,
        win=action == actions.WIN,
        passed=passed,
        taken=copies * unit + others,
        run=run,
    )


def _rest(state: State, move: Move, rules: Rules) -> dict[str, Any]:
    """Finds what the actor's hand waits for without the tiles taken, and settles 過水.

    A win declined now locks; a discard from a hand that was no win unlocks.
    """
    waits = hand.waits_of_words(_without_taken(state, move), rules.ligu > 0)
    return dict(
        waits=state.waits.with_row(move.seat, waits),
        locked=_locked(state, move, waits, rules),
        actor=jnp.where(move.discard | move.added_kong, move.seat, state.actor),
    )


def _without_taken(state: State, move: Move) -> Words:
    """Takes the tiles of an action out of the actor's hand: four words."""
    own, suit = state.hands.row(move.seat), packed.suit_of(move.kind)
    return tuple(word - jnp.where(suit == s, move.taken, _NOTHING) for s, word in enumerate(own))


def _locked(state: State, move: Move, waits: Words, rules: Rules) -> Array:
    """Sets and lifts the lock of the actor, who waits for `waits` after its action: uint32[]."""
    if rules.guoshui == "off":
        return state.locked
    seat = move.seat.astype(jnp.uint32)
    could_win = (state.legal[actions.CALL_WORD] >> legal.WIN_BIT) & 1
    declined = jnp.where(move.win, _NOTHING, could_win << seat)
    if rules.guoshui == "ron_only":
        declined = jnp.where(state.queue != 0, declined, _NOTHING)
    locked = state.locked | declined
    unlocks = move.discard
    if rules.guoshui != "until_discard":
        unlocks &= ~packed.is_in(waits, move.kind)
    return jnp.where(unlocks, locked & ~(jnp.uint32(1) << seat), locked)


def _ask(state: State, move: Move, rules: Rules) -> dict[str, Any]:
    """Queues the questions that an action raises, or takes the answered one off."""
    kind = jnp.maximum(move.kind, 0)
    words = state.hands.column(packed.suit_of(kind))
    barred = state.locked
    if rules.min_tai > 0:
        barred |= legal.short_of_tai(state, kind, move.added_kong, rules)
    wins = claims.win_questions(state.waits, barred, state.actor, kind)
    calls = claims.call_questions(
        words, state.actor, kind, st.drawable(state, rules), state.hands, state.ready, rules
    )
    opened = wins | jnp.where(move.discard, calls, _NOTHING)
    if rules.diting > 0:
        own = _without_taken(state, move)
        declare = ready.question_after_discard(state, move.seat, own)
        opened |= jnp.where(move.discard, declare, _NOTHING)
    rest = state.queue & (state.queue - 1)
    left = jnp.where(move.passed, rest, _NOTHING)
    answered = move.passed
    if rules.multi_ron:  # after a win only wins are asked for
        rest_wins = rest & np.uint32(claims.WIN_QUESTIONS)
        left = jnp.where(move.win | (state.winners != 0), rest_wins, left)
        answered |= move.win
    queue = jnp.where(move.discard | move.added_kong, opened, left)
    asking = queue != 0
    asked = claims.asked_seat(queue, words, state.actor, kind, state.ready)
    stays = asking | move.win
    if rules.multi_ron:
        stays |= state.winners != 0
    player = state.current_player
    if move.opening is not None:
        player = jnp.where(move.opening, state.actor, player)
    return dict(
        queue=queue,
        robbing=asking & (move.added_kong | (answered & state.robbing)),
        pending=jnp.where(stays, move.kind, -1),
        current_player=jnp.where(asking, asked, player),
    )


def _winners(state: State, before: Array, move: Move) -> tuple[Array, Array]:
    """Adds to several winners, and names the first asked, which is the first in turn order.

    Returns:
      `winners` uint32[] and `winner` int32[] as in `State`.
    """
    wins = move.win & ~state.terminated
    first = jnp.where(wins & (before == 0), move.seat, state.winner)
    return before | jnp.where(wins, _bit_of(move.seat), _NOTHING), first


def _bit_of(seat: Array) -> Array:
    """Returns 1 << seat: uint32."""
    return jnp.uint32(1) << seat.astype(jnp.uint32)


def _draw(state: State, move: Move, is_answered: Array, rules: Rules) -> Draw:
    """Decides whether a tile is drawn, by whom, and from which end of the wall."""
    idle = is_answered & ~state.terminated
    kong_stands = idle & (move.added_kong | (move.passed & state.robbing))
    konged = idle & (kong_stands | move.concealed_kong | move.open_kong)
    turn_passes = idle & (move.discard | (move.passed & ~state.robbing))
    drawer = jnp.where(turn_passes, (state.actor + 1) % NUM_SEATS, state.actor)
    drawer = jnp.where(move.concealed_kong | move.open_kong, move.seat, drawer)
    is_out = turn_passes & (st.drawable_by(state, drawer, rules) <= 0)
    wins_by_kongs = None
    if rules.sigangpai > 0:
        wins_by_kongs = konged & _is_won_by_kongs(state, drawer, rules)
        konged &= ~wins_by_kongs
    head, tail = st.ends_of_wall(state, drawer, rules)
    place = jnp.clip(jnp.where(konged, tail, head), 0, rules.num_tiles - 1)
    draw = Draw(
        drawer=drawer,
        kind=state.wall[place].astype(jnp.int32),
        plain=turn_passes & ~is_out,
        konged=konged,
        kong_stands=kong_stands,
        is_out=is_out,
        wins_by_kongs=wins_by_kongs,
    )
    return _after_flowers(state, draw, rules) if rules.n_flowers else draw


def _after_flowers(state: State, draw: Draw, rules: Rules) -> Draw:
    """Replaces a flower drawn, and flowers that come for it, until another tile comes."""
    assert state.flowers is not None, "a state of other rules"
    _, tail = st.ends_of_wall(state, draw.drawer, rules)
    tail = tail - draw.konged.astype(jnp.int32)
    places = jnp.clip(tail - np.arange(tiles.NUM_FLOWERS, dtype=np.int32), 0)
    left = st.drawable_by(state, draw.drawer, rules)
    if rules.reserve_per_kong:
        kept = jnp.where(draw.konged, rules.reserve_per_kong, 0)
        left = jnp.minimum(left, st.drawable(state, rules) - kept)
    chain = flowers.replace_drawn(
        draw.plain | draw.konged,
        jnp.concatenate([draw.kind[None], state.wall[places].astype(jnp.int32)]),
        left - 1,
        state.flowers,
        draw.drawer,
        state.locked,
        rules,
    )
    return draw._replace(kind=chain.kind, is_out=draw.is_out | chain.is_out, chain=chain)


def _is_won_by_kongs(state: State, seat: Array, rules: Rules) -> Array:
    """Tells whether a kong that a seat completes is its fourth and wins (四槓牌): bool[]."""
    kongs = packed.MARKS * np.uint32(st.KONG | st.CONCEALED_KONG)
    num_before = sum(jax.lax.population_count(word & kongs) for word in state.sets.row(seat))
    is_locked = state.locked & _bit_of(seat) > 0
    return (num_before == 3) & ~is_locked & (rules.sigangpai >= rules.min_tai)


def _changes(state: State, move: Move, draw: Draw) -> Changes:
    """Finds what an action moves: out of the hand, into melds and history, from the wall."""
    suit, unit = packed.suit_of(move.kind), packed.tile(jnp.maximum(move.kind, 0))
    form = jnp.select(
        [move.pong, move.open_kong, move.concealed_kong, draw.kong_stands],
        [np.uint32(f) for f in (st.PONG, st.KONG, st.CONCEALED_KONG, st.KONG - st.PONG)],
        _NOTHING,
    )
    claimed = move.chow | move.pong | move.open_kong
    entry = move.kind | (move.seat << st.HISTORY_SEAT_SHIFT)
    entry = entry + jnp.where(state.drawn == move.kind, st.HISTORY_DRAWN, 0)
    entry = jnp.where(move.discard, entry, jnp.where(claimed, st.HISTORY_CLAIMED, 0))
    here = place_of(move.seat, suit)
    return Changes(
        taken=(here, ~move.taken + 1),
        drawn=(
            place_of(draw.drawer, packed.suit_of(draw.kind)),
            jnp.where(draw.is_given, packed.tile(draw.kind), _NOTHING),
        ),
        run=(here, move.run),
        set=(jnp.where(draw.kong_stands, place_of(state.actor, suit), here), form * unit),
        entry=(state.num_discards - claimed.astype(jnp.int32), entry.astype(jnp.int16)),
    )


def _carry_out(state: State, move: Move, changes: Changes) -> dict[str, Any]:
    """Moves the tiles."""
    at, entry = changes.entry
    is_at = np.arange(state.history.shape[-1], dtype=np.int32) == at
    return dict(
        hands=state.hands.plus(*changes.taken).plus(*changes.drawn),
        chows=state.chows.plus(*changes.run),
        sets=state.sets.plus(*changes.set),
        history=state.history + jnp.where(is_at, entry, jnp.int16(0)),
        num_discards=state.num_discards + move.discard.astype(jnp.int32),
    )


def _turn(state: State, move: Move, draw: Draw, asked: Array) -> dict[str, Any]:
    """Sets whose decision comes, with what tile drawn, or how the hand ended."""
    draws = draw.is_given
    robbed = move.win & state.robbing
    ending = jnp.select(
        [state.terminated, draw.is_out, move.win & (state.drawn >= 0), robbed, move.win],
        [
            state.ending,
            *(jnp.int32(e) for e in (st.DRAWN, st.SELF_DRAW, st.ROBBED_KONG, st.ON_DISCARD)),
        ],
        jnp.int32(st.RUNNING),
    )
    replacement = jnp.where(draw.konged, st.AFTER_OWN_KONG + move.open_kong, st.PLAIN_DRAW)
    stays = move.win if move.opening is None else move.win | move.opening
    winner = jnp.where(move.win & ~state.terminated, move.seat, state.winner)
    turned = dict(
        head=state.head + draw.plain.astype(jnp.int32),
        tail=state.tail - draw.konged.astype(jnp.int32),
        drawn=jnp.where(stays, state.drawn, jnp.where(draws, draw.kind, -1)),
        replacement=jnp.where(stays, state.replacement, replacement).astype(jnp.int32),
        current_player=jnp.where(draws, draw.drawer, asked),
        ending=ending,
        winner=winner if state.winners is None else state.winner,  # noted when it was asked
        terminated=state.terminated | draw.is_out | move.win,
    )
    if draw.wins_by_kongs is not None:
        turned |= dict(
            ending=jnp.where(draw.wins_by_kongs, st.FOUR_KONGS, ending),
            winner=jnp.where(draw.wins_by_kongs, draw.drawer, turned["winner"]),
            terminated=turned["terminated"] | draw.wins_by_kongs,
        )
    num_replaced = draw.konged.astype(jnp.int32)
    if draw.chain is not None:
        num_replaced = num_replaced + draw.chain.num_replaced
        turned |= _turn_of_flowers(state, draw.drawer, draw.chain, turned)
    if state.sub_draws is not None and state.sub_replacements is not None:
        drawn = flowers.share(draw.plain, draw.drawer)
        replaced = flowers.share(num_replaced, draw.drawer)
        turned["sub_draws"] = state.sub_draws + drawn
        turned["sub_replacements"] = state.sub_replacements + replaced
    return turned


def _turn_of_flowers(
    state: State, drawer: Array, chain: flowers.Chain, turned: dict[str, Any]
) -> dict[str, Any]:
    """Enters flowers exposed by a draw; the eighth may have ended the hand."""
    is_won = chain.winner >= 0
    return dict(
        flowers=chain.exposed,
        tail=turned["tail"] - chain.num_replaced,
        replacement=jnp.where(chain.num_replaced > 0, st.AFTER_FLOWER, turned["replacement"]),
        actor=jnp.where(is_won, drawer, state.actor),
        ending=st.eighth_flower_ending(chain.winner, drawer, turned["ending"]),
        winner=jnp.where(is_won, chain.winner, turned["winner"]),
        terminated=turned["terminated"] | is_won,
    )


def _remember(state: State, move: Move, draw: Draw, turned: dict[str, Any]) -> dict[str, Any]:
    """Notes what only some rules look back at."""
    fields: dict[str, Any] = {}
    if state.winners is not None:  # also who won without a question
        first = turned["winner"]
        bit = jnp.where(first >= 0, _bit_of(jnp.maximum(first, 0)), _NOTHING)
        fields["winners"] = state.winners | bit
    if move.barred is not None:
        fields["barred"] = move.barred
    if state.win_barred is not None:
        fields["win_barred"] = move.open_kong | (state.win_barred & ~draw.plain)
    if state.ready is not None and move.declares is not None:
        fields["ready"] = state.ready | ready.declaration(state, move.declares)
    return fields
