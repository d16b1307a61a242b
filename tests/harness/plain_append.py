"""The negative control: what people write by hand. foreachBatch, two filtered appends, no token.

python plain_append.py SERVERS TOPIC FOLDER [crash]      `crash` kills it -9 behind the writes of batch 1
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from harness.load import SCHEMA, topic_id
from penstock.run.start import SparkOptions, session_for


def main(servers: str, topic: str, folder: str, *flags: str) -> None:
    with session_for("plain append", SparkOptions()) as session:
        append(session, servers, topic, folder, flags)


def append(session: SparkSession, servers: str, topic: str, folder: str, flags: Sequence[str]) -> None:
    identity = topic_id(servers, topic)

    def write(frame: DataFrame, batch: int) -> None:
        source = F.struct(F.lit(identity).alias("topic_id"), "partition", "offset").alias("_source")
        parsed = frame.select("key", "value", "headers", source, F.from_json(F.col("value").cast("string"), SCHEMA, {"mode": "PERMISSIVE"}).alias("row"))
        parsed.where("row.n is not null").select("row.*", "_source").write.mode("append").parquet(f"{folder}/rows")
        parsed.where("row.n is null").select("key", "value", "headers", "_source").write.mode("append").parquet(f"{folder}/dead")
        if "crash" in flags and batch == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    records = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("includeHeaders", "true")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 30_000)
        .load()
    )
    query = records.writeStream.foreachBatch(write).option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True).start()
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
