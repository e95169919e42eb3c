// The gradient checker over the catalogue: of an op's rows, of a module's example, of all of them,
// or of a model that you name. `tapestry gradcheck` runs this. Read next:
// autograd/check/gradcheck.h, the checker; ops/catalog/op_case.h, the rows.
#pragma once

#include <tapestry/autograd/check/curve.h>
#include <tapestry/autograd/check/gradcheck.h>
#include <tapestry/autograd/check/precision.h>
#include <tapestry/nn/data/text.h>
#include <tapestry/nn/models/language_model.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tapestry::catalog {

struct CheckOptions {
    DType dtype = DType::f64;  ///< f64: against differences; else against the gradients in f64
    int order = 0;             ///< derivatives in f64, first (1) or second (2); 0: both
    double certainty = 0.999;  ///< GradcheckOptions::certainty
    std::uint64_t seed = 1;    ///< of directions
};

/// One check, and its report for people and for programs.
struct CheckedGradient {
    std::string what;   ///< "softmax (last axis), sample 2"
    std::string check;  ///< "gradcheck", "gradgradcheck", or "f32" and the like
    Verdict verdict;
    std::string text;
    std::string json;
};
using CheckedGradients = std::vector<CheckedGradient>;

/// All samples of an op's rows. Throws ValueError for an unknown name.
CheckedGradients check_op(const std::string& name, const CheckOptions& options = {});

/// A module's example; its second derivatives along random directions. Throws ValueError for an
/// unknown name.
CheckedGradients check_module(const std::string& name, const CheckOptions& options = {});

/// Every op, then every module.
CheckedGradients check_catalog(const CheckOptions& options = {});

/// A loss with many parameters, along random directions; the second order only if it is asked for.
/// `both.leaves` converts the parameters.
CheckedGradients check_loss(const std::string& what, const TwoPrecisions& both,
                            const CheckOptions& options = {});

/// How the error of differences depends on their step, for the first five inputs or parameters.
std::vector<ErrorCurve> curves_of_op(const std::string& name, std::uint64_t seed);
std::vector<ErrorCurve> curves_of_module(const std::string& name, std::uint64_t seed);
std::vector<ErrorCurve> curves_of(const std::function<Tensor()>& f, const NamedTensors& leaves,
                                  std::uint64_t seed);

// ---- what was found -----------------------------------------------------------------------------

std::int64_t count_of(const CheckedGradients& checked, Verdict verdict);

/// Every report if `in_full`, else those that did not pass; then a line that counts.
std::string to_text(const CheckedGradients& checked, bool in_full);

/// One JSON object.
std::string to_json(const CheckedGradients& checked);

// ---- a trained language model -------------------------------------------------------------------

// Its loss on a piece of text: what `tapestry gradcheck --model` checks, by check_loss.

/// The model's loss on a batch, and its parameters, in either type. The model is left in f64. It
/// must live as long.
TwoPrecisions loss_on(LanguageModel& model, const Batch& batch);
/// The same for a model of any kind and its loss.
TwoPrecisions loss_on(Module& model, std::function<Tensor()> loss);

struct ModelOnText {
    std::unique_ptr<LanguageModel> model;
    TwoPrecisions loss;
};

/// A model from its directory, in training mode (the checker draws the same dropout at every run),
/// and `batch` random pieces of the text, of 16 tokens or the model's context. Throws as
/// load_model_with_text and TextData::random_batch do.
ModelOnText model_on_text(const std::string& model, const std::string& text, std::int64_t batch,
                          std::uint64_t seed = 1);

}  // namespace tapestry::catalog
