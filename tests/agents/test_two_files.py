"""A kernel that another file launches, by an agent: a change may be of both files, which are written together or not at all."""

from agents.agent import Agent, said
from cli.test_two_files import KERNELS, LAYERS

LAUNCHER = LAYERS.replace(".inner.kernels", "kernels")
WHAT = {"file": "kernels.py", "kernel": "copy_kernel"}
GRID, CALL = (
    "    grid = (triton.cdiv(x.numel(), 256),)",
    "    copy_kernel[grid](x, out, x.numel(), BLOCK=256, num_warps=4)",
)


def block(old: str, new: str) -> str:
    return f"<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


LARGER = block(GRID, GRID.replace("256", "512")) + block(CALL, CALL.replace("256", "512"))
NAMED = block(
    "    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)",
    "    x = tl.load(x_ptr + at, mask=at < n)\n    tl.store(out_ptr + at, x, mask=at < n)",
)


async def test_a_step_changes_both_files_and_is_taken_back(agent: Agent) -> None:
    kernels, layers = agent.write("kernels.py", KERNELS), agent.write("layers.py", LAUNCHER)
    (row,) = (await agent.data("list_kernels", file="kernels.py"))["kernels"]
    assert (row["workload"], row["missing"]) == ("copied(randn(1000))", "")
    rows = (await agent.data("list_strategies", **WHAT))["strategies"]
    assert "triton.autotune" in [row["id"] for row in rows if row["applies"]]
    prompt = await agent.data("action_prompt", strategy="triton.autotune", **WHAT)
    assert CALL in prompt["user"]
    assert KERNELS.splitlines()[-1] in prompt["user"]

    assert (await agent.data("verify", blocks=LARGER + NAMED, **WHAT))["verdict"]["passed"]
    shorter = block(CALL, CALL.replace("x.numel()", "x.numel() - 1"))
    assert not (await agent.data("verify", blocks=shorter, **WHAT))["verdict"]["passed"]
    named = KERNELS.replace("tl.load(x_ptr + at, mask=at < n)", "tl.load(x_ptr + at, mask=at < n, other=0.0)")
    from_there = {"file": "layers.py", "kernel": "copy_kernel"}
    assert (await agent.data("verify", text=named, **from_there))["verdict"]["passed"], "the text of the kernel's file"

    kept = await agent.ask("keep_step", strategy="triton.tune-launch", blocks=LARGER + NAMED, **WHAT)
    assert said(kept).startswith("Kept, and written to kernels.py and layers.py. ")
    assert "BLOCK=512" in layers.read_text()
    assert "    x = tl.load(" in kernels.read_text()
    (step,) = (await agent.data("history", file="kernels.py"))["steps"]
    assert step["outcome"] == "kept"

    layers.write_text(f"{layers.read_text()}\n# mine\n")
    back = await agent.ask("revert", file="kernels.py")
    assert said(back) == f"Took back {step['id']}; wrote kernels.py and layers.py."
    assert (kernels.read_text(), layers.read_text()) == (KERNELS, f"{LAUNCHER}\n# mine\n")


async def test_a_kernel_that_several_files_launch_is_told(agent: Agent) -> None:
    agent.write("kernels.py", KERNELS)
    agent.write("layers.py", LAUNCHER)
    more = agent.write("more.py", LAUNCHER)
    assert "copy_kernel is launched from several files" in await agent.refused("verify", blocks=LARGER, **WHAT)
    more.unlink()


async def test_without_a_launch_anywhere_a_kernel_is_its_files_own(agent: Agent) -> None:
    agent.write("alone.py", KERNELS.replace("copy_kernel", "alone_kernel"))
    (row,) = (await agent.data("list_kernels", file="alone.py"))["kernels"]
    assert "No function of this file launches this kernel" in row["missing"]
    refused = await agent.refused("verify", file="alone.py", kernel="alone_kernel", blocks=NAMED)
    assert "No function of this file launches this kernel" in refused
