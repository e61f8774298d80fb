"""A CUDA C++ file in an editor: card, lens, menu, findings, a guessed workload line, and a step that is kept and taken back."""

import asyncio

import pytest
from lsprotocol import types as lsp

from lsp.editor import Editor

NAIVE = """\
#include <cuda_runtime.h>

__global__ void matmul_kernel(const float* a, const float* b, float* c, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) {
        sum += a[row * k + i] * b[i * n + col];
    }
    c[row * n + col] = sum;
}

// workload: matmul(a=randn(m, k), b=randn(k, n), c=out(m, n), m=48, n=33, k=20)
extern "C" void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    dim3 block(16, 16);
    dim3 grid((n + 15) / 16, (m + 15) / 16);
    matmul_kernel<<<grid, block>>>(a, b, c, m, n, k);
}
"""
LINE = next(line for line in NAIVE.splitlines() if "workload" in line)
UNROLL = {"strategy": "cuda.unroll", "kernel": "matmul_kernel"}


async def test_card_lens_and_menu(editor: Editor) -> None:
    uri = editor.open("matmul.cu", NAIVE, "cuda-cpp")
    card = await editor.hover(uri, "matmul_kernel")
    assert "CUDA kernel" in card
    assert "m=48, n=33, k=20" in card
    assert any(lens.command and "Optimize" in lens.command.title for lens in await editor.lenses(uri))
    titles = [action.title for action in await editor.actions(uri, "matmul_kernel", "refactor.rewrite")]
    assert any("Tile through shared memory" in title for title in titles)
    assert any("Unroll inner loops" in title for title in titles)


async def test_what_neovim_and_emacs_call_it(code: Editor) -> None:
    uri = code.open("matmul.cu", NAIVE, "cuda")
    assert "CUDA kernel" in await code.hover(uri, "matmul_kernel")


async def test_a_step_is_kept_and_taken_back(editor: Editor) -> None:
    uri = editor.open("matmul.cu", NAIVE, "cuda-cpp")
    answer = await editor.command("kernelwright.optimize", {"uri": uri, **UNROLL})
    assert answer["$"] == "Step", answer
    assert (answer["outcome"], answer["verdict"]["status"]) == ("kept", "passed"), answer["reason"]
    assert answer["measurement"] is None
    assert "#pragma unroll" in editor.texts[uri]
    shown = await editor.diagnostics(uri, lambda found: any(d.code == "cuda.unroll" for d in found))
    (told,) = [d.message for d in shown if d.code == "cuda.unroll"]
    assert told.startswith("Verified: passed ")
    assert "in an emulator of CUDA on the CPU" in told
    assert "speed not measured: no GPU here" in told
    await editor.command("kernelwright.revert", {"uri": uri, "step": answer["id"]})
    assert editor.texts[uri] == NAIVE


async def test_a_finding_while_typing(editor: Editor) -> None:
    uri = editor.open("matmul.cu", NAIVE, "cuda-cpp")
    editor.type(uri, "sum += a", "sum += 2.0 * a")
    found = await editor.diagnostics(uri, lambda shown: any(d.code == "cuda.double-precision" for d in shown))
    assert [editor.marked(uri, d) for d in found if d.code == "cuda.double-precision"] == ["2.0"]


async def test_indices_are_examined_after_a_pause(editor: Editor) -> None:
    uri = editor.open("matmul.cu", NAIVE.replace("row * k + i", "row * k + i + col / 32"), "cuda-cpp")
    found = await editor.diagnostics(uri, lambda shown: any(d.code == "cuda.out-of-bounds" for d in shown))
    (told,) = [d for d in found if d.code == "cuda.out-of-bounds"]
    assert editor.marked(uri, told) == "a[row * k + i + col / 32]"
    assert "block (2, 2), thread (0, 15) reads a[960] of 960 elements" in told.message
    assert "2 accesses within bounds, 1 access out of bounds" in await editor.hover(uri, "matmul_kernel")
    editor.type(uri, "#include", "\n#include")
    moved = await editor.diagnostics(uri, lambda shown: any(d.range.start.line == 9 for d in shown))
    assert [editor.marked(uri, d) for d in moved if d.code == told.code] == ["a[row * k + i + col / 32]"]
    editor.type(uri, " + col / 32", "")
    await editor.diagnostics(uri, lambda shown: not any(d.code == "cuda.out-of-bounds" for d in shown))
    async with asyncio.timeout(60):
        while "not checked yet" in (card := await editor.hover(uri, "matmul_kernel")):
            await asyncio.sleep(0.05)
    assert "3 accesses within bounds, no two threads write different values to one element" in card


