"""The figures of a demo, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.demo.count import Count
from penstock.demo.victim import Kill


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything that was found out in the end."""

    seed: int
    produced: int
    count: Count
    audit_clean: bool
    audit_records: int
    kills: tuple[Kill, ...]
    batches: int
    versions: int
    """How many versions the batches made, of both tables."""
    versions_added_again: int
    """How many versions a batch made after its first one in a table: a recovery that wrote what was there."""
    files_left: int
    """Data files of killed attempts that no version of a table knows."""
    peak_pipeline_bytes: int | None
    """None where the system does not show it."""
    peak_demo_bytes: int | None
    seconds: float

    @property
    def in_flight_kills(self) -> int:
        """How many kills hit a batch in the middle."""
        return sum(kill.in_flight is not None for kill in self.kills)

    @property
    def wrongs(self) -> tuple[str, ...]:
        """Everything that is not as it must be, in words; nothing where all is right."""
        found = self.count
        expectations = (
            (found.in_kafka == self.produced, f"{found.in_kafka:,} records in Kafka of {self.produced:,} produced"),
            (not found.missing, f"{found.missing:,} missing"),
            (not found.duplicates, f"{found.duplicates:,} duplicates"),
            (not found.strange, f"{found.strange:,} in the tables that are not in Kafka"),
            (not found.altered, f"{found.altered:,} altered"),
            (found.cents_found == found.cents_produced, f"the amounts differ by {abs(found.cents_found - found.cents_produced) / 100:,.2f}"),
            (self.audit_clean and self.audit_records == self.produced, f"the audit is not clean, or accounts for {self.audit_records:,} records only"),
            (not self.versions_added_again, f"{self.versions_added_again:,} table versions for batches that had been committed"),
        )
        return tuple(text for holds, text in expectations if not holds)
