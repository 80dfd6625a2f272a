// The loops over edges. kernels.cpp includes this file once for each instruction set, inside a namespace of its own.
//
// A matrix is compressed by rows: row i holds the entries indptr[i] .. indptr[i + 1], entry e stands in column
// indices[e]. Every function works on the rows first .. last and writes only the results of these rows, so rows can be
// divided among threads. Each sum is formed in one order: the bits do not depend on the number of threads.

// Calls body(width), with common widths as compile-time constants, so that a row is kept in registers.
template <typename Body>
inline void with_width(int64_t width, Body body) {
  switch (width) {
    case 1: return body(std::integral_constant<int64_t, 1>{});
    case 2: return body(std::integral_constant<int64_t, 2>{});
    case 3: return body(std::integral_constant<int64_t, 3>{});
    case 4: return body(std::integral_constant<int64_t, 4>{});
    case 5: return body(std::integral_constant<int64_t, 5>{});
    case 6: return body(std::integral_constant<int64_t, 6>{});
    case 7: return body(std::integral_constant<int64_t, 7>{});
    case 8: return body(std::integral_constant<int64_t, 8>{});
    case 16: return body(std::integral_constant<int64_t, 16>{});
    case 32: return body(std::integral_constant<int64_t, 32>{});
    case 40: return body(std::integral_constant<int64_t, 40>{});
    case 64: return body(std::integral_constant<int64_t, 64>{});
    default: return body(width);
  }
}

// Prefetches the scores of the source of a later entry. Narrow rows arrive in time without it.
template <typename T>
inline void prefetch(const Distance<T>& a, int64_t entry) {
  constexpr int64_t ahead = 4, line = 64 / sizeof(T);
  if (a.classes <= line) return;
  const int64_t u = a.indices[std::min(entry + ahead, a.indptr[a.rows] - 1)];
  for (int64_t c = 0; c < a.classes; c += line) {
    __builtin_prefetch(a.mu + u * a.classes + c);
    __builtin_prefetch(a.precision + u * a.classes + c);
  }
}

// out[e] = sum_c (mu_u - mu_v)^2 (precision_u + precision_v). With a mirror (the position of the same edge the other
// way round) every pair of nodes is visited once.
template <typename T>
void distance(int64_t first, int64_t last, const Distance<T>& a, T* out) {
  with_width(a.classes, [&](auto classes) {
    for (int64_t v = first; v < last; ++v) {
      const T* mu_v = a.mu + v * classes;
      const T* precision_v = a.precision + v * classes;
      for (int64_t e = a.indptr[v]; e < a.indptr[v + 1]; ++e) {
        const int64_t u = a.indices[e];
        if (a.mirror && u > v) break;  // columns are sorted: the other entries are written from their mirrors
        prefetch(a, e);
        const T* mu_u = a.mu + u * classes;
        const T* precision_u = a.precision + u * classes;
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t c = 0; c < classes; ++c) {
          const T difference = mu_u[c] - mu_v[c];
          sum += difference * difference * (precision_u[c] + precision_v[c]);
        }
        out[e] = sum;
        if (a.mirror) out[a.mirror[e]] = sum;
      }
    }
  });
}

// The distance is the same from both ends, so its derivative is the same sum for a node as target and as source:
// to_mu_v += -2 sum_e g_e (mu_u - mu_v)(precision_u + precision_v), to_precision_v += sum_e g_e (mu_u - mu_v)^2.
// With a mirror g_e counts both directions of the edge.
template <typename T>
void distance_gradient(int64_t first, int64_t last, const Distance<T>& a, const T* gradient, T* to_mu,
                       T* to_precision) {
  with_width(a.classes, [&](auto classes) {
    for (int64_t v = first; v < last; ++v) {
      const T* mu_v = a.mu + v * classes;
      const T* precision_v = a.precision + v * classes;
      T* __restrict__ to_mu_v = to_mu + v * classes;
      T* __restrict__ to_precision_v = to_precision + v * classes;
      for (int64_t e = a.indptr[v]; e < a.indptr[v + 1]; ++e) {
        const int64_t u = a.indices[e];
        const T g = a.mirror ? gradient[e] + gradient[a.mirror[e]] : gradient[e];
        prefetch(a, e);
        const T* mu_u = a.mu + u * classes;
        const T* precision_u = a.precision + u * classes;
#pragma omp simd
        for (int64_t c = 0; c < classes; ++c) {
          const T difference = mu_u[c] - mu_v[c];
          const T scaled = g * difference;
          to_mu_v[c] -= 2 * scaled * (precision_u[c] + precision_v[c]);
          to_precision_v[c] += scaled * difference;
        }
      }
    }
  });
}

