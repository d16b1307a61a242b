"""Where ledger entries live: one small JSON file a batch, keyed by generation and batch, so that a replay rewrites its own."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from penstock.errors import Fatal
from penstock.ledger.entry import LedgerEntry
from penstock.storage import Storage

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(LedgerEntry)


def _name(generation: str, batch: int) -> str:
    return f"{generation}/{batch:012d}.json"


class LedgerWriter:
    """Writes entries; `run` alone holds one."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def put(self, entry: LedgerEntry) -> None:
        """Write the batch's entry, or the same one again after a replay."""
        self._storage.replace(_name(entry.generation, entry.batch), _encoder.encode(entry) + b"\n")


class LedgerReader:
    """Reads entries; `observe` and `operate` hold one."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def generations(self) -> tuple[str, ...]:
        """Every generation that wrote an entry."""
        return tuple(self._storage.names())

    def entries(self, generation: str) -> Iterator[LedgerEntry]:
        """The entries of a generation, in the order of their batches."""
        for name in self._storage.names(generation):
            content = self._storage.read(f"{generation}/{name}")
            try:
                yield _decoder.decode(content or b"")
            except msgspec.DecodeError as error:
                raise Fatal(
                    f"the ledger entry {generation}/{name} does not parse",
                    code="ledger_corrupt",
                    where=self._storage.uri,
                    next_step="restore it from a backup, or remove it: `penstock audit` then counts its batch as unverified",
                ) from error
