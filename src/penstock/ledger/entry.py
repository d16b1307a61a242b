"""One line of the ledger: everything that is known of one batch, in a form that any JSON tool reads."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.values import BatchCounts, OffsetRange


class SinkEntry(msgspec.Struct, frozen=True):
    """Which commit of which sink holds the batch. `version` is null where nothing had to be committed or the log forgot it."""

    token: str
    target: str
    version: int | None
    new: bool


class LedgerEntry(msgspec.Struct, frozen=True):
    """One batch: its ranges, where its records went, which commits hold them.

    Of the counts, `read = rows + filtered + dead`. They are null where all sinks held the batch and their logs no longer carry them.
    `absent` is the number of offsets that held no record: markers, aborted or compacted records; a residual, not a proof.
    """

    format: int
    generation: str
    batch: int
    ranges: tuple[OffsetRange, ...]
    digest: int
    counts: BatchCounts | None
    absent: int | None
    sinks: Mapping[str, SinkEntry]
    reader: str
    seconds: Mapping[str, float]
    written_at_millis: int
    revision: int = 0
    """Which revision of the batch's plan it was: part of the digest."""
