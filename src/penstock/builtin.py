"""The one list of the kinds that Penstock ships. A new connector is one file and one line here."""

from __future__ import annotations

from penstock.decode.kind import JSON
from penstock.kinds import Kinds
from penstock.sink.console import CONSOLE
from penstock.sink.delta import DELTA
from penstock.transform.kinds import FILTER, SELECT, SQL

KINDS = Kinds.of(
    decoders=[JSON],
    transforms=[FILTER, SELECT, SQL],
    sinks=[DELTA, CONSOLE],
)
