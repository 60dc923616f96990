"""Games of another engine, played again move by move and compared at every ply.

    python -m tests.doudizhu.lockstep --against rlcard --states 500000

`oracle` is the plain Python of `tests/oracle/doudizhu.py`; `rlcard` is the library of that name,
and deals itself. A difference is printed with the seed of its game. B = games at once, N = plies,
P = players, R = ranks.
"""

import argparse
import fcntl
import functools
import importlib
import importlib.util
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import doudizhu
from doudizhu import cards, moves
from doudizhu.rules import DEFAULT, Rules
from doudizhu.state import MAX_PLIES
from doudizhu.tables import BITS, NUM_WORDS
from tests.oracle import doudizhu as oracle

BATCH = 64
HAS_RLCARD = importlib.util.find_spec("rlcard") is not None
NUM_SHOWN = MAX_PLIES + 1  # the state before each ply, and the last one
SCORINGS = {
    "wp": Rules(),
    "adp": Rules(scoring="adp"),
    "spring": Rules(scoring="adp", spring=True),
}


class Record(NamedTuple):
    """One game as another engine played it."""

    seed: int
    hands: np.ndarray  # int8[P,R]  as dealt
    bottom: np.ndarray  # int8[R]
    moves: list[int]
    legal: list[list[int]]  # before each ply
    shown: dict[str, list]  # fields of State before each ply and at the end
    rewards: dict[str, list[int]]  # by scoring


def play_oracle(seed: int, strict: bool = False) -> Record:
    """Plays one game of the reference, with a deck and a player that the seed chooses."""
    rng = random.Random(seed)
    deck = _deck(rng, seed % 3)
    piles = [deck[17 * p : 17 * p + 17] for p in range(3)]
    game = oracle.Game([piles[0] + deck[51:], *piles[1:]], strict)
    record = Record(
        seed, _counts(game.hands), np.array(cards.parse(deck[51:])), [], [], _shown(), {}
    )
    _show(game, record)
    while game.winner is None:
        legal = game.legal()
        record.legal.append([moves.from_text(text) for text in legal])
        chosen = _choose(rng, seed % 2, list(legal))
        game.play(chosen, legal[chosen])
        record.moves.append(moves.from_text(chosen))
        _show(game, record)
    record.rewards.update(
        wp=game.rewards(), adp=game.rewards("adp"), spring=game.rewards("adp", True)
    )
    return record


