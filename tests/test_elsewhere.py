"""Where other files launch a kernel, told by their imports and their texts."""

from pathlib import Path

from kernelwright import callers, elsewhere
from kernelwright.elsewhere import Site
from kernelwright.languages.cuda import SUPPORT

FILES = {
    "pkg/__init__.py": "from .ops import scaled\nfrom .kernels import scale_kernel\n",
    "pkg/kernels.py": "def scale_kernel(): ...\ndef other_kernel(): ...\n",
    "pkg/ops.py": (
        "from pkg.kernels import scale_kernel\n\n"
        "def scaled(x):\n    'scale_kernel[(1,)] is what it launches'\n    scale_kernel[(1,)](x)\n\n"
        "class Scale:\n    def forward(self, x):\n        scale_kernel [grid](x)\n        scale_kernel[grid](x)\n\n"
        "def told():\n    return scale_kernel\n"
    ),
    "far.py": "import pkg\n\nif True:\n    pkg.scale_kernel[(8,)](x)\n",
    "test_ops.py": "from pkg.kernels import other_kernel\n\ndef test_it():\n    other_kernel[(1,)](x)\n",
    "alone.py": "def scaled(x):\n    scale_kernel[(1,)](x)\n",
}


def test_functions_around_the_launches_the_nearest_file_first() -> None:
    texts = {Path("/project", name): text for name, text in FILES.items()}
    home = Path("/project/pkg/kernels.py")
    found = elsewhere.sites(texts, callers.imports(texts), home, ["scale_kernel", "other_kernel"])
    ops, far = Path("/project/pkg/ops.py"), Path("/project/far.py")
    assert found == {
        "scale_kernel": (Site(ops, "scaled"), Site(ops, "Scale"), Site(far, "")),
        "other_kernel": (),
    }, "not where it is only named, in no text that is not code, and not in tests, which are recorded"


CUDA = {
    "src/kernels/scale.cuh": "template <int N> __global__ void scale(float* x) {}\n",
    "main.cu": "void far() { scale <4>\n    <<<1, 4>>>(x); }\n",
    "src/runner.cu": "void near() { scale<8><<<2, 8>>>(x); }\n",
    "src/other.cu": "void no_launch() { scale<8>(x); rescale<<<1, 1>>>(x); }\n",
    "src/note.txt": "scale<<<1, 1>>>(x)\n",
}


def test_texts_that_launch_a_kernel_of_cuda_the_nearest_file_first(tmp_path: Path) -> None:
    for name, text in CUDA.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    home = str(tmp_path / "src/kernels/scale.cuh")
    found = elsewhere.launching(tmp_path, home, "scale", SUPPORT)
    assert found == (CUDA["src/runner.cu"], CUDA["main.cu"])
    text = '#include "../sizes.h"\n#include <vector>\n' + CUDA["src/kernels/scale.cuh"]
    (tmp_path / "src/sizes.h").write_text("#define SIZE 4\n")
    assert elsewhere.beside(tmp_path, home, text, "scale", SUPPORT) == (*found, "#define SIZE 4\n")
