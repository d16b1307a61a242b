"""The pipeline's file as one frozen value: every block, with the words that say what a field is for.

What a field accepts is checked here and said in the user's words; blocks that begin with `type:` are checked by the
options of the kind they name (`kinds.py`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, InstanceOf, SecretStr

from penstock.kinds import Location, Options, Wrong, all_wrong, wrong
from penstock.spec.document import Block, Loose, Value
from penstock.spec.moments import CONTINUOUSLY, UNTIL_CAUGHT_UP, epoch_millis, every_seconds, lacks_offset
from penstock.spec.references import Origin

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:.]+\]")
MAX_RECORDS_PER_BATCH = 1_000_000_000  # a batch above it is a slip of the finger


def _name(value: str) -> str:
    if _NAME.fullmatch(value):
        return value
    raise wrong(f"`{value}` is no name for a pipeline", "use up to 63 lower-case letters, digits, `-` and `_`, beginning with a letter or digit: payments")


def _topic(value: str) -> str:
    if _TOPIC.fullmatch(value) and value not in (".", ".."):
        return value
    raise wrong(f"`{value}` is no name that Kafka gives a topic", "a topic has up to 249 letters, digits, `.`, `_` and `-`; a pattern cannot stand here")


def _topics(value: tuple[str, ...]) -> tuple[str, ...]:
    twice = sorted({each for each in value if value.count(each) > 1})
    if twice:
        raise wrong(f"`{twice[0]}` is named twice", "name each topic once")
    return value


def _servers(value: str) -> str:
    addresses = [each.strip() for each in value.split(",")]
    problems = [problem for each in addresses if (problem := _address_problem(each))]
    if problems:
        raise all_wrong([Wrong(what, remedy) for what, remedy in problems])
    return ",".join(addresses)


def _address_problem(address: str) -> tuple[str, str] | None:
    host, colon, port = address.rpartition(":")
    if not address:
        return "a server's address is empty", "separate addresses by one comma: kafka-1:9092,kafka-2:9092"
    if "://" in address:
        return f"`{address}` begins with a scheme", f"leave the scheme out: {address.split('://', 1)[1].rstrip('/') or 'kafka-1:9092'}"
    if not colon or not port:
        return f"`{address}` has no port", f"add it: {address.rstrip(':')}:9092"
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65_536):
        return f"`{port}` in `{address}` is no port", "a port is a number from 1 to 65535, usually 9092"
    if not _HOST.fullmatch(host):
        return f"`{host}` in `{address}` is no host name", "write host:port, an IPv6 address in brackets: [::1]:9092"
    return None


def _trigger(value: str) -> str:
    text = " ".join(value.split())
    if text in (CONTINUOUSLY, UNTIL_CAUGHT_UP) or every_seconds(text) is not None:
        return text
    raise wrong(f"`{value}` is no trigger", "write `every 10 seconds` (or milliseconds, minutes, hours), `continuously` or `until caught up`")


_STARTS = "write earliest, latest, a time with its offset (2026-11-01T00:00:00Z) or offsets: {payments: {0: 1500, 1: latest}}"


def _start(value: Any) -> Any:
    if isinstance(value, dict):
        return _start_offsets(value)
    if not isinstance(value, str):
        raise wrong(f"`{value}` is no place to start", _STARTS)
    if value in ("earliest", "latest") or epoch_millis(value) is not None:
        return str(value)
    if lacks_offset(value):
        raise wrong(f"`{value}` does not say how far from UTC it is", f"add it: {value}Z for UTC, or for example {value}+02:00")
    raise wrong(f"`{value}` is no place to start", _STARTS)


def _start_offsets(value: dict[Any, Any]) -> dict[str, dict[int, int | str]]:
    offsets: dict[str, dict[int, int | str]] = {}
    problems: list[Wrong] = []
    for topic, partitions in value.items():
        if not isinstance(partitions, dict) or not partitions:
            problems.append(Wrong("there are no partitions here", f"name each with its offset: {{{topic}: {{0: 1500, 1: latest}}}}", (topic,)))
            continue
        positions = {key: int(at) if isinstance(at, Loose) and at.isdecimal() else at for key, at in partitions.items()}
        for partition, position in positions.items():
            problem = _position_problem(partition, position)
            if problem:
                problems.append(Wrong(*problem, (topic, partition)))
        offsets[str(topic)] = {int(key): each for key, each in positions.items()} if not problems else {}
    if not value:
        problems.append(Wrong("no topic is named", _STARTS))
    if problems:
        raise all_wrong(problems)
    return offsets


def _position_problem(partition: Any, position: Any) -> tuple[str, str] | None:
    if not str(partition).isdecimal() or int(partition) >= 1 << 31:
        return f"`{partition}` is no partition", "partitions are numbered from 0"
    if position in ("earliest", "latest") or (type(position) is int and 0 <= position < 1 << 63):
        return None
    return f"`{position}` is no offset", "write a number from 0, earliest or latest"


Topic = Annotated[str, AfterValidator(_topic)]
Start = Annotated[str | dict[str, dict[int, int | str]], BeforeValidator(_start)]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A block that begins with `type:`: the kind it names and that kind's options."""

    kind: str
    options: Options


