// Winograd's convolutions: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks"
// (2016), F(4x4, 3x3).
//
// The result is cut into tiles of 4x4, each of which follows from 6x6 of the data. Both and the
// weights are transformed to 36 numbers, here called planes, and plane by plane what is left is a
// product of matrices, tiles x channels by channels x filters: 36 multiplications where 144 are
// counted otherwise.
//
// A polynomial is evaluated at the points 0, +-sqrt(2), +-sqrt(1/2) and infinity. With the usual
// 0, +-1, +-2 rounding errors are four times as large: 3.6e-6 of the greatest magnitude and 0.9e-6
// for 512 channels; a plain sum has 0.4e-6.
//
// Data have their channels last, a multiple of 16 of them.

#ifndef HYBRIDNET_WINOGRAD_H_
#define HYBRIDNET_WINOGRAD_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "lanes.h"
#include "parallel.h"

namespace winograd {

// What a tile is long, what of the data it sees, the planes, and the weights.
constexpr int kTile = 4;
constexpr int kReach = 6;
constexpr int kPlanes = kReach * kReach;
constexpr int kTaps = 9;
// Channels are in groups of this many: whole vectors on each processor.
constexpr int64_t kGroup = 16;

// The points, and their cubes.
constexpr float kA = 1.41421356237309505f, kB = 0.70710678118654752f;
constexpr float kA3 = 2 * kA, kB3 = kB / 2;

// The transforms along one axis, by lines of a given step in memory. One and its gradient are each
// other's transpose.

// Data: the polynomials that are 0 at all points but one.
struct DataLine {
  static constexpr int kIn = kReach, kOut = kReach;
  static void Apply(const Lanes* d, int in, Lanes* to, int out) {
    const Lanes d1 = d[in], d2 = d[2 * in], d3 = d[3 * in], d4 = d[4 * in];
    const Lanes even_a = d4 - 0.5f * d2, odd_a = kA * (d3 - 0.5f * d1);
    const Lanes even_b = d4 - 2.f * d2, odd_b = kB * (d3 - 2.f * d1);
    to[0] = d[0] - 2.5f * d2 + d4;
    to[out] = even_a + odd_a;
    to[2 * out] = even_a - odd_a;
    to[3 * out] = even_b + odd_b;
    to[4 * out] = even_b - odd_b;
    to[5 * out] = d1 - 2.5f * d3 + d[5 * in];
  }
};

// Weights: their polynomial at the points, scaled.
struct WeightLine {
  static constexpr int kIn = 3, kOut = kReach;
  static void Apply(const Lanes* g, int in, Lanes* to, int out) {
    const Lanes g0 = g[0], g1 = g[in], g2 = g[2 * in];
    const Lanes even_a = (1 / 6.f) * g0 + (1 / 3.f) * g2, odd_a = (kA / 6) * g1;
    const Lanes even_b = (-2 / 3.f) * g0 - (1 / 3.f) * g2, odd_b = (-2 * kB / 3) * g1;
    to[0] = g0;
    to[out] = even_a + odd_a;
    to[2 * out] = even_a - odd_a;
    to[3 * out] = even_b + odd_b;
    to[4 * out] = even_b - odd_b;
    to[5 * out] = g2;
  }
};

struct WeightGradientLine {
  static constexpr int kIn = kReach, kOut = 3;
  static void Apply(const Lanes* m, int in, Lanes* to, int out) {
    const Lanes sum_a = m[in] + m[2 * in], less_a = m[in] - m[2 * in];
    const Lanes sum_b = m[3 * in] + m[4 * in], less_b = m[3 * in] - m[4 * in];
    to[0] = m[0] + (1 / 6.f) * sum_a - (2 / 3.f) * sum_b;
    to[out] = (kA / 6) * less_a - (2 * kB / 3) * less_b;
    to[2 * out] = (1 / 3.f) * sum_a - (1 / 3.f) * sum_b + m[5 * in];
  }
};

// Results, from the products at the points.
struct ResultLine {
  static constexpr int kIn = kReach, kOut = kTile;
  static void Apply(const Lanes* m, int in, Lanes* to, int out) {
    const Lanes sum_a = m[in] + m[2 * in], less_a = m[in] - m[2 * in];
    const Lanes sum_b = m[3 * in] + m[4 * in], less_b = m[3 * in] - m[4 * in];
    to[0] = m[0] + sum_a + sum_b;
    to[out] = kA * less_a + kB * less_b;
    to[2 * out] = 2.f * sum_a + 0.5f * sum_b;
    to[3 * out] = kA3 * less_a + kB3 * less_b + m[5 * in];
  }
};

struct ResultGradientLine {
  static constexpr int kIn = kTile, kOut = kReach;
  static void Apply(const Lanes* y, int in, Lanes* to, int out) {
    const Lanes y0 = y[0], y1 = y[in], y2 = y[2 * in], y3 = y[3 * in];
    const Lanes even_a = y0 + 2.f * y2, odd_a = kA * y1 + kA3 * y3;
    const Lanes even_b = y0 + 0.5f * y2, odd_b = kB * y1 + kB3 * y3;
    to[0] = y0;
    to[out] = even_a + odd_a;
    to[2 * out] = even_a - odd_a;
    to[3 * out] = even_b + odd_b;
    to[4 * out] = even_b - odd_b;
    to[5 * out] = y3;
  }
};

// Transforms a square along both axes.
template <class Line>
inline void Square(const Lanes* from, Lanes* to) {
  Lanes half[Line::kIn * Line::kOut];
  for (int i = 0; i < Line::kIn; ++i) {
    Line::Apply(from + i * Line::kIn, 1, half + i * Line::kOut, 1);
  }
  for (int j = 0; j < Line::kOut; ++j) Line::Apply(half + j, Line::kOut, to + j, Line::kOut);
}

// Images, channels last, and where tiles lie on them.
struct Images {
  int64_t batch, rows, columns, channels;

