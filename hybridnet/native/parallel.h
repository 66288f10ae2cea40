// Loops on the threads that oneDNN computes with.

#ifndef HYBRIDNET_PARALLEL_H_
#define HYBRIDNET_PARALLEL_H_

#include <cstdint>

namespace parallel {

// Calls body(i) for i < count on the threads that oneDNN computes with: it has them from libgomp,
// whose function this is that GCC's "omp parallel" comes to. No other compiler knows these threads.
extern "C" void GOMP_parallel(void (*)(void*), void*, unsigned threads, unsigned flags);
extern "C" int omp_get_thread_num(void);
extern "C" int omp_get_num_threads(void);
extern "C" int omp_get_max_threads(void);
extern "C" void omp_set_num_threads(int);

// Lets what this thread calls compute with so many threads while this lives; 0: as before.
class Limit {
 public:
  explicit Limit(int threads) : before_(omp_get_max_threads()) {
    if (threads != 0) omp_set_num_threads(threads);
  }
  Limit(const Limit&) = delete;
  ~Limit() { omp_set_num_threads(before_); }

 private:
  int before_;
};

template <class Body>
void ForEach(int64_t count, const Body& body) {
  struct Shared {
    const Body& body;
    int64_t count;
  } shared{body, count};
  const auto part = [](void* data) {
    const auto& all = *static_cast<Shared*>(data);
    const int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
    const int64_t end = all.count * (thread + 1) / threads;
    for (int64_t i = all.count * thread / threads; i < end; ++i) all.body(i);
  };
  GOMP_parallel(part, &shared, 0, 0);
}

}  // namespace parallel

#endif  // HYBRIDNET_PARALLEL_H_
