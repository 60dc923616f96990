"""Decisions made by hand, for testing players without a game."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from mjx import actions, tiles
from mjx.observe import Observation
from mjx.state import MAX_DISCARDS
from tests.oracle import expectimax as oracle
from tests.oracle import hand as oracle_hand
from tests.oracle.score import meld_tiles


@dataclasses.dataclass
class Case:
    """One decision, for the oracle and for the players."""

    decision: oracle.Decision
    legal: set[str]  # the oracle's names, kinds as numbers; discards left out
    drawn: int  # the tile just drawn, -1 in a question
    drawable: int
    seat_wind: int
    round_wind: int
    dealer: int
    streak: int

    def mask(self) -> np.ndarray:
        """Returns the legal actions: bool[NUM_ACTIONS]."""
        mask = np.zeros(actions.NUM_ACTIONS, bool)
        if self.decision.pending < 0:
            mask[:34] = np.array(self.decision.counts) > 0
        for name in self.legal:
            mask[action_id(name)] = True
        mask[actions.WIN] = self.decision.may_win
        return mask

    def observation(self) -> Observation:
        """Returns what the player sees."""
        own = self.decision
        forms = {form: np.zeros((4, 34), np.int8) for form in ("chow", "pong", "kong", "ankong")}
        for form, kind in own.melds:
            forms[form][0, kind] += 1
        none = np.full(MAX_DISCARDS, -1, np.int8)
        discarded = none.copy()
        discarded[0] = 0  # the first round is over
        asked = own.pending >= 0
        seen = Observation(
            hand=np.array(own.counts, np.int8),
            drawn=np.int32(self.drawn),
            chows=forms["chow"],
            pongs=forms["pong"] > 0,
            kongs=forms["kong"] > 0,
            concealed_kongs=forms["ankong"] > 0,
            discards=np.zeros((4, 34), np.int8),
            unseen=np.array(own.unseen, np.int8),
            num_concealed=np.array([sum(own.counts), 16, 16, 16], np.int32),
            history_kind=np.maximum(discarded, none),
            history_seat=discarded,
            history_drawn=np.zeros(MAX_DISCARDS, bool),
            history_claimed=np.zeros(MAX_DISCARDS, bool),
            pending=np.int32(own.pending),
            pending_seat=np.int32(3 if asked else -1),
            robbing=np.bool_(False),
            current_player=np.int32(0),
            replacement=np.int32(0),
            locked=np.bool_(own.locked),
            drawable=np.int32(self.drawable),
            seat_wind=np.int32(self.seat_wind),
            round_wind=np.int32(self.round_wind),
            dealer=np.int32(self.dealer),
            streak=np.int32(self.streak),
            legal_action_mask=self.mask(),
        )
        return jax.tree.map(jnp.asarray, seen)


def action_id(name: str) -> int:
    """Returns the id of one of the oracle's action names."""
    verb, _, kind = name.partition(" ")
    return actions.from_text(f"{verb} {tiles.NAMES[int(kind)]}" if kind else verb)


def batch(cases: list[Case]) -> Observation:
    """Stacks what is seen: leading axis B."""
    return jax.tree.map(lambda *rows: jnp.stack(rows), *[case.observation() for case in cases])


def sample(rng: np.random.Generator, num_melds: int, question: bool, unseen_kinds: int) -> Case:
    """Draws a decision at random, near enough to a win that some draws complete it.

    Args:
      rng: source of chance.
      num_melds: 0-5 melds laid down.
      question: whether it is about another's discard.
      unseen_kinds: kinds that may still be drawn, so that the tree stays small.
    """
    supply = np.full(34, 4)
    melds = []
    while len(melds) < num_melds:
        form = str(rng.choice(["chow", "pong", "kong", "ankong"], p=[0.5, 0.3, 0.1, 0.1]))
        kind = int(rng.integers(34))
        meld = (form, kind)
        if form == "chow" and (kind >= 27 or kind % 9 > 6):
            continue
        used = np.bincount(meld_tiles(meld), minlength=34)
        if (used <= supply).all():
            supply -= used
            melds.append(meld)
    counts = _tiles(rng, supply, 17 - 3 * num_melds)
    supply -= counts
    pending = -1
    if question:
        kind = int(rng.choice(np.nonzero(counts)[0]))
        counts[kind] -= 1  # at rest; the tile just given up is what is asked about
        pending = kind if rng.random() < 0.7 else int(rng.choice(np.nonzero(supply)[0]))
        supply[pending] -= pending != kind
    unseen = np.zeros(34, int)
    near = [k for k in range(34) if supply[k] and counts[max(k - 2, 0) : k + 3].any()]
    for kind in rng.permutation(near)[:unseen_kinds]:
        unseen[kind] = rng.integers(1, supply[kind] + 1)
    if not unseen.any():
        return sample(rng, num_melds, question, unseen_kinds)
    return _with_legal(rng, tuple(map(int, counts)), tuple(melds), tuple(map(int, unseen)), pending)


def _tiles(rng: np.random.Generator, supply: np.ndarray, number: int) -> np.ndarray:
    """Draws concealed tiles: mostly sets and pairs, then a few changed."""
    counts = np.zeros(34, int)
    while counts.sum() < number:
        kind = int(rng.integers(34))
        run = rng.random() < 0.6 and kind < 27 and kind % 9 < 7
        part = (
            [kind, kind + 1, kind + 2]
            if run
            else [kind] * int(rng.choice([2, 3, 4], p=[0.3, 0.6, 0.1]))
        )
        more = np.bincount(part[: number - counts.sum()], minlength=34)
        if (counts + more <= supply).all():
            counts += more
    for _ in range(int(rng.integers(0, 3))):
        old, new = int(rng.choice(np.nonzero(counts)[0])), int(rng.integers(34))
        if counts[new] < supply[new]:
            counts[old] -= 1
            counts[new] += 1
    return counts


def _with_legal(rng, counts, melds, unseen, pending) -> Case:
    """Adds what may be done, and the table."""
    locked = bool(rng.random() < 0.2)
    legal = set()
    if pending < 0:
        complete = oracle_hand.is_win(counts, len(melds))
        legal |= {f"concealed_kong {k}" for k in range(34) if counts[k] == 4}
        legal |= {f"added_kong {k}" for k in range(34) if counts[k] and ("pong", k) in melds}
    else:
        with_it = (*counts[:pending], counts[pending] + 1, *counts[pending + 1 :])
        complete = oracle_hand.is_win(with_it, len(melds))
        legal.add("pass")
        if counts[pending] >= 2:
            legal.add("pong")
        if counts[pending] >= 3:
            legal.add("open_kong")
        for place, name in enumerate(("chow_low", "chow_middle", "chow_high")):
            lowest = pending - place
            is_run = lowest >= 0 and pending < 27 and lowest % 9 < 7
            others = [k for k in range(lowest, lowest + 3) if k != pending] if is_run else [-1]
            if is_run and lowest // 9 == pending // 9 and all(counts[k] for k in others):
                legal.add(name)
    may_win = complete and not locked and rng.random() < 0.8
    seat_wind = int(rng.integers(4))
    return Case(
        oracle.Decision(counts, melds, unseen, locked, may_win, pending),
        legal,
        drawn=-1 if pending >= 0 else int(rng.choice(np.nonzero(counts)[0])),
        drawable=int(rng.integers(1, 50)),
        seat_wind=seat_wind,
        round_wind=int(rng.integers(4)),
        dealer=-seat_wind % 4,
        streak=int(rng.integers(3)),
    )
