"""Who looks on while a pipeline runs. This one looks away; the live line of a terminal and the page overrule what they show."""

from __future__ import annotations

from penstock.ledger.entry import LedgerEntry
from penstock.run.batch_plan import BatchPlan


class Watcher:
    """Told from the thread of the batch and from that of the supervisor; must answer at once and never fail."""

    def began(self, batch: BatchPlan) -> None:
        """A batch is planned and about to be read."""

    def committed(self, entry: LedgerEntry) -> None:
        """A batch is in every sink and in the ledger."""

    def behind(self, records: int) -> None:
        """How many offsets lay behind the last batch when Spark looked."""
