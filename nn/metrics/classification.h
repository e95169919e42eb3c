// How well classes are predicted: counts of predictions by class, and accuracy, precision, recall
// and F1 from them. Definitions and names are scikit-learn's; predictions come first, as in the
// losses. Read next: ranking.h, for probabilities; regression.h, for numbers.
#pragma once

#include <tapestry/core/tensor.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace tapestry {

/// How the scores of classes become one number.
enum class Average {
    macro,     ///< their mean over the classes that occur or are predicted
    weighted,  ///< their mean, weighted by how often each class occurs
    micro      ///< the score of all predictions together, which is the accuracy
};

/// Counts of predictions by class. A score whose divisor is 0 is 0, as in scikit-learn.
///
///     ClassCounts counts(10);
///     counts.add(model(images), labels);  // per batch; logits or classes
///     counts.accuracy(), counts.f1(Average::macro), counts.matrix();
struct ClassCounts {
    /// confusion[{t, p}]: how often p was predicted where t is right, if at all.
    std::map<std::pair<std::size_t, std::size_t>, std::int64_t> confusion;
    std::vector<std::int64_t> right;      ///< how often a class was predicted rightly
    std::vector<std::int64_t> occurring;  ///< how often it is the right one
    std::vector<std::int64_t> predicted;  ///< how often it was predicted

    /// No predictions yet.
    explicit ClassCounts(std::size_t classes = 0);

    /// Counts `times` predictions `found` where `target` is right. Throws IndexError for a class
    /// that there is not.
    void add(std::size_t target, std::size_t found, std::int64_t times = 1);
    /// Counts a batch. `targets` [...] are i64 or bool; `predictions` are as well, or
    /// floating-point scores [..., V], whose largest counts. Throws ShapeError, DTypeError and
    /// IndexError.
    void add(const Tensor& predictions, const Tensor& targets);

    std::size_t classes() const { return occurring.size(); }  ///< number of classes
    std::int64_t count() const;                               ///< predictions
    double accuracy() const;  ///< fraction that is right; NaN of none

    double precision(std::size_t c) const;  ///< right of those predicted as class c
    double recall(std::size_t c) const;     ///< right of those that are class c
    /// 2 TP / (2 TP + FP + FN), the harmonic mean of precision and recall.
    double f1(std::size_t c) const;

    // The same of all classes; NaN of no predictions.
    double precision(Average average) const;  ///< averaged over the classes
    double recall(Average average) const;     ///< averaged over the classes
    double f1(Average average) const;         ///< averaged over the classes

    /// [V, V] i64: right class by row, predicted by column.
    Tensor matrix() const;

private:
    double averaged(double (ClassCounts::*score)(std::size_t) const, Average average) const;
};

/// The fraction of right predictions: classes or scores and targets, as for ClassCounts::add().
/// NaN of none.
double accuracy(const Tensor& predictions, const Tensor& targets);

}  // namespace tapestry
