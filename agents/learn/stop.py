"""Stopping a run in good order."""

import signal


class Stop:
    """Notes a wish to stop (Ctrl-C, SIGTERM), granted once the run is saved."""

    def __init__(self) -> None:
        """Begins without a wish."""
        self.wanted = False

    def __enter__(self) -> "Stop":
        """Listens."""
        self._before = {n: signal.signal(n, self._note) for n in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *error: object) -> None:
        """Listens no longer."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: object) -> None:
        """Takes a signal."""
        self.wanted = True
        self.__exit__()
