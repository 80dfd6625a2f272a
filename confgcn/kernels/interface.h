// The C interface for one type of number. kernels.cpp includes this file with Real and NAME(function) defined.

void NAME(distance)(int64_t rows, const int64_t* indptr, const int64_t* indices, const int64_t* mirror, const Real* mu,
                    const Real* precision, int64_t classes, Real* out, int64_t threads) {
  const Distance<Real> a{rows, indptr, indices, mirror, mu, precision, classes};
  over_rows(indptr, rows, classes, threads, [&](int64_t first, int64_t last) {
    CALL(distance<Real>, first, last, a, out);
  });
}

void NAME(distance_gradient)(int64_t rows, const int64_t* indptr, const int64_t* indices, const int64_t* mirror,
                             const Real* mu, const Real* precision, int64_t classes, const Real* gradient, Real* to_mu,
                             Real* to_precision, int64_t threads) {
  const Distance<Real> a{rows, indptr, indices, mirror, mu, precision, classes};
  over_rows(indptr, rows, 2 * classes, threads, [&](int64_t first, int64_t last) {
    CALL(distance_gradient<Real>, first, last, a, gradient, to_mu, to_precision);
  });
}

void NAME(softmax)(int64_t rows, const int64_t* indptr, const Real* scores, int64_t heads, Real* weights,
                   int64_t threads) {
  over_rows(indptr, rows, 8 * heads, threads, [&](int64_t first, int64_t last) {
    CALL(softmax<Real>, first, last, indptr, scores, heads, weights);
  });
}

void NAME(softmax_gradient)(int64_t rows, const int64_t* indptr, const Real* weights, const Real* gradient,
                            int64_t heads, Real* to_scores, int64_t threads) {
  over_rows(indptr, rows, 2 * heads, threads, [&](int64_t first, int64_t last) {
    CALL(softmax_gradient<Real>, first, last, indptr, weights, gradient, heads, to_scores);
  });
}

void NAME(dense_softmax)(int64_t rows, int64_t columns, const Real* scores, Real* weights, int64_t threads) {
  over_rows(nullptr, rows, 8 * columns, threads, [&](int64_t first, int64_t last) {
    CALL(dense_softmax<Real>, first, last, columns, scores, weights);
  });
}

void NAME(dense_softmax_gradient)(int64_t rows, int64_t columns, const Real* weights, const Real* gradient,
                                  Real* to_scores, int64_t threads) {
  over_rows(nullptr, rows, 2 * columns, threads, [&](int64_t first, int64_t last) {
    CALL(dense_softmax_gradient<Real>, first, last, columns, weights, gradient, to_scores);
  });
}

void NAME(sum_rows)(int64_t rows, const int64_t* indptr, const Real* values, int64_t heads, Real* sums,
                    int64_t threads) {
  over_rows(indptr, rows, heads, threads, [&](int64_t first, int64_t last) {
    CALL(sum_rows<Real>, first, last, indptr, values, heads, sums);
  });
}

void NAME(multiply)(int64_t rows, const int64_t* indptr, const int64_t* indices, const int64_t* order,
                    const Real* values, const Real* dense, int64_t heads, int64_t width, Real* out, int64_t threads) {
  const Product<Real> a{indptr, indices, order, values, dense, heads, width};
  over_rows(indptr, rows, heads * width, threads, [&](int64_t first, int64_t last) {
    CALL(multiply<Real>, first, last, a, out);
  });
}

void NAME(entry_products)(int64_t rows, const int64_t* indptr, const int64_t* indices, const Real* left,
                          const Real* right, int64_t heads, int64_t width, Real* out, int64_t threads) {
  const Product<Real> a{indptr, indices, nullptr, nullptr, right, heads, width};
  over_rows(indptr, rows, heads * width, threads, [&](int64_t first, int64_t last) {
    CALL(entry_products<Real>, first, last, a, left, out);
  });
}

void NAME(drop)(int64_t count, const Real* values, int64_t seed, int64_t start, int64_t threshold, double scale,
                Real* out, int64_t threads) {
  over_rows(nullptr, (count + 3) / 4, 4, threads, [&](int64_t first, int64_t last) {
    CALL(drop<Real>, first, last, count, values, static_cast<uint64_t>(seed), start,
         static_cast<uint32_t>(threshold), static_cast<Real>(scale), out);
  });
}

int64_t NAME(all_finite)(int64_t count, const Real* values) { return CALL(all_finite<Real>, values, count); }

void NAME(adam_step)(int64_t count, Real* weights, const Real* gradient, Real* means, Real* squares, double mean_decay,
                     double square_decay, double rate, double root, double epsilon, double weight_decay,
                     int64_t threads) {
  const Adam<Real> a{static_cast<Real>(mean_decay), static_cast<Real>(square_decay), static_cast<Real>(rate),
                     static_cast<Real>(root),       static_cast<Real>(epsilon),      static_cast<Real>(weight_decay)};
  over_rows(nullptr, count, 4, threads, [&](int64_t first, int64_t last) {
    CALL(adam_step<Real>, first, last, weights, gradient, means, squares, a);
  });
}

// False if there was not enough memory.
int64_t NAME(propagation_rows)(int64_t first, int64_t last, int64_t columns, const int64_t* indptr,
                               const int64_t* indices, const Real* values, const double* coefficients, int64_t steps,
                               int64_t width, int64_t kept, int64_t without_self, int32_t* to_indices,
                               Real* to_weights, int64_t threads) {
  const Powers<Real> a{columns, indptr, indices, values, coefficients, steps, width, kept, without_self != 0};
  return over_rows_in_memory(last - first, (steps + 1) * kept, threads, [&](int64_t begin, int64_t end) {
    PropagatedRow<Real> row(a);
    for (int64_t i = begin; i < end; ++i) row.write(first + i, to_indices + i * width, to_weights + i * width);
  });
}

// The number of entries, -1 if there was not enough memory. room (rows + 1) divides the buffers among the rows.
int64_t NAME(sum_feature_rows)(int64_t rows, const int64_t* indptr, const int64_t* indices, const Real* values,
                               int64_t columns, const int32_t* nodes, const Real* weights, int64_t width,
                               int64_t unit_length, const int64_t* room, int64_t* to_indptr, int64_t* to_indices,
                               Real* to_values, int64_t threads) {
  const FeatureSums<Real> a{indptr, indices, values, columns, nodes, weights, width, unit_length != 0, room};
  const int64_t work = room[rows] / std::max<int64_t>(1, rows);
  const bool is_complete = over_rows_in_memory(rows, work, threads, [&](int64_t first, int64_t last) {
    sum_feature_rows<Real>(first, last, a, to_indptr + 1, to_indices, to_values);
  });
  return is_complete ? without_gaps<Real>(rows, room, to_indptr, to_indices, to_values) : -1;
}
