// Accelerations of bodies that attract each other, all pairs: one thread for each body.

#include <cuda_runtime.h>

struct Body {
    float x, y, z, mass;
};

__global__ void accelerations(const Body* bodies, float* ax, float* ay, float* az, int n, float softening) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    Body self = bodies[i];
    float sx = 0.0f, sy = 0.0f, sz = 0.0f;
    for (int j = 0; j < n; j++) {
        float dx = bodies[j].x - self.x;
        float dy = bodies[j].y - self.y;
        float dz = bodies[j].z - self.z;
        float distance2 = dx * dx + dy * dy + dz * dz + softening * softening;
        float inverse = 1.0f / sqrtf(distance2);
        float pull = bodies[j].mass * inverse * inverse * inverse;
        sx += dx * pull;
        sy += dy * pull;
        sz += dz * pull;
    }
    ax[i] = sx;
    ay[i] = sy;
    az[i] = sz;
}

// workload: n_body(bodies=rand(n, 4), ax=out(n), ay=out(n), az=out(n), n=65536, softening=0.05)
// workload: n_body(bodies=rand(n, 4), ax=out(n), ay=out(n), az=out(n), n=333, softening=0.1)
extern "C" void n_body(const float* bodies, float* ax, float* ay, float* az, int n, float softening) {
    auto threads = 128;
    auto blocks = (n - 1) / threads + 1;
    accelerations<<<blocks, threads>>>(reinterpret_cast<const Body*>(bodies), ax, ay, az, n, softening);
}
