"""What the network sees, against plain Python loops; the network's parts and its independence."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import doudizhu
from agents.doudizhu import nets, networks, planes
from agents.doudizhu.candidates import candidates
from agents.doudizhu.networks import NetworkConfig
from doudizhu import moves
from doudizhu.moves import CATEGORIES
from tests.doudizhu import scenes
from tests.oracle import doudizhu as oracle

NETWORK = networks.make(NetworkConfig(width=4))
ROWS = 12


@pytest.fixture(scope="module")
def seen():
    return jax.device_get(
        jax.jit(jax.vmap(lambda s: doudizhu.observe(s, s.current_player)))(scenes.midgame(ROWS))
    )


@pytest.fixture(scope="module")
def listed(seen):
    """Candidates of these decisions, and their values."""
    ids, _ = jax.jit(jax.vmap(lambda h, t: candidates(h, t, True)))(seen.hand, seen.to_beat)
    params = networks.init_roles(NETWORK, jax.random.key(0))
    view = jax.vmap(planes.view_of)(seen)
    values = jax.jit(lambda *args: networks.values(NETWORK, *args))
    return params, view, np.asarray(ids), values, np.asarray(values(params, view, ids))


@pytest.mark.parametrize("layout", planes.LAYOUTS)
def test_planes_equal_plain_loops(seen, layout):
    view = jax.vmap(planes.view_of)(seen)
    made = jax.jit(jax.vmap(lambda v: planes.state_planes(v, layout)))(view)
    assert made.shape == (ROWS, 15, 15, 28) and made.dtype == jnp.float32
    for row in range(ROWS):
        one = jax.tree.map(lambda x, i=row: x[i], seen)
        assert np.allclose(made[row], _planes(one, layout)), row


def _planes(seen, layout):
    """Fills the planes of a state one by one."""
    hand = doudizhu.format(seen.hand.tolist())
    own = np.zeros((15, 15))
    for kind in oracle.moves_of(hand).values():
        for rank in range(kind.head, kind.head + max(kind.length, 1)):
            own[rank, CATEGORIES.index(kind.category)] = 1
        if kind.category == "rocket":
            own[[13, 14], CATEGORIES.index("rocket")] = 1
    own[:, 0] = seen.hand / 4
    role, num = int(seen.role), int(seen.num_plies)
    made = [[], [], []]  # by player, self first, newest first
    for ply in range(num):
        made[(ply - role) % 3].insert(0, int(seen.history[ply]))
    totals, lefts = [], []
    for player in range(3):
        total = np.zeros((15, 15))
        for move in made[player]:
            total += _plane(move) if move != moves.PASS else 0
        totals.append(total)
        lefts.append(np.full((15, 15), seen.num_cards[player] / 20))
    rounds = [
        _plane(made[player][back]) if back < len(made[player]) else np.zeros((15, 15))
        for back in range(7 if layout == "A" else 8)
        for player in range(3)
    ]
    if layout == "A":
        parts = [own, *totals, *lefts, *rounds]
    elif layout == "B":
        parts = [own, *lefts, *rounds]
    else:
        for total, left in zip(totals, lefts, strict=True):
            total[:, 14] = left[:, 14]
        parts = [own, *totals, *rounds]
    return np.stack(parts, axis=-1)


def _plane(move):
    """Fills the plane of a move."""
    plane = np.zeros((15, 15))
    if move == moves.PASS:
        plane[:, 14] = 1
    else:
        cards = moves.to_text(move)
        kind = oracle.moves_of(cards)[cards]
        plane[:, CATEGORIES.index(kind.category)] = np.array(doudizhu.parse(cards)) / 4
    return plane


def test_the_plane_of_a_move():
    ids = [0, moves.from_text("3334"), moves.from_text("BR"), moves.PASS]
    made = jax.vmap(planes.move_plane)(jnp.array(ids, jnp.int32))
    for plane, move in zip(made, ids, strict=True):
        assert np.allclose(plane, _plane(move))
    assert not planes.move_plane(jnp.int32(-1)).any()


def test_the_network_is_four_convolutions_in_two_parts(listed):
    """Both parts together are one plain network on 15 x 15 x 29."""
    params, view, ids, _, values = listed
    row = int(np.flatnonzero(view.role == 0)[0])
    of_role = jax.tree.map(lambda leaf: np.asarray(leaf[0]), params)["params"]
    state = planes.state_planes(jax.tree.map(lambda x: x[row], view))
    for place in (0, int((ids[row] >= 0).sum()) - 1):
        candidate = planes.move_plane(jnp.int32(ids[row, place]))
        x = np.concatenate([state, candidate[..., None]], axis=-1)
        x = _relu(_convolve(x, of_role["first"]))
        for layer in range(3):
            x = _relu(_convolve(_pool(x), of_role[f"convolutions_{layer}"]))
        x = x.reshape(-1)
        for layer in range(3):
            dense = of_role[f"dense_{layer}"]
            x = x @ dense["kernel"] + dense["bias"]
            x = _relu(x) if layer < 2 else x
        assert values[row, place] == pytest.approx(1 / (1 + np.exp(-x[0])), abs=1e-5)


def _relu(x):
    return np.maximum(x, 0)


def _convolve(x, layer):
    rows, columns, _ = x.shape
    padded = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    found = np.zeros((rows, columns, layer["kernel"].shape[-1])) + layer["bias"]
    for place in range(9):
        i, j = place // 3, place % 3
        found += padded[i : i + rows, j : j + columns] @ layer["kernel"][place]
    return found


def _pool(x):
    rows, columns, channels = x.shape
    found = np.zeros((-(-rows // 2), -(-columns // 2), channels))
    for i in range(found.shape[0]):
        for j in range(found.shape[1]):
            found[i, j] = x[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].max(axis=(0, 1))
    return found


def test_values_do_not_depend_on_the_batch(listed):
    params, view, ids, values, before = listed
    assert ((before == 0) == (ids < 0)).all() and ((before >= 0) & (before < 1)).all()
    order = np.roll(np.arange(ROWS), 5)
    after = values(params, jax.tree.map(lambda x: x[order], view), ids[order])
    assert np.array_equal(after, before[order])
    others = jax.tree.map(lambda leaf: leaf.at[1:].add(1.0), params)
    changed = (np.asarray(values(others, view, ids)) != before).any(axis=1)
    assert np.array_equal(changed, view.role > 0)  # each role has a network of its own


def test_networks_as_files(tmp_path, listed):
    params = listed[0]
    config = NetworkConfig(width=4)
    nets.write(tmp_path / nets.NET, config, params, {"seed": 3})
    for path in (tmp_path, tmp_path / nets.NET):
        _, again, about = nets.read(str(path))
        assert about == {"seed": 3}
        assert jax.tree.all(jax.tree.map(np.array_equal, params, again))
    nets.write(tmp_path / "other.npz", NetworkConfig(width=8), params, {})
    with pytest.raises(ValueError, match="not a network of ours: a parameter is"):
        nets.read(str(tmp_path / "other.npz"))
    nets.write(tmp_path / "nan.npz", config, jax.tree.map(lambda x: x + jnp.nan, params), {})
    with pytest.raises(ValueError, match="not a network of ours: a parameter is not finite"):
        nets.read(str(tmp_path / "nan.npz"))
    for name, text in (("text.npz", "no"), ("empty.npz", "")):
        (tmp_path / name).write_text(text)
        with pytest.raises(ValueError, match="not a network of ours"):
            nets.read(str(tmp_path / name))
    with pytest.raises(ValueError, match="There is no network at"):
        nets.read(str(tmp_path / "nothing"))


@pytest.mark.parametrize(("options", "words"), [({"width": 0}, "width"), ({"layout": "Z"}, "A, B")])
def test_networks_that_cannot_be_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        NetworkConfig(**options)
