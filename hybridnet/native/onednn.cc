// oneDNN's convolutions, products and LSTMs as custom calls of XLA:CPU.
//
// Activations have their channels last, (batch, *spatial, channel); weights are in MXNet's order,
// (filter, channel / group, *kernel) or (filter, *kernel, channel / group), or packed as oneDNN
// likes them best. A product is a convolution without spatial axes. Convolutions by Winograd's
// method are transforms of our own (winograd.h) around oneDNN's product of matrices, and so are the
// steps of an LSTM (lstm.h); weights of few channels have a gradient of our own (narrow.h). A call
// is described by a list of integers, which `Window.spec` in ops/nn/conv/onednn.py writes, and
// ops/nn/rnn/onednn.py.
//
// All of oneDNN runs on one thread of its own, the `Worker`, and on the OpenMP threads under it.
// OpenMP keeps a team of threads for each thread that asks for one, and XLA calls from any thread
// of its pool: without the worker there would be a team for each of these, and two calls at a time
// would contend for the cores. A chain of small convolutions takes 0.7 of the time with it.

#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "calls.h"
#include "lstm.h"
#include "narrow.h"
#include "parallel.h"
#include "primitives.h"
#include "winograd.h"

namespace {

using calls::Pending;
using primitives::AttributesOf;
using primitives::Call;
using primitives::Check;
using primitives::Description;
using primitives::Dims;
using primitives::Engine;
using primitives::Layout;
using primitives::LayoutOf;
using primitives::Make;
using primitives::Product;
using primitives::Steps;
using primitives::Stream;
using primitives::Turn;
using primitives::Wait;
using Numbers = std::vector<int64_t>;

constexpr size_t kAlignment = 64;
// Kernels are kept for this many descriptions; past it, all are dropped and made again as needed.
constexpr size_t kMostPlans = 4096;

// The least rows of a product that is one of matrices to oneDNN, see `Kernel::IsPlainProduct`.
constexpr int64_t kManyRows = 4;

// The array that is added to the result.
constexpr int kAddend = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;

// oneDNN's ReLU makes 0 of NaN, which would hide that a network has gone wrong. This one does not:
// x * min(max(kSlope * x + 1, 0), 1), where the factor is 1 or 0 for all x but denormal numbers. Of
// what is infinite and negative it makes NaN, where 0 is right.
constexpr float kSlope = 0x1p126f;

// What one thread multiplies and moves in a second, about, and the seconds that it works alone.
constexpr double kMultiplications = 25e9, kBytes = 10e9, kAlone = 100e-6;

enum Kind : int64_t {
  kForward = 0,
  kDataGradient = 1,
  kWeightGradient = 2,
  kLstm = 3,
  kLstmGradient = 4
};

// What a convolution is.
struct Spec {
  int64_t kind, groups;
  bool weights_last, packed, bias, sum, relu, winograd;
  Dims source, destination;  // (batch, channel, *spatial)
  Dims kernel, stride, dilate, pad_before, pad_after;

  explicit Spec(const Numbers& numbers) {
    auto next = numbers.begin();
    const int64_t axes = *next++;
    kind = *next++;
    groups = *next++;
    for (bool* flag : {&weights_last, &packed, &bias, &sum, &relu, &winograd}) {
      *flag = *next++ != 0;
    }
    auto take = [&](int64_t count) {
      Dims taken(next, next + count);
      next += count;
      return taken;
    };
    source = take(axes + 2);
    destination = take(axes + 2);
    for (Dims* one : {&kernel, &stride, &dilate, &pad_before, &pad_after}) *one = take(axes);
  }

  // With how many threads it is computed; 0: as many as there are.
  //
  // Another thread sleeps, and to be woken, and to wake the one that waits for it, takes 50 us on a
  // virtual machine: what one thread computes in 100 us it computes alone. MobileNetV2 of half the
  // width on (8, 3, 64, 64), without the gradient: 15 ms with two threads all the time, 6.5 so.
  int Threads() const {
    const auto count = [](const Dims& shape) {
      double product = 1;
      for (const int64_t length : shape) product *= length;
      return product;
    };
    const double weights = destination[1] * (source[1] / groups) * count(kernel);
    const double multiplications = count(destination) / destination[1] * weights;
    const double bytes = 4 * (count(source) + weights + count(destination));
    return multiplications / kMultiplications + bytes / kBytes < kAlone ? 1 : 0;
  }

  // The shape of weights as MXNet has them; the groups come first where there are several.
  Dims ShapeOfWeights() const {
    Dims shape = GroupedShape();
    if (groups == 1) shape.erase(shape.begin());
    return shape;
  }

