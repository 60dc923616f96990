"""Runs a benchmark by name and prints its rows; `--json FILE` keeps them."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from mjx.rules import parse

# Rules that the game is timed under besides the default, for what an option costs that is on.
TABLES = (
    *("star31", "wan", "thirteen", "n_flowers=8", "wall_mode=stable_draw", "min_tai=1"),
    "multi_ron=true,guoshui=ron_only,tianting=8,diting=4,ligu=8,sigangpai=8,swap_calling=same",
)


def main() -> int:
    """Reads the command line and runs one benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = parser.add_subparsers(dest="name", required=True)
    simulator = names.add_parser("simulator", help="decisions a second of the game, on one core")
    simulator.add_argument("--batches", type=int, nargs="+", default=[1, 64, 256, 1024, 4096])
    simulator.add_argument(
        "--tables", nargs="*", default=list(TABLES), help="other rules, as mjx.rules.parse reads"
    )
    players = names.add_parser("players", help="decisions a second of players, on all cores")
    players.add_argument("--players", nargs="+", default=["bdi", "bdi_partial"], help="agents")
    players.add_argument("--batches", type=int, nargs=1, default=[4096])
    second = names.add_parser("doudizhu", help="games a second of Dou Dizhu, on all cores")
    second.add_argument("--batches", type=int, nargs="+", default=[256, 1024, 4096])
    searches = names.add_parser("search", help="decisions a second of the search, on all cores")
    searches.add_argument("--names", nargs="+", help="rows; all without it")
    for each in (simulator, players, second, searches):
        each.add_argument("--seconds", type=float, default=3.0, help="time a row is measured for")
        each.add_argument("--json", type=Path, help="where to write the rows")
    _add_tables(names.add_parser("tables", help="what width and depth of the search bring"))
    _add_table4(names.add_parser("table4", help="how to learn: the rows of the paper's table 4"))
    _add_results(names.add_parser("results", help="the tables of matches, out of eval.py's files"))
    args = parser.parse_args()
    for option in ("json", "write"):
        path = getattr(args, option, None)
        if path and not path.resolve().parent.is_dir():
            parser.error(f"--{option}: there is no folder {path.resolve().parent}")
    if args.name == "tables":
        return _tables(args, parser)
    if args.name == "table4":
        return _table4(args, parser)
    if args.name == "results":
        return _results(args, parser)
    if min(getattr(args, "batches", [1])) < 1 or args.seconds <= 0:
        parser.error("--batches are 1 or more, --seconds more than 0")
    try:
        for text in getattr(args, "tables", ()):
            parse(text)
    except ValueError as error:
        parser.error(f"--tables: {error}")
    rows = []
    for row in _measure(args):
        rows.append(row)
        print(_line(row), flush=True)
    if args.json:
        args.json.write_text(json.dumps({"rows": rows, "machine": _machine()}, indent=1) + "\n")
    return 0