// exp(x) for x <= 0, exact to one or two bits: 2^k times a polynomial on [-ln 2 / 2, ln 2 / 2]. Unlike that of the
// standard library it can be vectorised.
inline float exponential(float x) {
  x = x < -87.0f ? -87.0f : x;
  const float k = std::nearbyint(x * 1.44269504f);
  const float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
  float p = 1.9841270e-4f;
  p = p * r + 1.3888889e-3f;
  p = p * r + 8.3333333e-3f;
  p = p * r + 4.1666667e-2f;
  p = p * r + 1.6666667e-1f;
  p = p * r + 0.5f;
  p = p * r * r + r + 1.0f;
  const int32_t bits = (static_cast<int32_t>(k) + 127) << 23;
  float power;
  std::memcpy(&power, &bits, sizeof power);
  return p * power;
}
inline double exponential(double x) { return std::exp(x); }

// weights = exp(score) over its sum in the row, for every head. Scores are shifted by the largest to stay finite.
template <typename T>
void softmax(int64_t first, int64_t last, const int64_t* indptr, const T* scores, int64_t heads, T* weights) {
  for (int64_t v = first; v < last; ++v) {
    for (int64_t h = 0; h < heads; ++h) {
      T highest = -std::numeric_limits<T>::infinity();
      for (int64_t e = indptr[v]; e < indptr[v + 1]; ++e) highest = std::max(highest, scores[e * heads + h]);
      for (int64_t e = indptr[v]; e < indptr[v + 1]; ++e) weights[e * heads + h] = scores[e * heads + h] - highest;
    }
  }
#pragma omp simd
  for (int64_t i = indptr[first] * heads; i < indptr[last] * heads; ++i) weights[i] = exponential(weights[i]);
  for (int64_t v = first; v < last; ++v) {
    for (int64_t h = 0; h < heads; ++h) {
      T sum = 0;
      for (int64_t e = indptr[v]; e < indptr[v + 1]; ++e) sum += weights[e * heads + h];
      const T scale = 1 / sum;
      for (int64_t e = indptr[v]; e < indptr[v + 1]; ++e) weights[e * heads + h] *= scale;
    }
  }
}

// to_scores_e = w_e (g_e - sum_f w_f g_f), the sum over the row.
template <typename T>
void softmax_gradient(int64_t first, int64_t last, const int64_t* indptr, const T* weights, const T* gradient,
                      int64_t heads, T* to_scores) {
  for (int64_t v = first; v < last; ++v) {
    for (int64_t h = 0; h < heads; ++h) {
      T mean = 0;
      for (int64_t e = indptr[v]; e < indptr[v + 1]; ++e) mean += weights[e * heads + h] * gradient[e * heads + h];
      for (int64_t e = indptr[v]; e < indptr[v + 1]; ++e) {
        const int64_t i = e * heads + h;
        to_scores[i] = weights[i] * (gradient[i] - mean);
      }
    }
  }
}

// The same two for the rows of a dense matrix.
template <typename T>
void dense_softmax(int64_t first, int64_t last, int64_t columns, const T* scores, T* weights) {
  with_width(columns, [&](auto width) {
    for (int64_t v = first; v < last; ++v) {
      const T* row = scores + v * width;
      T highest = -std::numeric_limits<T>::infinity();
      for (int64_t c = 0; c < width; ++c) highest = std::max(highest, row[c]);
      for (int64_t c = 0; c < width; ++c) weights[v * width + c] = row[c] - highest;
    }
#pragma omp simd
    for (int64_t i = first * width; i < last * width; ++i) weights[i] = exponential(weights[i]);
    for (int64_t v = first; v < last; ++v) {
      T* row = weights + v * width;
      T sum = 0;
      for (int64_t c = 0; c < width; ++c) sum += row[c];
      const T scale = 1 / sum;
      for (int64_t c = 0; c < width; ++c) row[c] *= scale;
    }
  });
}

template <typename T>
void dense_softmax_gradient(int64_t first, int64_t last, int64_t columns, const T* weights, const T* gradient,
                            T* to_scores) {
  with_width(columns, [&](auto width) {
    for (int64_t v = first; v < last; ++v) {
      const int64_t start = v * width;
      T mean = 0;
#pragma omp simd reduction(+ : mean)
      for (int64_t c = 0; c < width; ++c) mean += weights[start + c] * gradient[start + c];
#pragma omp simd
      for (int64_t c = 0; c < width; ++c) to_scores[start + c] = weights[start + c] * (gradient[start + c] - mean);
    }
  });
}

template <typename T>
void sum_rows(int64_t first, int64_t last, const int64_t* indptr, const T* values, int64_t heads, T* sums) {
  for (int64_t v = first; v < last; ++v) {
    for (int64_t h = 0; h < heads; ++h) {
      T sum = 0;
      for (int64_t e = indptr[v]; e < indptr[v + 1]; ++e) sum += values[e * heads + h];
      sums[v * heads + h] = sum;
    }
  }
}