  // What lies between an element of weights as MXNet has them and the next one of each axis.
  Dims StridesOfWeights() const {
    const size_t axes = kernel.size();
    const Dims shape = GroupedShape();
    // The axes of `shape` from the outermost in memory to the innermost.
    std::vector<size_t> order{0, 1};
    if (!weights_last) order.push_back(2);
    for (size_t axis = 0; axis < axes; ++axis) order.push_back(3 + axis);
    if (weights_last) order.push_back(2);
    Dims strides(shape.size());
    int64_t step = 1;
    for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
      strides[*axis] = step;
      step *= shape[*axis];
    }
    if (groups == 1) strides.erase(strides.begin());
    return strides;
  }

 private:
  Dims GroupedShape() const {
    Dims shape{groups, destination[1] / groups, source[1] / groups};
    shape.insert(shape.end(), kernel.begin(), kernel.end());
    return shape;
  }
};

Layout ChannelsLast(const Dims& shape) {
  Dims strides(shape.size());
  strides[1] = 1;
  int64_t step = shape[1];
  for (size_t axis = shape.size(); axis-- > 2;) {
    strides[axis] = step;
    step *= shape[axis];
  }
  strides[0] = step;
  return Layout(shape, strides);
}

// Memory that is made larger when needed, for weights in oneDNN's own order.
class Arena {
 public:
  void* Get(size_t bytes) {
    if (bytes > size_) {
      size_ = (bytes + kAlignment - 1) / kAlignment * kAlignment;
      data_.reset(std::aligned_alloc(kAlignment, size_));
      if (!data_) {
        size_ = 0;
        throw std::bad_alloc();
      }
    }
    return data_.get();
  }

 private:
  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  std::unique_ptr<void, Free> data_;
  size_t size_ = 0;
};

// One call made ready.
class Plan {
 public:
  virtual ~Plan() = default;

  // How large packed weights are; 0 where none are.
  virtual size_t PackedBytes() const { return 0; }

  // Turns weights into the order of the kernel.
  virtual void Pack(const Stream&, void*, void*) {}

  // Computes the results; all are in the order that `compute` in onednn.py says.
  virtual void Run(const Stream& stream, Arena& arena, const std::vector<void*>& inputs,
                   const std::vector<void*>& results) = 0;
};

// A kernel of oneDNN, and how weights come into its order and out of it.
class Kernel final : public Plan {
 public:
  Kernel(const Engine& engine, const Spec& spec) : spec_(spec), threads_(spec.Threads()) {
    const parallel::Limit limit(threads_);  // a kernel keeps the number that it was made for
    const Layout plain(spec.ShapeOfWeights(), spec.StridesOfWeights());
    const bool forward = spec.kind == kForward, reduces = spec.kind == kWeightGradient;
    const Arrays arrays = ArraysOf(plain);
    const auto made = IsPlainProduct()     ? DescribePlainProduct(engine, arrays)
                      : spec.kernel.empty() ? DescribeProduct(engine, arrays)
                                            : DescribeConvolution(engine, arrays);
    const Layout weights = LayoutOf(made, reduces ? dnnl_query_diff_weights_md
                                                  : dnnl_query_weights_md);
    packed_bytes_ = weights.Bytes();
    call_ = Call(made);
    call_.Add(engine, spec.kind == kDataGradient ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, arrays.source);
    call_.Add(engine, reduces ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, weights);
    call_.Add(engine, forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, arrays.destination);
    if (forward) call_.Add(engine, DNNL_ARG_BIAS, arrays.bias);
    if (reduces) call_.Add(engine, DNNL_ARG_DIFF_BIAS, arrays.bias);
    if (forward && spec.sum) call_.Add(engine, kAddend, arrays.destination);
    if (IsPlainProduct() || weights == plain) return;
    turn_ = reduces ? Turn(engine, weights, plain) : Turn(engine, plain, weights);
  }

  size_t PackedBytes() const override { return packed_bytes_; }

  void Run(const Stream& stream, Arena& arena, const std::vector<void*>& inputs,
           const std::vector<void*>& results) override {
    const parallel::Limit limit(threads_);
    void* made = results[0];
    switch (spec_.kind) {
      case kForward: {
        auto input = inputs.begin();
        call_.Set(DNNL_ARG_SRC, *input++);
        call_.Set(DNNL_ARG_WEIGHTS, InOrder(stream, arena, *input++));
        if (spec_.bias) call_.Set(DNNL_ARG_BIAS, *input++);
        if (spec_.sum) call_.Set(kAddend, *input++);
        call_.Set(DNNL_ARG_DST, made);
        break;
      }
      case kDataGradient:
        call_.Set(DNNL_ARG_WEIGHTS, InOrder(stream, arena, inputs[0]));
        call_.Set(DNNL_ARG_DIFF_DST, inputs[1]);
        call_.Set(DNNL_ARG_DIFF_SRC, made);
        break;
      default:
        if (turn_) made = arena.Get(PackedBytes());
        call_.Set(DNNL_ARG_SRC, inputs[0]);
        call_.Set(DNNL_ARG_DIFF_DST, inputs[1]);
        call_.Set(DNNL_ARG_DIFF_WEIGHTS, made);
        if (spec_.bias) call_.Set(DNNL_ARG_DIFF_BIAS, results[1]);
    }
    call_.Run(stream);
    if (made != results[0]) turn_.Run(stream, made, results[0]);
    Wait(stream);
  }

