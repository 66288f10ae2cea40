// Vectors of as many numbers as the processor's registers hold. Of vectors twice that long, sixteen
// numbers where registers hold eight, GCC keeps none in registers: a kernel takes six times as long.

#ifndef HYBRIDNET_LANES_H_
#define HYBRIDNET_LANES_H_

#include <cstdint>

#if defined(__AVX512F__)
constexpr int64_t kLanes = 16;
#elif defined(__AVX__)
constexpr int64_t kLanes = 8;
#else
constexpr int64_t kLanes = 4;
#endif

typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float)), aligned(4), may_alias));

inline Lanes Load(const float* from) { return *reinterpret_cast<const Lanes*>(from); }
inline void Store(float* to, Lanes what) { *reinterpret_cast<Lanes*>(to) = what; }

#endif  // HYBRIDNET_LANES_H_
