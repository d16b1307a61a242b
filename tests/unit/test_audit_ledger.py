"""`penstock audit` over a damaged ledger: what does not read is named on one screen, and never audited in silence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.ledger import entry
from penstock.cli.app import main
from penstock.cli.audit import text
from penstock.ledger.book import LedgerWriter
from penstock.ledger.lines import Damage
from penstock.observe.audit import BatchClaim, BatchVerdict, Findings
from penstock.observe.gather import Audit
from penstock.storage import LocalStorage
from penstock.values import BatchCounts, OffsetRange

FILE = {
    "name": "numbers",
    "kafka": {"servers": "127.0.0.1:1"},
    "source": {"topics": ["numbers"]},
    "decode": {"type": "json", "schema": "n BIGINT"},
    "sink": {"type": "delta", "path": "lake/numbers"},
    "state": "state",
}


def empty(path: Path) -> None:
    path.write_bytes(b"")


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def rubbish(path: Path) -> None:
    path.write_bytes(bytes(range(256)))


@pytest.fixture
def audit(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.chdir(tmp_path)
    Path("pipeline.yaml").write_text(json.dumps(FILE))

    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["audit", "pipeline.yaml", *arguments])
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out.replace(str(tmp_path), "<here>"), err.replace(str(tmp_path), "<here>")

    return run


def test_without_a_ledger_there_is_nothing_to_audit(audit: Callable[..., tuple[int, str, str]]) -> None:
    expected = (
        "error: there is nothing to audit: no batch has been committed\n"
        "where: <here>/state\n"
        "next:  run the pipeline first, or name the state folder that it used\n"
    )
    assert audit() == (3, "", expected)
    Path("state/ledger/g/by-100").mkdir(parents=True)
    assert audit() == (3, "", expected)


@pytest.mark.parametrize(
    ("damage", "what"), [(empty, "is empty"), (truncated, "does not parse"), (rubbish, "does not parse")], ids=["empty", "truncated", "rubbish"]
)
def test_an_entry_that_does_not_read_is_named(damage: Callable[[Path], None], what: str, audit: Callable[..., tuple[int, str, str]]) -> None:
    LedgerWriter(LocalStorage(Path("state/ledger"))).put(entry(0))
    damage(Path("state/ledger/g/000000000000.json"))
    assert audit() == (
        5,
        "",
        f"error: the ledger is damaged, 1 batch cannot be audited: g/000000000000.json: it {what}\n"
        "where: <here>/state/ledger\n"
        "next:  restore that folder from a backup; the tables hold what was committed, and the pipeline runs on without it\n",
    )
    code, out, err = audit("--json")
    assert (code, err, json.loads(out)["error"]["code"]) == (5, "", "ledger_corrupt")


def segment_empty(path: Path) -> str:
    empty(path)
    return "it is empty"


def segment_rubbish(path: Path) -> str:
    rubbish(path)
    return "it cannot be unpacked"


@pytest.mark.parametrize("damage", [segment_empty, segment_rubbish])
def test_a_segment_that_does_not_read_is_named_once_for_all_its_batches(damage: Callable[[Path], str], audit: Callable[..., tuple[int, str, str]]) -> None:
    segment = Path("state/ledger/g/by-100/000000000000-000000000099.json.gz")
    segment.parent.mkdir(parents=True)
    what = damage(segment)
    assert audit() == (
        5,
        "",
        f"error: the ledger is damaged, 100 batches cannot be audited: g/by-100/000000000000-000000000099.json.gz: {what}\n"
        "where: <here>/state/ledger\n"
        "next:  restore that folder from a backup; the tables hold what was committed, and the pipeline runs on without it\n",
    )


def test_the_rest_is_audited_and_what_is_damaged_fits_a_screen() -> None:
    claim = BatchClaim("g", 0, (OffsetRange("numbers", "id", 0, 0, 10),), BatchCounts(10, 10, 0, 0))
    found = BatchVerdict(claim, in_kafka=10, rows=10, findings=Findings())
    damage = tuple(Damage(batch, batch, f"g/{batch:012d}.json", "it is empty") for batch in range(1, 15))
    assert text(Audit((found,), 20, (), damage)) == "\n".join(
        [
            "1 batch audited: every offset counted in the tables and read again from Kafka",
            "",
            "  records in Kafka              10",
            "  rows                          10",
            "  filtered                       0",
            "  dead letters                   0",
            "  unverified                     0",
            "",
            "the ledger is damaged; what it does not tell was not audited:",
            *(f"  g/{batch:012d}.json: it is empty" for batch in range(1, 13)),
            "  … and 2 more",
            "",
            "missing 0, doubled 0, not from Kafka 0, in no audited batch 20",
        ]
    )