  void Pack(const Stream& stream, void* weights, void* packed) override {
    if (!turn_) {
      std::copy_n(static_cast<char*>(weights), PackedBytes(), static_cast<char*>(packed));
      return;
    }
    const parallel::Limit limit(threads_);
    turn_.Run(stream, weights, packed);
    Wait(stream);
  }

 private:
  // Whether it is a product that is computed as a product of matrices, which reads the weights as
  // they come. oneDNN's "inner product" reads them so, too; milliseconds of both for rows x inputs
  // x filters, two cores of an AMD EPYC with AVX-512: 1 x 4096 x 4096 2.3, 4.2; 2 rows 2.3, 4.7; 8
  // rows 6.4, 4.2; 16 rows 26, 5.1; 32 rows 33, 8.0; 4 x 25088 x 4096 24.8, 21.7; 16 x 9216 x 4096
  // 63, 12; 128 x 784 x 512 0.58, 0.48.
  bool IsPlainProduct() const {
    return spec_.kernel.empty() && spec_.kind == kForward && !spec_.packed &&
           spec_.source[0] >= kManyRows;
  }

  struct Arrays {
    Layout source, weights, bias, destination;
  };

  // The arrays that a kernel is asked for; a bias is empty where there is none.
  Arrays ArraysOf(const Layout& plain) const {
    const bool is_product = IsPlainProduct();
    // Products read weights as they come nearly as fast: turning them at each call does not pay.
    const bool as_given = spec_.kernel.empty() && !spec_.packed;
    const int64_t size = spec_.destination[1];
    const Dims bias = is_product ? Dims{1, size} : Dims{size};
    return {ChannelsLast(spec_.source),
            is_product ? plain.Turned()
            : as_given ? Layout(plain)
                       : Layout(spec_.ShapeOfWeights(), dnnl_format_tag_any),
            spec_.bias ? Layout(bias, Dims(bias.size(), 1)) : Layout(),
            ChannelsLast(spec_.destination)};
  }

  Description DescribePlainProduct(const Engine& engine, const Arrays& arrays) const {
    return Make<Description>(dnnl_matmul_primitive_desc_create, engine.get(), arrays.source.get(),
                             arrays.weights.get(), arrays.bias.get(), arrays.destination.get(),
                             AttributesOf(StepsAfter(arrays.destination)).get());
  }

  Description DescribeProduct(const Engine& engine, const Arrays& arrays) const {
    const auto *from = arrays.source.get(), *by = arrays.weights.get();
    const auto *bias = arrays.bias.get(), *to = arrays.destination.get();
    auto forward = Make<Description>(dnnl_inner_product_forward_primitive_desc_create,
                                     engine.get(), Purpose(), from, by, bias, to,
                                     AttributesOf(StepsAfter(arrays.destination)).get());
    if (spec_.kind == kForward) return forward;
    if (spec_.kind == kDataGradient) {
      return Make<Description>(dnnl_inner_product_backward_data_primitive_desc_create,
                               engine.get(), from, by, to, forward.get(), nullptr);
    }
    return Make<Description>(dnnl_inner_product_backward_weights_primitive_desc_create,
                             engine.get(), from, by, bias, to, forward.get(), nullptr);
  }

  Description DescribeConvolution(const Engine& engine, const Arrays& arrays) const {
    const auto *from = arrays.source.get(), *by = arrays.weights.get();
    const auto *bias = arrays.bias.get(), *to = arrays.destination.get();
    const auto method = dnnl_convolution_direct;
    Dims left_out = spec_.dilate;  // oneDNN counts the elements left out
    for (auto& one : left_out) --one;
    const int64_t *stride = spec_.stride.data(), *dilate = left_out.data();
    const int64_t *before = spec_.pad_before.data(), *after = spec_.pad_after.data();
    auto forward = Make<Description>(dnnl_convolution_forward_primitive_desc_create, engine.get(),
                                     Purpose(), method, from, by, bias, to, stride, dilate, before,
                                     after, AttributesOf(StepsAfter(arrays.destination)).get());
    if (spec_.kind == kForward) return forward;
    if (spec_.kind == kDataGradient) {
      return Make<Description>(dnnl_convolution_backward_data_primitive_desc_create, engine.get(),
                               method, from, by, to, stride, dilate, before, after, forward.get(),
                               nullptr);
    }
    return Make<Description>(dnnl_convolution_backward_weights_primitive_desc_create, engine.get(),
                             method, from, by, bias, to, stride, dilate, before, after,
                             forward.get(), nullptr);
  }

