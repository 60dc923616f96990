"""One look at the game: what a hand is worth, a recorded hand, a hand against an agent.

python -m mjx score "23m 456p 789s EEE 55m chi:[1m2m3m] win:4m self_draw"
python -m mjx score --jsonl hands.jsonl
python -m mjx replay record.jsonl --hand 1
python -m mjx play --agent greedy --record record.jsonl
"""

import argparse
import importlib
import json
import os
import pathlib
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjx import actions, handtext, record, render, rules, score, tiles, wonhand
from mjx.observe import observe
from mjx.record import events
from mjx.record.events import Event
from mjx.record.schema import refuse_constant
from mjx.rules import Rules
from mjx.state import State
from mjx.step import init, step

_NAMES = {
    **{item: (name.english, name.chinese) for item, name in score.NAMES.items()},
    "dealer": ("dealer", "莊家"),
    "dealer_streak": ("dealer's streak", "連莊拉莊"),
}
_KEYS = "Enter next, b back, a number, q quit: "


def main(arguments: list[str] | None = None) -> int:
    """Reads the command line and runs a command; returns the exit status."""
    parser, options = _options(arguments)
    try:
        return options.run(options, parser)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print()
        return 130


def _options(
    arguments: list[str] | None,
) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m mjx",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    worth = commands.add_parser(
        "score", help="what a won hand is worth", description=handtext.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    worth.add_argument("hand", nargs="*", help="the hand, as shown above")
    worth.add_argument(
        "--jsonl", metavar="FILE", help="score hands in the form of tests/cases; - is the input"
    )
    worth.set_defaults(run=_score)
    again = commands.add_parser("replay", help="step through a record")
    again.add_argument("file", metavar="FILE")
    again.add_argument("--all", action="store_true", help="print all steps without asking")
    again.add_argument("--hand", type=int, metavar="N", help="this hand alone, from 1")
    again.add_argument("--seat", type=int, choices=range(4), help="what this seat sees")
    again.set_defaults(run=_replay)
    game = commands.add_parser("play", help="play a hand against an agent")
    game.add_argument("--agent", default="greedy", help="the other seats, as in eval.py")
    game.add_argument("--seed", type=int, default=0, help="the same seed, the same wall")
    game.add_argument("--seat", type=int, default=0, choices=range(4), help="yours; 0 deals")
    game.add_argument("--rules", default="AT", help="a preset and fields: wan,reserve=0")
    game.add_argument("--record", type=pathlib.Path, metavar="FILE", help="write the hand here")
    game.set_defaults(run=_play)
    return parser, parser.parse_args(arguments)


def _fail(message: object) -> int:
    """Prints one line on what is wrong; returns the exit status."""
    print(f"error: {message}", file=sys.stderr)
    return 1


# score