async def test_errors_of_a_compiler_while_typing(editor: Editor) -> None:
    uri = editor.open("matmul.cu", NAIVE, "cuda-cpp")
    editor.type(uri, "sum += a", "sum += factor * a")
    found = await editor.diagnostics(uri, lambda shown: any(d.code == "compile-error" for d in shown))
    (error,) = [d for d in found if d.code == "compile-error"]
    assert (error.severity, editor.marked(uri, error)) == (lsp.DiagnosticSeverity.Error, "factor")
    assert error.message == "'factor' was not declared in this scope."
    editor.type(uri, "#include", "\n#include")  # the error stays at its line
    moved = await editor.diagnostics(uri, lambda shown: any(d.range.start.line == 9 for d in shown))
    assert [editor.marked(uri, d) for d in moved if d.code == "compile-error"] == ["factor"]
    # A header that g++ has nothing for: nothing is claimed any more.
    editor.type(uri, "#include", "#include <cub/cub.cuh>\n#include")
    await editor.diagnostics(uri, lambda shown: not any(d.code == "compile-error" for d in shown))
    editor.type(uri, "#include <cub/cub.cuh>\n", "")
    await editor.diagnostics(uri, lambda shown: any(d.code == "compile-error" for d in shown))
    editor.type(uri, "factor * ", "")
    await editor.diagnostics(uri, lambda shown: not any(d.code == "compile-error" for d in shown))
    editor.type(uri, "<cuda_runtime.h>", '"settings.h"')
    editor.save(uri)
    found = await editor.diagnostics(uri, lambda shown: any(d.code == "missing-header" for d in shown))
    assert ["settings.h" in d.message for d in found if d.code == "missing-header"] == [True]


async def test_a_line_is_guessed_and_tried(code: Editor) -> None:
    uri = code.open("matmul.cu", NAIVE.replace(f"{LINE}\n", ""), "cuda-cpp")
    answer = await code.command("kernelwright.infer", {"uri": uri, "kernel": "matmul_kernel"})
    assert answer["$"] == "Inferred", answer
    assert answer["lines"][0] == ("// workload: matmul(a=randn(m*k), b=randn(n*k), c=out(m*n), m=1024, n=1024, k=1024)")
    assert f'{answer["lines"][-1]}\nextern "C" void matmul(' in code.texts[uri]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("sum += a[row * k + i]", "sum += a[row * k + i", "does not parse at line 9"),
        ("c[row * n + col] = sum", "c[row * n + col + 1] = sum", "writes c["),
        ("int row =", "int row = missing +", "does not compile at line 4"),
    ],
)
async def test_what_is_wrong_is_said_in_one_sentence(code: Editor, old: str, new: str, reason: str) -> None:
    assert old in NAIVE
    uri = code.open("matmul.cu", NAIVE.replace(old, new), "cuda-cpp")
    answer = await code.command("kernelwright.optimize", {"uri": uri, **UNROLL})
    said = answer.get("reason") or answer.get("message")
    assert reason in said, said
    assert code.texts[uri] == NAIVE.replace(old, new)


async def test_half_typed_code_is_no_error(code: Editor) -> None:
    uri = code.open("half.cu", "", "cuda-cpp")
    for text in ("__global__ void f(", "__global__ void f(float* x) {", "__global__ void f(float* x) { x[", "#define"):
        code.make(lsp.WorkspaceEdit(changes={uri: [_whole(code.texts[uri], text)]}))
        assert isinstance(await code.lenses(uri), list)
        await code.hover(uri, text[:1])
    assert code.messages() == []


def _whole(before: str, after: str) -> lsp.TextEdit:
    end = lsp.Position(before.count("\n"), len(before.rpartition("\n")[2]))
    return lsp.TextEdit(lsp.Range(lsp.Position(0, 0), end), after)


async def test_the_quick_fix_has_what_main_prints_compared(code: Editor) -> None:
    program = NAIVE.replace(f"{LINE}\n", "") + "\nint main() {\n  matmul(nullptr, nullptr, nullptr, 0, 0, 0);\n}\n"
    uri = code.open("matmul.cu", program, "cuda-cpp")
    actions = await code.actions(uri, "matmul_kernel", "quickfix")
    (fix,) = (one for one in actions if one.title == "Write a workload line that compares what main prints")
    fix = fix if fix.edit else await code.client.code_action_resolve_async(fix)
    assert fix.edit is not None
    assert code.make(fix.edit)
    assert "// workload: main()\nint main() {" in code.texts[uri]