  dnnl_prop_kind_t Purpose() const {
    return spec_.kind == kForward ? dnnl_forward_inference : dnnl_forward_training;
  }

  // What follows on a convolution or product within the kernel.
  Steps StepsAfter(const Layout& destination) const {
    auto steps = Make<Steps>(dnnl_post_ops_create);
    if (spec_.sum) {
      Check(dnnl_post_ops_append_binary(steps.get(), dnnl_binary_add, destination.get()));
    }
    if (spec_.relu) {
      Check(dnnl_post_ops_append_eltwise(steps.get(), dnnl_eltwise_hardswish, kSlope, 1.f));
    }
    return steps;
  }

  // Returns weights in the order of the kernel.
  void* InOrder(const Stream& stream, Arena& arena, void* weights) {
    if (spec_.packed || !turn_) return weights;
    void* turned = arena.Get(PackedBytes());
    turn_.Run(stream, weights, turned);
    return turned;
  }

  Spec spec_;
  int threads_;
  size_t packed_bytes_;
  Call call_;
  Turn turn_;  // empty where weights are taken as they come
};

// A convolution of 3x3 by Winograd's method, by blocks of tiles that stay in the cache.
class Winograd final : public Plan {
 public:
  Winograd(const Engine& engine, const Spec& spec)
      : spec_(spec),
        data_(ImagesOf(spec.kind == kDataGradient ? spec.destination : spec.source)),
        results_(ImagesOf(spec.kind == kDataGradient ? spec.source : spec.destination)),
        tiles_(results_),
        weights_(WeightsOf(spec)),
        top_(spec.pad_before[0]),
        left_(spec.pad_before[1]) {
    const int64_t inputs = data_.channels, outputs = results_.channels;
    const bool reduces = spec.kind == kWeightGradient;
    const int64_t tile_bytes = winograd::kPlanes * (inputs + outputs) * sizeof(float);
    const int64_t most = std::max(kLeastTiles, (reduces ? kReduced : kBlock) / tile_bytes);
    const int64_t blocks = std::max<int64_t>(1, tiles_.Count() / most);
    block_ = (tiles_.Count() + blocks - 1) / blocks;
    if (reduces) {
      const auto left = Planes(inputs, block_, dnnl_acb), right = Planes(block_, outputs);
      product_ = Product(engine, left, right, Planes(inputs, outputs));
      sum_ = Product(engine, left, right, Planes(inputs, outputs), true);
      return;
    }
    if (spec.kind == kDataGradient) {
      top_ = 2 - top_;
      left_ = 2 - left_;
    }
    width_ = winograd::AtATime(outputs);
    const auto order = width_ == 64   ? dnnl_aCB16b64c
                       : width_ == 32 ? dnnl_aCB16b32c
                                      : dnnl_aCB16b16c;
    const auto left = Planes(block_, inputs), to = Planes(block_, outputs);
    auto right = Planes(inputs, outputs, order);
    if (!Product::IsFast(engine, left, right, to)) {
      width_ = outputs;
      right = Planes(inputs, outputs);
    }
    product_ = Product(engine, left, right, to);
  }

  size_t PackedBytes() const override {
    return winograd::kPlanes * weights_.inputs * weights_.outputs * sizeof(float);
  }

  void Pack(const Stream&, void* weights, void* packed) override {
    winograd::WeightsToPlanes(static_cast<float*>(weights), weights_, width_,
                              static_cast<float*>(packed));
  }

  void Run(const Stream& stream, Arena& arena, const std::vector<void*>& inputs,
           const std::vector<void*>& results) override {
    // The planes of the weights, or of their gradient, then those of a block of tiles.
    const int64_t tile = winograd::kPlanes * (data_.channels + results_.channels);
    const size_t bytes = (spec_.packed ? 0 : PackedBytes()) + tile * block_ * sizeof(float);
    auto* planes = static_cast<float*>(arena.Get(bytes));
    float* seen = planes + (spec_.packed ? 0 : PackedBytes() / sizeof(float));
    float* made = seen + winograd::kPlanes * block_ * data_.channels;
    std::vector<float*> in(inputs.size());
    std::transform(inputs.begin(), inputs.end(), in.begin(), [](void* one) {
      return static_cast<float*>(one);
    });
    auto* result = static_cast<float*>(results[0]);
    if (spec_.kind == kWeightGradient) {
      SumTiles(stream, in[0], in[1], seen, made, planes);
      winograd::WeightGradientFromPlanes(planes, weights_, result);
      if (spec_.bias) SumBias(arena, in[1], static_cast<float*>(results[1]));
      return;
    }
    if (spec_.kind == kDataGradient) std::swap(in[0], in[1]);
    if (spec_.packed) {
      planes = in[1];
    } else {
      winograd::WeightsToPlanes(in[1], weights_, width_, planes);
    }
    auto next = in.begin() + 2;
    const float* bias = spec_.bias ? *next++ : nullptr;
    const float* addend = spec_.sum ? *next++ : nullptr;
    for (int64_t first = 0; first < tiles_.Count(); first += block_) {
      See(in[0], first, seen);
      product_.Run(stream, seen, planes, made);
      winograd::FromPlanes(made, results_, tiles_, first, block_, bias, addend, spec_.relu, result);
    }
  }