def _score(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Scores one hand, or a file of them."""
    if bool(options.hand) == (options.jsonl is not None):
        parser.error("score: write a hand, or name a file with --jsonl")
    if options.jsonl is not None:
        try:
            is_input = options.jsonl == "-"
            text = sys.stdin.buffer.read() if is_input else pathlib.Path(options.jsonl).read_bytes()
        except OSError as error:
            parser.error(f"score: {error}")
        return _score_lines([line for line in text.split(b"\n") if line.strip()])
    try:
        hand, table = handtext.parse_text(" ".join(options.hand))
        wonhand.check(hand, table)
    except ValueError as error:
        return _fail(error)
    (scored,) = wonhand.score_all([(hand, table)])
    if isinstance(scored, ValueError):
        return _fail(scored)
    print(*_tai_lines(scored.tai, scored.total), _due(hand, scored.due), sep="\n")
    return 0


def _score_lines(lines: list[bytes]) -> int:
    """Scores JSON lines and prints one for each, in their order."""
    shown: list[dict[str, Any]] = []
    hands: list[tuple[wonhand.WonHand, Rules]] = []
    places = []
    for line in lines:
        shown.append({"id": None})
        try:
            case = json.loads(line.decode("utf-8-sig"), parse_constant=refuse_constant)
            if type(case) is not dict:
                raise ValueError("a line is a JSON object")
            shown[-1]["id"] = case.get("id")
            hand = handtext.parse_case(case)
            wonhand.check(*hand)
        except (ValueError, RecursionError) as error:
            shown[-1]["error"] = str(error)
            continue
        hands.append(hand)
        places.append(len(shown) - 1)
    for place, scored in zip(places, wonhand.score_all(hands), strict=True):
        if isinstance(scored, ValueError):
            shown[place]["error"] = str(scored)
        else:
            shown[place] |= {"tai": scored.tai, "total": scored.total}
    for row in shown:
        print(json.dumps(row))
    return int(any("error" in row for row in shown))


def _tai_lines(tai: dict[str, int], total: int) -> list[str]:
    """Names the tai of a win, item by item."""
    lines = [f"{n:4d}  {_NAMES[item][0]} {_NAMES[item][1]}" for item, n in tai.items()]
    return [*lines, f"{total:4d}  tai in all" + (" 屁胡" if not tai else "")]


def _due(hand: wonhand.WonHand, due: tuple[int, ...]) -> str:
    """Words who pays what."""
    if hand.win_by != "self_draw":
        who = "the discarder" if hand.win_by == "discard" else "who declared the kong"
        return f"{who} pays {due[0]}"
    if hand.is_dealer:
        return f"each of the three others pays {due[0]}"
    return f"the dealer pays {due[0]}, the two others {due[1]} each"


# replay


class _Stop(NamedTuple):
    """A place to stop at in a record."""

    hand: int
    state: int
    told: list[Event]  # what happened since the stop before


def _replay(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Steps through a record."""
    try:
        hands = record.read_file(options.file)
    except (OSError, record.RecordError) as error:
        return _fail(f"{options.file}: {error}")
    if not hands:
        return _fail(f"{options.file}: the record holds no hands")
    if options.hand is not None and not 1 <= options.hand <= len(hands):
        return _fail(f"--hand is 1 to {len(hands)} in this record, not {options.hand}")
    chosen = range(len(hands)) if options.hand is None else [options.hand - 1]
    stops = [stop for index in chosen for stop in _stops(index, hands[index])]
    place = 0
    while place < len(stops):
        stop = stops[place]
        print(_shown(hands[stop.hand], stop, f"{place + 1}/{len(stops)}", options.seat), "\n")
        if options.all or not sys.stdin.isatty():
            place += 1
        else:
            place = _next_place(place, len(stops))
    return 0


def _next_place(place: int, number: int) -> int:
    """Asks where to go on; a place past the end quits."""
    while True:
        try:
            answer = input(_KEYS).strip().lower()
        except EOFError:
            print()
            return number
        if answer in ("", "b"):
            return max(0, place + (1 if not answer else -1))
        if answer == "q":
            return number
        if answer.isdecimal() and 1 <= int(answer) <= number:
            return int(answer) - 1
        print(f"Enter, b, q, or a number from 1 to {number}.")


def _stops(index: int, hand: record.Hand) -> Iterator[_Stop]:
    """Lists where something happened that everybody notices."""
    before = 0
    last = len(hand.upto) - 1
    for state, upto in enumerate(hand.upto):
        upto = len(hand.events) if state == last else upto
        if state in (0, last) or upto > before:
            yield _Stop(index, state, hand.events[before:upto])
            before = upto


def _shown(hand: record.Hand, stop: _Stop, where: str, seat: int | None) -> str:
    """Draws a stop."""
    state = jax.tree.map(lambda leaf: leaf[stop.state], hand.states)
    lines = [f"[{where}] hand {stop.hand + 1}"]
    lines += [line for event in stop.told for line in _told(event, seat, hand.rules, hand.names)]
    return "\n".join([*lines, render(state, seat, hand.rules)])


def _told(
    event: Event, viewer: int | None, table: Rules, names: tuple[str, ...] | None = None
) -> list[str]:
    """Words an event for a seat, or for who sees all."""
    kind, seat = event["type"], event.get("seat")
    who = f"seat {seat}" + (f" ({names[seat]})" if names and seat is not None else "")
    is_hidden = viewer not in (None, seat)
    tile = _glyph(event["tile"]) if "tile" in event else ""
    if kind == "start_hand":
        return [f"dealt by seat {event['dealer']}"]
    if kind == "end_hand":
        points = ", ".join(f"{n:+d}" for n in event["points"])
        return [f"{event['how'].replace('_', ' ')}: points {points}"]
    if kind == "win":
        giver = "" if event["from"] == seat else f" from seat {event['from']}"
        return [f"{who} wins{giver} {tile}".rstrip(), *_tai_lines(event["tai"], event["total"])]
    if kind == "draw" and is_hidden and event["tile"] not in tiles.FLOWERS:
        tile = "a tile"
    if kind == "kong" and event["form"] == "concealed" and is_hidden:
        tile = tile if table.concealed_kong_shown else "a kind"
    words = {
        **{"draw": f"draws {tile}", "flower": f"exposes {tile}", "ready": "is ready"},
        "discard": f"discards {tile}" + (" as drawn" if event.get("drawn") else ""),
        "chow": f"chows {tile} with {' '.join(event.get('with', []))}",
        "pong": f"pongs {tile}",
        "kong": f"makes a kong of {tile} ({event.get('form')})",
    }
    return [f"{who} {words[kind]}"]


def _glyph(tile: str) -> str:
    """Draws a tile with its name."""
    is_flower = tile in tiles.FLOWERS
    return tile if is_flower else f"{tiles.glyph(tiles.NAMES.index(tile))}{tile}"


# play


def _play(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Plays a hand in the terminal."""
    try:
        table = rules.parse(options.rules)
        agent = _agent(options.agent, table)
        if options.record is not None:
            record.write_file(options.record, None)
    except (ValueError, OSError) as error:
        return _fail(error)
    seat = options.seat
    deal_key, act_key = jax.random.split(jax.random.key(options.seed))
    first = state = init(deal_key, table)
    advance = jax.jit(step, static_argnames="rules")
    act = jax.jit(_acting(agent, table))
    done: list[int] = []
    told: Event | None = None
    print(f"You are seat {seat}; the others are {agent.name}. Ctrl-D ends.")
    while not state.terminated:
        if int(state.current_player) == seat:
            action = _ask(state, seat, table)
            if action is None:
                print("\nThe hand was not finished, and is not recorded.")
                return 0
        else:
            action = int(act(agent.params, jax.random.fold_in(act_key, len(done)), state))
        after = advance(state, jnp.int32(action), rules=table)
        for told in events.events_between(state, action, after, table):
            print(*_told(told, seat, table), sep="\n")
        state = after
        done.append(action)
    for event in events.end_of(first, state, told, table):
        print(*_told(event, seat, table), sep="\n")
    if options.record is not None:
        names = ["you" if s == seat else agent.name for s in range(4)]
        played = np.array(done, np.int32)
        record.write_file(options.record, record.lines(first, played, table, names))
    return 0


def _agent(name: str, table: Rules) -> Any:
    """Makes a player by name.

    The game imports nothing of the players; only this command looks for them, when it is run.

    Raises:
      ValueError: there is no such player, or there are no players here.
    """
    try:
        policy = importlib.import_module("agents.policy")
    except ModuleNotFoundError as error:
        if error.name not in ("agents", "agents.policy"):
            raise
        raise ValueError("play needs the package `agents`, which is not installed here.") from None
    return policy.load(name, table)


def _acting(agent: Any, table: Rules) -> Any:
    """Makes the function by which the agent acts in one hand, on what its seat sees."""

    def act(params: Any, key: jax.Array, state: State) -> jax.Array:
        seen = observe(state, state.current_player, table)
        seen = jax.tree.map(lambda leaf: leaf[None], seen)
        return agent.act(params, key[None], seen, seen.legal_action_mask)[0]

    return act


def _ask(state: State, seat: int, table: Rules) -> int | None:
    """Shows a seat its table and asks until it names a legal move; None at the end of input."""
    moves = _moves(state)
    by_name = {name.casefold(): action for name, action in moves.items()}
    by_name |= {actions.NAMES[action].casefold(): action for action in moves.values()}
    if actions.PASS in moves.values():
        by_name[""] = actions.PASS
    print(f"\n{render(state, seat, table)}\nmoves: {', '.join(moves)}")
    while True:
        try:
            answer = " ".join(input("> ").split()).casefold()
        except EOFError:
            return None
        if answer in by_name:
            return by_name[answer]
        print(f"{answer!r} is not among: {', '.join(moves)}")


def _moves(state: State) -> dict[str, int]:
    """Names the legal actions briefly: a tile is discarded, the rest are words."""
    pending = int(state.pending)
    names = {}
    for action in np.flatnonzero(state.legal_action_mask).tolist():
        tile = tiles.NAMES[action % tiles.NUM_KINDS]
        if action < actions.CONCEALED_KONG:
            name = tile
        elif action < actions.CHOW_LOW:
            name = f"kong {tile}"
        elif action < actions.PONG:
            low = pending - (action - actions.CHOW_LOW)
            name = "chow " + "".join(tiles.NAMES[k] for k in range(low, low + 3) if k != pending)
        else:
            name = {actions.OPEN_KONG: "kong", actions.DECLARE_READY: "ready"}.get(
                action, actions.NAMES[action]
            )
        names[name] = action
    return names


if __name__ == "__main__":
    sys.exit(main())
