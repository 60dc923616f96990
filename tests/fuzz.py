"""Plays hands of the reference and replays them in the JAX game, comparing all that is seen.

    python -m tests.fuzz --hands 100000 --seed 0

plays seeds 0 to 99999, on every core, and prints how the hands ended and what happened in them.
Each `BLOCK` of seeds plays by rules of its own, drawn from the number of the block; `--rules` fixes
them ("default", a preset, or changes such as "hand_tiles=13,multi_ron=True"). The first difference
stops it and names rules, seed, decision and what differs; `--hands 1 --seed THAT` repeats it.
Ctrl-C ends it after the blocks in play.
N = decisions of a hand, B = hands at once, C = steps of a chunk, P = 4 seats, T = 34 kinds.
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import multiprocessing
import os
import signal
import time
from collections import Counter
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from tqdm import tqdm

import mjx
from mjx import packed, score, tiles
from mjx import state as st
from tests.oracle import house_rules
from tests.oracle.match import Match
from tests.oracle.rules import Rules
from tests.recording import RARE, Recording, Snapshot, record

BLOCK = 5000  # seeds that play by the same rules, enough to be worth compiling for
LANES = 50  # hands at once
CHUNK = 24  # steps at once
CACHED_RULES = 8  # compiled for at a time; more would fill the memory
ENDINGS = {
    None: st.DRAWN,
    "self_draw": st.SELF_DRAW,
    "discard": st.ON_DISCARD,
    "rob_kong": st.ROBBED_KONG,
    "sigangpai": st.FOUR_KONGS,
    "baxian": st.EIGHT_FLOWERS,
    "qiqiangyi": st.EIGHTH_FLOWER_ROBBED,
}


@functools.cache
def game_rules(rules: Rules) -> mjx.Rules:
    """Translates the reference's rules."""
    return mjx.Rules(**dataclasses.asdict(rules))


@functools.partial(jax.jit, static_argnames="rules")
def _deal(walls, numbers, rules):
    """Deals B walls; `numbers` are further arguments of `init_from_wall` by name."""
    return jax.vmap(lambda wall, more: mjx.init_from_wall(wall, rules, **more))(walls, numbers)


@functools.partial(jax.jit, static_argnames="rules")
def _replay(states, actions, rules):
    """Plays actions [C, B], and shows what is compared before each: trees of [C, B, ...]."""

    def one_step(states, row):
        stepped = jax.vmap(lambda state, action: mjx.step(state, action, rules))(states, row)
        return stepped, jax.vmap(lambda state: _shown(state, rules))(states)

    return jax.lax.scan(one_step, states, actions)


def _shown(state, rules):
    """Collects what is compared of one state; seats absolute, but for the views."""
    views = jax.vmap(lambda seat: mjx.observe(state, seat, rules))(jnp.arange(4))
    return {
        "state": state,
        "terminated": state.terminated,
        "hands": packed.to_counts(state.hands.to_array()),
        "locked": state.locked,
        "drawable": st.drawable(state, rules),
        "current_player": state.current_player,
        "mask": state.legal_action_mask,
        "drawn": state.drawn,
        "rewards": state.rewards,
        "ending": state.ending,
        "winner": state.winner,
        "views": views,
    }


@functools.partial(jax.jit, static_argnames="rules")
def _settle(states, rules):
    """Gives of B finished hands the items of every seat [B, P, items], and the hands after."""

    def of_seat(state, seat):
        return score.tai(score.win_of(state.replace(winner=seat), rules), rules)

    items = jax.vmap(lambda state: jax.vmap(of_seat, (None, 0))(state, jnp.arange(4)))(states)
    if rules.hand_mode != "match":
        return items, None
    keys = jax.random.split(jax.random.key(0), len(states.terminated))
    after = jax.vmap(lambda key, state: mjx.next_hand(key, state, rules))(keys, states)
    return items, (jax.vmap(lambda state: mjx.is_over(state, rules))(states), after)


def play(recordings: list[Recording]) -> None:
    """Replays up to `LANES` hands of the same rules; AssertionError at the first difference."""
    shown, final = _replayed(recordings)
    rules = game_rules(recordings[0].rules)
    items, following = jax.device_get(_settle(final, rules))
    for lane, hand in enumerate(recordings):
        num = len(hand.actions) + 1
        compare(hand, jax.tree.map(lambda x, lane=lane, num=num: x[:num, lane], shown))
        _compare_items(hand, items[lane])
        if following is not None:
            is_over, after = jax.tree.map(lambda x, lane=lane: x[lane], following)
            _compare_following(hand, bool(is_over), after)


