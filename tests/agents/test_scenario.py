"""From the list of kernels to a step that is kept, with the agent's name in the journal."""

from agents.agent import Agent, said
from cli.terminal import SCORE, kernelwright
from cuda_program import PROGRAM
from lsp.examples import SOFTMAX

SUMMED = """\
The sum over the features is one product with the sum of the weights.

<<<<<<< SEARCH
        y = self.linear(x)
        return torch.sum(y, dim=1, keepdim=True)
=======
        row = self.linear.weight.sum(0)
        return (x @ row + self.linear.bias.sum())[:, None]
>>>>>>> REPLACE
"""
RECIPROCAL = SOFTMAX.replace("x / tl.sum(x, axis=0)", "x * (1.0 / tl.sum(x, axis=0))")
SUBTRACTED = SOFTMAX.replace("x / tl.sum(x, axis=0)", "x - tl.sum(x, axis=0)")


async def test_a_module_from_its_list_to_a_kept_step_and_back(agent: Agent) -> None:
    file = agent.write("score.py", SCORE)
    (kernel,) = (await agent.data("list_kernels", file="score.py"))["kernels"]
    assert kernel == {
        "name": "Score",
        "language": "torch",
        "first_line": 5,
        "last_line": 12,
        "workload": "Score(512, 640)(randn(384, 512))",
        "missing": "",
    }
    where = {"file": "score.py", "kernel": kernel["name"]}
    best, *others = (await agent.data("list_strategies", **where))["strategies"]
    assert (best["id"], best["applies"]) == ("torch.reassociate.reduce-features", True)
    assert best["places"] == ["lines 11-12: linear, sum over its 640 features"]
    assert {row["applies"] for row in others} == {True, False}
    assert all(row["reason"] for row in others)
    prompt = await agent.data("action_prompt", strategy=best["id"], **where)
    assert "y = self.linear(x)" in prompt["user"]
    assert "<<<<<<< SEARCH" in prompt["system"]
    assert (prompt["first_line"], prompt["last_line"], prompt["not_found"]) == (11, 12, "")
    bound = await agent.data("roofline", **where)
    assert bound["flops"] == 251904000
    assert bound["share"] is None

    measured = await agent.data("measure", blocks=SUMMED, **where)
    assert measured["verdict"]["passed"]
    assert measured["speedup"]["low"] <= measured["speedup"]["ratio"] <= measured["speedup"]["high"]
    assert not agent.journal_begun
    kept = await agent.ask("keep_step", strategy=best["id"], blocks=SUMMED, why="sum the weights first", **where)
    told = kept.structured_content
    assert told is not None
    assert told["kept"], said(kept)
    assert told["speedup"]["low"] > 1.0
    assert said(kept).startswith("Kept, and written to score.py. Sum the weights of a linear layer")
    assert "Written by agent:claude-code." in said(kept)
    assert "row = self.linear.weight.sum(0)" in file.read_text()
    assert "Measuring: warming up" in agent.stages

    (step,) = (await agent.data("history", file="score.py"))["steps"]
    assert (step["id"], step["outcome"], step["author"]) == (told["step"], "kept", "agent:claude-code")
    assert "Written by agent:claude-code." in kernelwright("history", file).stdout
    script = (await agent.data("export", file="score.py"))["script"]
    assert "row = self.linear.weight.sum(0)" in script
    assert (await agent.data("revert", file="score.py"))["steps"] == [step["id"]]
    assert file.read_text() == SCORE
    (step,) = (await agent.data("history", file="score.py", kernel="Score"))["steps"]
    assert step["outcome"] == "reverted"


async def test_a_triton_kernel_is_kept_without_a_number_where_there_is_no_gpu(agent: Agent) -> None:
    """Its strategy finds nothing to do here: the agent may know more."""
    where = {"file": "softmax.py", "kernel": "softmax_kernel"}
    file = agent.write("softmax.py", SOFTMAX)
    prompt = await agent.data("action_prompt", strategy="triton.tune-launch", **where)
    assert prompt["not_found"] == "Choosing launch constants needs a GPU to measure, and there is none here."
    assert (prompt["first_line"], prompt["last_line"]) == (6, 13)
    measured = await agent.data("measure", text=RECIPROCAL, **where)
    assert (measured["verdict"]["passed"], measured["speedup"]) == (True, None)
    assert "no GPU" in measured["unmeasured"]
    assert {row["name"] for row in measured["verdict"]["unchecked"]} == {"gradient", "stream-order"}

    wrong = await agent.data("keep_step", strategy="triton.tune-launch", text=SUBTRACTED, **where)
    assert (wrong["kept"], wrong["speedup"], wrong["verdict"]["passed"]) == (False, None, False)
    assert file.read_text() == SOFTMAX
    right = await agent.data("keep_step", strategy="triton.tune-launch", text=RECIPROCAL, **where)
    assert (right["kept"], right["speedup"]) == (True, None)
    assert "speed not measured: no GPU here" in right["sentence"]
    assert file.read_text() == RECIPROCAL
    steps = (await agent.data("history", file="softmax.py"))["steps"]
    assert [step["outcome"] for step in steps] == ["rejected", "kept"]


async def test_a_workload_is_found_and_written_only_when_asked_to(agent: Agent) -> None:
    bare = SOFTMAX.partition("# workload")[0]
    call = "import torch\n\nfrom softmax import softmax\n\nprint('a line')\nsoftmax(torch.randn(6, 40))\n"
    file = agent.write("softmax.py", bare)
    agent.write("bench.py", call)
    (kernel,) = (await agent.data("list_kernels", file="softmax.py"))["kernels"]
    assert kernel["workload"] is None
    assert "record_workloads" in kernel["missing"]
    assert "workload" in await agent.refused("roofline", file="softmax.py", kernel="softmax_kernel")
    inferred = await agent.data("infer_workloads", file="softmax.py")
    assert inferred["entries"][0]["lines"]
    assert inferred["written"] == []
    named = await agent.data("infer_workloads", file="softmax.py", kernel="softmax_kernel")
    assert named["entries"] == inferred["entries"]
    said = await agent.refused("infer_workloads", file="softmax.py", kernel="soft_max")
    assert "soft_max" in said
    recorded = await agent.data("record_workloads", command=["python", "bench.py"])
    assert [row["lines"] for row in recorded["entries"]] == [["softmax(randn(6, 40))"]]
    assert file.read_text() == bare
    recorded = await agent.data("record_workloads", command=["python", "bench.py"], write=True)
    assert recorded["written"] == ["softmax.py"]
    assert "# workload: softmax(randn(6, 40))\ndef softmax(x):" in file.read_text()
    assert (await agent.data("infer_workloads", file="softmax.py"))["entries"] == []


async def test_a_program_of_cuda_is_recorded(agent: Agent) -> None:
    file = agent.write("program.cu", PROGRAM)
    recorded = await agent.data("record_workloads", command=["program.cu", "70"], write=True)
    assert [(row["entry"], len(row["lines"])) for row in recorded["entries"]] == [
        ("scale", 2),
        ("fill", 1),
        ("shift", 0),
        ("rowwise", 1),
    ]
    assert recorded["written"] == ["program.cu"]
    assert "// workload: fill<4><<<1, 8>>>(counts=out(n, dtype=int32), n=32)\ntemplate" in file.read_text()
    agent.write("library.cu", PROGRAM.replace("int main", "int begin"))
    assert "library.cu is no program" in await agent.refused("record_workloads", command=["library.cu"])
