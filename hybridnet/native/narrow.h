// The gradient of the weights of convolutions with few input channels, as those of images have.
//
// oneDNN's kernels for these give each thread some of the filters, in blocks of 16: of 20 filters
// one thread has four times what the other has. Here each thread has some of the images, and for
// each row of a result as many sums in registers as a row of the window has taps.

#ifndef HYBRIDNET_NARROW_H_
#define HYBRIDNET_NARROW_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "lanes.h"
#include "parallel.h"

namespace narrow {

// Sums in registers: these taps of a row of the window for two vectors of filters.
constexpr int kTaps = 6;
constexpr int kVectors = 2;

// A convolution: data (batch, rows, columns, channels), results (batch, down, across, filters).
struct Shape {
  int64_t batch, rows, columns, channels, down, across, filters;
  int64_t taps_down, taps_across, stride_down, stride_across, top, left;
  // Steps of the weights in memory, by filter, channel, row and column.
  int64_t of_filter, of_channel, of_row, of_column;

  // Filters, up to whole vectors.
  int64_t Width() const {
    constexpr int64_t at_a_time = kLanes * kVectors;
    return (filters + at_a_time - 1) / at_a_time * at_a_time;
  }
  int64_t Columns() const { return (across - 1) * stride_across + taps_across; }
  // Numbers of the sums: (taps down, taps across, channel, width), then those of a bias.
  int64_t Sums() const { return (taps_down * taps_across * channels + 1) * Width(); }
  // Numbers that a thread works with beside: a row of the gradient, and a row of the data.
  int64_t Work() const { return across * Width() + Columns() * channels; }
};

// Adds to the sums of `taps` neighbours in a row of the window: data times gradient.
template <int taps>
inline void AddTaps(const float* data, int64_t step, int64_t tap_step, const float* gradient,
                    int64_t width, int64_t across, float* sums, int64_t sum_step) {
  Lanes sum[taps][kVectors];
  for (int tap = 0; tap < taps; ++tap) {
    for (int v = 0; v < kVectors; ++v) sum[tap][v] = Load(sums + tap * sum_step + v * kLanes);
  }
  for (int64_t column = 0; column < across; ++column) {
    Lanes given[kVectors];
    for (int v = 0; v < kVectors; ++v) given[v] = Load(gradient + column * width + v * kLanes);
    const float* at = data + column * step;
    for (int tap = 0; tap < taps; ++tap) {
      for (int v = 0; v < kVectors; ++v) sum[tap][v] += at[tap * tap_step] * given[v];
    }
  }
  for (int tap = 0; tap < taps; ++tap) {
    for (int v = 0; v < kVectors; ++v) Store(sums + tap * sum_step + v * kLanes, sum[tap][v]);
  }
}

inline void AddSomeTaps(int64_t taps, const float* data, int64_t step, int64_t tap_step,
                        const float* gradient, int64_t width, int64_t across, float* sums,
                        int64_t sum_step) {
  const auto add = taps >= 6   ? AddTaps<6>
                   : taps == 5 ? AddTaps<5>
                   : taps == 4 ? AddTaps<4>
                   : taps == 3 ? AddTaps<3>
                   : taps == 2 ? AddTaps<2>
                               : AddTaps<1>;
  add(data, step, tap_step, gradient, width, across, sums, sum_step);
}

// Adds what one row of the results says to the sums.
inline void AddRow(const Shape& s, const float* data, const float* gradient, int64_t image,
                   int64_t row, bool bias, float* work, float* sums) {
  const int64_t width = s.Width(), columns = s.Columns();
  float* seen = work + s.across * width;
  for (int64_t column = 0; column < s.across; ++column) {
    const float* from =
        gradient + ((image * s.down + row) * s.across + column) * s.filters;
    std::copy_n(from, s.filters, work + column * width);
  }
  const int64_t first = std::max<int64_t>(0, s.left);
  const int64_t end = std::min(columns, s.columns + s.left);
  for (int64_t tap = 0; tap < s.taps_down; ++tap) {
    const int64_t from = row * s.stride_down + tap - s.top;
    if (from < 0 || from >= s.rows) continue;
    if (first < end) {
      const float* line = data + ((image * s.rows + from) * s.columns + first - s.left) * s.channels;
      std::copy_n(line, (end - first) * s.channels, seen + first * s.channels);
    }
    for (int64_t c = 0; c < s.channels; ++c) {
      for (int64_t i = 0; i < s.taps_across; i += kTaps) {
        for (int64_t f = 0; f < width; f += kLanes * kVectors) {
          AddSomeTaps(s.taps_across - i, seen + i * s.channels + c, s.stride_across * s.channels,
                      s.channels, work + f, width, s.across,
                      sums + ((tap * s.taps_across + i) * s.channels + c) * width + f,
                      s.channels * width);
        }
      }
    }
  }
  if (!bias) return;
  float* of_bias = sums + s.Sums() - width;
  for (int64_t column = 0; column < s.across; ++column) {
    for (int64_t f = 0; f < width; f += kLanes) {
      Store(of_bias + f, Load(of_bias + f) + Load(work + column * width + f));
    }
  }
}

// How many parts the images are computed in.
inline int64_t PartsOf(const Shape& s) { return std::min<int64_t>(s.batch, 32); }

// Numbers of memory that `WeightGradient` needs.
inline int64_t RoomOf(const Shape& s) { return PartsOf(s) * (s.Sums() + s.Work()); }

// Computes the gradient of the weights, and of a bias unless it is null.
inline void WeightGradient(const Shape& s, const float* data, const float* gradient, float* room,
                           float* result, float* bias) {
  const int64_t parts = PartsOf(s), each = s.Sums() + s.Work(), width = s.Width();
  parallel::ForEach(parts, [&](int64_t part) {
    float* sums = room + part * each;
    std::memset(sums, 0, each * sizeof(float));  // what is beside data and filters stays 0
    const int64_t end = s.batch * (part + 1) / parts;
    for (int64_t image = s.batch * part / parts; image < end; ++image) {
      for (int64_t row = 0; row < s.down; ++row) {
        AddRow(s, data, gradient, image, row, bias != nullptr, sums + s.Sums(), sums);
      }
    }
  });
  const int64_t places = s.taps_down * s.taps_across * s.channels;
  parallel::ForEach(places + 1, [&](int64_t place) {
    if (place == places && bias == nullptr) return;
    float* sums = room + place * width;
    for (int64_t part = 1; part < parts; ++part) {
      for (int64_t f = 0; f < width; ++f) sums[f] += sums[part * each + f];
    }
    if (place == places) {
      std::copy_n(sums, s.filters, bias);
      return;
    }
    const int64_t channel = place % s.channels, tap = place / s.channels;
    float* to = result + channel * s.of_channel + tap / s.taps_across * s.of_row +
                tap % s.taps_across * s.of_column;
    for (int64_t f = 0; f < s.filters; ++f) to[f * s.of_filter] = sums[f];
  });
}

}  // namespace narrow

#endif  // HYBRIDNET_NARROW_H_