 private:
  // Bytes of a block where tiles are made, and where they are summed up; the least tiles of one.
  // Milliseconds for 256 filters on (4, 56, 56, 256) with blocks of 32, 112 and all 784 tiles 40,
  // 35, 33; for 64 filters on (32, 32, 32, 64) with 108, 410 and all 2048 6.4, 7.6, 9.6.
  static constexpr int64_t kBlock = 2 << 20, kReduced = 8 << 20, kLeastTiles = 96;

  static winograd::Images ImagesOf(const Dims& shape) {
    return {shape[0], shape[2], shape[3], shape[1]};
  }

  static winograd::Weights WeightsOf(const Spec& spec) {
    const int64_t inputs = spec.source[1], outputs = spec.destination[1];
    const auto made = spec.weights_last
                          ? winograd::Weights{outputs, inputs, 9 * inputs, 1, 3 * inputs, inputs}
                          : winograd::Weights{outputs, inputs, 9 * inputs, 9, 3, 1};
    return spec.kind == kDataGradient ? made.Turned() : made;
  }

  // The layout of a matrix for each plane.
  static Layout Planes(int64_t rows, int64_t columns, dnnl_format_tag_t order = dnnl_abc) {
    return Layout({winograd::kPlanes, rows, columns}, order);
  }

  // Transforms what a block of tiles sees.
  void See(const float* data, int64_t first, float* seen) const {
    winograd::ToPlanes<winograd::DataLine>(data, data_, tiles_, first, block_, top_, left_, seen);
  }

  // Sums the planes of the weights' gradient over all tiles.
  void SumTiles(const Stream& stream, const float* data, const float* gradient, float* seen,
                float* made, float* planes) {
    for (int64_t first = 0; first < tiles_.Count(); first += block_) {
      See(data, first, seen);
      winograd::ToPlanes<winograd::ResultGradientLine>(gradient, results_, tiles_, first, block_, 0,
                                                       0, made);
      (first == 0 ? product_ : sum_).Run(stream, seen, made, planes);
    }
  }

  void SumBias(Arena& arena, const float* gradient, float* result) const {
    const int64_t rows = results_.batch * results_.rows;
    auto* partial = static_cast<float*>(arena.Get(rows * results_.channels * sizeof(float)));
    winograd::SumChannels(gradient, results_, partial, result);
  }

  Spec spec_;
  winograd::Images data_, results_;
  winograd::Tiles tiles_;
  winograd::Weights weights_;
  int64_t top_, left_;  // zeros before the data
  int64_t block_;       // tiles of a block
  int64_t width_ = 0;   // of the order of transformed weights
  Product product_, sum_;  // for each plane; the second adds to what is there
};

// The gradient of the weights of a convolution with few input channels.
class Narrow final : public Plan {
 public:
  // Milliseconds of processor time, the least of many, by oneDNN and so (an Intel Xeon with
  // AVX-512): 20 filters of 5x5 on (64, 1, 28, 28) 1.6 and 0.94 (4.7 and 1.3 on average, beside
  // other work); 64 of 3x3 on (32, 3, 32, 32) 3.4 and 1.9, of 11x11 at stride 4 on (16, 3, 224, 224)
  // 22.6 and 19.6, of 7x7 at stride 2 on (8, 3, 224, 224) 33 and 19.
  static bool Suits(const Spec& spec) {
    return spec.kind == kWeightGradient && spec.kernel.size() == 2 && spec.groups == 1 &&
           spec.dilate == Dims{1, 1} && spec.source[1] <= 3;
  }

  explicit Narrow(const Spec& spec) : has_bias_(spec.bias) {
    const auto weights = spec.StridesOfWeights();
    shape_ = {spec.source[0],      spec.source[2],     spec.source[3],     spec.source[1],
              spec.destination[2], spec.destination[3], spec.destination[1], spec.kernel[0],
              spec.kernel[1],      spec.stride[0],     spec.stride[1],     spec.pad_before[0],
              spec.pad_before[1],  weights[0],         weights[1],         weights[2],
              weights[3]};
  }