def replay(recordings: list[Recording]) -> dict:
    """Replays up to `LANES` hands; returns what was shown before each action, [N, LANES, ...].

    Fewer hands are filled up with the last; N is that of the longest, filled up to whole chunks.
    """
    return _replayed(recordings)[0]


def _replayed(recordings: list[Recording]) -> tuple[dict, mjx.State]:
    """Replays hands; returns also the states after the last action."""
    rules = game_rules(recordings[0].rules)
    num_steps = max(len(hand.actions) for hand in recordings) + 1
    num_steps += -num_steps % CHUNK
    actions = np.zeros((num_steps, LANES), np.int32)
    rows = recordings + [recordings[-1]] * (LANES - len(recordings))
    for lane, hand in enumerate(rows):
        actions[: len(hand.actions), lane] = hand.actions
    walls = np.array([hand.wall for hand in rows], np.int8)
    names = ["dealer", "round_wind", "streak"]
    names += ["dice_sum"] if rules.seat_wind_mode == "wall_break" else []
    names += ["first_dealer", "scores"] if rules.hand_mode == "match" else []
    numbers = {name: np.array([getattr(h, name) for h in rows], np.int32) for name in names}
    states = _deal(walls, numbers, rules)
    parts = []
    for start in range(0, num_steps, CHUNK):
        states, part = _replay(states, actions[start : start + CHUNK], rules)
        parts.append(jax.device_get(part))
    return jax.tree.map(lambda *xs: np.concatenate(xs), *parts), states


def compare(hand: Recording, shown: dict) -> None:
    """Compares one hand, all decisions at once.

    Args:
      hand: what the reference did.
      shown: what the JAX game showed, each [N, ...].
    """
    want = hand.snapshots
    running = ~want["terminated"]
    _same(hand, "terminated", want["terminated"], shown["terminated"])
    _same(hand, "hands", want["hands"], shown["hands"])
    locked = (shown["locked"][:, None] >> np.arange(4)) & 1 > 0
    _same(hand, "locked", want["locked"], locked)
    _same(hand, "drawable", want["drawable"], shown["drawable"])
    for name in ("current_player", "mask"):
        _same(hand, name, want[name][running], shown[name][running])
    settled = running & ~want["asks_ready"]  # the dealer's tile lies there while others are asked
    _same(hand, "drawn", want["drawn"][settled], shown["drawn"][settled])
    _same(hand, "mask of the end", True, shown["mask"][-1:])
    _same(hand, "rewards before the end", 0, shown["rewards"][:-1])
    end = len(hand.actions)
    _same(hand, "rewards", np.array([hand.rewards]), shown["rewards"][-1:], end)
    _same(hand, "winner", np.array([hand.winner]), shown["winner"][-1:], end)
    _same(hand, "ending", np.array([ENDINGS[hand.ending]]), shown["ending"][-1:], end)
    _compare_options(hand, shown["state"])
    for seat in range(4):
        view = jax.tree.map(lambda x, seat=seat: x[:, seat], shown["views"])
        for name, seen in expected_view(hand, seat).items():
            rows = slice(None) if name not in RUNNING_ONLY else running
            got = getattr(view, name)[rows]
            _same(hand, f"{name} seen by seat {seat}", seen[rows], got)


# What the reference does not keep beyond the end of a hand.
RUNNING_ONLY = (
    *("drawn", "pending", "pending_seat", "robbing", "current_player", "replacement"),
    "legal_action_mask",
)


def _compare_options(hand: Recording, state: mjx.State) -> None:
    """Compares the fields that only some rules have, each [N, ...]."""
    want, seats = hand.snapshots, np.arange(4)
    if state.flowers is not None:
        flowers = state.flowers[:, None] >> np.arange(32, dtype=np.uint32) & 1 > 0
        _same(hand, "flowers", want["flowers"].reshape(-1, 32), flowers)
    if state.ready is not None:
        declared = state.ready[:, None] >> seats & 1 | (state.ready[:, None] >> seats + 4 & 1) * 2
        _same(hand, "ready", want["ready"], declared)
    if state.winners is not None and hand.ending in ("discard", "rob_kong"):
        winners = np.isin(seats, hand.winners)[None]
        _same(hand, "winners", winners, state.winners[-1:, None] >> seats & 1 > 0)
    if state.scores is not None:
        scores = np.array([hand.scores]).repeat(len(state.scores), axis=0)
        scores[-1] += hand.rewards
        _same(hand, "scores", scores, state.scores)


