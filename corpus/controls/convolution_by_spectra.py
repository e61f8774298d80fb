"""A convolution as a product of spectra, which spreads a NaN over its row."""
# workload: f(randn(8, 100), randn(9))
# expected: passed

# %% baseline
import torch


def f(x, w):
    k = w.shape[-1]
    rows = x.reshape(-1, 1, x.shape[-1])
    return torch.conv1d(rows, w.flip(-1)[None, None], padding=k - 1)[..., : x.shape[-1]].reshape(x.shape)

# %% candidate
import torch


def f(x, w):
    n = x.shape[-1] + w.shape[-1] - 1
    product = torch.fft.rfft(x, n=n) * torch.fft.rfft(w, n=n)
    return torch.fft.irfft(product, n=n)[..., : x.shape[-1]]
