"""The house rules that a machine can check: lint, types, imports, paths."""

import ast
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

import pytest

ROOT = pathlib.Path(__file__).parent.parent
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("mjx", "agents", "doudizhu")
    for path in (ROOT / package).rglob("*.py")
    if path.name != "__main__.py"
)
# What our packages may need to be imported; whatever these need themselves comes along.
CORE = ("jax", "jaxlib", "flax", "optax", "chex", "orbax")
# Distributions that the scripts and tests use, by the names they are imported under.
EXTRAS = (
    *("beartype", "draccus", "hypothesis", "jaxtyping", "mahjax", "matplotlib"),
    *("pytest", "riichienv", "rlax", "rlcard", "scipy", "tensorboardX", "tqdm", "tyro", "yaml"),
)


def _tool(*command):
    """Runs a tool of this environment in the repository's root; fails with what it printed."""
    scripts = sysconfig.get_path("scripts")
    program = shutil.which(command[0], path=scripts) or shutil.which(command[0])
    assert program, f"{command[0]} is not installed: pip install -e '.[dev]'"
    done = subprocess.run([program, *command[1:]], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_lint():
    _tool("ruff", "check", ".")


def test_format():
    _tool("ruff", "format", "--check", ".")


def test_types():
    _tool("pyrefly", "check")


def _imports(path):
    """Yields the full names a file imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(
    "package, barred",
    [
        ("mjx", "agents doudizhu benchmarks tests train eval"),
        ("agents", "benchmarks tests train eval"),
        ("doudizhu", "agents benchmarks tests train eval"),
        ("tests/oracle", "mjx agents doudizhu jax"),
    ],
)
def test_imports_go_one_way(package, barred):
    files = list((ROOT / package).rglob("*.py"))
    assert files, f"{package} holds no Python"
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in _imports(path)
        if name.split(".")[0] in barred.split()
    ]
    assert not wrong, wrong


# What is not about mahjong, and therefore shared.
_SHARED = ("mjx.stage", "mjx.chance")


def test_the_second_game_takes_only_what_is_shared():
    names = {name for path in (ROOT / "doudizhu").rglob("*.py") for name in _imports(path)}
    ours = {name for name in names if name.split(".")[0] == "mjx"}
    assert all(".".join(name.split(".")[:2]) in _SHARED for name in ours), ours


_IMPORT_ALL = """
import importlib, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"{name} is blocked", name=name)

CORE, BLOCKED, MODULES = eval(sys.stdin.read())
for name in CORE:  # these may import what they like
    importlib.import_module(name if name != "orbax" else "orbax.checkpoint")
loaded = set(sys.modules)
sys.meta_path.insert(0, Blocker())
for name in list(sys.modules):
    if name.split(".")[0] in BLOCKED:
        sys.modules[name] = None  # an `import` of it now fails
for name in MODULES:
    importlib.import_module(name)
import jax
assert not jax._src.xla_bridge._backends, "an import started a backend"
"""


def test_imports_with_the_core_alone():
    """All modules import where only the core libraries are, and no import starts a device."""
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT_ALL],
        input=repr((CORE, EXTRAS, MODULES)),
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_no_machine_paths():
    """No tracked text names a folder of one machine."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.split("\n") if listed.returncode == 0 else []
    files = [ROOT / name for name in names if name] or list(ROOT.rglob("*.py"))
    barred = re.compile(r"(?<![\w.])/(?:work|root|home|Users|mnt)/\w|(?<![\w.])/opt/\w")
    found = []
    for path in files:
        if (
            path.suffix in {".png", ".npy", ".npz", ".msgpack"}
            or not path.is_file()
            or path == pathlib.Path(__file__)
        ):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if barred.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not found, found
