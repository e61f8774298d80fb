"""Device functions that printed Triton kernels call for primitives that `tl` lacks or computes inaccurately."""

DEVICE_FUNCTIONS = {
    "tanh": '''@triton.jit
def tanh(x):
    """tanh from exp; below 0.625 a polynomial (Cephes), as 1 - x would cancel."""
    z = x * x
    small = -5.70498872745e-3 * z + 2.06390887954e-2
    small = small * z - 5.37397155531e-2
    small = small * z + 1.33314422036e-1
    small = small * z - 3.33332819422e-1
    small = small * z * x + x
    large = 1.0 - 2.0 / (tl.exp(2.0 * tl.abs(x)) + 1.0)
    return tl.where(tl.abs(x) < 0.625, small, tl.where(x < 0.0, -large, large))''',
    "expm1": '''@triton.jit
def expm1(x):
    """exp(x) - 1; near zero by its Taylor series, where the difference would cancel."""
    small = 1.0 + x / 7.0
    small = 1.0 + x / 6.0 * small
    small = 1.0 + x / 5.0 * small
    small = 1.0 + x / 4.0 * small
    small = 1.0 + x / 3.0 * small
    small = x * (1.0 + x / 2.0 * small)
    return tl.where(tl.abs(x) < 0.4, small, tl.exp(x) - 1.0)''',
    "log1p": '''@triton.jit
def log1p(x):
    """log(1 + x), with the rounding of 1 + x divided out (Kahan)."""
    rounded = 1.0 + x
    exact = (rounded == 1.0) | (x == float("inf"))
    return tl.where(
        exact, x, tl.log(rounded) * (x / tl.where(exact, 1.0, rounded - 1.0))
    )''',
    "mish": '''@triton.jit
def mish(x):
    """x * tanh(softplus(x)), as x * n / (n + 2) with n = e^x * (e^x + 2)."""
    e = tl.exp(tl.where(x > 20.0, 20.0, x))
    n = e * (e + 2.0)
    return tl.where(x > 20.0, x, x * (n / (n + 2.0)))''',
    "nan_max": '''@triton.jit
def nan_max(a, b):
    """The larger one, NaN when either is."""
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)''',
    "nan_min": '''@triton.jit
def nan_min(a, b):
    """The smaller one, NaN when either is."""
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)''',
    "times": '''@triton.jit
def times(a, b):
    """a * b, for reductions."""
    return a * b''',
    "join_exponentials": '''@triton.jit
def join_exponentials(top, total, other_top, other_total):
    """Maximum, and sum of exponentials below it, of two parts; (-inf, 0) is nothing."""
    larger = tl.maximum(top, other_top)
    shift = tl.where(larger == float("-inf"), 0.0, larger)
    left = total * tl.exp(top - shift)
    return larger, left + other_total * tl.exp(other_top - shift)''',
    "join_largest": '''@triton.jit
def join_largest(value, place, other, other_place):
    """The larger value and its place: NaN is the largest, and of equal values the first counts."""
    equal = (other == value) | ((other != other) & (value != value))
    better = (other > value) | ((other != other) & (value == value))
    better = better | (equal & (other_place < place))
    return tl.where(better, other, value), tl.where(better, other_place, place)''',
    "join_smallest": '''@triton.jit
def join_smallest(value, place, other, other_place):
    """The smaller value and its place: NaN is the smallest, and of equal values the first counts."""
    equal = (other == value) | ((other != other) & (value != value))
    better = (other < value) | ((other != other) & (value == value))
    better = better | (equal & (other_place < place))
    return tl.where(better, other, value), tl.where(better, other_place, place)''',
    "join_moments": '''@triton.jit
def join_moments(count, mean, squares, other_count, other_mean, other_squares):
    """Count, mean and sum of squared deviations of two parts together (Chan, Golub and LeVeque)."""
    both = count + other_count
    share = other_count / tl.maximum(both, 1.0)
    delta = other_mean - mean
    squares = squares + other_squares + delta * count * share * delta
    return both, mean + delta * share, squares''',
}
