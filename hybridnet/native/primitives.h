// oneDNN by its C interface: primitives, and the arrays that they compute with.
//
// With its C++ header a compiler takes a third longer over all of this, which somebody waits for.

#ifndef HYBRIDNET_PRIMITIVES_H_
#define HYBRIDNET_PRIMITIVES_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dnnl.h"
#include "dnnl_debug.h"

namespace primitives {

using Dims = std::vector<int64_t>;

inline void Check(dnnl_status_t status) {
  if (status != dnnl_success) throw std::runtime_error(dnnl_status2str(status));
}

// Owns one of oneDNN's objects, or none.
template <class Pointer, dnnl_status_t (*destroy)(Pointer)>
struct Destroy {
  void operator()(Pointer object) const { destroy(object); }
};
template <class Pointer, dnnl_status_t (*destroy)(Pointer)>
using Owner = std::unique_ptr<std::remove_pointer_t<Pointer>, Destroy<Pointer, destroy>>;

using Engine = Owner<dnnl_engine_t, dnnl_engine_destroy>;
using Stream = Owner<dnnl_stream_t, dnnl_stream_destroy>;
using Memory = Owner<dnnl_memory_t, dnnl_memory_destroy>;
using Steps = Owner<dnnl_post_ops_t, dnnl_post_ops_destroy>;
using Attributes = Owner<dnnl_primitive_attr_t, dnnl_primitive_attr_destroy>;
using Description = Owner<dnnl_primitive_desc_t, dnnl_primitive_desc_destroy>;
using Primitive = Owner<dnnl_primitive_t, dnnl_primitive_destroy>;

// Returns what one of oneDNN's functions makes, whose first argument says where to.
template <class Made, class Function, class... Arguments>
Made Make(Function function, Arguments... arguments) {
  typename Made::pointer made = nullptr;
  Check(function(&made, arguments...));
  return Made(made);
}

// The shape of an array of float32, and its order in memory; empty where there is no array.
class Layout {
 public:
  Layout() = default;

  Layout(const Dims& shape, const Dims& strides)
      : Layout(dnnl_memory_desc_create_with_strides, shape, strides.data()) {}

  Layout(const Dims& shape, dnnl_format_tag_t order)
      : Layout(dnnl_memory_desc_create_with_tag, shape, order) {}

  // A copy of oneDNN's own.
  explicit Layout(const_dnnl_memory_desc_t found)
      : owned_(Make<Owned>(dnnl_memory_desc_clone, found)) {}

  Layout(const Layout& other) {
    if (other.owned_) owned_ = Make<Owned>(dnnl_memory_desc_clone, other.get());
  }
  Layout(Layout&&) = default;
  Layout& operator=(Layout&&) = default;

  // A matrix, read the other way.
  Layout Turned() const {
    const int order[] = {1, 0};
    Layout turned;
    turned.owned_ = Make<Owned>(dnnl_memory_desc_permute_axes, get(), order);
    return turned;
  }

  const_dnnl_memory_desc_t get() const { return owned_.get(); }
  size_t Bytes() const { return owned_ ? dnnl_memory_desc_get_size(get()) : 0; }
  bool operator==(const Layout& other) const { return dnnl_memory_desc_equal(get(), other.get()); }

 private:
  using Owned = Owner<dnnl_memory_desc_t, dnnl_memory_desc_destroy>;

  template <class Function, class Order>
  Layout(Function function, const Dims& shape, Order order)
      : owned_(Make<Owned>(function, static_cast<int>(shape.size()), shape.data(), dnnl_f32,
                           order)) {}

  Owned owned_;
};

// Attributes that say what follows on a primitive within its kernel.
inline Attributes AttributesOf(const Steps& steps) {
  auto made = Make<Attributes>(dnnl_primitive_attr_create);
  Check(dnnl_primitive_attr_set_post_ops(made.get(), steps.get()));
  return made;
}

// Returns how an array is laid out that a description was free to lay out.
inline Layout LayoutOf(const Description& description, dnnl_query_t which) {
  return Layout(dnnl_primitive_desc_query_md(description.get(), which, 0));
}

// A primitive, with the arrays that it computes with, by oneDNN's numbers for them; may be empty.
class Call {
 public:
  Call() = default;
  explicit Call(const Description& description)
      : primitive_(Make<Primitive>(dnnl_primitive_create, description.get())) {}

