// Compiled kernels over compressed sparse rows, on plain buffers: no header of Python or torch is needed, so one build
// works with every version of torch. The Python side (compiled.py) checks devices, types and shapes.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

template <typename T>
struct Distance {
  int64_t rows;
  const int64_t *indptr, *indices, *mirror;
  const T *mu, *precision;
  int64_t classes;
};

template <typename T>
struct Product {
  const int64_t *indptr, *indices, *order;
  const T *values, *dense;
  int64_t heads, width;
};

template <typename T>
struct Adam {
  T mean_decay, square_decay, rate, root, epsilon, weight_decay;
};

namespace baseline {
#include "loops.h"
}

// Chosen when the library is loaded, not when it is built: it runs on machines without these instructions.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define CONFGCN_VECTORS 1
#pragma GCC push_options
#pragma GCC target("avx2,fma")
namespace vectors {
#include "loops.h"
}
#pragma GCC pop_options
#endif

namespace {

bool has_vectors() {
#ifdef CONFGCN_VECTORS
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
#else
  return false;
#endif
}

#ifdef CONFGCN_VECTORS
#define CALL(loop, ...) (has_vectors() ? vectors::loop(__VA_ARGS__) : baseline::loop(__VA_ARGS__))
#else
#define CALL(loop, ...) baseline::loop(__VA_ARGS__)
#endif

// With fewer multiplications per thread, starting threads costs more than they save.
constexpr int64_t kWorkPerThread = 1000000;

// The first row of one of several shares with about as many entries each.
int64_t share_begin(const int64_t* indptr, int64_t rows, int64_t share, int64_t shares) {
  if (!indptr) return rows / shares * share + std::min(share, rows % shares);
  const int64_t entry = indptr[rows] / shares * share;
  return share == shares ? rows : std::lower_bound(indptr, indptr + rows, entry) - indptr;
}

// Runs body(first, last) over all rows, divided among threads by entries (by rows without an indptr).
template <typename Body>
void over_rows(const int64_t* indptr, int64_t rows, int64_t work_per_entry, int64_t threads, Body body) {
  const int64_t work = (indptr ? indptr[rows] + rows : rows) * work_per_entry;
  const int64_t shares = std::max<int64_t>(1, std::min(threads, work / kWorkPerThread));
  const auto run = [&](int64_t share) {
    body(share_begin(indptr, rows, share, shares), share_begin(indptr, rows, share + 1, shares));
  };
  std::vector<std::thread> helpers;
  int64_t begun = 1;
  try {
    helpers.reserve(shares - 1);
    for (; begun < shares; ++begun) helpers.emplace_back(run, begun);
  } catch (const std::exception&) {  // no thread could be started: the work is done in this one
  }
  run(0);
  for (; begun < shares; ++begun) run(begun);
  for (auto& helper : helpers) helper.join();
}

#include "rows.h"

// The same for a body that allocates memory; false if there was not enough.
template <typename Body>
bool over_rows_in_memory(int64_t rows, int64_t work_per_row, int64_t threads, Body body) {
  std::atomic<bool> has_memory{true};
  over_rows(nullptr, rows, work_per_row, threads, [&](int64_t first, int64_t last) {
    try {
      body(first, last);
    } catch (const std::bad_alloc&) {  // an exception must not leave a thread
      has_memory = false;
    }
  });
  return has_memory;
}

}  // namespace

extern "C" {

#define Real float
#define NAME(function) confgcn_##function##_float32
#include "interface.h"
#undef Real
#undef NAME

#define Real double
#define NAME(function) confgcn_##function##_float64
#include "interface.h"

int64_t confgcn_interface() { return 3; }
const char* confgcn_instructions() { return has_vectors() ? "avx2" : "baseline"; }
}