@functools.cache
def rlcard() -> Any:
    """Imports rlcard's game, one process at a time: the first import unpacks its data."""
    with open(os.path.join(tempfile.gettempdir(), "mjx-rlcard.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        importlib.import_module("rlcard.games.doudizhu.utils")
    return importlib.import_module("rlcard.games.doudizhu")


def play_rlcard(seed: int) -> Record:
    """Plays one game of rlcard with random legal moves."""
    rng, game = random.Random(seed), rlcard().Game()
    game.np_random = np.random.RandomState(seed)
    state, player = game.init_game()
    hands = _counts(state_hands(game))
    bottom = np.array(cards.parse(game.round.public["seen_cards"]))
    shown: dict[str, list] = {"hands": [], "current_player": []}
    record = Record(seed, hands, bottom, [], [], shown, {})
    while True:
        shown["hands"].append(_counts(state_hands(game)))
        if game.is_over():
            break
        shown["current_player"].append(player)
        record.legal.append([moves.from_text(text) for text in state["actions"]])
        chosen = rng.choice(sorted(state["actions"]))
        record.moves.append(moves.from_text(chosen))
        state, player = game.step(chosen)
    shown["current_player"].append(game.winner_id)  # theirs goes on, ours stays
    payoffs = game.judger.judge_payoffs(game.round.landlord_id, game.winner_id)
    record.rewards["wp"] = [2 * int(won) - 1 for won in payoffs]
    return record


def state_hands(game: Any) -> list[str]:
    """Writes the hands of a game of rlcard as text."""
    return [rlcard().utils.cards2str(player.current_hand) for player in game.players]


def compare(records: list[Record], rules: Rules = DEFAULT) -> Counter:
    """Plays the games again and compares; counts the states by what they ask.

    Raises:
      AssertionError: at the first difference, with the seed and the ply.
    """
    found: Counter = Counter()
    for first in range(0, len(records), BATCH):
        part = records[first : first + BATCH]
        full = part + part[:1] * (BATCH - len(part))  # one shape, compiled once
        played = np.full((BATCH, NUM_SHOWN), moves.PASS, np.int32)
        for row, record in zip(played, full, strict=True):
            row[: len(record.moves)] = record.moves
        hands = np.stack([record.hands for record in full]).astype(np.int8)
        bottom = np.stack([record.bottom for record in full]).astype(np.int8)
        shown = jax.device_get(_replay(hands, bottom, played, rules))
        for index, record in enumerate(part):
            one = jax.tree.map(lambda x, i=index: x[i], shown)
            _compare(record, one, found)
    return found


@functools.partial(jax.jit, static_argnames="rules")
def _replay(hands: Any, bottom: Any, played: Any, rules: Rules) -> dict[str, Any]:
    """Shows B games before each ply: arrays [B, NUM_SHOWN, ...]."""

    def one_game(hands: Any, bottom: Any, played: Any) -> dict[str, Any]:
        def one_ply(state: Any, move: Any) -> tuple[Any, dict[str, Any]]:
            shown = {name: getattr(state, name) for name in _FIELDS}
            seen = jax.vmap(lambda p: doudizhu.observe(state, p, rules))(jnp.arange(3))
            shown["view"] = {name: getattr(seen, name) for name in _VIEW}
            shown["legal"] = doudizhu.legal_words(state, rules)
            shown["groups"] = doudizhu.legal_groups(state, rules)
            ids, num = doudizhu.legal_list(state, rules=rules)
            shown["listed"] = (jnp.sum(ids * (ids >= 0)), num)
            reached = doudizhu.step(state, move, rules)
            shown["paid"] = reached.rewards
            shown["points"] = {
                name: doudizhu.rewards(reached, pays) for name, pays in SCORINGS.items()
            }
            return reached, shown

        return jax.lax.scan(one_ply, doudizhu.init_from_hands(hands, bottom), played)[1]

    return jax.vmap(one_game)(hands, bottom, played)


_FIELDS = (
    *("hands", "played", "current_player", "to_beat", "owner", "passes", "bombs", "plays"),
    *("terminated", "winner", "num_plies"),
)
_VIEW = ("hand", "played", "unseen", "num_cards", "role", "current_player", "owner", "plays")


def _compare(record: Record, shown: dict[str, Any], found: Counter) -> None:
    """Compares one game."""
    num = len(record.moves)

    def check(is_right: Any, ply: int, what: str) -> None:
        names = " ".join(map(moves.to_text, record.moves[:ply]))
        assert np.all(is_right), f"seed {record.seed}, ply {ply} of {num}: {what} after {names}"

    group_of = moves.all_moves().group
    for ply in range(num + 1):
        is_end = ply == num
        legal = [moves.PASS] if is_end else sorted(record.legal[ply])
        words, groups, ids = shown["legal"][ply], np.zeros(309, bool), np.array(legal)
        groups[group_of[ids]] = True
        check(np.array_equal(words, as_words(ids)), ply, "legal moves")
        check(shown["groups"][ply] == groups, ply, "legal groups")
        check(shown["listed"][0][ply] == ids.sum(), ply, "listed moves")
        check(shown["listed"][1][ply] == len(ids), ply, "number of moves")
        check(shown["terminated"][ply] == is_end, ply, "terminated")
        check(shown["num_plies"][ply] == ply, ply, "num_plies")
        for name, expected in record.shown.items():
            check(shown[name][ply] == np.asarray(expected[ply]), ply, name)
        if "played" in record.shown:
            _check_view(record, shown["view"], ply, check)
        if not is_end:
            to_beat = int(shown["to_beat"][ply])
            found["on " + moves.CATEGORIES[moves.all_moves().category[to_beat]]] += 1
            kind = moves.all_moves().category[record.moves[ply]]
            found["played " + moves.CATEGORIES[kind]] += 1
    for name, expected in record.rewards.items():
        check(shown["points"][name][num - 1] == expected, num, f"rewards {name}")
    check(shown["paid"][num - 1] == record.rewards["wp"], num, "rewards of the step")
    check(shown["paid"][np.arange(NUM_SHOWN) != num - 1] == 0, num, "rewards before and after")
    found["states"] += num
    found["games"] += 1
    found["landlord wins"] += record.rewards["wp"][0] == 1
    found["springs"] += record.rewards.get("spring") != record.rewards.get("adp")


def _check_view(record: Record, view: dict[str, Any], ply: int, check: Any) -> None:
    """Compares what the three players see, turned to each of them."""
    shown = {name: np.asarray(record.shown[name][ply]) for name in record.shown}
    on_table = shown["played"].sum(axis=0)
    for player in range(3):
        turned = {
            name: np.roll(shown[name], -player, axis=0) for name in ("hands", "played", "plays")
        }
        expected = {
            "hand": turned["hands"][0],
            "played": turned["played"],
            "unseen": np.array(cards.COPIES) - on_table - turned["hands"][0],
            "num_cards": turned["hands"].sum(axis=1),
            "role": player,
            "current_player": (shown["current_player"] - player) % 3,
            "owner": -1 if shown["owner"] < 0 else (shown["owner"] - player) % 3,
            "plays": turned["plays"],
        }
        for name, value in expected.items():
            check(view[name][ply][player] == value, ply, f"{name} seen by {player}")


def as_words(ids: np.ndarray) -> np.ndarray:
    """Packs ids as legal words: uint32[W]."""
    bits = np.zeros(BITS * NUM_WORDS, bool)
    bits[ids] = True
    return np.packbits(bits, bitorder="little").view("<u4")


def _counts(hands: list[str]) -> np.ndarray:
    """Counts hands: int64[P, R]."""
    return np.array([cards.parse(hand) for hand in hands])


def _deck(rng: random.Random, richness: int) -> str:
    """Shuffles a deck well, or so badly that bombs and planes are dealt."""
    deck = [card for card in oracle.ORDER for _ in range(1 if card in "BR" else 4)]
    if richness == 0:
        rng.shuffle(deck)
    else:
        for _ in range(12 * richness):
            i, j = rng.randrange(54), rng.randrange(54)
            deck[i], deck[j] = deck[j], deck[i]
        turn = rng.randrange(54)
        deck = deck[turn:] + deck[:turn]
    return "".join(deck)


def _choose(rng: random.Random, greed: int, legal: list[str]) -> str:
    """Picks a move with equal chances, or at times one with many cards, and passes less."""
    legal = sorted(legal)
    if greed and rng.random() < 0.7:
        some = rng.sample(legal, min(4, len(legal)))
        return max(some, key=lambda text: 0 if text == oracle.PASS else len(text))
    return rng.choice(legal)


def _shown() -> dict[str, list]:
    """Begins the record of what the reference shows."""
    names = ("hands", "played", "current_player", "to_beat", "owner", "passes", "bombs", "plays")
    return {name: [] for name in (*names, "winner")}


def _show(game: oracle.Game, record: Record) -> None:
    """Records a state of the reference."""
    is_led = game.leads
    to_beat = moves.PASS if is_led or game.last is None else moves.from_text(game.last[0])
    now = {
        "hands": _counts(game.hands),
        "played": _counts(game.played),
        "current_player": game.player,
        "to_beat": to_beat,
        "owner": -1 if game.last is None else game.last[2],
        "passes": game.passes,
        "bombs": game.bombs,
        "plays": list(game.plays),
        "winner": -1 if game.winner is None else game.winner,
    }
    for name, value in now.items():
        record.shown[name].append(value)


ENGINES = {"oracle": play_oracle, "rlcard": play_rlcard}


def run(against: str, num_states: int, seed: int) -> Iterator[Counter]:
    """Compares batch by batch until so many states are reached; gives the counts so far."""
    found: Counter = Counter()
    while found["states"] < num_states:
        found += compare([ENGINES[against](seed + i) for i in range(BATCH)])
        seed += BATCH
        yield found


def main() -> None:
    """Reads the command line and compares."""
    parser = argparse.ArgumentParser(prog="python -m tests.doudizhu.lockstep", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--against", choices=ENGINES, default="oracle")
    parser.add_argument("--states", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start, found = time.perf_counter(), Counter()
    for found in run(options.against, options.states, options.seed):
        if found["games"] % (32 * BATCH) == 0:
            print(f"{found['states']:,} states", flush=True)
    print(f"no difference in {time.perf_counter() - start:.0f} s:")
    print(", ".join(f"{name} {count:,}" for name, count in sorted(found.items())))


if __name__ == "__main__":
    main()
