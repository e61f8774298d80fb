"""The words of a workload line, as a table: the page about them, the hover over one and the completion are made of it."""

from typing import NamedTuple


class Word(NamedTuple):
    """`example` is a whole call; `says` a sentence, `group` a heading of the page."""

    name: str
    group: str
    example: str
    says: str


_CALLS, _TENSORS, _OPTIONS, _VALUES = "What is called", "Tensors", "Options of a tensor", "Other arguments"

WORDS = (
    Word("entry(…)", _CALLS, "softmax(randn(8192, 1024))", "A function of the file, such as the one that launches a kernel."),
    Word(
        "Class(…)(…)", _CALLS, "RMSNorm(1024, eps=1e-6)(randn(4096, 1024))",
        "A module, or a class with `__call__`: the arguments of its constructor, then those of its forward.",
    ),
    Word(
        "Function.apply(…)", _CALLS, "Softmax.apply(randn(8192, 1024, requires_grad=True))",
        "An `autograd.Function`; with `requires_grad=True` its backward is checked too.",
    ),
    Word(
        "kernel[grid](…)", _CALLS, "add_kernel[(8,)](randn(1000), randn(1000), zeros(1000), 1000, BLOCK=128)",
        "A Triton kernel itself, with the programs of its grid; what launches it elsewhere is not called.",
    ),
    Word(
        "kernel<<<grid, block>>>(…)", _CALLS,
        "saxpy<<<(n + 255) / 256, 256>>>(n=1 << 20, a=2.0f, x=randn(n), y=inout(randn(n)))",
        "A CUDA kernel, as this line launches it: blocks and threads, as numbers or `dim3(16, 16)`, and shared bytes.",
    ),
    Word(
        "kernel<T, 16><<<…>>>(…)", _CALLS,
        "tile<float, 16><<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(x=randn(m * n), y=out(m * n), m=1024, n=512)",
        "A CUDA kernel that is a template, with its arguments: types and numbers.",
    ),
    Word(
        "main(…)", _CALLS, 'main(1024, "fast")',
        "The program of a `.cu` file, with the arguments of its command line: what it prints is compared.",
    ),
    Word("randn", _TENSORS, "f(randn(8192, 1024))", "Normally distributed numbers; the arguments are the sizes."),
    Word("rand", _TENSORS, "f(rand(8192, 1024))", "Numbers from 0 to 1, evenly distributed."),
    Word(
        "randint", _TENSORS, "f(randint(0, 50257, 8, 512))",
        "Whole numbers from the first argument up to, and without, the second; then the sizes.",
    ),
    Word("randperm", _TENSORS, "f(randperm(1024))", "The numbers from 0 up to the size, each once, in random order."),
    Word("zeros", _TENSORS, "f(zeros(1024))", "Zeros."),
    Word("ones", _TENSORS, "f(ones(1024, dtype=bool))", "Ones, or True."),
    Word("full", _TENSORS, "f(full((8, 1024), 2.5))", "One number everywhere: the sizes in parentheses, then the number."),
    Word("arange", _TENSORS, "f(arange(0, 4096, 512, dtype=int32))", "Numbers at equal distances, as Python's `range`."),
    Word(
        "offsets", _TENSORS, "f(offsets(1025, 16384, dtype=int32))",
        "Where sequences of another tensor begin: how many numbers, and the last; they rise from 0 in random steps, also of 0.",
    ),
    Word("tensor", _TENSORS, "f(tensor([0, 12, 64], dtype=int32))", "Numbers that are written out."),
    Word(
        "empty", _TENSORS, "f(empty(8, 1024))",
        "Memory that the kernel writes; filled with NaN before each call. The same as `out`.",
    ),
    Word("out", _TENSORS, "f(randn(1024), out(1024))", "Memory that the kernel writes; filled with NaN before each call."),
    Word("inout", _TENSORS, "f(inout(randn(1024)))", "A tensor that the kernel reads and writes."),
    Word(
        "dtype", _OPTIONS, "f(randn(8, 1024, dtype=bfloat16))",
        "float32 if absent, int64 for whole numbers. Torch's names, and fp16, bf16, half …",
    ),
    Word(
        "layout", _OPTIONS, "f(randn(8, 64, 32, 32, layout=channels_last))",
        "`contiguous`, `transposed` (the last two dimensions in memory the other way round) or `channels_last`.",
    ),
    Word(
        "strides", _OPTIONS, "f(randn(8, 64, strides=(192, 1)))",
        "Elements that lie apart, as in a slice of a larger tensor; 0 repeats an element, as `expand` does.",
    ),
    Word(
        "requires_grad", _OPTIONS, "f(randn(8, 64, requires_grad=True))",
        "Whether gradients of this tensor are asked for: they are then compared.",
    ),
    Word(
        "1024, 0.5, True, None, 'sum'", _VALUES, "f(randn(8, 64), -1, 0.5, True, None, 'sum')",
        "Numbers, flags and strings are given as they are.",
    ),
    Word("[…], (…)", _VALUES, "f([randn(8), randn(4)], (2, 2))", "Lists and tuples, also of tensors."),
    Word(
        "struct(…)", _VALUES, "scaled<<<(n + 255) / 256, 256>>>(p=struct(n=1 << 16, by=2.0f, x=randn(n)), y=out(n))",
        "A structure of CUDA C++ that is passed by value, with its fields by name; they can be used as keyword arguments can.",
    ),
    Word("float16", _VALUES, "f(randn(8), float16)", "A dtype, also as `torch.float16`."),
    Word(
        "Config(…)", _VALUES, "Block(BlockConfig(n_embd=768, n_head=12), 0)(randn(8, 1024, 768))",
        "An object that a class of the file makes, or one that it imports: an argument of a constructor, without tensors.",
    ),
    Word(
        "SimpleNamespace", _VALUES, "Block(SimpleNamespace(hidden_size=768, bias=False))(randn(8, 1024, 768))",
        "An object of which only attributes are read: a configuration of no class at hand, or a module whose numbers and flags "
        "a function asks for. As Python's `types.SimpleNamespace`, of data alone.",
    ),
    Word(
        "name=…", _VALUES, "solve(A=randn(M, K), B=randn(K, 8), M=64, K=2 * M)",
        "Keyword arguments; numbers among them can be used in all others, and with `+ - * / // % ** << >>`.",
    ),
    Word("inf, nan", _VALUES, "f(randn(8), -inf)", "Floating-point numbers that have no literal."),
)  # fmt: skip