def _compare_items(hand: Recording, items: np.ndarray) -> None:
    """Compares the items of each winner, items [P, items]."""
    for seat, expected in hand.items.items():
        got = {name: int(tai) for name, tai in zip(score.ITEMS, items[seat], strict=True) if tai}
        if got != {name: tai for name, tai in expected.items() if tai}:
            _fail(hand, len(hand.actions), f"items of seat {seat}", got, expected)


def _compare_following(hand: Recording, is_over: bool, after: mjx.State) -> None:
    """Compares what the match goes on with after a hand."""
    changes = 4 * hand.round_wind + (hand.dealer - hand.first_dealer) % 4
    match = Match(hand.dealer, hand.streak, changes).after(hand.winners)
    scores = np.add(hand.scores, hand.rewards)
    expected = (match.is_over, hand.first_dealer, *scores)
    got = (is_over, int(after.first_dealer), *after.scores)
    if not match.is_over:
        expected += (match.dealer, match.streak, match.round_wind)
        got += (int(after.dealer), int(after.streak), int(after.round_wind))
        if after.terminated:  # flowers ended the next hand at once
            expected, got = expected[:2] + expected[6:], got[:2] + got[6:]
    if expected != got:
        _fail(hand, len(hand.actions), "match after the hand", got, expected)


def expected_view(hand: Recording, seat: int) -> Snapshot:
    """Computes from the reference what a seat should see, by the observation's field names."""
    want = hand.snapshots
    turned = [(seat + place) % 4 for place in range(4)]
    others = turned[1:]
    num = len(want["terminated"])
    is_ours = want["current_player"] == seat
    melds = want["melds"][:, turned]
    max_discards = game_rules(hand.rules).max_discards
    places = np.arange(max_discards)
    said = places < want["num_discards"][:, None]
    rules = hand.rules
    padding = [(seat, -1, False)] * (max_discards - len(hand.history))
    by, kinds, drawn = (np.array(column) for column in zip(*hand.history, *padding, strict=True))
    claimed = np.full(max_discards, num)
    claimed[list(hand.claimed_at)] = list(hand.claimed_at.values())
    asker = want["pending_seat"]
    is_shown = is_ours | ((want["pending"] < 0) & ~want["asks_ready"])
    unseen = want["hands"][:, others].sum(axis=1) + want["left"][:, :34]
    if not rules.concealed_kong_shown:
        hidden = melds[:, 1:, 3]
        unseen = unseen + 4 * hidden.sum(axis=1)
        melds = melds.copy()
        melds[:, 1:, 3] = 0
    options = {}
    if rules.n_flowers:
        options["flowers"] = want["flowers"][:, turned]
    if rules.tianting or rules.diting:
        options["ready"] = want["ready"][:, turned]
    if rules.hand_mode == "match":
        options["first_dealer"] = np.full(num, (hand.first_dealer - seat) % 4)
    east = hand.dealer + (hand.dice_sum - 1 if rules.seat_wind_mode == "wall_break" else 0)
    return {
        **options,
        "hand": want["hands"][:, seat],
        "drawn": np.where(is_ours, want["drawn"], -1),
        **{
            name: melds[:, :, form]
            for form, name in enumerate(("chows", "pongs", "kongs", "concealed_kongs"))
        },
        "discards": want["rivers"][:, turned],
        "unseen": unseen,
        "num_concealed": want["hands"][:, turned].sum(axis=2),
        "history_kind": np.where(said, kinds, -1),
        "history_seat": np.where(said, (by - seat) % 4, -1),
        "history_drawn": said & drawn,
        "history_claimed": np.arange(num)[:, None] >= claimed,
        "pending": np.where(is_shown, want["pending"], -1),
        "pending_seat": np.where(is_shown & (asker >= 0), (asker - seat) % 4, -1),
        "robbing": want["robbing"] & is_shown,
        "current_player": np.where(is_shown, (want["current_player"] - seat) % 4, -1),
        "replacement": np.where(is_ours, want["replacement"], 0),
        "locked": want["locked"][:, seat],
        "drawable": want["drawable"],
        "seat_wind": np.full(num, (seat - east) % 4),
        "round_wind": np.full(num, hand.round_wind),
        "dealer": np.full(num, (hand.dealer - seat) % 4),
        "streak": np.full(num, hand.streak),
        "legal_action_mask": want["mask"] & is_ours[:, None],
    }


def _same(
    hand: Recording, name: str, expected: np.ndarray | int, got: np.ndarray, first: int = 0
) -> None:
    """Fails with seed and decision if rows differ."""
    if (np.asarray(expected) == got).all():
        return
    differs = np.broadcast_to(expected == got, got.shape).reshape(len(got), -1).all(axis=1)
    row = int(np.flatnonzero(~differs)[0])
    wanted = np.broadcast_to(expected, got.shape)[row]
    _fail(hand, first + row, name, got[row], wanted)


