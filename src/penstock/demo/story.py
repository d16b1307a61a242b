"""The demo from its first step to its last: what is done, told as it happens. Nothing of it is left when it is over."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from penstock.builtin import KINDS
from penstock.demo import payments
from penstock.demo.count import count, read_topic
from penstock.demo.events import (
    Audited,
    BatchFinished,
    Closed,
    Event,
    Fetched,
    Killed,
    Opened,
    PipelineShown,
    RunBegun,
    RunEnded,
    RunMoved,
    StepBegun,
    StepDone,
    StepMoved,
)
from penstock.demo.figures import Figures
from penstock.demo.place import TOPIC, Place, temporary_place
from penstock.demo.processes import Memory, measurable
from penstock.demo.victim import COMMAND, How, Kill, Victim
from penstock.demo.watch import Watch
from penstock.devstack.broker import Broker
from penstock.devstack.jars import jars_for
from penstock.devstack.topics import create_topic
from penstock.errors import Fatal
from penstock.observe.gather import Audit, audit
from penstock.plan.build import build
from penstock.spec.load import load

JARS = ("broker", "spark-4.1")
PARTITIONS = 8
BATCHES = 8
FEWEST_RECORDS = 8_000
KILLS: tuple[How, ...] = ("tree", "parent")
LOOK_EVERY_SECONDS = 0.02

Listener = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asked for."""

    records: int
    seed: int
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Aim:
    """The first batch that a kill may hit, and how much of its usual time it should have had."""

    batch: int
    share: float


@dataclass(slots=True)
class Story:
    """One demo while it runs."""

    wishes: Wishes
    place: Place
    listen: Listener
    watch: Watch
    rng: random.Random
    kills: list[Kill] = field(default_factory=list)
    victim: Victim | None = None

    @property
    def pid(self) -> int | None:
        """The pipeline's process, while it runs."""
        return self.victim.pid if self.victim is not None and self.victim.running else None


def tell(wishes: Wishes, listen: Listener) -> Figures:
    """Run the whole demo; the figures at its end. `Fatal` where they are wrong, after they were told."""
    begun = time.monotonic()
    listen(Opened(wishes.records, PARTITIONS, wishes.seed))
    with temporary_place(keep=wishes.keep) as place:
        story = Story(wishes, place, listen, Watch(place), random.Random(wishes.seed))
        jars_for(*JARS, progress=lambda label, done, total: listen(Fetched(label, done, total)))
        broker = Broker(place.kafka)
        try:
            with Memory(lambda: story.pid) as memory:
                set_up(story, broker)
                run_until_caught_up(story)
                figures = examined(story, broker.servers, memory, begun)
            listen(Closed(figures, place, broker.servers))
        finally:
            if story.victim is not None:
                story.victim.end()
            broker.stop()
    if figures.wrongs:
        raise wrong(figures)
    return figures