  explicit operator bool() const { return primitive_ != nullptr; }

  // Adds an array whose data are to be set, if it is one.
  void Add(const Engine& engine, int number, const Layout& layout) {
    if (!layout.get()) return;
    owned_.push_back(Make<Memory>(dnnl_memory_create, layout.get(), engine.get(), nullptr));
    arguments_.push_back({number, owned_.back().get()});
  }

  void Set(int number, void* data) {
    for (const auto& argument : arguments_) {
      if (argument.arg == number) {
        return Check(dnnl_memory_set_data_handle(argument.memory, data));
      }
    }
    throw std::runtime_error("a primitive has no array " + std::to_string(number));
  }

  // Begins to compute.
  void Run(const Stream& stream) const {
    Check(dnnl_primitive_execute(primitive_.get(), stream.get(),
                                 static_cast<int>(arguments_.size()), arguments_.data()));
  }

 private:
  Primitive primitive_;
  std::vector<Memory> owned_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

inline void Wait(const Stream& stream) { Check(dnnl_stream_wait(stream.get())); }

// Copies an array into another order.
class Turn {
 public:
  Turn() = default;
  Turn(const Engine& engine, const Layout& from, const Layout& to)
      : call_(Make<Description>(dnnl_reorder_primitive_desc_create, from.get(), engine.get(),
                                to.get(), engine.get(), nullptr)) {
    call_.Add(engine, DNNL_ARG_FROM, from);
    call_.Add(engine, DNNL_ARG_TO, to);
  }

  explicit operator bool() const { return static_cast<bool>(call_); }

  void Run(const Stream& stream, void* from, void* to) {
    call_.Set(DNNL_ARG_FROM, from);
    call_.Set(DNNL_ARG_TO, to);
    call_.Run(stream);
  }

 private:
  Call call_;
};

// A product of matrices, or of several pairs of them.
class Product {
 public:
  Product() = default;
  Product(const Engine& engine, const Layout& left, const Layout& right, const Layout& to,
          bool added = false)
      : Product(engine, DescriptionOf(engine, left, right, to, added), left, to) {}

  // How the right matrix is laid out, which may have been free.
  const Layout& right() const { return right_; }

  // Whether oneDNN has a kernel for matrices in these orders: weights in blocks have one with
  // AVX-512 alone. Its plain loop, which takes all orders, takes 1,000 times as long.
  static bool IsFast(const Engine& engine, const Layout& left, const Layout& right,
                     const Layout& to) {
    const char* name = nullptr;
    const auto found = DescriptionOf(engine, left, right, to, false);
    Check(dnnl_primitive_desc_query(found.get(), dnnl_query_impl_info_str, 0, &name));
    return std::strncmp(name, "ref", 3) != 0;
  }

  void Run(const Stream& stream, void* left, void* right, void* to) {
    call_.Set(DNNL_ARG_SRC, left);
    call_.Set(DNNL_ARG_WEIGHTS, right);
    call_.Set(DNNL_ARG_DST, to);
    call_.Run(stream);
    Wait(stream);
  }

 private:
  Product(const Engine& engine, const Description& description, const Layout& left,
          const Layout& to)
      : right_(LayoutOf(description, dnnl_query_weights_md)), call_(description) {
    call_.Add(engine, DNNL_ARG_SRC, left);
    call_.Add(engine, DNNL_ARG_WEIGHTS, right_);
    call_.Add(engine, DNNL_ARG_DST, to);
  }

  static Description DescriptionOf(const Engine& engine, const Layout& left, const Layout& right,
                         const Layout& to, bool added) {
    auto steps = Make<Steps>(dnnl_post_ops_create);
    if (added) Check(dnnl_post_ops_append_sum(steps.get(), 1.f, 0, dnnl_data_type_undef));
    return Make<Description>(dnnl_matmul_primitive_desc_create, engine.get(), left.get(),
                             right.get(), nullptr, to.get(), AttributesOf(steps).get());
  }

  Layout right_;
  Call call_;
};

}  // namespace primitives

#endif  // HYBRIDNET_PRIMITIVES_H_
