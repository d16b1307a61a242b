"""Which session is taken, and with which settings; no Spark is started."""

from __future__ import annotations

import pytest

from penstock.errors import PlanRefused
from penstock.run.fit import demand_spark, major_minor
from penstock.run.session import check_session
from penstock.run.settings import RELIED_ON, session_settings


class Conf(dict[str, str]):
    """The settings of a session."""


class Session:
    """What `check_session` looks at, in a session that some host job made."""

    def __init__(self, version: str = "4.1.3", **settings: str) -> None:
        self.version = version
        self.conf = Conf({key.replace("_", "."): value for key, value in settings.items()})


class ConnectSession(Session):
    """One of Spark Connect, which is told by its module alone: importing it would need grpc."""


ConnectSession.__module__ = "pyspark.sql.connect.session"


@pytest.mark.parametrize("version", ["4.0.0", "4.1.3", "4.2.0", "5.0.0-preview1"])
def test_a_classic_session_of_spark_4_is_taken(version: str) -> None:
    session = Session(version, spark_speculation="FALSE")
    assert check_session(session) is session  # type: ignore[arg-type]


def test_a_spark_connect_session_is_refused() -> None:
    with pytest.raises(PlanRefused) as refused:
        check_session(ConnectSession())  # type: ignore[arg-type]
    assert str(refused.value) == (
        "Penstock does not run over Spark Connect: it works inside the driver, which Connect keeps out of reach\n"
        "where: the session\n"
        "next:  run with a classic session: `SparkSession.builder.master(...)`, without `remote(...)` and SPARK_REMOTE"
    )


@pytest.mark.parametrize("version", ["3.5.4", "3.0.0", "2.4.8"])
def test_an_older_spark_is_refused(version: str) -> None:
    with pytest.raises(PlanRefused) as refused:
        check_session(Session(version))  # type: ignore[arg-type]
    assert str(refused.value) == (
        f"this is Spark {version}: Penstock needs Spark 4.0 or newer\nnext:  install another PySpark: pip install 'pyspark>=4.1.3,<4.2'"
    )


def test_a_session_with_settings_that_the_chain_cannot_stand_is_refused() -> None:
    with pytest.raises(PlanRefused) as refused:
        check_session(Session(spark_speculation="true"))  # type: ignore[arg-type]
    assert str(refused.value) == (
        "this session has settings that Penstock cannot run with:\n"
        "  - spark.speculation=true: it must be false, a second attempt of a task that still runs would write the same rows again\n"
        "where: the session\n"
        "next:  make the session without them, or set them so"
    )


def test_versions_are_compared_as_numbers() -> None:
    assert major_minor("4.10.0-SNAPSHOT") == (4, 10)
    demand_spark("10.0.0")


def test_what_the_chain_relies_on_is_always_set_and_what_is_tuned_gives_way() -> None:
    settings = session_settings(None, {"spark.driver.memory": "2g", "spark.speculation": "false"}, environment={})
    assert {key: settings[key] for key in RELIED_ON} == {key: each.value for key, each in RELIED_ON.items()}
    assert settings["spark.driver.memory"] == "2g"
    assert settings["spark.master"].startswith("local[")
    assert settings["spark.master"].endswith(",4]"), "a task gets four attempts"


def test_a_cluster_gets_none_of_the_settings_of_a_laptop() -> None:
    settings = session_settings("spark://a:7077,b:7077", {}, environment={})
    assert not {"spark.driver.host", "spark.driver.bindAddress", "spark.driver.memory", "spark.sql.shuffle.partitions"} & settings.keys()
    assert "spark.driver.host" in session_settings("local[2]", {}, environment={})


@pytest.mark.parametrize(
    "master", ["local", "local[4]", "local[*,4]", "local-cluster[2,1,1024]", "spark://a:7077", "spark://a:7077,b:7077", "yarn", "k8s://https://a:6443"]
)
def test_every_kind_of_master_is_taken(master: str) -> None:
    assert session_settings(master, {}, environment={})["spark.master"] == master