def word(name: str) -> Word | None:
    """The row of a word as it stands in a line."""
    return next((row for row in WORDS if row.name == name), None)


def page() -> str:
    """`docs/workloads.md` as text."""
    parts = [_INTRODUCTION.strip()]
    for group in dict.fromkeys(row.group for row in WORDS):
        rows = [f"| `{row.name}` | `{row.example}` | {row.says} |" for row in WORDS if row.group == group]
        parts += [f"## {group}", "\n".join(["| word | example | meaning |", "|---|---|---|", *rows])]
    return "\n\n".join([*parts, _LIMITS.strip()]) + "\n"


_INTRODUCTION = """
# Workload lines

A workload line is a comment that says how a kernel is called. It reads as a call, with generators for tensors:

```python
# workload: softmax(randn(8192, 1024))
# workload: softmax(randn(127, 781, dtype=float16))
```

The first line of an entry is timed, all are checked, and the gate adds other seeds, scales and sizes. Lines stand anywhere
in the file, each on a line of its own. Files with `Model`, `get_inputs()` and `get_init_inputs()` need none.

In a `.cu` file lines begin with `//`. For CUDA C++ in a string of a Python file, which `load_inline`, `RawKernel`,
`RawModule`, `torch.cuda._compile_kernel` and their like compile, they are comments of Python, or of C++ inside the string:

```python
# workload: saxpy<<<(n + 255) / 256, 256>>>(n=1 << 20, a=2.0f, x=randn(n), y=inout(randn(n)))
source = r'''
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) { … }
'''
kernel = cupy.RawKernel(source, "saxpy")
```


A line that names `main` runs the program of the file, for the baseline and for the candidate, in the emulator or on the GPU,
and compares what they print and their exit status:

```c++
// workload: main(1024, "fast")
```

Text has to be the same, but for the number of blanks, and whole numbers too. A number with a decimal point or an exponent may
be off by one in its last digit, and by the rounding errors of a sum in float32; what the program prints with float64 for
float32 shows which errors are the baseline's own, of which a candidate may have four times as much. A line that the baseline
does not print alike in each run, such as one with a time, is left out, which the verdict says. A program is not timed. Where a
kernel has lines of its own, these are timed and checked as always, and the program is run beside them.

You need not write them. `kernelwright record -- pytest tests/test_norm.py` runs any command once and prints the lines
of every kernel that it reaches, from calls that really happened; `--write` puts them above what they call, `--in`
names the folders whose kernels are looked for. In an editor, "Record Workloads From…" (the lens above a kernel
without a line) finds the tests and scripts that come to the file by their imports and runs the one that you choose;
on a test, it writes the lines of all kernels that the test comes to. Stopping the run keeps what it has called by
then, also with Ctrl+C in a terminal. A program of CUDA C++ is run, too: `kernelwright record --write -- norm.cu 1024` calls its
`main` with these arguments in the emulator, on any machine, and writes the launches that it makes.

With the setting `recordedWorkloads` (`--recorded-workloads`) on `journal`, lines that were recorded or inferred go into the
journal of the workspace, and no file changes. They count as lines of the file do; one in the file wins.
`kernelwright lines FILE` shows them, with `--write` puts them into the file, with `--forget` drops them; in an editor, two
quick fixes at the name of the kernel do.

Where nothing calls a kernel, `kernelwright infer FILE` guesses lines from what its launcher says of its parameters, its
docstring included: ranks, equal sizes, dtypes, what the kernel uses as an index, what it writes. Where a constructor reads
its sizes from a configuration, a class of the file or of its imports makes one, else `SimpleNamespace`. It calls them, on the
GPU or in Triton's interpreter, and keeps those that run on two draws of their data and launch the kernel, where it
can those that come to the same when called again, take little time and compile for a GPU. One whose tensors have less
than 16 MiB gets more rows, where the call then writes as much more: `65536 * 64` is a number that grew with the 65536
rows. Where no such line comes to a kernel, its own launch is tried. A kernel that only other files launch, or a
backward pass, gets a line from those: they are found by their imports, their modules and functions are called as
workload lines there say, or with guesses, and what they launch the kernel with is written down. For a kernel of CUDA
C++, the launches in its file and in others of the workspace say its template arguments, its grid and its blocks; one
with a line of its own is judged by that, also where its launcher has lines. The lens above such a kernel, and
`kernelwright list`, say where it is launched. That a line runs does not make it typical: look at its sizes before you
time anything. With `--kernel NAME` only that kernel's is guessed. In the editor the quick fix "Write a workload line
for … that runs" does the same; another one takes lines over from benchmarks in the file.

A Triton kernel needs no line of its own where one other file launches it and has a line for the function that does. A step
is then taken on both files, and can be asked for in either: in `layers.py` by `kernelwright optimize layers.py --kernel
norm_kernel`, in the editor above the launching function. The gate runs both texts as they would be. The editor makes one
edit of both documents, and `--write` changes both files or neither. `kernelwright revert` names the kernel's file.
A kernel that several files launch needs a line of its own. This page is generated from the code.
"""