  void Run(const Stream&, Arena& arena, const std::vector<void*>& inputs,
           const std::vector<void*>& results) override {
    auto* room = static_cast<float*>(arena.Get(narrow::RoomOf(shape_) * sizeof(float)));
    narrow::WeightGradient(shape_, static_cast<float*>(inputs[0]), static_cast<float*>(inputs[1]),
                           room, static_cast<float*>(results[0]),
                           has_bias_ ? static_cast<float*>(results[1]) : nullptr);
  }

 private:
  narrow::Shape shape_;
  bool has_bias_;
};

// All steps of a layer of an LSTM, or their gradient.
class Lstm final : public Plan {
 public:
  // The numbers: 0, where convolutions have their axes; the kind; steps, batch and hidden size; and
  // whether it begins with the last step. Then with how many threads; 0: as many as there are.
  Lstm(const Engine& engine, const Numbers& numbers)
      : forward_(numbers[1] == kLstm),
        steps_(numbers[2]),
        batch_(numbers[3]),
        hidden_(numbers[4]),
        reverse_((numbers[5] != 0) == forward_),
        threads_(static_cast<int>(numbers[6])) {
    const parallel::Limit limit(threads_);  // a kernel keeps the number that it was made for
    // Forward each step has the product of the hidden state and the turned weights, (4 hidden,
    // hidden); backward that of the gradient of the sums for the gates and the weights.
    const int64_t gates = 4 * hidden_;
    const auto matrix = [](int64_t rows, int64_t columns) {
      return Layout({rows, columns}, dnnl_ab);
    };
    const Layout stored = matrix(gates, hidden_);
    const Layout any(forward_ ? Dims{hidden_, gates} : Dims{gates, hidden_}, dnnl_format_tag_any);
    product_ = Product(engine, matrix(batch_, forward_ ? hidden_ : gates), any,
                       matrix(batch_, forward_ ? gates : hidden_));
    turn_ = Turn(engine, forward_ ? stored.Turned() : Layout(stored), product_.right());
  }

  void Run(const Stream& stream, Arena& arena, const std::vector<void*>& inputs,
           const std::vector<void*>& results) override {
    const auto in = [&](size_t i) { return static_cast<float*>(inputs[i]); };
    const auto out = [&](size_t i) { return static_cast<float*>(results[i]); };
    const int64_t size = batch_ * hidden_;
    const parallel::Limit limit(threads_);
    packed_ = arena.Get(product_.right().Bytes());
    turn_.Run(stream, inputs[forward_ ? 3 : 6], packed_);
    if (forward_) {
      Forward(stream, in(0), in(1), in(2), out(0), out(1), out(2));
      return;
    }
    // The gradients of the states go from step to step; they end as those of the first ones.
    std::copy_n(in(4), size, out(1));
    std::copy_n(in(5), size, out(2));
    Backward(stream, in(0), in(1), in(2), in(3), out(0), out(1), out(2));
  }

 private:
  // A place in the order of the steps.
  int64_t StepAt(int64_t number) const { return reverse_ ? steps_ - 1 - number : number; }

  void Forward(const Stream& stream, const float* x, float* first_hidden, const float* first_cell,
               float* hidden, float* gates, float* cell) {
    const int64_t size = batch_ * hidden_, width = hidden_;
    float* before_hidden = first_hidden;
    const float* before_cell = first_cell;
    for (int64_t number = 0; number < steps_; ++number) {
      const int64_t step = StepAt(number);
      const float* given = x + step * 4 * size;
      float* made = gates + step * 4 * size;
      product_.Run(stream, before_hidden, packed_, made);
      float *next_hidden = hidden + step * size, *next_cell = cell + step * size;
      parallel::ForEach(batch_, [=](int64_t row) {
        const int64_t at = row * width;
        lstm::Step(given + 4 * at, made + 4 * at, before_cell + at, next_cell + at,
                   next_hidden + at, width);
      });
      before_hidden = next_hidden;
      before_cell = next_cell;
    }
  }

  void Backward(const Stream& stream, const float* output_grad, const float* gates,
                const float* cell, const float* first_cell, float* sums_grad, float* hidden_grad,
                float* cell_grad) {
    const int64_t size = batch_ * hidden_, width = hidden_;
    for (int64_t number = 0; number < steps_; ++number) {
      const int64_t step = StepAt(number);
      const float* before =
          number + 1 < steps_ ? cell + StepAt(number + 1) * size : first_cell;
      float* sums = sums_grad + step * 4 * size;
      parallel::ForEach(batch_, [=](int64_t row) {
        const int64_t at = row * width, here = step * size + at;
        lstm::StepGradient(gates + 4 * here, before + at, cell + here, output_grad + here,
                           hidden_grad + at, cell_grad + at, sums + 4 * at, width);
      });
      product_.Run(stream, sums, packed_, hidden_grad);
    }
  }

