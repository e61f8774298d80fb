"""Names as CUPTI and torch spell them, held against what a text defines."""

import time

import pytest

from kernelwright.proof.worker.languages import Known
from kernelwright.proof.worker.languages.python.kernels import cuda_files, defined_in
from kernelwright.proof.worker.profiling.names import origin_of
from kernelwright.values import Origin

TEXT = '''\
import torch
import triton
import triton.language as tl
from torch.utils.cpp_extension import load_inline
from triton import jit


@triton.jit
def softmax_kernel(x, y):
    pass


@triton.autotune(configs=[], key=[])
@triton.heuristics({})
@triton.jit(do_not_specialize=["n"])
def tuned(x, n):
    pass


@jit
def bare(x):
    pass


def plain(x):
    pass


wrapped = triton.jit(plain)


@torch.jit.script
def scripted(x):
    return x


CUDA = r"""
template <typename scalar_t>
__global__ void scale_kernel(const scalar_t* x, scalar_t* y, int n) { y[0] = x[0]; }

extern "C" __global__ void __launch_bounds__(256, 2)
row_sum(const float* x, float* y) {}

namespace mine {
static __global__ __launch_bounds__((256)) void hidden(float* x) {}
}
__device__ __forceinline__ float helper(float x) { return x; }
void launch(float* x) { row_sum<<<1, 256>>>(x, x); }
"""
'''
KNOWN = defined_in([TEXT])

HAND_WRITTEN = [
    "softmax_kernel",
    "tuned",
    "bare",
    "plain",
    "void scale_kernel<float>(float const*, float*, int)",
    "row_sum",
    "row_sum(float const*, float*)",
    "mine::hidden(float*)",
    "void (anonymous namespace)::scale_kernel<int, h(int)>(int)",
    "(anonymous namespace)::row_sum(float const*, float*)",
]
COMPILED = [
    "triton_poi_fused_add_relu_0",
    "triton_red_fused_mean_pow_1",
    "triton_per_fused__softmax_0",
    "triton_tem_fused_addmm_gelu_3",
    "triton_for_fused_0",
    "triton_mm",
    "triton_convolution2d_4",
    "graph_0_cpp_fused_add_0",
    "## Call CompiledFxGraph fi5z6hk6 ##",
    "Torch-Compiled Region: 0/0",
]
LIBRARY = [
    "ampere_sgemm_128x64_nn",
    "volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_f2f_exp_small_nhwc_tn_v1",
    "cutlass_80_tensorop_s1688gemm_128x128_16x5_nn_align4",
    "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8_kernel",
    "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x32_warpgroupsize1x1x1_g1_execute",
    "nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT",
    "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x128_8x4_nn_align1>(cutlass_80_simt_sgemm_128x128_8x4_nn_align1::Params)",
    "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float>(cublasLt::cublasSplitKParams<float>)",
    "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false, false>(float, float)",
    "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(cudnn::ops::nchw2nhwc_params_t<float>)",
    "void nchwToNhwcKernel<float, float, float, false, true, 0>(float)",
    "void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(cudnnTensorStruct, float const*)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
    "(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
    "void at::native::(anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>(float*)",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float> > >(int)",
    "void cub::CUB_200_700_NS::DeviceReduceKernel<float>(float*)",
    "pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4> >(pytorch_flash::Flash_fwd_params)",
    "Memcpy DtoD (Device -> Device)",
    "Memcpy HtoD (Pageable -> Device)",
    "Memset (Device)",
    "aten::addmm",
    "helper",
    "launch",
    "scripted",
    "softmax_kernel_2",
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, Origin.HAND_WRITTEN) for name in HAND_WRITTEN),
        *((name, Origin.COMPILED) for name in COMPILED),
        *((name, Origin.LIBRARY) for name in LIBRARY),
    ],
)
def test_where_a_kernel_comes_from(name: str, expected: Origin) -> None:
    assert origin_of(name, KNOWN) is expected


def test_nothing_is_hand_written_where_nothing_is_defined() -> None:
    assert {origin_of(name, Known()) for name in HAND_WRITTEN} == {Origin.LIBRARY}


HAND, LIB = Origin.HAND_WRITTEN, Origin.LIBRARY
REDUCE = defined_in(["__global__ void reduce_kernel(float* x) {}"])


@pytest.mark.parametrize(
    ("name", "known", "launched", "expected"),
    [
        # Seen at its launch: no look at the text is needed, and a name like Inductor's is no mistake.
        ("triton_red_rows", Known(), {"triton_red_rows": HAND}, HAND),
        ("_rms_norm", Known(), {"_rms_norm": LIB}, LIB),
        # A decoy in the text that is named like what an installed package launches.
        ("_rms_norm", Known(triton=frozenset({"_rms_norm"})), {"_rms_norm": LIB}, LIB),
        ("triton_poi_fused_add_0", Known(triton=frozenset({"triton_poi_fused_add_0"})), {}, Origin.COMPILED),
        # A decoy that is named like a kernel of ATen's.
        ("void at::native::reduce_kernel<512>(float*)", REDUCE, {}, LIB),
        ("reduce_kernel(float*)", REDUCE, {}, HAND),
    ],
)
def test_what_was_launched_decides_before_what_is_defined(
    name: str, known: Known, launched: dict[str, Origin], expected: Origin
) -> None:
    assert origin_of(name, known, launched) is expected


def test_the_cuda_files_that_a_text_names() -> None:
    text = 'load("m", ["csrc/mine.cu", "bind.cpp"])\n# see mine.cuh and notes.cure\nload("n", ["csrc/mine.cu"])'
    assert cuda_files(text) == ("csrc/mine.cu", "mine.cuh")


@pytest.mark.parametrize("text", ["@triton.jit\ndef f(:", "jit = 3", "\0jit", "__global__", "__global__ int x;"])
def test_a_text_that_defines_no_kernel(text: str) -> None:
    assert defined_in([text]) == Known()


@pytest.mark.parametrize(
    "line", ["x" * 1_000_000, "__global__ " * 90_000, "__global__ f<" * 70_000, "__global__ __a__(" * 60_000]
)
def test_a_line_of_a_megabyte_takes_no_time(line: str) -> None:
    begun = time.perf_counter()
    assert (cuda_files(line), defined_in([f"# jit {line}"])) == ((), Known())
    assert time.perf_counter() - begun < 5.0