  int64_t At(int64_t image, int64_t row, int64_t column) const {
    return ((image * rows + row) * columns + column) * channels;
  }
};

struct Tiles {
  int64_t batch, down, across;

  explicit Tiles(const Images& results)
      : batch(results.batch),
        down((results.rows + kTile - 1) / kTile),
        across((results.columns + kTile - 1) / kTile) {}

  int64_t Count() const { return batch * down * across; }

  // What of images a tile sees or is: a square of this size; null where it is outside.
  template <int size, class Number>
  std::array<Number*, size * size> Places(Number* data, const Images& images, int64_t tile,
                                          int64_t before_rows, int64_t before_columns) const {
    std::array<Number*, size * size> places{};
    const int64_t image = tile / (down * across);
    const int64_t top = tile / across % down * kTile - before_rows;
    const int64_t left = tile % across * kTile - before_columns;
    for (int64_t i = std::max<int64_t>(0, -top); i < size && top + i < images.rows; ++i) {
      for (int64_t j = std::max<int64_t>(0, -left); j < size && left + j < images.columns; ++j) {
        places[i * size + j] = data + images.At(image, top + i, left + j);
      }
    }
    return places;
  }
};

// Transforms `count` tiles from `first` on into planes, (kPlanes, count, channel); tiles past the
// last one are 0. With DataLine they are what tiles of the result see, shifted by `before`; with
// ResultGradientLine the tiles themselves.
template <class Line>
void ToPlanes(const float* data, const Images& images, const Tiles& tiles, int64_t first,
              int64_t count, int64_t before_rows, int64_t before_columns, float* planes) {
  constexpr int size = Line::kIn;
  const int64_t channels = images.channels, step = count * channels;
  parallel::ForEach(count, [=](int64_t number) {
    float* to = planes + number * channels;
    std::array<const float*, size * size> places{};
    if (first + number < tiles.Count()) {
      places = tiles.Places<size>(data, images, first + number, before_rows, before_columns);
    }
    for (int64_t c = 0; c < channels; c += kLanes) {
      Lanes square[size * size], transformed[kPlanes];
      for (int i = 0; i < size * size; ++i) {
        square[i] = places[i] == nullptr ? Lanes{} : Load(places[i] + c);
      }
      Square<Line>(square, transformed);
      for (int plane = 0; plane < kPlanes; ++plane) {
        Store(to + plane * step + c, transformed[plane]);
      }
    }
  });
}

// Transforms planes, (kPlanes, count, channel), into `count` tiles of the results from `first` on,
// and adds what is there of a bias (channel) and another array; then perhaps ReLU.
inline void FromPlanes(const float* planes, const Images& images, const Tiles& tiles,
                       int64_t first, int64_t count, const float* bias, const float* addend,
                       bool relu, float* results) {
  const int64_t channels = images.channels, step = count * channels;
  parallel::ForEach(std::min(count, tiles.Count() - first), [=](int64_t number) {
    const float* from = planes + number * channels;
    const auto places = tiles.Places<kTile>(results, images, first + number, 0, 0);
    for (int64_t c = 0; c < channels; c += kLanes) {
      Lanes transformed[kPlanes], square[kTile * kTile];
      for (int plane = 0; plane < kPlanes; ++plane) {
        transformed[plane] = Load(from + plane * step + c);
      }
      Square<ResultLine>(transformed, square);
      const Lanes shift = bias == nullptr ? Lanes{} : Load(bias + c);
      for (int i = 0; i < kTile * kTile; ++i) {
        if (places[i] == nullptr) continue;
        Lanes result = square[i] + shift;
        if (addend != nullptr) result += Load(addend + (places[i] - results) + c);
        if (relu) result = result < 0.f ? Lanes{} : result;  // NaN stays
        Store(places[i] + c, result);
      }
    }
  });
}

// Weights as (output channel, input channel, row, column), by their steps in memory.
struct Weights {
  int64_t outputs, inputs;
  int64_t output_step, input_step, row_step, column_step;
  int64_t begin = 0;  // where the first one is

