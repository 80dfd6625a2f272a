// Rows of a sum of powers of a sparse matrix, and sums of sparse feature rows. kernels.cpp includes this file once:
// without instructions of a particular machine the bits are the same on all.
//
// Every function works on the rows first .. last and writes only the results of these rows.

// For one column: the entry of R^(k + 1), and of the sum of c_k R^k up to k, while they are added up.
struct Cell {
  double next = 0, total = 0;
};

struct Entry {
  int32_t column;
  double weight;
};

struct Ranked {
  uint64_t rank;
  int32_t column;
  bool operator>(const Ranked& other) const { return rank > other.rank; }
};

template <typename T>
struct Powers {
  int64_t columns;
  const int64_t *indptr, *indices;
  const T* values;
  const double* coefficients;
  int64_t steps, width, kept;
  bool without_self;
};

// A permutation of the numbers of 32 bits (lowbias32, Wellons 2018).
inline uint32_t mixed(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7FEB352Du;
  x = (x ^ (x >> 15)) * 0x846CA68Bu;
  return x ^ (x >> 16);
}

// Orders the columns of a row by weight, of which the first 20 bits of the mantissa count, then by a hash. It differs
// for any two columns: the order depends neither on rounding nor on the order of the candidates.
inline Ranked ranked(double weight, int64_t row, int32_t column) {
  uint64_t bits;
  std::memcpy(&bits, &weight, sizeof bits);
  const uint64_t rounded = (bits + (uint64_t{1} << 31)) >> 32;
  const uint32_t hash = mixed(static_cast<uint32_t>(column) ^ mixed(static_cast<uint32_t>(row) + 0x9E3779B9u));
  return {rounded << 32 | hash, column};
}

// Computes one row after another; the cells are zero between two rows.
template <typename T>
class PropagatedRow {
 public:
  explicit PropagatedRow(const Powers<T>& a) : a(a), cells(a.columns), reached(a.columns + 1) {}

  void write(int64_t row, int32_t* indices, T* weights) {
    walk.assign(1, {static_cast<int32_t>(row), 1.0});
    add_walk(a.coefficients[0]);
    for (int64_t step = 1; step <= a.steps; ++step) {
      take_step(row);
      add_walk(a.coefficients[step]);
    }
    write_largest(row, indices, weights);
  }

 private:
  // Multiplies the walk by R, of which the largest entries are carried on.
  void take_step(int64_t row) {
    size_t count = 0;
    for (const Entry& from : walk) {
      for (int64_t e = a.indptr[from.column]; e < a.indptr[from.column + 1]; ++e) {
        const double share = from.weight * a.values[e];
        double& next = cells[a.indices[e]].next;
        reached[count] = static_cast<int32_t>(a.indices[e]);
        count += (next == 0) & (share != 0);  // without a branch, which would often be predicted wrongly
        next += share;
      }
    }
    const size_t kept = std::min<size_t>(count, a.kept);
    walk.resize(kept);
    if (count > kept) {
      order.resize(count);
      for (size_t i = 0; i < count; ++i) order[i] = ranked(cells[reached[i]].next, row, reached[i]);
      std::nth_element(order.begin(), order.begin() + kept, order.end(), std::greater<Ranked>());
      for (size_t i = 0; i < kept; ++i) walk[i] = {order[i].column, cells[order[i].column].next};
    } else {
      for (size_t i = 0; i < count; ++i) walk[i] = {reached[i], cells[reached[i]].next};
    }
    for (size_t i = 0; i < count; ++i) cells[reached[i]].next = 0;
  }

  void add_walk(double coefficient) {
    for (const Entry& entry : walk) {
      const double share = coefficient * entry.weight;
      if (share == 0) continue;
      double& total = cells[entry.column].total;
      if (total == 0) summed.push_back(entry.column);
      total += share;
    }
  }

  void write_largest(int64_t row, int32_t* indices, T* weights) {
    order.clear();
    for (int32_t column : summed)
      if (!(a.without_self && column == row)) order.push_back(ranked(cells[column].total, row, column));
    const int64_t count = std::min<int64_t>(a.width, order.size());
    std::partial_sort(order.begin(), order.begin() + count, order.end(), std::greater<Ranked>());
    for (int64_t i = 0; i < a.width; ++i) {
      indices[i] = i < count ? order[i].column : static_cast<int32_t>(row);
      weights[i] = i < count ? static_cast<T>(cells[order[i].column].total) : T(0);
    }
    for (int32_t column : summed) cells[column].total = 0;
    summed.clear();
  }

  const Powers<T>& a;
  std::vector<Cell> cells;
  std::vector<int32_t> reached, summed;  // the columns whose cells are not zero
  std::vector<Entry> walk;
  std::vector<Ranked> order;
};

template <typename T>
struct FeatureSums {
  const int64_t *indptr, *indices;
  const T* values;
  int64_t columns;
  const int32_t* nodes;
  const T* weights;
  int64_t width;
  bool unit_length;
  const int64_t* room;  // where the entries of each row may be written
};

// The sums of rows first .. last. A bit per column marks the columns of a row: reading the bits gives them in order.
template <typename T>
void sum_feature_rows(int64_t first, int64_t last, const FeatureSums<T>& a, int64_t* counts, int64_t* indices,
                      T* values) {
  std::vector<T> sums(a.columns);
  std::vector<uint64_t> marks((a.columns + 63) / 64);
  for (int64_t row = first; row < last; ++row) {
    for (int64_t i = row * a.width; i < (row + 1) * a.width; ++i) {
      const T weight = a.weights[i];
      if (weight == 0) continue;
      for (int64_t e = a.indptr[a.nodes[i]]; e < a.indptr[a.nodes[i] + 1]; ++e) {
        const int64_t column = a.indices[e];
        sums[column] += weight * a.values[e];
        marks[column / 64] |= uint64_t{1} << (column % 64);
      }
    }
    int64_t place = a.room[row];
    double squares = 0;
    for (size_t word = 0; word < marks.size(); ++word) {
      for (uint64_t bits = marks[word]; bits; bits &= bits - 1) {
        const int64_t column = 64 * word + __builtin_ctzll(bits);
        squares += static_cast<double>(sums[column]) * sums[column];
        indices[place] = column;
        values[place++] = sums[column];
        sums[column] = 0;
      }
      marks[word] = 0;
    }
    counts[row] = place - a.room[row];
    if (!a.unit_length || squares == 0) continue;
    const T scale = static_cast<T>(1 / std::sqrt(squares));
    for (int64_t i = a.room[row]; i < place; ++i) values[i] *= scale;
  }
}

// Moves the entries of all rows together; indptr holds the number of entries of each row, and then where they end.
template <typename T>
int64_t without_gaps(int64_t rows, const int64_t* room, int64_t* indptr, int64_t* indices, T* values) {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t end = indptr[row], count = indptr[row + 1];
    std::memmove(indices + end, indices + room[row], count * sizeof *indices);
    std::memmove(values + end, values + room[row], count * sizeof *values);
    indptr[row + 1] = end + count;
  }
  return indptr[rows];
}