def _add_tables(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the tables."""
    parser.add_argument("--pairs", type=int, required=True, help="walls of each match")
    parser.add_argument("--seed", type=int, required=True, help="of the walls, the same for all")
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.2, 0.4, 0.6, 0.8, 1.0])
    parser.add_argument("--depths", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--b", default="expectimax", help="the agent that they play against")
    parser.add_argument("--json", type=Path, help="where to keep the figures, and to go on from")
    parser.add_argument("--write", type=Path, help="Markdown file to put the tables into")


def _tables(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Plays the matches of the tables, prints them and writes them down."""
    from agents import arena, policy
    from benchmarks import tables
    from eval import use_all_cores

    use_all_cores()
    try:
        arena.check(args.pairs, args.seed, None)
        for depth in args.depths:
            for alpha in args.alphas:
                policy.load(f"expectimax:depth={depth},alpha={alpha}")
        policy.load(args.b)
    except ValueError as error:
        parser.error(str(error))
    cells = tables.play(args.alphas, args.depths, args.b, args.pairs, args.seed, args.json)
    text = tables.text(cells)
    print(text)
    if args.write:
        tables.write(args.write, text)
    return 0


def _add_table4(parser: argparse.ArgumentParser) -> None:
    """Adds the options of table 4; `benchmarks.table4_rows` says what is not given."""
    parser.add_argument("--run", type=Path, required=True, help="folder to keep it, and to go on")
    parser.add_argument("--rows", nargs="+", help="rows by name; all without it")
    parser.add_argument("--seed", type=int, default=0, help="of learning, records and walls")
    parser.add_argument("--agent", help="whose play supervised rows learn from")
    parser.add_argument("--hands", type=int, help="of these records")
    parser.add_argument("--pairs", type=int, help="walls of each match")
    parser.add_argument("--opponent", help="the agent that all rows play against")
    sizes = parser.add_mutually_exclusive_group()
    for size, about in (("paper", "the paper's sizes"), ("smoke", "everything once")):
        sizes.add_argument(f"--{size}", dest="size", action="store_const", const=size, help=about)
    parser.add_argument("--write", type=Path, help="Markdown file to put the table into")


def _table4(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Learns and plays the rows of table 4, prints them and writes them down."""
    import dataclasses

    from agents import arena, policy
    from benchmarks import table4, table4_rows, table4_text, tables
    from eval import use_all_cores

    use_all_cores()
    size = table4_rows.SIZES[args.size or "cpu"]
    given = {"agent": args.agent, "hands": args.hands}
    given = {name: value for name, value in given.items() if value is not None}
    try:
        size = dataclasses.replace(
            size,
            base=dataclasses.replace(size.base, **given),
            pairs=args.pairs or size.pairs,
            opponent=args.opponent or size.opponent,
        )
        arena.check(size.pairs, args.seed, None)
        policy.load(size.base.agent)
        kept = table4.play(args.run, size, args.rows or tuple(table4_rows.ROWS), args.seed)
    except ValueError as error:
        parser.error(str(error))
    except table4.StoppedError:
        print("Stopped; start again to go on.")
        return 130
    text = table4_text.text(kept, sys.argv[2:])
    print(text)
    if (picture := table4_text.draw(args.run, kept)) is not None:
        print(f"The calibration is drawn in {picture}.")
    if args.write:
        tables.write(args.write, text, "table4", "Figures of table 4")
    return 0


def _add_results(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the tables of matches."""
    kept = Path("docs/evaluations")
    parser.add_argument("--from", dest="folder", type=Path, default=kept, help="of the files")
    parser.add_argument("--write", type=Path, help="Markdown file to put the tables into")


def _results(args: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Prints the tables of matches and writes them down."""
    from benchmarks import evaluations, tables

    try:
        found = evaluations.read(args.folder)
    except ValueError as error:
        parser.error(str(error))
    for name, title, text in (
        ("mahjong", "Matches", evaluations.mahjong(found)),
        ("doudizhu", "Dou Dizhu", evaluations.doudizhu(found)),
    ):
        print(text)
        if args.write:
            tables.write(args.write, text, name, title)
    return 0


def _measure(args: argparse.Namespace) -> Iterator[dict]:
    """Runs the benchmark that was named."""
    if args.name == "players":
        from benchmarks import players

        yield from players.rows(args.players, args.batches[0], args.seconds)
        return
    if args.name == "search":
        from benchmarks import search
        from eval import use_all_cores

        use_all_cores()
        yield from search.rows(args.names or search.NAMES, args.seconds)
        return
    if args.name == "doudizhu":
        from benchmarks import doudizhu

        yield from doudizhu.rows(args.batches, args.seconds)
        return
    if hasattr(os, "sched_setaffinity"):  # one core, before JAX starts its threads
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    from benchmarks import simulator

    yield from simulator.rows(args.batches, args.tables, args.seconds)


def _line(row: dict) -> str:
    """Writes a row as text."""
    parts = []
    for name, value in row.items():
        if isinstance(value, float):
            value = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
        parts.append(str(value) if name == "name" else f"{name} {value}")
    return "  ".join(parts)


def _machine() -> dict[str, str]:
    """Says what the figures were measured on."""
    import jax

    return {
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "jax": jax.__version__,
        "backend": jax.default_backend(),
    }


if __name__ == "__main__":
    sys.exit(main())