  bool forward_;
  int64_t steps_, batch_, hidden_;
  bool reverse_;  // whether this goes from the last step to the first
  int threads_;
  Product product_;
  Turn turn_;
  void* packed_ = nullptr;  // the weights in the order of the product, of one run
};

bool IsLstm(const Numbers& numbers) {
  return numbers[1] == kLstm || numbers[1] == kLstmGradient;
}

std::unique_ptr<Plan> MakePlan(const Engine& engine, const Numbers& numbers) {
  if (IsLstm(numbers)) {
    return std::make_unique<Lstm>(engine, numbers);
  }
  const Spec spec(numbers);
  if (spec.winograd) return std::make_unique<Winograd>(engine, spec);
  if (Narrow::Suits(spec)) return std::make_unique<Narrow>(spec);
  return std::make_unique<Kernel>(engine, spec);
}

// With how many threads LSTMs compute: their short turns wait for each other. 0: as many as there are.
std::atomic<int> lstm_threads = 0;

// What a thread computes with: oneDNN's kernels use memory of the thread that made them.
class Bench {
 public:
  Plan& PlanOf(Numbers numbers) {
    // Others keep weights in an order that may depend on the number of threads.
    if (IsLstm(numbers)) numbers.push_back(lstm_threads);
    auto found = plans_.find(numbers);
    if (found == plans_.end()) {
      if (plans_.size() >= kMostPlans) plans_.clear();
      found = plans_.emplace(numbers, MakePlan(engine_, numbers)).first;
    }
    return *found->second;
  }

  const Stream& stream() const { return stream_; }
  Arena& arena() { return arena_; }

 private:
  Engine engine_ = Make<Engine>(dnnl_engine_create, dnnl_cpu, size_t{0});
  Stream stream_ = Make<Stream>(dnnl_stream_create, engine_.get(), dnnl_stream_default_flags);
  Arena arena_;
  std::map<Numbers, std::unique_ptr<Plan>> plans_;
};

// What XLA asks for: to compute what is given, or to turn weights into the order of its kernel.
struct Job {
  calls::Given given;
  bool packs;

  void Run(Bench& bench) const {
    Plan& plan = bench.PlanOf(given.spec);
    if (packs) {
      plan.Pack(bench.stream(), given.inputs.at(0), given.results.at(0));
    } else {
      plan.Run(bench.stream(), bench.arena(), given.inputs, given.results);
    }
  }
};

// The thread that runs oneDNN.
//
// It also goes on with the program: XLA runs what comes after a call on the thread that says that
// the call is done, so that the next call finds itself on this thread already, and is computed
// there and then. Waking another thread and being woken by it takes 0.1 ms on a virtual machine.
//
// What comes after may wait for something itself, such as a callback into Python that runs another
// program. If calls wait meanwhile and nothing moves, another thread takes over as the worker.
//
// A process that ends destroys what oneDNN and XLA hold, so that nothing may be computed any more
// by then: it first waits for the worker and does without it (`Close`), then ends all (`Leave`).
class Worker {
 public:
  // Never deleted: the thread waits for jobs while the process ends.
  static Worker& Get() {
    static auto* worker = new Worker();
    return *worker;
  }

  // Begins a job; on the thread itself, and without it, it is done when this returns.
  void Start(Job job, Pending pending) {
    std::unique_lock lock(mutex_);
    if (std::this_thread::get_id() == worker_) {
      Bench& bench = *bench_;
      ++moves_;
      lock.unlock();
      Finish(pending, job, bench);
    } else if (closed_) {
      lock.unlock();
      Bench bench;
      Finish(pending, job, bench);
    } else {
      Begin();
      jobs_.emplace_back(std::move(job), pending);
      begin_.notify_one();
      if (!idle_ && !watched_) watch_.notify_one();
    }
  }

  // Does without the thread from the next moment on when it has nothing to do.
  //
  // Returns false if there is no such moment until patience is over.
  bool Close(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    const auto is_free = [&] { return busy_ == 0 && jobs_.empty(); };
    if (!closed_ && !free_.wait_for(lock, patience, is_free)) return false;
    closed_ = true;
    return true;
  }

  // Waits for the jobs that have begun; those that come now fail.
  void Leave() {
    left_ = true;
    while (running_ != 0) std::this_thread::yield();
  }

 private:
  // After this long without a move another thread is the worker.
  static constexpr std::chrono::milliseconds kPatience{300};

  // Begins the threads that have not begun: there may have been none to be had before.
  void Begin() {
    if (worker_ == std::thread::id()) Appoint();
    if (watches_) return;
    std::thread([this] { Watch(); }).detach();
    watches_ = true;
  }

