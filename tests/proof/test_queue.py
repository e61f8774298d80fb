import asyncio

from kernelwright.proof.queue import Priority, Turns


async def test_one_at_a_time_requests_before_background() -> None:
    turns, order, together = Turns(), [], 0

    async def work(name: str, priority: Priority) -> None:
        nonlocal together
        async with turns.turn(priority):
            together += 1
            assert together == 1
            order.append(name)
            await asyncio.sleep(0.01)
            together -= 1

    wanted = [("first", 1), ("check 1", 1), ("check 2", 1), ("person 1", 0), ("person 2", 0)]
    await asyncio.gather(*(work(name, Priority(priority)) for name, priority in wanted))
    assert order == ["first", "person 1", "person 2", "check 1", "check 2"]
    assert not turns.busy


async def test_who_is_cancelled_while_waiting_takes_no_turn() -> None:
    turns = Turns()

    async def hold() -> None:
        async with turns.turn():
            await asyncio.sleep(0.05)

    tasks = [asyncio.create_task(hold()) for _ in range(3)]
    await asyncio.sleep(0.01)
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert not turns.busy


async def test_a_cancellation_in_the_moment_of_the_turn_passes_it_on() -> None:
    turns = Turns()
    async with turns.turn():
        waiting = asyncio.create_task(turns.turn().__aenter__())
        await asyncio.sleep(0)
    waiting.cancel()  # its turn has come, but it has not run since
    await asyncio.gather(waiting, return_exceptions=True)
    assert not turns.busy
