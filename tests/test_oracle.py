"""The reference against the case files, and what holds for every hand and every game."""

import random

import pytest

from tests.oracle import actions, cases
from tests.oracle.game import Game
from tests.oracle.hand import accepting, deficiency, deficiency_brute, is_win, waits
from tests.oracle.players import choose
from tests.oracle.rules import Rules
from tests.oracle.scenes import LOCKS, SCENES, WINS
from tests.oracle.score import dealer_items, meld_tiles, payments, score
from tests.oracle.tiles import count, name, parse, parse_tiles
from tests.oracle.walls import random_wall, rich_wall, wall_with


def _id(case):
    return case["id"]


@pytest.mark.parametrize("case", cases.load("hands"), ids=_id)
def test_won_hand_has_the_tai_of_the_case(case):
    rules = cases.rules_of(case)
    items = score(cases.won_hand_of(case), rules)
    is_dealer_in = case["dealer"] or "discarder_is_dealer" in case["flags"]
    items |= dealer_items(is_dealer_in, case["dealer_streak"], rules)
    assert items == case["expected_tai"]
    assert sum(items.values()) == case["total"]
    if "dealer_pays_extra_tai" in case:
        extra = dealer_items(True, case["dealer_streak"], rules)
        assert sum(extra.values()) == case["dealer_pays_extra_tai"]


@pytest.mark.parametrize("case", cases.load("facts", "wait"), ids=_id)
def test_waits(case):
    melds = cases.melds_of(case)
    melded = count(kind for meld in melds for kind in meld_tiles(meld))
    found = waits(cases.counts_of(case), len(melds), melded)
    assert found == {parse(tile) for tile in case["expected_waits"]}


@pytest.mark.parametrize("case", cases.load("facts", "shape"), ids=_id)
def test_shape(case):
    is_ligu_on = cases.rules_of(case).ligu > 0
    found = is_win(cases.counts_of(case), len(case["melds"]), ligu=is_ligu_on)
    assert found == case["expected_win"]


@pytest.mark.parametrize("case", cases.load("facts", "payment"), ids=_id)
def test_payment(case):
    rules = Rules(base=case["base"], unit=case["unit"])
    paid = payments(
        case["winner"], case["payers"], case["hand_tai"], case["dealer"], case["streak"], rules
    )
    assert paid == case["expected_delta"]


def test_names_and_kinds_are_inverse():
    assert [parse(name(kind)) for kind in range(42)] == list(range(42))
    assert parse_tiles("19m 1p9s EP f1") == [0, 8, 9, 26, 27, 33, 34]


@pytest.mark.parametrize("num_melds", [2, 3, 4, 5])
def test_deficiency_of_short_hands_is_what_the_search_finds(num_melds):
    rng = random.Random(num_melds)
    for _ in range({2: 15, 3: 60}.get(num_melds, 150)):
        hand = _random_hand(rng, 16 - 3 * num_melds + rng.randrange(2))
        assert deficiency(hand, num_melds) == deficiency_brute(hand, num_melds)


def test_deficiency_of_spoilt_complete_hands_is_what_the_search_finds():
    rng = random.Random(7)
    for _ in range(60):
        hand = _random_complete_hand(rng)
        assert deficiency(hand, 0) == 0
        for _ in range(rng.choice((1, 2, 2))):
            _swap_one(rng, hand)
        assert deficiency(hand, 0) == deficiency_brute(hand, 0)


def test_deficiency_agrees_with_is_win_and_waits():
    rng = random.Random(3)
    for _ in range(120):
        hand = _random_complete_hand(rng)
        for _ in range(rng.randrange(3)):
            _swap_one(rng, hand)
        assert (deficiency(hand, 0) == 0) == is_win(hand, 0)
        held = [kind for kind in range(34) if hand[kind]]
        hand[rng.choice(held)] -= 1
        if deficiency(hand, 0) == 1:
            assert accepting(hand, 0) == waits(hand, 0, [0] * 34) != set()
        else:
            assert waits(hand, 0, [0] * 34) == set()


def test_a_fifth_copy_does_not_count_for_the_deficiency():
    # Only a fifth 1m would complete this hand (case W08), so two tiles are missing.
    hand = count(parse_tiles("1111m 234456p 789123s"))
    assert deficiency(hand, 0) == 2


