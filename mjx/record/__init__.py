"""Played hands as JSON Lines, and back: `docs/records.md` describes the format.

A record is read by playing it again: who passed, every draw, tai and payments are computed anew
and compared with what is written, so a record that reads without an error is a record of legal
play. B = hands, N = decisions of a hand.
"""

from mjx.record.files import read_file, write_file
from mjx.record.reading import Hand, read
from mjx.record.schema import RecordError
from mjx.record.writing import lines

__all__ = ["Hand", "RecordError", "lines", "read", "read_file", "write_file"]
