// The adapters for Eigen's matrices and Ceres' cost functions, on small types with their
// interfaces. The libraries themselves: docs/verify-a-kernel.md, compiled by `.ci/long adapters`.
#include <tapestry/autograd/check/ceres.h>
#include <tapestry/autograd/check/eigen.h>

#include <doctest/doctest.h>

#include <cmath>

using namespace tapestry;

namespace {

// Of Eigen's interface: column-major, as Eigen's default.
struct Matrix {
    using Scalar = double;
    using PlainObject = Matrix;
    static constexpr int IsVectorAtCompileTime = 0;

    Matrix(int rows, int columns)
        : rows_(rows), columns_(columns), values_(static_cast<std::size_t>(rows * columns)) {}
    int rows() const { return rows_; }
    int cols() const { return columns_; }
    void resize(int rows, int columns) { *this = Matrix(rows, columns); }
    double* data() { return values_.data(); }
    double& operator()(int r, int c) { return values_[static_cast<std::size_t>(c * rows_ + r)]; }
    double operator()(int r, int c) const {
        return values_[static_cast<std::size_t>(c * rows_ + r)];
    }

    int rows_, columns_;
    std::vector<double> values_;
};

// Of its interface for a column vector.
struct Vector : Matrix {
    using PlainObject = Vector;
    static constexpr int IsVectorAtCompileTime = 1;

    explicit Vector(int size) : Matrix(size, 1) {}
};

Matrix filled(int rows, int columns, double start) {
    Matrix matrix(rows, columns);
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) matrix(r, c) = std::sin(start + 3 * r + 1.7 * c);
    }
    return matrix;
}

Matrix times(const Matrix& a, const Matrix& b, bool a_transposed = false,
             bool b_transposed = false) {
    const auto of_a = [&](int r, int c) { return a_transposed ? a(c, r) : a(r, c); };
    const auto of_b = [&](int r, int c) { return b_transposed ? b(c, r) : b(r, c); };
    const int inner = a_transposed ? a.rows() : a.cols();
    Matrix y(a_transposed ? a.cols() : a.rows(), b_transposed ? b.rows() : b.cols());
    for (int r = 0; r < y.rows(); ++r) {
        for (int c = 0; c < y.cols(); ++c) {
            for (int k = 0; k < inner; ++k) y(r, c) += of_a(r, k) * of_b(k, c);
        }
    }
    return y;
}

// The unit circle: x = (cos a, sin a), moved by an angle.
struct Circle {
    double sign = 1, factor = 1;
    int ambient = 2, tangent = 1;
    int AmbientSize() const { return ambient; }
    int TangentSize() const { return tangent; }
    bool Plus(const double* x, const double* delta, double* moved) const {
        const double c = std::cos(*delta), s = std::sin(*delta);
        moved[0] = c * x[0] - s * x[1], moved[1] = s * x[0] + c * x[1];
        return true;
    }
    bool PlusJacobian(const double* x, double* jacobian) const {
        jacobian[0] = -sign * x[1], jacobian[1] = x[0];
        return true;
    }
    bool Minus(const double* y, const double* x, double* delta) const {
        *delta = std::atan2(x[0] * y[1] - x[1] * y[0], x[0] * y[0] + x[1] * y[1]);
        return true;
    }
    bool MinusJacobian(const double* x, double* jacobian) const {
        jacobian[0] = -factor * x[1], jacobian[1] = factor * x[0];
        return true;
    }
};

enum class Broken { none, sign, unwritten, null_matters, residuals_differ, infinite };

// Residuals (u . p, p0^2) of a unit vector u and a point p.
struct Cost {
    Broken mistake = Broken::none;
    std::vector<int> sizes = {2, 2};
    int residuals_stated = 2;

    int num_residuals() const { return residuals_stated; }
    const std::vector<int>& parameter_block_sizes() const { return sizes; }
    bool Evaluate(double const* const* blocks, double* residuals, double** jacobians) const {
        const double *u = blocks[0], *p = blocks[1];
        if (p[0] < -5) return false;
        residuals[0] = u[0] * p[0] + u[1] * p[1];
        residuals[1] = mistake == Broken::infinite ? INFINITY : p[0] * p[0];
        if (jacobians == nullptr) {
            if (mistake == Broken::residuals_differ) residuals[1] += 1;
            return true;
        }
        if (jacobians[0] != nullptr) {
            const double values[] = {p[0], p[1], 0, 0};
            std::copy_n(values, mistake == Broken::unwritten ? 2 : 4, jacobians[0]);
        }
        if (jacobians[1] != nullptr) {
            const bool lost = mistake == Broken::null_matters && jacobians[0] == nullptr;
            const double values[] = {u[0], mistake == Broken::sign ? -u[1] : u[1],
                                     lost ? 0 : 2 * p[0], 0};
            std::copy_n(values, 4, jacobians[1]);
        }
        return true;
    }
};