constexpr int64_t kSlice = 16;  // columns

// Calls body(row, column, width) for every row and every slice of its columns, narrow enough to sum in registers.
template <typename Body>
inline void over_slices(int64_t first, int64_t last, int64_t columns, Body body) {
  if (columns <= kSlice) {
    with_width(columns, [&](auto width) {
      for (int64_t row = first; row < last; ++row) body(row, 0, width);
    });
    return;
  }
  for (int64_t row = first; row < last; ++row)
    for (int64_t column = 0; column < columns; column += kSlice)
      with_width(std::min(kSlice, columns - column), [&](auto width) { body(row, column, width); });
}

// A row of the product, for one head and some of the columns: sum_e value_e dense_j(e), summed up in registers.
template <typename T, typename Width>
inline void row_sum(const Product<T>& a, int64_t row, int64_t head, int64_t column, Width width, T* out) {
  constexpr int64_t slots = std::is_same_v<Width, int64_t> ? kSlice : Width{};
  const int64_t stride = a.heads * a.width, shift = head * a.width + column;
  T sum[slots] = {};
  for (int64_t e = a.indptr[row]; e < a.indptr[row + 1]; ++e) {
    const T value = a.values[(a.order ? a.order[e] : e) * a.heads + head];
    const T* other = a.dense + a.indices[e] * stride + shift;
#pragma omp simd
    for (int64_t w = 0; w < width; ++w) sum[w] += value * other[w];
  }
  for (int64_t w = 0; w < width; ++w) out[row * stride + shift + w] = sum[w];
}

// The product with dense, head by head. With an order, entry e has the value at order[e].
template <typename T>
void multiply(int64_t first, int64_t last, const Product<T>& a, T* out) {
  for (int64_t head = 0; head < a.heads; ++head)
    over_slices(first, last, a.width, [&](int64_t row, int64_t column, auto width) {
      row_sum(a, row, head, column, width, out);
    });
}

// out_e = <left_i, right_j> on the stored entries only, head by head.
template <typename T>
void entry_products(int64_t first, int64_t last, const Product<T>& a, const T* left, T* out) {
  with_width(a.width, [&](auto width) {
    const int64_t stride = a.heads * width;
    for (int64_t i = first; i < last; ++i) {
      for (int64_t e = a.indptr[i]; e < a.indptr[i + 1]; ++e) {
        for (int64_t h = 0; h < a.heads; ++h) {
          const T* row = left + i * stride + h * width;
          const T* other = a.dense + a.indices[e] * stride + h * width;
          T sum = 0;
#pragma omp simd reduction(+ : sum)
          for (int64_t w = 0; w < width; ++w) sum += row[w] * other[w];
          out[e * a.heads + h] = sum;
        }
      }
    }
  });
}

// The i-th number of the generator SplitMix64 (Steele, Lea, Flood 2014) started with this seed: 64 random bits.
inline uint64_t split_mix(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Four values share a random number. A value is kept, times scale, if its sixteen bits are below the threshold.
// Numbers are computed a block at a time, which is vectorised. The values are those from position start on.
template <typename T>
void drop(int64_t first, int64_t last, int64_t count, const T* values, uint64_t seed, int64_t start,
          uint32_t threshold, T scale, T* out) {
  constexpr int64_t block = 64;
  uint64_t numbers[block];
  uint16_t bits[4 * block];
  for (int64_t group = first; group < last; group += block) {
#pragma omp simd
    for (int64_t i = 0; i < block; ++i) numbers[i] = split_mix(seed, start / 4 + group + i);
    std::memcpy(bits, numbers, sizeof bits);
    const int64_t begin = 4 * group, size = std::min(4 * std::min(block, last - group), count - begin);
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) out[begin + i] = bits[i] < threshold ? values[begin + i] * scale : T(0);
  }
}

template <typename T>
bool all_finite(const T* values, int64_t count) {
  T sum = 0;  // x * 0 is zero for finite numbers, and not for infinity or NaN
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += values[i] * T(0);
  return sum == T(0);
}

// One step of Adam: the moments, then the weights.
template <typename T>
void adam_step(int64_t first, int64_t last, T* weights, const T* gradient, T* means, T* squares, const Adam<T>& a) {
#pragma omp simd
  for (int64_t i = first; i < last; ++i) {
    const T g = gradient[i] + a.weight_decay * weights[i];
    const T mean = a.mean_decay * means[i] + (1 - a.mean_decay) * g;
    const T square = a.square_decay * squares[i] + (1 - a.square_decay) * g * g;
    means[i] = mean;
    squares[i] = square;
    weights[i] -= a.rate * mean / (std::sqrt(square) / a.root + a.epsilon);
  }
}
