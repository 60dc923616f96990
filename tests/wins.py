"""Builds winning hands backwards and scores each by the reference and by `mjx.score`.

    python -m tests.wins --hands 1000000 --seed 0

Every item of every hand must agree, and so must the capped sum. Blocks of hands are played under
the default rules, under rules that know every item, and under rules drawn freely, presets among
them. Prints how often each item occurred; one that never did counts as a failure, since it was
not tested. A difference names the seed of its block: `--seed THAT --hands 10000` repeats it.
"""

import argparse
import concurrent.futures
import dataclasses
import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from functools import partial

import jax
import numpy as np

from mjx.rules import Rules
from mjx.score import ITEMS, tai, total
from tests.oracle import rules as reference
from tests.won_hands import Won, items_of, random_hand, to_text, to_wins

BLOCK = 10_000  # hands of one table
_PLACES = {item: place for place, item in enumerate(ITEMS)}
_TAI = (
    *("ziyise", "quanqiu", "banqiu", "hedi", "menqing_zimo", "tianhu", "dihu", "renhu"),
    *("tianting", "diting", "ligu", "sigangpai", "flower", "flower_kong", "baxian", "qiqiangyi"),
)
_FLAGS = (
    *("ziyise_excludes_pengpeng", "xiaosixi_excludes_winds", "quanqiu_excludes_duting"),
    *("haidi_stacks_gangkai", "pinghu_with_menqing", "pinghu_on_rob_kong"),
    *("open_kong_gangkai", "flower_kong_excludes_own"),
)


def table_of(seed: int) -> reference.Rules:
    """Draws the rules of a block: default for even seeds, then all items, a preset, or any."""
    if seed % 2 == 0:
        return reference.Rules()
    rng = random.Random(f"rules {seed}")
    if seed % 4 == 1:
        tai_of = {item: max(1, value) for item, value in _random_tai(rng).items()}
        return _table(rng, tai_of, n_flowers=8)
    if seed % 16 == 3:
        presets = list(reference.PRESETS.values())
        return presets[seed // 16 % len(presets)]
    return _table(
        rng,
        _random_tai(rng),
        n_flowers=rng.choice((0, 8)),
        hand_tiles=rng.choice((16, 16, 13)),
        tai_cap=rng.choice((None, rng.randrange(40))),
    )


def _random_tai(rng: random.Random) -> dict[str, int]:
    """Draws the tai of the items that a table may change."""
    default = reference.Rules()
    values = {}
    for item in _TAI:
        usual = getattr(default, item) or 8
        values[item] = rng.choice((0, usual, usual, rng.randrange(1, 13), rng.randrange(1, 101)))
    # Little enough to tie with the sets that the same tiles also make.
    values["ligu"] = rng.choice((0, 1, 2, 3, 4, values["ligu"]))
    return values


def _table(rng: random.Random, tai_of: dict[str, int], **options) -> reference.Rules:
    """Joins options of a table, exclusions drawn."""
    flags = {name: rng.random() < 0.5 for name in _FLAGS}
    return reference.Rules(**tai_of, **flags, **options)


@partial(jax.jit, static_argnames="rules")
def _score(wins, rules):
    """Scores a batch: int16[B, NUM_ITEMS], int32[B]."""
    return jax.vmap(lambda win: (tai(win, rules), total(win, rules)))(wins)


def compare(hands: list[Won], table: reference.Rules) -> Counter:
    """Scores hands of one table both ways.

    Args:
      hands: the hands.
      table: the rules.

    Returns:
      How often each item occurred.

    Raises:
      AssertionError: the first hand that differs, with both lists of items.
    """
    scored = _score(to_wins(hands, table), Rules(**dataclasses.asdict(table)))
    rows, totals = (np.asarray(part) for part in scored)
    expected = [items_of(won, table) for won in hands]
    want = np.zeros_like(rows)
    for row, items in zip(want, expected, strict=True):
        for item, value in items.items():
            row[_PLACES[item]] = value
    sums = want.sum(axis=1, dtype=np.int32)
    if table.tai_cap is not None:
        sums = np.minimum(sums, table.tai_cap)
    differs = (want != rows).any(axis=1) | (sums != totals)
    for place in np.flatnonzero(differs)[:1].tolist():
        got = {item: int(n) for item, n in zip(ITEMS, rows[place], strict=True) if n}
        raise AssertionError(
            f"{to_text(hands[place])}\n{table}\nreference: {expected[place]}\n"
            f"mjx.score: {got}\ntotal: {totals[place]}, where {sums[place]} was expected"
        )
    counted = (want > 0).sum(axis=0).tolist()
    return Counter(dict(zip(ITEMS, counted, strict=True)))


def run_block(seed: int, num: int) -> Counter:
    """Compares the hands of one block; see `compare`."""
    rng, table = random.Random(seed), table_of(seed)
    try:
        return compare([random_hand(rng, table) for _ in range(num)], table)
    except AssertionError as difference:
        raise AssertionError(f"seed {seed}: {difference}") from None


def run(num_hands: int, seed: int, processes: int) -> Counter:
    """Compares all hands, block after block in each process."""
    sizes = [min(BLOCK, num_hands - start) for start in range(0, num_hands, BLOCK)]
    blocks = range(seed, seed + len(sizes)), sizes
    if processes == 1:
        return _gather(map(run_block, *blocks), num_hands)
    with concurrent.futures.ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn")
    ) as pool:
        try:
            return _gather(pool.map(run_block, *blocks), num_hands)
        except AssertionError:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _gather(counts, num_hands: int) -> Counter:
    """Adds up the counts of blocks and shows how far it is."""
    seen = Counter()
    began = time.perf_counter()
    for done, more in enumerate(counts, start=1):
        seen += more
        if done % 10 == 0:
            num = min(done * BLOCK, num_hands)
            print(f"{num} hands agree, {num / (time.perf_counter() - began):.0f}/s", flush=True)
    return seen


def main() -> int:
    """Reads the command line, compares, and prints the counts; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hands", type=int, default=50_000, help="how many, 1 or more")
    parser.add_argument("--seed", type=int, default=0, help="of the first block")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="one a core")
    options = parser.parse_args()
    if options.hands < 1 or options.processes < 1:
        parser.error("--hands and --processes are 1 or more")
    began = time.perf_counter()
    try:
        seen = run(options.hands, options.seed, options.processes)
    except AssertionError as difference:
        print(f"A hand is scored differently.\n{difference}")
        return 1
    seconds = time.perf_counter() - began
    print(f"{options.hands} hands agree, {options.hands / seconds:.0f}/s. How often:")
    for item in ITEMS:
        print(f"  {item:20}{seen[item]:>9}{'' if seen[item] else '  NEVER: not tested'}")
    return 0 if all(seen[item] for item in ITEMS) else 1


if __name__ == "__main__":
    sys.exit(main())