def set_up(story: Story, broker: Broker) -> None:
    """A broker with all payments in it, and the pipeline's file."""
    wishes, listen = story.wishes, story.listen
    with step(story, "start a Kafka broker") as said:
        broker.start()
        create_topic(broker.servers, TOPIC, partitions=PARTITIONS)
        said.append(f"a Kafka broker runs on {broker.servers}")
    with step(story, f"produce {wishes.records:,} payments") as said:
        load = payments.Load(wishes.records, wishes.seed, PARTITIONS)
        payments.produce(broker.servers, TOPIC, load, told=lambda done: listen(StepMoved(done, wishes.records)))
        said.append(f"{wishes.records:,} payments are in the topic, in {PARTITIONS} partitions")
    # A little more than an even share: Spark rounds the share of each partition down.
    text = story.place.write_pipeline(broker.servers, wishes.records * 101 // (BATCHES * 100) + PARTITIONS)
    listen(PipelineShown(story.place.pipeline.name, text))


@contextmanager
def step(story: Story, what: str) -> Iterator[list[str]]:
    """One step; what is appended to the list is said at its end."""
    begun = time.monotonic()
    said: list[str] = []
    story.listen(StepBegun(what))
    yield said
    story.listen(StepDone(said[-1], time.monotonic() - begun))


def run_until_caught_up(story: Story) -> None:
    """Start the pipeline again and again: each run but the last is killed, in a batch drawn by lot."""
    begun, attempt, left = time.monotonic(), 0, list(KILLS)
    while True:
        attempt += 1
        kill = run_once(story, attempt, left[0] if left else None)
        if kill is None:
            break
        story.kills.append(kill)
        story.listen(Killed(kill, len(story.kills)))
        if kill.in_flight is not None:
            left.pop(0)
    sight = story.watch.look()
    story.listen(RunEnded(story.place, len(sight.committed), time.monotonic() - begun))


def run_once(story: Story, attempt: int, how: How | None) -> Kill | None:
    """Run the pipeline until it ends by itself (None), or until it is killed at a moment drawn by lot."""
    before = story.watch.look()
    pending = before.working
    # The first batch of a run is slow, and the pending one where there is one; it is a later one that is hit.
    aim = Aim(max(before.committed, default=-1) + 1 + story.rng.choice((1, 2)) + (attempt == 1), story.rng.uniform(0.1, 0.9))
    story.listen(RunBegun(attempt, " ".join(COMMAND), pending))
    begun, victim = time.monotonic(), Victim(story.place)
    story.victim = victim
    running = True
    while running:
        running, sight = victim.running, story.watch.look()  # in this order: the last look is at what it ended with
        working = sight.working
        story.listen(RunMoved(sight.records, story.wishes.records, working))
        if pending is not None and pending in sight.committed:
            story.listen(BatchFinished(pending, sight.version, time.monotonic() - begun))
            pending = None
        wait = LOOK_EVERY_SECONDS
        if how is not None and running and working is not None and working >= aim.batch:
            wait = seconds_until(aim.share, working, story)
            if wait <= 0:
                return strike(story, victim, how, Aim(working, aim.share))
        time.sleep(min(LOOK_EVERY_SECONDS, wait))
    victim.demand_success()
    return None


def seconds_until(share: float, batch: int, story: Story) -> float:
    """How long until this batch has had that share of the time that the one before it took."""
    interrupted = {kill.batch for kill in story.kills}  # what they took holds a kill and a new start
    known = [seconds for each in range(1, batch) if each not in interrupted and (seconds := story.watch.work_seconds(each)) is not None]
    return (story.watch.begun_at(batch) or time.time()) + share * (known[-1] if known else 1.0) - time.time()


def strike(story: Story, victim: Victim, how: How, aim: Aim) -> Kill:
    """Kill the pipeline now, and see what it was about when nothing of it runs any more."""
    after = time.time() - (story.watch.begun_at(aim.batch) or 0)
    struck, survivors, survived = victim.kill(how)
    return Kill(how, aim.batch, aim.share, after, struck, survivors, survived, story.watch.in_flight())


def examined(story: Story, servers: str, memory: Memory, begun: float) -> Figures:
    """The audit, then the count that believes no ledger."""
    place, wishes, since = story.place, story.wishes, time.monotonic()
    story.listen(StepBegun("audit"))
    found = audit(build(load(place.pipeline, KINDS), KINDS), KINDS, lambda label, done, total: story.listen(StepMoved(done, total)))
    story.listen(Audited(found, time.monotonic() - since))
    with step(story, "count again, believing no ledger") as said:
        counted = count(read_topic(servers, TOPIC), place.table, place.dead_letters, records=wishes.records, seed=wishes.seed)
        said.append("counted again, believing no ledger: Kafka against the tables' files")
    made = story.watch.versions_made()
    return Figures(
        seed=wishes.seed,
        produced=wishes.records,
        count=counted,
        audit_clean=found.clean,
        audit_records=records_in(found),
        kills=tuple(story.kills),
        batches=len(story.watch.look().committed),
        versions=made.total(),
        versions_added_again=sum(times - 1 for times in made.values()),
        files_left=story.watch.left_behind(),
        peak_pipeline_bytes=memory.tree_bytes if measurable() else None,
        peak_demo_bytes=memory.own_bytes if measurable() else None,
        seconds=time.monotonic() - begun,
    )


def records_in(found: Audit) -> int:
    """How many records of Kafka the audit accounts for."""
    return sum(verdict.in_kafka for verdict in found.verdicts)


def wrong(figures: Figures) -> Fatal:
    """The error for figures that are not right."""
    return Fatal(
        f"the counts are not right: {', '.join(figures.wrongs)}",
        code="demo_wrong",
        where=f"{figures.produced:,} payments, seed {figures.seed}",
        next_step=f"run `penstock demo --records {figures.produced} --seed {figures.seed} --keep` and look around; please report it with the figures",
    )
