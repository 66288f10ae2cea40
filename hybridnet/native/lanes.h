// Vectors of as many numbers as the processor's registers hold. GCC keeps no longer ones in registers:
// with sixteen numbers on a processor that has eight, LeNet's first gradient (narrow.h) takes one
// thread of an AMD EPYC 30 ms, and 1.5 so.

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
