"""Records on disk: the one place where the game touches it."""

import os
import pathlib
import tempfile
from collections.abc import Iterable

from mjx.record.reading import Hand, read
from mjx.record.schema import RecordError


def read_file(path: str | pathlib.Path) -> list[Hand]:
    """Reads a record from disk.

    Raises:
      OSError: the file cannot be read.
      RecordError: as `read`.
    """
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = pathlib.Path(path).read_bytes()[: error.start].count(b"\n") + 1
        raise RecordError(line, None, "the text is not UTF-8") from None
    return read(text)


def write_file(path: str | pathlib.Path, texts: Iterable[str] | None) -> None:
    """Writes lines to disk in one piece: other readers see the old file or the new one.

    Args:
      path: the file; its folder must exist.
      texts: the lines, taken one at a time; None only makes sure that the file can be written.

    Raises:
      OSError: the file cannot be written.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}.")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            for text in texts or ():
                file.write(text + "\n")
        if texts is not None:
            os.chmod(name, 0o644)
            os.replace(name, path)
    finally:
        pathlib.Path(name).unlink(missing_ok=True)
