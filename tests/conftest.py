"""How every test runs: on the CPU, with JAX's own checks on, and with a compile cache.

A test that drives a library which breaks under these checks (rlax promotes ranks) carries
`@pytest.mark.loose_jax`; our own code never needs it.
"""

import ctypes
import os
import tempfile

import pytest

# Before jax is imported: where it runs, and where it keeps compiled programs (also for
# subprocesses, which inherit the environment).
os.environ.setdefault("JAX_PLATFORMS", "cpu")
_CACHE = os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", os.path.join(tempfile.gettempdir(), "mjx-test-cache")
)

import jax  # noqa: E402

jax.config.update("jax_compilation_cache_dir", _CACHE)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


@pytest.fixture(autouse=True)
def strict_jax(request):
    """Refuses silent rank promotion and keys used twice."""
    if request.node.get_closest_marker("loose_jax"):
        yield
        return
    with jax.numpy_rank_promotion("raise"), jax.debug_key_reuse(True):
        yield


@pytest.fixture(autouse=True, scope="module")
def forget_programs():
    """Lets go of a file's compiled programs, and of what compiling them left, gigabytes in all."""
    yield
    jax.clear_caches()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)