@pytest.mark.parametrize("seed", range(60))
def test_random_game_keeps_the_tiles_and_the_points(seed):
    rng = random.Random(seed)
    game = Game(random_wall(seed), dealer=seed % 4, round_wind=seed // 4 % 4, streak=seed % 3)
    num_steps = 0
    while not game.terminated:
        options = game.legal_actions()
        assert options
        assert options != [actions.PASS]
        assert options == sorted(set(options))
        assert _num_tiles(game) == 136 - _in_the_air(game)
        is_win_taken = actions.WIN in options and rng.random() < 0.5
        game.step(actions.WIN if is_win_taken else rng.choice(options))
        num_steps += 1
        assert num_steps < 1000
    assert game.legal_actions() == []
    assert sum(game.rewards) == 0
    assert (game.winner is None) == (game.rewards == [0, 0, 0, 0])
    if game.winner is None:
        assert game.drawable == 0


def test_games_with_wins_follow_the_rules_of_locks_and_payments():
    num_wins = num_locks = 0
    for seed in range(30):
        rng = random.Random(seed)
        game = Game(rich_wall(seed), dealer=seed % 4, streak=seed % 2)
        while not game.terminated:
            player, options, action = game.current_player, game.legal_actions(), choose(game, rng)
            is_turn = game.actor == player and actions.PASS not in options
            was_complete = is_turn and is_win(game.hands[player], len(game.melds[player]))
            was_locked = game.locked[player]
            assert not (was_locked and actions.WIN in options)
            game.step(action)
            if actions.WIN in options and action != actions.WIN:
                assert game.locked[player]
                num_locks += 1
            elif is_turn and action < actions.CONCEALED_KONG:
                assert game.locked[player] == (was_locked and was_complete)
        if game.winner is not None:
            num_wins += 1
            tai = sum(game.tai_items.values())
            payers = {0, 1, 2, 3} - {game.winner}
            payers = payers if game.win_by == "self_draw" else {game.giver}
            for seat in payers:
                is_dealer_in = game.dealer in (seat, game.winner)
                extra = (1 + 2 * game.streak) * is_dealer_in
                assert game.rewards[seat] == -1000 - 500 * (tai + extra)
        assert sum(game.rewards) == 0
    assert num_wins > 15
    assert num_locks > 5


def test_an_illegal_action_is_refused():
    game = Game(wall_with(["", "", "", ""]))
    with pytest.raises(ValueError, match="not among"):
        game.step(actions.PASS)
    game = Game(random_wall(0))
    while not game.terminated:
        game.step(game.legal_actions()[0])
    with pytest.raises(ValueError, match="not among"):
        game.step(0)


@pytest.mark.parametrize("name", [*SCENES, *WINS, *LOCKS])
def test_the_actions_of_a_scene_replay_it(name):
    scene = (SCENES | WINS | LOCKS)[name]
    game, played = scene.play_all()
    again = scene.new_game()
    for action in played:
        again.step(action)
    assert again.hands == game.hands
    assert again.melds == game.melds
    assert again.history == game.history
    assert again.legal_actions() == game.legal_actions()
    assert again.rewards == game.rewards


def test_reference_shares_no_code_with_the_game():
    sources = list((cases.CASES.parent / "oracle").glob("*.py"))
    assert sources
    for source in sources:
        text = source.read_text(encoding="utf-8")
        assert "import mjx" not in text and "from mjx" not in text
        assert "import jax" not in text and "import numpy" not in text


def _num_tiles(game):
    melded = sum(len(meld_tiles(meld)) for melds in game.melds for meld in melds)
    held = sum(map(sum, game.hands)) + sum(map(sum, game.rivers))
    return held + melded + len(game.wall.left()) + sum(map(len, game.flowers))


def _in_the_air(game):
    """Counts the tile of an added kong that is being asked about: nobody holds it."""
    return 1 if game.current_player != game.actor and game.giving_by == "rob_kong" else 0


def _random_hand(rng, size):
    return count(rng.sample([kind for kind in range(34) for _ in range(4)], size))


def _random_complete_hand(rng):
    while True:
        hand = [0] * 34
        hand[rng.randrange(34)] += 2
        for _ in range(5):
            kind = rng.randrange(34)
            run = rng.random() < 0.6 and kind < 27 and kind % 9 <= 6
            for tile in (kind, kind + 1, kind + 2) if run else (kind,) * 3:
                hand[tile] += 1
        if max(hand) <= 4:
            return hand


def _swap_one(rng, hand):
    hand[rng.choice([kind for kind in range(34) if hand[kind]])] -= 1
    hand[rng.choice([kind for kind in range(34) if hand[kind] < 4])] += 1
