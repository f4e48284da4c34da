"""Arrival of requests: each after the previous answer, or at scheduled times."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.drills.load.http_client import Answer, Connection, ConnectionPool, Request

Draw = Callable[[], Request]
Record = Callable[[Answer], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLog:
    """All answers of a period."""

    answers: Sequence[Answer]
    wall_s: float

    @property
    def useful_per_s(self) -> float:
        """Return the useful answers per second."""
        return sum(answer.is_useful for answer in self.answers) / self.wall_s


async def send_sequentially(url: str, draw: Draw, *, clients: int, length_s: float) -> AnswerLog:
    """Send requests by `clients` clients, each after the previous answer: measures the capacity."""
    answers: list[Answer] = []
    began = time.monotonic()

    async def client() -> None:
        line = Connection(url)
        while (now := time.monotonic()) < began + length_s:
            answers.append(await line.ask(draw(), now - began, now))
        line.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return AnswerLog(answers=answers, wall_s=time.monotonic() - began)


async def send_on_schedule(
    url: str, draw: Draw, *, per_s: float, length_s: float, seed: int, record: Record = lambda _: None
) -> AnswerLog:
    """Send requests at random moments, `per_s` per second on average, whether or not they are answered."""
    rng = random.Random(f"arrivals {seed}")
    answers: list[Answer] = []
    under_way: set[asyncio.Task[None]] = set()
    began = time.monotonic()
    due_s = 0.0

    with ConnectionPool(url) as lines:

        async def send(request: Request, due_s: float) -> None:
            answer = await lines.ask(request, due_s, began + due_s)
            answers.append(answer)
            record(answer)

        while (due_s := due_s + rng.expovariate(per_s)) < length_s:
            await asyncio.sleep(max(0.0, began + due_s - time.monotonic()))
            sending = asyncio.create_task(send(draw(), due_s))
            under_way.add(sending)
            sending.add_done_callback(under_way.discard)
        await asyncio.gather(*under_way)
    return AnswerLog(answers=answers, wall_s=max(length_s, time.monotonic() - began))
