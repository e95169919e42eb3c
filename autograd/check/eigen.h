// Checks gradients of functions of Eigen's matrices and vectors.
//
//     const auto f = [](const Eigen::MatrixXd& a) { return a.squaredNorm(); };
//     const auto gradient = [](const Eigen::MatrixXd& a) -> Eigen::MatrixXd { return 2 * a; };
//     const Eigen::MatrixXd a = Eigen::MatrixXd::Random(3, 2);
//     const GradcheckReport report = check_gradient(f, gradient, a);
//
// Header-only, and without Eigen's headers: any type with Eigen's interface will do. Reports show
// entries as [row, column] for any order in memory.
// Read next: plain.h; docs/verify-a-kernel.md.
#pragma once

#include <tapestry/autograd/check/plain.h>

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tapestry {

/// A matrix or vector of doubles that owns its numbers: Eigen::MatrixXd, Eigen::Vector3d, ...
template <class M>
concept EigenMatrix = requires(M& m, const M& c) {
    requires std::same_as<typename M::Scalar, double>;
    typename M::PlainObject;
    M::IsVectorAtCompileTime;
    c.rows();
    c.cols();
    m.resize(c.rows(), c.cols());
    m.data();
};

namespace detail {

template <class Matrix>
std::vector<double> values_of_matrix(const Matrix& matrix) {
    std::vector<double> values;
    values.reserve(static_cast<std::size_t>(matrix.rows() * matrix.cols()));
    for (auto row = matrix.rows() * 0; row < matrix.rows(); ++row) {
        for (auto column = matrix.cols() * 0; column < matrix.cols(); ++column) {
            values.push_back(matrix(row, column));
        }
    }
    return values;
}

// f's result, which may be a number or an expression of Eigen's.
template <class Result>
std::vector<double> values_of_result(const Result& result) {
    if constexpr (std::is_arithmetic_v<Result>) {
        return {static_cast<double>(result)};
    } else {
        const typename Result::PlainObject matrix = result;
        return values_of_matrix(matrix);
    }
}

template <class Matrix>
Matrix matrix_of_values(const std::vector<double>& values, const Matrix& like) {
    Matrix matrix = like;
    std::size_t i = 0;
    for (auto row = matrix.rows() * 0; row < matrix.rows(); ++row) {
        for (auto column = matrix.cols() * 0; column < matrix.cols(); ++column) {
            matrix(row, column) = values[i++];
        }
    }
    return matrix;
}

template <class Matrix>
Shape shape_of_matrix(const Matrix& matrix) {
    const auto rows = static_cast<std::int64_t>(matrix.rows());
    const auto columns = static_cast<std::int64_t>(matrix.cols());
    return Matrix::IsVectorAtCompileTime ? Shape{rows * columns} : Shape{rows, columns};
}

template <class... X, std::size_t... I>
std::tuple<X...> matrices_at(const PlainInputs& inputs, const std::tuple<X...>& like,
                             std::index_sequence<I...> /*indices*/) {
    return {matrix_of_values(inputs[I], std::get<I>(like))...};
}

template <class... X>
std::tuple<X...> matrices_of_inputs(const PlainInputs& inputs, const std::tuple<X...>& like) {
    return matrices_at(inputs, like, std::index_sequence_for<X...>());
}

template <class... X>
PlainInputs inputs_of_matrices(const std::tuple<X...>& matrices) {
    return std::apply([](const X&... each) { return PlainInputs{values_of_matrix(each)...}; },
                      matrices);
}

}  // namespace detail

/// Checks pullback(x..., g), a tuple of g^T df/dx for every input, where g has the shape of
/// f(x...), a matrix. Otherwise like check_pullback() for plain arrays.
template <class F, class Pullback, EigenMatrix... X>
GradcheckReport check_pullback(const F& f, const Pullback& pullback, const std::tuple<X...>& x,
                               const GradcheckOptions& options = {}) {
    using Result = std::decay_t<decltype(std::apply(f, x))>;
    const typename Result::PlainObject there = std::apply(f, x);
    std::vector<Shape> shapes = std::apply(
        [](const X&... each) { return std::vector<Shape>{detail::shape_of_matrix(each)...}; }, x);
    return check_pullback(
        [&](const PlainInputs& inputs) {
            return detail::values_of_result(std::apply(f, detail::matrices_of_inputs(inputs, x)));
        },
        [&](const PlainInputs& inputs, const std::vector<double>& g) {
            const std::tuple<X...> gradients = std::apply(
                pullback, std::tuple_cat(detail::matrices_of_inputs(inputs, x),
                                         std::tuple(detail::matrix_of_values(g, there))));
            return detail::inputs_of_matrices(gradients);
        },
        detail::inputs_of_matrices(x), options, shapes, detail::shape_of_matrix(there));
}

/// Checks pullback(x, g), which is g^T df/dx.
template <class F, class Pullback, EigenMatrix X>
GradcheckReport check_pullback(const F& f, const Pullback& pullback, const X& x,
                               const GradcheckOptions& options = {}) {
    const typename std::decay_t<decltype(f(x))>::PlainObject there = f(x);
    return check_pullback(
        [&](const std::vector<double>& at) {
            return detail::values_of_result(f(detail::matrix_of_values(at, x)));
        },
        [&](const std::vector<double>& at, const std::vector<double>& g) {
            const X gradient =
                pullback(detail::matrix_of_values(at, x), detail::matrix_of_values(g, there));
            return detail::values_of_matrix(gradient);
        },
        detail::values_of_matrix(x), options, detail::shape_of_matrix(x),
        detail::shape_of_matrix(there));
}

/// Checks gradient(x), of the shape of x, where f(x) is a number.
template <class F, class Gradient, EigenMatrix X>
GradcheckReport check_gradient(const F& f, const Gradient& gradient, const X& x,
                               const GradcheckOptions& options = {}) {
    return check_pullback(
        [&](const std::vector<double>& at) {
            return std::vector<double>{static_cast<double>(f(detail::matrix_of_values(at, x)))};
        },
        [&](const std::vector<double>& at, const std::vector<double>& g) {
            const X slopes = gradient(detail::matrix_of_values(at, x));
            std::vector<double> values = detail::values_of_matrix(slopes);
            for (double& value : values) value *= g[0];
            return values;
        },
        detail::values_of_matrix(x), options, detail::shape_of_matrix(x));
}

/// Checks jacobian(x), a matrix [f(x).size(), x.size()], where x and f(x) are vectors.
template <class F, class Jacobian, EigenMatrix X>
requires(bool(X::IsVectorAtCompileTime)) GradcheckReport
    check_jacobian(const F& f, const Jacobian& jacobian, const X& x,
                   const GradcheckOptions& options = {}) {
    return check_jacobian(
        [&](const std::vector<double>& at) {
            return detail::values_of_result(f(detail::matrix_of_values(at, x)));
        },
        PlainJacobian([&](const std::vector<double>& at) {
            return detail::values_of_result(jacobian(detail::matrix_of_values(at, x)));
        }),
        detail::values_of_matrix(x), options);
}

}  // namespace tapestry
