"""CUDA C++ in a string of a Python file, in an editor: card, lens, findings, a guessed line, a step kept and taken back."""

import pytest

from lsp.editor import Editor

LINE = (
    "# workload: matmul_kernel<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>"
    "(a=randn(m, k), b=randn(k, n), c=out(m, n), m=48, n=33, k=20)"
)
TEXT = f'''\
import torch
from torch.utils.cpp_extension import load_inline

{LINE}
source = r"""
__global__ void matmul_kernel(const float* a, const float* b, float* c, int m, int n, int k) {{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) {{
        sum += a[row * k + i] * b[i * n + col];
    }}
    c[row * n + col] = sum;
}}

torch::Tensor matmul(torch::Tensor a, torch::Tensor b) {{
    auto c = torch::empty({{a.size(0), b.size(1)}}, a.options());
    dim3 grid((b.size(1) + 15) / 16, (a.size(0) + 15) / 16);
    matmul_kernel<<<grid, dim3(16, 16)>>>(
        a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), a.size(0), b.size(1), a.size(1));
    return c;
}}
"""


def multiply(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    head = "torch::Tensor matmul(torch::Tensor a, torch::Tensor b);"
    return load_inline("matmul", head, cuda_sources=[source], functions=["matmul"]).matmul(a, b)
'''
UNROLL = {"strategy": "cuda.unroll", "kernel": "matmul_kernel"}


async def test_card_lens_and_menu(editor: Editor) -> None:
    uri = editor.open("matmul.py", TEXT)
    card = await editor.hover(uri, "matmul_kernel(const")
    assert "CUDA kernel" in card
    assert "lines 6 to 15" in card
    assert "m=48, n=33, k=20" in card
    lenses = {lens.range.start.line: lens.command.title for lens in await editor.lenses(uri) if lens.command}
    assert lenses[5].startswith("Optimize kernel")
    titles = [action.title for action in await editor.actions(uri, "matmul_kernel(const", "refactor.rewrite")]
    assert any("Unroll inner loops" in title for title in titles)


async def test_a_step_is_kept_and_taken_back(code: Editor) -> None:
    uri = code.open("matmul.py", TEXT)
    answer = await code.command("kernelwright.optimize", {"uri": uri, **UNROLL})
    assert answer["$"] == "Step", answer
    assert (answer["outcome"], answer["verdict"]["status"]) == ("kept", "passed"), answer["reason"]
    unrolled = TEXT.replace("    for (int", "    #pragma unroll 4\n    for (int")
    assert code.texts[uri] == unrolled
    shown = await code.diagnostics(uri, lambda found: any(d.code == "cuda.unroll" for d in found))
    (told,) = [d for d in shown if d.code == "cuda.unroll"]
    assert code.marked(uri, told) == "matmul_kernel"
    assert "in an emulator of CUDA on the CPU" in told.message
    code.type(uri, "import torch\n", "import os\nimport torch\n")
    await code.command("kernelwright.revert", {"uri": uri, "step": answer["id"]})
    assert code.texts[uri] == f"import os\n{TEXT}"


async def test_compile_errors_while_typing(editor: Editor) -> None:
    uri = editor.open("matmul.py", f'note = "é 🙂"\n{TEXT}')
    editor.type(uri, "sum += a", "/* 🙂 */ sum += factor * a")
    found = await editor.diagnostics(uri, lambda shown: any(d.code == "compile-error" for d in shown))
    assert [editor.marked(uri, d) for d in found if d.code == "compile-error"] == ["factor"]
    editor.type(uri, "factor * ", "")
    await editor.diagnostics(uri, lambda shown: not any(d.code == "compile-error" for d in shown))


async def test_findings_while_typing(editor: Editor) -> None:
    uri = editor.open("matmul.py", f'note = "é 🙂"\n{TEXT}')
    editor.type(uri, "sum += a", "/* 🙂 */ sum += 2.1 * a")
    found = await editor.diagnostics(uri, lambda shown: any(d.code == "cuda.double-precision" for d in shown))
    (double,) = [d for d in found if d.code == "cuda.double-precision"]
    assert editor.marked(uri, double) == "2.1"
    (fix,) = [one for one in await editor.actions(uri, "2.1", "quickfix") if one.title == "Write 2.1f"]
    fix = fix if fix.edit else await editor.client.code_action_resolve_async(fix)
    editor.make(fix.edit)
    assert "sum += 2.1f * a" in editor.texts[uri]
    editor.type(uri, 'r"""', '"""\\n')
    found = await editor.diagnostics(uri, lambda shown: any(d.code == "unread" for d in shown))
    (unread,) = [d for d in found if d.code == "unread"]
    assert "has escapes" in unread.message


async def test_a_line_is_guessed_tried_and_written_above_the_string(code: Editor) -> None:
    uri = code.open("matmul.py", TEXT.replace(f"{LINE}\n", ""))
    lacking = await code.actions(uri, "matmul_kernel(const", "quickfix")
    assert [one.title for one in lacking] == ["Write a workload line for matmul_kernel that runs"]
    answer = await code.command("kernelwright.infer", {"uri": uri, "kernel": "matmul_kernel"})
    assert answer["$"] == "Inferred", answer
    assert answer["lines"][0].startswith("# workload: matmul_kernel<<<")
    assert f'{answer["lines"][-1]}\nsource = r"""' in code.texts[uri]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("sum += a[row * k + i]", "sum += a[row * k + i", "does not parse at line 12"),
        ("int row =", "int row = missing +", "does not compile at line 7, column 15"),
    ],
)
async def test_what_is_wrong_is_said_at_lines_of_the_file(code: Editor, old: str, new: str, reason: str) -> None:
    uri = code.open("matmul.py", TEXT.replace(old, new))
    answer = await code.command("kernelwright.optimize", {"uri": uri, **UNROLL})
    said = answer.get("reason") or answer.get("message")
    assert reason in said, said
    assert code.texts[uri] == TEXT.replace(old, new)
