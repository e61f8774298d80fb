// All of CUDA that is emulated; put in front of a translated text.
#pragma once
#include "include/assert.h"
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <type_traits>
#include <vector>

#include "core.h"
#include "vectors.h"
#include "half.h"
#include "device.h"
#include "simd.h"
#include "wmma.h"
#include "host.h"
#include "groups.h"
#include "entries.h"

#define __CUDACC__ 1
#define __DRIVER_TYPES_H__
#define __CUDA_ARCH__ 900
#define CUDART_VERSION 12080
#define exit kw_exit
#define abort kw_abort
