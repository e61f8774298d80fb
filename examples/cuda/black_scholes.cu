// Prices of European call and put options by Black and Scholes, one option a thread.

#include <cuda_runtime.h>
#include <math.h>

__device__ float normal_cdf(float d) {
    return 0.5f * erfcf(-d * 0.70710678f);
}

__global__ void price(const float* spot, const float* strike, const float* years, float* call, float* put,
                      float rate, float volatility, size_t options) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < options; i += (size_t)gridDim.x * blockDim.x) {
        float s = spot[i], x = strike[i], t = years[i];
        float spread = volatility * sqrtf(t);
        float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / spread;
        float d2 = d1 - spread;
        float discounted = x * expf(-rate * t);
        call[i] = s * normal_cdf(d1) - discounted * normal_cdf(d2);
        put[i] = discounted * normal_cdf(-d2) - s * normal_cdf(-d1);
    }
}

// workload: black_scholes(spot=randint(5, 100, options, dtype=float32), strike=randint(1, 100, options, dtype=float32), years=randint(1, 10, options, dtype=float32), call=out(options), put=out(options), rate=0.02, volatility=0.3, options=1 << 24)
// workload: black_scholes(spot=randint(5, 100, options, dtype=float32), strike=randint(1, 100, options, dtype=float32), years=randint(1, 10, options, dtype=float32), call=out(options), put=out(options), rate=0.05, volatility=0.2, options=777)
extern "C" void black_scholes(const float* spot, const float* strike, const float* years, float* call, float* put,
                              float rate, float volatility, size_t options) {
    price<<<480, 128>>>(spot, strike, years, call, put, rate, volatility, options);
}
