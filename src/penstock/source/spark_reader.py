"""The `spark` reader: the records of a batch out of Spark's own Kafka source, as blocks. Runs inside the tasks.

It is the oracle of the native reader: Spark checks what it read against what it planned (`failOnDataLoss`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from penstock.records import SOURCE, Block, Values

HEADERS = "array_join(transform(headers, h -> concat(hex(h.key), ':', coalesce(hex(h.value), '-'))), ',') AS headers"
COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", HEADERS)
"""What the chain needs of the columns that Spark's source offers with `includeHeaders`, as Spark SQL expressions."""


def blocks(batches: Iterable[pa.RecordBatch], topic_ids: Mapping[str, str]) -> Iterator[Block]:
    """The same records as blocks of the chain."""
    for batch in batches:
        if not batch.num_rows:
            continue
        topic = batch.column("topic")
        yield Block(
            values=Values.from_arrow(batch.column("value")),
            source=pa.StructArray.from_arrays(
                [
                    topic,
                    batch.column("partition"),
                    batch.column("offset"),
                    batch.column("timestamp").cast(pa.timestamp("us", "UTC")),
                    _ids(topic, topic_ids),
                ],
                fields=list(SOURCE),
            ),
            keys=batch.column("key").cast(pa.binary()),
            headers=batch.column("headers").cast(pa.string()),
        )


def _ids(topics: pa.Array, topic_ids: Mapping[str, str]) -> pa.Array:
    """The id of each record's topic: looked up once a distinct topic, not once a record."""
    coded = pc.dictionary_encode(topics)
    names = pa.array([topic_ids[name] for name in coded.dictionary.to_pylist()], pa.string())
    return names.take(coded.indices)
