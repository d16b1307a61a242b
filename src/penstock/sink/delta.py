"""The kind `delta`: a Delta Lake table, with cheap imports only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from penstock.kinds import Kind, Location, Options, wrong


def _mode(value: Any) -> Any:
    if value in ("upsert", "cdc"):
        raise wrong(f"this version of Penstock does not have the mode `{value}` yet", "write mode: append")
    return value


class DeltaOptions(Options):
    """A Delta Lake table."""

    not_yet: ClassVar[Mapping[str, str]] = {
        "table": "name the table by its path: path: lake/payments",
        "key": "leave it out: rows are appended",
        "partition_by": "leave it out",
        "cluster_by": "leave it out",
    }
    path: Annotated[str, Location()] = Field(min_length=1, description="the table's directory or URI; it is created if it is not there")
    mode: Annotated[Literal["append"], BeforeValidator(_mode)] = Field(default="append", description="append every row")


def _build(options: DeltaOptions, *, owner: str) -> Any:
    from penstock.sink.delta_table import DeltaSink

    return DeltaSink(options.path, owner)


DELTA = Kind("delta", DeltaOptions, build=_build, promise="exactly-once, atomic per batch", summary="a Delta Lake table")