  // As the gradient of the data sees them: channels change places, and both axes are reversed.
  Weights Turned() const {
    return {inputs,      outputs,   input_step,
            output_step, -row_step, -column_step,
            begin + 2 * row_step + 2 * column_step};
  }

  std::array<int64_t, kTaps> Taps() const {
    std::array<int64_t, kTaps> taps;
    for (int i = 0; i < kTaps; ++i) taps[i] = begin + i / 3 * row_step + i % 3 * column_step;
    return taps;
  }
};

// How many outputs are transformed at a time.
inline int64_t AtATime(int64_t outputs) {
  return outputs % 64 == 0 ? 64 : outputs % 32 == 0 ? 32 : kGroup;
}

// Transforms weights, by blocks that are copied plane by plane: the same place of all planes is
// often the same line of a cache. Their order is then (kPlanes, output / width, input, width).
inline void WeightsToPlanes(const float* data, const Weights& weights, int64_t width,
                            float* planes) {
  constexpr int64_t most = 64;
  const int64_t each = AtATime(weights.outputs), step = weights.outputs * weights.inputs;
  const int64_t down = weights.inputs / kLanes;
  parallel::ForEach(weights.outputs / each * down, [=](int64_t number) {
    const int64_t output = number / down * each, input = number % down * kLanes;
    alignas(sizeof(Lanes)) float block[kPlanes][kLanes * most];
    const auto taps = weights.Taps();
    for (int64_t place = 0; place < kLanes * each; place += kLanes) {
      const float* from = data + (output + place % each) * weights.output_step +
                          (input + place / each) * weights.input_step;
      Lanes square[kTaps], transformed[kPlanes];
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int tap = 0; tap < kTaps; ++tap) {
          square[tap][lane] = from[lane * weights.output_step + taps[tap]];
        }
      }
      Square<WeightLine>(square, transformed);
      for (int plane = 0; plane < kPlanes; ++plane) Store(block[plane] + place, transformed[plane]);
    }
    float* to = planes + output / width * width * weights.inputs + input * width + output % width;
    for (int plane = 0; plane < kPlanes; ++plane) {
      for (int64_t row = 0; row < kLanes; ++row) {
        std::copy_n(block[plane] + row * each, each, to + plane * step + row * width);
      }
    }
  });
}

// Transforms the planes of the weights' gradient, (kPlanes, input, output), into that.
inline void WeightGradientFromPlanes(const float* planes, const Weights& weights, float* data) {
  const int64_t step = weights.outputs * weights.inputs, across = weights.outputs / kLanes;
  parallel::ForEach(weights.inputs / kLanes * across, [=](int64_t number) {
    const int64_t output = number % across * kLanes, first = number / across * kLanes;
    const auto taps = weights.Taps();
    for (int64_t input = first; input < first + kLanes; ++input) {
      const float* from = planes + input * weights.outputs + output;
      float* to = data + output * weights.output_step + input * weights.input_step;
      Lanes transformed[kPlanes], square[kTaps];
      for (int plane = 0; plane < kPlanes; ++plane) transformed[plane] = Load(from + plane * step);
      Square<WeightGradientLine>(transformed, square);
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int tap = 0; tap < kTaps; ++tap) {
          to[lane * weights.output_step + taps[tap]] = square[tap][lane];
        }
      }
    }
  });
}

// Sums images over all but the channels. `partial` has room for a row of channels a row of images.
inline void SumChannels(const float* data, const Images& images, float* partial, float* sums) {
  const int64_t rows = images.batch * images.rows, channels = images.channels;
  parallel::ForEach(rows, [=](int64_t row) {
    const float* from = data + row * images.columns * channels;
    for (int64_t c = 0; c < channels; c += kLanes) {
      Lanes sum{};
      for (int64_t column = 0; column < images.columns; ++column) {
        sum += Load(from + column * channels + c);
      }
      Store(partial + row * channels + c, sum);
    }
  });
  for (int64_t c = 0; c < channels; c += kLanes) {
    Lanes sum{};
    for (int64_t row = 0; row < rows; ++row) sum += Load(partial + row * channels + c);
    Store(sums + c, sum);
  }
}

}  // namespace winograd

#endif  // HYBRIDNET_WINOGRAD_H_
