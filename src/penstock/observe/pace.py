"""How fast a pipeline goes and when it will have caught up, from what it says while it runs. Pure sums; the clock is given."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

WINDOW_SECONDS = 30.0


@dataclass(slots=True)
class Pace:
    """Fed with what happens; asked for what to show."""

    clock: Callable[[], float]
    batch: int | None = None
    """The batch that is being worked on."""
    batch_offsets: int = 0
    batch_since: float = 0.0
    records: int = 0
    behind: int | None = None
    """Offsets behind the last batch that ended, less what was committed since Spark looked."""
    _ends: deque[tuple[float, float, int]] = field(default_factory=deque)

    def began(self, batch: int, offsets: int) -> None:
        self.batch, self.batch_offsets, self.batch_since = batch, offsets, self.clock()

    def committed(self, read: int) -> None:
        now = self.clock()
        self._ends.append((self.batch_since, now, read))
        while self._ends and self._ends[0][1] < now - WINDOW_SECONDS and len(self._ends) > 1:
            self._ends.popleft()
        self.records += read
        self.behind = None if self.behind is None else max(self.behind - self.batch_offsets, 0)
        self.batch = None

    @property
    def rate(self) -> float | None:
        """Records a second, over the batches of the last half minute; pauses between batches do not count."""
        busy = sum(end - begin for begin, end, _ in self._ends)
        return sum(read for _, _, read in self._ends) / busy if busy > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """When the end of the topics will be reached, at this pace, if nothing more is produced."""
        if self.behind is None or not self.rate:
            return None
        done = self.clock() - self.batch_since if self.batch is not None else 0.0
        return max(self.behind / self.rate - done, 0.0)
