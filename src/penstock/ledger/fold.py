"""Folds the ledger's small files into larger ones, so that their number stays small however long a pipeline runs.

The larger file is whole and on the disk before the smaller ones are removed. A crash in between leaves lines that lie in
two files, which read as one; the next fold goes on where this one stopped.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import zlib
from collections.abc import Iterable, Iterator, Sequence

from penstock.ledger.layout import LedgerFile, files
from penstock.ledger.lines import Damage, Gone, Line, lines
from penstock.storage import Storage

_GZIP = 31  # zlib's sign for a gzip header and checksum


class _Unsound(Exception):
    """Something does not read: the window stays as it is, for the audit to name."""


def fold(storage: Storage, generation: str, sizes: Sequence[int], before: int) -> None:
    """Fold every window that ends before this batch; no replay touches such a batch any more.

    Should one do so after all, its line is newer than the segment's and takes its place the next time.
    """
    for small, large in itertools.pairwise(sizes):
        for window, inside in itertools.groupby(files(storage, generation, small), key=lambda file: file.first // large):
            _fold_into(storage, LedgerFile(generation, large, window), list(inside), before)


def _fold_into(storage: Storage, target: LedgerFile, parts: Sequence[LedgerFile], before: int) -> None:
    if target.last >= before:
        return
    with contextlib.suppress(_Unsound, Gone):  # gone: another process folds this very window
        _replace(storage, target, parts)


def _replace(storage: Storage, target: LedgerFile, parts: Sequence[LedgerFile]) -> None:
    older = [file for file in files(storage, target.generation, target.size) if file == target]
    packs_anew = older or parts[0].is_single
    storage.archive(target.name, _packed(lines(storage, [*older, *parts], (parts[0].size, target.size))) if packs_anew else _joined(storage, parts))
    for part in parts:
        storage.delete(part.name)


def _joined(storage: Storage, parts: Iterable[LedgerFile]) -> Iterator[bytes]:
    """Segments one behind the other, which is a segment again (RFC 1952): they are proven by their checksums, not packed anew."""
    for part in parts:
        content = storage.read(part.name) or b""
        try:
            proven = gzip.decompress(content)
        except (gzip.BadGzipFile, zlib.error, EOFError):
            raise _Unsound from None
        if not proven:
            raise _Unsound
        yield content


def _packed(items: Iterable[Line | Damage]) -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=_GZIP)
    for item in items:
        if isinstance(item, Damage):
            raise _Unsound
        yield packer.compress(item.raw)
    yield packer.flush()