  // Does a job, and says so; then this thread may go on with a program.
  void Finish(Pending pending, const Job& job, Bench& bench) {
    try {
      Run(job, bench);
    } catch (const std::exception& error) {
      return pending.SetFailed(std::string("oneDNN: ") + error.what());
    }
    pending.SetDone();
  }

  void Run(const Job& job, Bench& bench) {
    struct Running {
      std::atomic<int>& count;
      explicit Running(std::atomic<int>& count) : count(count) { ++count; }
      ~Running() { --count; }
    } running(running_);
    if (left_) throw std::runtime_error("the process is at its end");
    job.Run(bench);
  }

  // Makes a new thread the worker; the one before ends when it comes back.
  void Appoint() {
    idle_ = false;
    std::thread next([this] { Work(); });
    worker_ = next.get_id();
    next.detach();
  }

  void Work() {
    // As in XLA's threads, and inherited by those of OpenMP: denormal numbers are 0.
    _mm_setcsr(_mm_getcsr() | 0x8040);
    const auto self = std::this_thread::get_id();
    Bench bench;
    std::unique_lock lock(mutex_);
    if (worker_ == self) bench_ = &bench;
    while (worker_ == self) {
      idle_ = true;
      begin_.wait(lock, [&] { return !jobs_.empty(); });
      idle_ = false;
      auto [job, pending] = std::move(jobs_.front());
      jobs_.pop_front();
      ++moves_;
      ++busy_;
      lock.unlock();
      Finish(pending, job, bench);
      lock.lock();
      if (--busy_ == 0) free_.notify_all();
    }
  }

  void Watch() {
    std::unique_lock lock(mutex_);
    for (;;) {
      watched_ = false;
      watch_.wait(lock, [&] { return !idle_ && !jobs_.empty(); });
      watched_ = true;
      const auto seen = moves_;
      lock.unlock();
      std::this_thread::sleep_for(kPatience);
      lock.lock();
      try {
        if (moves_ == seen && !idle_ && !jobs_.empty()) Appoint();
      } catch (const std::system_error&) {  // there is no thread to be had now
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable begin_, watch_, free_;
  std::deque<std::pair<Job, Pending>> jobs_;
  std::thread::id worker_;
  Bench* bench_ = nullptr;  // the worker's own
  bool idle_ = false;       // the worker waits for jobs
  bool watches_ = false;    // there is a thread that watches
  bool watched_ = false;    // it is being looked whether anything moves
  bool closed_ = false;     // jobs are done without the worker
  int64_t moves_ = 0;       // jobs begun
  int busy_ = 0;            // threads that do a job, or what comes after it
  std::atomic<int> running_ = 0;  // jobs
  std::atomic<bool> left_ = false;
};

// Begins on the worker what XLA asks for.
XLA_FFI_Error* Answer(XLA_FFI_CallFrame* frame, bool packs) {
  return calls::Answer(frame, [packs](calls::Given given, Pending pending) {
    try {
      Worker::Get().Start({std::move(given), packs}, pending);
    } catch (const std::exception& error) {
      pending.SetFailed(std::string("oneDNN cannot be started: ") + error.what());
    }
  });
}

}  // namespace

// Computes what the integers describe.
extern "C" XLA_FFI_Error* HybridnetCompute(XLA_FFI_CallFrame* frame) {
  return Answer(frame, false);
}

// Turns weights into the order of the kernel that computes what the integers describe.
extern "C" XLA_FFI_Error* HybridnetPack(XLA_FFI_CallFrame* frame) { return Answer(frame, true); }

// Returns how many bytes the packed weights of a convolution take; -1 where oneDNN has none.
extern "C" int64_t HybridnetPackedBytes(const int64_t* spec, int64_t length) {
  try {
    const auto engine = Make<Engine>(dnnl_engine_create, dnnl_cpu, size_t{0});
    const auto plan = MakePlan(engine, Numbers(spec, spec + length));
    return static_cast<int64_t>(plan->PackedBytes());
  } catch (const std::exception&) {
    return -1;
  }
}

// Lets LSTMs compute with this many threads from now on; 0: with as many as there are.
extern "C" void HybridnetUseThreads(int32_t number) { lstm_threads = number; }

// Does without threads of our own from now on, as before the end of the process.
//
// Returns 0 if they are still at work after as many milliseconds.
extern "C" int32_t HybridnetClose(int64_t milliseconds) {
  const bool is_closed = Worker::Get().Close(std::chrono::milliseconds(milliseconds));
  // Here and not earlier: what is registered last is called first, and some of what oneDNN destroys
  // at the end it makes at first use. If there is no room to register it, only this safety is lost.
  [[maybe_unused]] static const int kFailed = std::atexit([] { Worker::Get().Leave(); });
  return is_closed;
}

// Lets what computes come to its end, and whatever calls from now on fail.
extern "C" void HybridnetLeave() { Worker::Get().Leave(); }