class KafkaBlock(Options):
    """The cluster."""

    not_yet: ClassVar[Mapping[str, str]] = {"security": "leave it out: a plaintext listener is needed for now"}

    servers: Annotated[str, AfterValidator(_servers)] = Field(description="addresses of some brokers, `host:port`, separated by commas")


def _on_gap(value: Any) -> Any:
    if value == "record":
        raise wrong("this version of Penstock does not record gaps yet", "write on_gap: stop")
    return value


class SourceBlock(Options):
    """What is read."""

    not_yet: ClassVar[Mapping[str, str]] = {
        "pattern": "name the topics instead: topics: [payments]",
        "partitions": "name whole topics instead: topics: [payments]",
    }

    topics: Annotated[tuple[Topic, ...], Field(min_length=1), AfterValidator(_topics)] = Field(description="the topics, by name")
    start: Start = Field(
        default="earliest", description="where the first start begins: earliest, latest, a time with its offset from UTC, or an offset for each partition"
    )
    on_gap: Annotated[Literal["stop"], BeforeValidator(_on_gap)] = Field(
        default="stop", description="what to do where records are gone before they were read: stop, and name them"
    )
    reader: Literal["spark"] = Field(default="spark", description="who reads the records: Spark's own Kafka source")


class RateBlock(Options):
    """How much a batch takes."""

    not_yet: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("batch_seconds", "minimum_records", "maximum_wait_seconds"), "leave it out: rate: {records_per_batch: 500000}"
    )

    records_per_batch: int = Field(default=500_000, ge=1, le=MAX_RECORDS_PER_BATCH, description="at most this many records a batch")


class PipelineBlocks(Options):
    """Everything that the file may hold."""

    not_yet: ClassVar[Mapping[str, str]] = {
        "flows": "give each flow a file of its own",
        "sinks": "name one: sink: {type: delta, path: lake/payments}",
        "registry": "leave it out",
    }

    name: Annotated[str, AfterValidator(_name)] = Field(description="what the pipeline is called in logs, metrics and commands")
    kafka: KafkaBlock = Field(description="the Kafka cluster")
    source: SourceBlock = Field(description="which topics, and from where on")
    trigger: Annotated[str, AfterValidator(_trigger)] = Field(
        default="every 10 seconds", description="when a batch begins: `every <duration>`, `continuously` or `until caught up`"
    )
    rate: RateBlock = Field(default=RateBlock(), description="how much a batch takes")
    decode: InstanceOf[Chosen] = Field(description="how a record's value becomes a row")
    transform: tuple[InstanceOf[Chosen], ...] = Field(default=(), description="what happens to the rows, in this order")
    sink: InstanceOf[Chosen] = Field(description="where the rows go")
    dead_letters: InstanceOf[Chosen] | None = Field(
        default=None, description="where records go that cannot be decoded; without it such a record stops the pipeline"
    )
    state: Annotated[str, Location()] = Field(min_length=1, description="directory of the checkpoint and the ledger")


class PipelineSpec(PipelineBlocks):
    """A pipeline as it was written and checked.

    Relative paths in it start from `directory`. `origins` says, by path, where a value came from that the file itself
    does not hold. The two are no part of the file.
    """

    directory: str
    origins: Mapping[tuple[str | int, ...], Origin]


def as_values(blocks: PipelineBlocks) -> Block:
    """The blocks of the spec as plain values, defaults included, as the file would hold them."""
    return {name: _as_value(getattr(blocks, name)) for name in PipelineBlocks.model_fields}


def _as_value(part: Any) -> Value:
    if isinstance(part, Chosen):
        options = _as_value(part.options)
        return {"type": part.kind, **(options if isinstance(options, dict) else {})}
    if isinstance(part, Options):
        return {info.alias or name: _as_value(getattr(part, name)) for name, info in type(part).model_fields.items()}
    if isinstance(part, dict):
        return {str(key): _as_value(value) for key, value in part.items()}
    if isinstance(part, tuple):
        return tuple(_as_value(each) for each in part)
    if isinstance(part, SecretStr):
        return str(part)
    if part is None or isinstance(part, (bool, int, float, str)):
        return part
    raise TypeError(f"an options field holds a {type(part).__name__}, which no file can hold")