// Its second residual grows from call to call.
struct CostWithState : Cost {
    int* calls = nullptr;

    bool Evaluate(double const* const* blocks, double* residuals, double** jacobians) const {
        if (!Cost::Evaluate(blocks, residuals, jacobians)) return false;
        residuals[1] += (*calls)++;
        return true;
    }
};

const std::vector<std::vector<double>> kBlocks{{0.6, 0.8}, {1.5, -2}};

bool complains(const GradcheckReport& report, std::string_view words) {
    for (const std::string& complaint : report.complaints) {
        if (complaint.find(words) != std::string::npos) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("Eigen: matrices of any order in memory are read by rows") {
    const Matrix a = filled(3, 2, 0.3), b = filled(2, 4, 1.1);
    const auto product = [](const Matrix& x, const Matrix& y) { return times(x, y); };
    const auto backward = [](const Matrix& x, const Matrix& y, const Matrix& g) {
        return std::tuple(times(g, y, false, true), times(x, g, true));
    };
    const GradcheckReport right = check_pullback(product, backward, std::tuple(a, b));
    INFO(to_string(right));
    CHECK(right.verdict == Verdict::pass);
    CHECK(right.inputs[0].shape == Shape{3, 2});

    const auto one_wrong = [&](const Matrix& x, const Matrix& y, const Matrix& g) {
        auto gradients = backward(x, y, g);
        std::get<1>(gradients)(1, 2) *= 2;
        return gradients;
    };
    const GradcheckReport wrong = check_pullback(product, one_wrong, std::tuple(a, b));
    INFO(to_string(wrong));
    CHECK(wrong.inputs[0].verdict == Verdict::pass);
    CHECK(wrong.inputs[1].verdict == Verdict::fail);
    CHECK(wrong.inputs[1].first_wrong == 6);  // [1, 2] of [2, 4]
}

TEST_CASE("Eigen: one matrix, a number or a matrix") {
    const Matrix a = filled(2, 3, 0.5);
    const auto square = [](const Matrix& x) {
        double sum = 0;
        for (const double value : x.values_) sum += value * value;
        return sum;
    };
    const auto gradient = [](Matrix x) {
        for (double& value : x.values_) value *= 2;
        return x;
    };
    CHECK(check_gradient(square, gradient, a));
    CHECK(check_gradient(
              square, [](Matrix x) { return x; }, a)
              .verdict == Verdict::fail);
    const auto doubled = [](const Matrix&, const Matrix& g) {
        Matrix d = g;
        for (double& value : d.values_) value *= 2;
        return d;
    };
    CHECK(check_pullback(gradient, doubled, a));
}

TEST_CASE("Eigen: the Jacobian of a vector") {
    Vector x(2);
    x(0, 0) = 0.5, x(1, 0) = -1.2;
    const auto f = [](const Vector& v) {
        Vector y(3);
        y(0, 0) = v(0, 0) * v(1, 0), y(1, 0) = v(0, 0) * v(0, 0), y(2, 0) = v(1, 0);
        return y;
    };
    const auto jacobian = [](const Vector& v) {
        Matrix j(3, 2);
        j(0, 0) = v(1, 0), j(0, 1) = v(0, 0), j(1, 0) = 2 * v(0, 0), j(2, 1) = 1;
        return j;
    };
    CHECK(check_jacobian(f, jacobian, x).verdict == Verdict::pass);
    const auto wrong = [&](const Vector& v) {
        Matrix j = jacobian(v);
        j(0, 1) *= 2;
        return j;
    };
    CHECK(check_jacobian(f, wrong, x).verdict == Verdict::fail);
}

TEST_CASE("Ceres: Jacobians of blocks, with and without a manifold") {
    const Circle circle;
    const std::vector<const Circle*> manifolds{&circle, nullptr};
    const GradcheckReport plain = check_cost_function(Cost(), kBlocks);
    INFO(to_string(plain));
    CHECK(plain.verdict == Verdict::pass);
    const GradcheckReport on_circle = check_cost_function(Cost(), kBlocks, manifolds);
    INFO(to_string(on_circle));
    CHECK(on_circle.verdict == Verdict::pass);
    CHECK(on_circle.inputs[0].shape == Shape{1});
    CHECK(on_circle.inputs[1].shape == Shape{2});

    const GradcheckReport wrong = check_cost_function(Cost{Broken::sign}, kBlocks, manifolds);
    CHECK(wrong.inputs[0].verdict == Verdict::pass);
    CHECK(wrong.inputs[1].verdict == Verdict::fail);
    CHECK(wrong.subject == "cost function");
}

TEST_CASE("Ceres: Evaluate with null Jacobians, and entries that it leaves out") {
    const auto complaint_of = [](Broken mistake) {
        const GradcheckReport report = check_cost_function(Cost{mistake}, kBlocks);
        CHECK(report.verdict == Verdict::fail);
        return report;
    };
    CHECK(complains(complaint_of(Broken::unwritten),
                    "leaves 2 of 4 entries of the Jacobian of block 0 unwritten"));
    CHECK(complains(complaint_of(Broken::null_matters),
                    "the Jacobian of block 1 is another one if those of other blocks are null"));
    CHECK(complains(complaint_of(Broken::residuals_differ),
                    "the residuals are other ones if no Jacobian is wanted"));
    const GradcheckReport infinite = check_cost_function(Cost{Broken::infinite}, kBlocks);
    INFO(to_string(infinite));
    CHECK(infinite.verdict == Verdict::inconclusive);
    CHECK(infinite.complaints.empty());
}

TEST_CASE("Ceres: state is reset before every call of Evaluate") {
    int calls = 0;
    CostWithState cost;
    cost.calls = &calls;
    const GradcheckReport report =
        check_cost_function(cost, kBlocks, {.reset = [&calls] { calls = 0; }});
    INFO(to_string(report));
    CHECK(report.verdict == Verdict::pass);
    CHECK(check_cost_function(cost, kBlocks).verdict != Verdict::pass);
}

TEST_CASE("Ceres: sizes that do not fit") {
    CHECK_THROWS_WITH_AS(check_cost_function(Cost(), {{1, 2}}),
                         "check_cost_function: the cost function has 2 blocks, got 1", ShapeError);
    CHECK_THROWS_WITH_AS(check_cost_function(Cost(), {{1, 2, 3}, {1, 2}}),
                         "check_cost_function: block 0 has 2 numbers, got 3", ShapeError);
    CHECK_THROWS_WITH_AS(check_cost_function(Cost{Broken::none, {2, 2}, 0}, kBlocks),
                         "check_cost_function: the cost function has 0 residuals", ShapeError);
    const Circle circle;
    const std::vector<const Circle*> one{&circle};
    CHECK_THROWS_AS(check_cost_function(Cost(), kBlocks, one), ShapeError);
    CHECK_THROWS_AS(check_manifold(circle, {1, 0, 0}), ShapeError);
    Circle sphere;
    sphere.ambient = 3;
    const std::vector<const Circle*> two{&sphere, nullptr};
    CHECK_THROWS_WITH_AS(check_cost_function(Cost(), kBlocks, two),
                         "check_cost_function: block 0 has 2 numbers, its manifold 3", ShapeError);
    Circle constant;  // as a SubsetManifold of all coordinates
    constant.tangent = 0;
    const std::vector<const Circle*> all{nullptr, &constant};
    CHECK_THROWS_WITH_AS(check_cost_function(Cost(), kBlocks, all),
                         "check_cost_function: all of block 1 is constant (TangentSize 0), so none "
                         "of its Jacobian is used: pass null to check it in all 2 numbers",
                         ValueError);
    CHECK_THROWS_WITH_AS(check_manifold(constant, {0.6, 0.8}),
                         "check_manifold: TangentSize is 0, so there is nothing to check",
                         ValueError);
}

TEST_CASE("Ceres: a manifold's own Jacobians") {
    const std::vector<double> x{0.6, 0.8};
    const GradcheckReport right = check_manifold(Circle(), x);
    INFO(to_string(right));
    CHECK(right.verdict == Verdict::pass);
    CHECK(check_manifold(Circle{-1}, x).inputs[0].verdict == Verdict::fail);
    const GradcheckReport minus = check_manifold(Circle{1, 2}, x);
    CHECK(minus.inputs[0].verdict == Verdict::pass);
    CHECK(minus.inputs[1].verdict == Verdict::fail);
}
