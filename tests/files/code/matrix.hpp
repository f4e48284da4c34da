#pragma once

#include <array>
#include <cstddef>
#include <ostream>
#include <stdexcept>

namespace linear {

/// What the elements of a matrix must be able to do.
template <typename T>
concept Number = requires(T a, T b) {
    a + b;
    a * b;
};

/**
 * A matrix whose size is known when it is compiled.
 */
template <Number T, std::size_t Rows, std::size_t Columns>
class Matrix {
public:
    Matrix() = default;

    explicit Matrix(const T& value) { elements_.fill(value); }

    ~Matrix() = default;

    // Unchecked; see at().
    T& operator()(std::size_t row, std::size_t column) { return elements_[row * Columns + column]; }
    const T& operator()(std::size_t row, std::size_t column) const {
        return elements_[row * Columns + column];
    }

    const T& at(std::size_t row, std::size_t column) const {
        if (row >= Rows || column >= Columns) {
            throw std::out_of_range("There is no such element.");
        }
        return (*this)(row, column);
    }

    /// Rows become columns.
    [[nodiscard]] Matrix<T, Columns, Rows> transposed() const {
        Matrix<T, Columns, Rows> result;
        for (std::size_t row = 0; row < Rows; ++row) {
            for (std::size_t column = 0; column < Columns; ++column) {
                result(column, row) = (*this)(row, column);
            }
        }
        return result;
    }

    bool operator==(const Matrix& other) const = default;

private:
    struct Stride {
        std::size_t row;
        std::size_t column;
    };

    std::array<T, Rows * Columns> elements_{};
};

template <Number T, std::size_t A, std::size_t B, std::size_t C>
Matrix<T, A, C> operator*(const Matrix<T, A, B>& left, const Matrix<T, B, C>& right) {
    Matrix<T, A, C> product;
    for (std::size_t row = 0; row < A; ++row) {
        for (std::size_t column = 0; column < C; ++column) {
            T sum{};
            for (std::size_t inner = 0; inner < B; ++inner) {
                sum = sum + left(row, inner) * right(inner, column);
            }
            product(row, column) = sum;
        }
    }
    return product;
}

namespace detail {
enum class Order { row_major, column_major };

inline int depth(Order order) { return order == Order::row_major ? 0 : 1; }
}  // namespace detail

class Solver {
public:
    virtual ~Solver();
    virtual bool solve(const Matrix<double, 3, 3>& matrix) = 0;
};

}  // namespace linear

linear::Solver::~Solver() {}
