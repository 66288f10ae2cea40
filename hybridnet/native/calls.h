// Custom calls of XLA, by its C interface.
//
// XLA's C++ headers for the same take a compiler 3 seconds, of 7 for all of onednn.cc, and what is
// used of them is what stands here.

#ifndef HYBRIDNET_CALLS_H_
#define HYBRIDNET_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "xla/ffi/api/c_api.h"

namespace calls {

// What a call is given: memory, which stays until the call is done, and a list of integers.
struct Given {
  std::vector<void*> inputs, results;
  std::vector<int64_t> spec;
};

// Returns the C interface's structure for the arguments of one of its functions.
template <class Arguments>
Arguments Make(size_t size) {
  Arguments made{};
  made.struct_size = size;
  return made;
}

inline XLA_FFI_Error* MakeError(const XLA_FFI_Api* api, const std::string& message) {
  auto error = Make<XLA_FFI_Error_Create_Args>(XLA_FFI_Error_Create_Args_STRUCT_SIZE);
  error.message = message.c_str();
  error.errc = XLA_FFI_Error_Code_INTERNAL;
  return api->XLA_FFI_Error_Create(&error);
}

// A call that has begun; any thread may say that it is done. XLA goes on in that thread.
class Pending {
 public:
  Pending(const XLA_FFI_Api* api, XLA_FFI_Future* future) : api_(api), future_(future) {}

  void SetDone() const {
    auto done =
        Make<XLA_FFI_Future_SetAvailable_Args>(XLA_FFI_Future_SetAvailable_Args_STRUCT_SIZE);
    done.future = future_;
    Check(api_->XLA_FFI_Future_SetAvailable(&done));
  }

  void SetFailed(const std::string& message) const {
    auto failed = Make<XLA_FFI_Future_SetError_Args>(XLA_FFI_Future_SetError_Args_STRUCT_SIZE);
    failed.future = future_;
    failed.error = MakeError(api_, message);
    Check(api_->XLA_FFI_Future_SetError(&failed));
  }

 private:
  // XLA would wait for ever.
  static void Check(const XLA_FFI_Error* error) {
    if (error == nullptr) return;
    std::fputs("hybridnet: XLA was not told of the end of a call of oneDNN\n", stderr);
    std::abort();
  }

  const XLA_FFI_Api* api_;
  XLA_FFI_Future* future_;
};

// Says which interface this is compiled for, as XLA asks when a function is registered.
inline void Describe(XLA_FFI_Metadata* metadata) {
  // What follows the version, in this XLA or a later one, is 0 where a call is nothing special.
  const size_t begin = offsetof(XLA_FFI_Metadata, traits);
  std::memset(reinterpret_cast<char*>(metadata) + begin, 0, metadata->struct_size - begin);
  metadata->api_version = Make<XLA_FFI_Api_Version>(XLA_FFI_Api_Version_STRUCT_SIZE);
  metadata->api_version.major_version = XLA_FFI_API_MAJOR;
  metadata->api_version.minor_version = XLA_FFI_API_MINOR;
}

inline std::vector<void*> MemoryOf(void** buffers, int64_t count) {
  std::vector<void*> found(count);
  for (int64_t i = 0; i < count; ++i) found[i] = static_cast<XLA_FFI_Buffer*>(buffers[i])->data;
  return found;
}

inline std::vector<int64_t> NumbersOf(const XLA_FFI_Attrs& attrs, const std::string& name) {
  for (int64_t i = 0; i < attrs.size; ++i) {
    if (name != std::string(attrs.names[i]->ptr, attrs.names[i]->len)) continue;
    const auto* array = static_cast<const XLA_FFI_Array*>(attrs.attrs[i]);
    if (attrs.types[i] != XLA_FFI_AttrType_ARRAY || array->dtype != XLA_FFI_DataType_S64) break;
    const auto* first = static_cast<const int64_t*>(array->data);
    return {first, first + array->size};
  }
  throw std::runtime_error("a call requires an array of int64 named '" + name + "'");
}

// Answers XLA: begin(given, pending) begins the call.
template <class Begin>
XLA_FFI_Error* Answer(XLA_FFI_CallFrame* frame, const Begin& begin) {
  auto* extension = frame->extension_start;
  if (extension != nullptr && extension->type == XLA_FFI_Extension_Metadata) {
    Describe(reinterpret_cast<XLA_FFI_Metadata_Extension*>(extension)->metadata);
    return nullptr;
  }
  try {
    Given given{MemoryOf(frame->args.args, frame->args.size),
                MemoryOf(frame->rets.rets, frame->rets.size), NumbersOf(frame->attrs, "spec")};
    auto made = Make<XLA_FFI_Future_Create_Args>(XLA_FFI_Future_Create_Args_STRUCT_SIZE);
    if (auto* error = frame->api->XLA_FFI_Future_Create(&made)) return error;
    frame->future = made.future;
    begin(std::move(given), Pending(frame->api, made.future));
    return nullptr;
  } catch (const std::exception& error) {
    return MakeError(frame->api, std::string("oneDNN: ") + error.what());
  }
}

}  // namespace calls

#endif  // HYBRIDNET_CALLS_H_