def _fail(hand: Recording, decision: int, name: str, got: object, expected: object) -> None:
    """Tells what differs, and all that is needed to see it again."""
    raise AssertionError(
        f"seed {hand.seed}, decision {decision} of {len(hand.actions)}: {name} is\n"
        f"{got}\nbut the reference has\n{expected}\n"
        f"rules: {house_rules.name_of(hand.rules) or 'default'}\n"
        f"actions so far: {[mjx.actions.to_text(a) for a in hand.actions[:decision]]}\n"
        f"wall: {' '.join(WALL_NAMES[kind] for kind in hand.wall)}"
    )


WALL_NAMES = (*tiles.NAMES, *(f"f{number}" for number in range(1, 9)))


def rules_of(seed: int, rules: Rules | None) -> Rules:
    """Gives the rules that a seed plays by, unless they are fixed."""
    return house_rules.draw(seed // BLOCK) if rules is None else rules


def rules_named(text: str) -> Rules:
    """Reads rules from text: "default", or what `mjx.rules.parse` reads."""
    return Rules(**dataclasses.asdict(mjx.rules.parse("" if text == "default" else text)))


def run_block(seed: int, num: int, rules: Rules | None) -> tuple[Counter, int]:
    """Plays seeds of one block; returns the events, and how many decisions there were."""
    _make_room(rules_of(seed, rules))
    events, decisions = Counter(), 0
    for first in range(seed, seed + num, LANES):
        seeds = range(first, min(first + LANES, seed + num))
        hands = [record(s, rules_of(seed, rules)) for s in seeds]
        play(hands)
        events += sum((hand.events for hand in hands), Counter())
        decisions += sum(len(hand.actions) for hand in hands)
    return events, decisions


_compiled_for: set[Rules] = set()


def _make_room(rules: Rules) -> None:
    """Forgets compiled programs once there are too many."""
    if rules not in _compiled_for and len(_compiled_for) == CACHED_RULES:
        jax.clear_caches()
        _compiled_for.clear()
    _compiled_for.add(rules)


def run(
    num_hands: int,
    seed: int,
    processes: int,
    rules: Rules | None = None,
    report: Callable[[int], None] = lambda done: None,
) -> tuple[Counter, int, int]:
    """Plays all hands, a block after another in each process; reports how many are done.

    Returns:
      The events, how many decisions there were, and how many hands: fewer if interrupted.
    """
    end = seed + num_hands
    starts = [seed, *range(seed - seed % BLOCK + BLOCK, end, BLOCK)]
    sizes = [min(start - start % BLOCK + BLOCK, end) - start for start in starts]
    events, decisions, done = Counter(), 0, 0
    with concurrent.futures.ProcessPoolExecutor(
        processes,
        multiprocessing.get_context("spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),
    ) as pool:
        try:
            played = pool.map(run_block, starts, sizes, [rules] * len(starts))
            for size, (more, count) in zip(sizes, played, strict=True):
                events, decisions, done = events + more, decisions + count, done + size
                report(done)
        except AssertionError:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
    return events, decisions, done


def main() -> None:
    """Reads the command line, plays, and prints the counts."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hands", type=int, default=1000, help="how many, 1 or more")
    parser.add_argument("--seed", type=int, default=0, help="of the first hand")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="one a core")
    parser.add_argument("--rules", default="all", help="default, all, a preset, or field=value,...")
    options = parser.parse_args()
    if options.hands < 1 or options.processes < 1:
        parser.error("--hands and --processes are 1 or more")
    try:
        rules = None if options.rules == "all" else rules_named(options.rules)
    except ValueError as error:
        parser.error(f"--rules: {error}")
    began = time.perf_counter()
    try:
        with tqdm(total=options.hands, unit=" hands") as bar:
            events, decisions, done = run(
                *(options.hands, options.seed, options.processes, rules),
                report=lambda done: bar.update(done - bar.n),
            )
    except AssertionError as difference:
        raise SystemExit(f"DIFFERENT: {difference}") from None
    seconds = time.perf_counter() - began
    print(f"{done} hands, {decisions} decisions, no difference, {seconds:.0f} s")
    for name, count in sorted(events.items(), key=lambda item: -item[1]):
        print(f"{count:8d}  {name}")
    missing = [] if rules is not None else [name for name in RARE if not events[name]]
    if missing:
        print(f"never: {', '.join(missing)}")


if __name__ == "__main__":
    main()