_LIMITS = """
## Limits

- Lines are read by a small evaluator, never by `eval`: no names but keyword arguments, no calls but, for a
  constructor, of classes that are not of Python's own library (`SimpleNamespace` is the only one), 4,096 characters.
- Tensors of a line have memory of their own. A call whose arguments share memory cannot be written as a line, nor can
  dictionaries, most objects, devices and functions; `record` says which argument it was.
- A structure (`struct(…)`) is one that the file itself defines, all of it public, and without a base, bit-fields and unions.
  A field that has a value in the definition may be left out. `infer` and `record` write such lines, too. An enumeration is
  given as a number, a vector or `dim3` as all of its numbers: `(16, 16, 1)`.
- A line that launches a Triton kernel checks the kernel alone: strategies leave its launches in the file as they are. A
  tuned kernel gets as many programs as its smallest blocks need. What other files launch it with may share memory, of which
  `infer` gives each argument its own.
- A line that launches a kernel of CUDA checks the kernel alone. Its launch and its parameters stay as they are, since who
  else launches it is not looked at: so do launches in Python.
- Functions of PyTorch extensions (`torch::Tensor f(torch::Tensor x)`) are not called by lines; the kernels that they launch
  can be. A Python function that calls one is checked on a GPU, with `nvcc`.
- A string is read as CUDA C++ where it is one literal in the file, as it is written: f-strings, joined strings, and strings
  with escapes that are not raw are not read, which is said at their line.
- `record` keeps at most four lines for an entry, the largest calls and the smallest. Floating-point numbers are drawn anew,
  positive where all of them were; whole numbers keep their range, and their order where they rise or are a permutation.
- Without a GPU `record` runs the command with the CPU in its place and kernels in Triton's interpreter, which is slow: choose
  small tests. Set `TRITON_INTERPRET=0` where kernels are to be compiled all the same.
  Kernels that a library registers for operators of torch itself (`aten::…`) are not called then.
- A program runs for 60 s at most, reads nothing from its standard input, and is compared on its own data alone: no other
  sizes or seeds are tried. Write lines for its kernels as well where you can.
- `record` notes all launches of a CUDA program. Those of more than 2^18 threads, those after 20 seconds and calls of cuBLAS are
  not run, others for 2 seconds at most: what they would have written is missing from then on. A kernel that reads what the
  program copies to a symbol, as to `__constant__` memory, gets no line.
- `record` sees calls in Python processes that read `sitecustomize`: not under `python -I` or `-S`. Calls that
  `torch.compile` has compiled into its own code are not seen.
"""
