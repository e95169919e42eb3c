// One entry of a tape, called in every way that a tape may call it: are its answers the same?
// Internal to autograd/check. Read next: conventions.cpp, which visits the entries.
#pragma once

#include <tapestry/autograd/check/report.h>
#include <tapestry/autograd/check/values.h>
#include <tapestry/autograd/op.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tapestry::checker {

/// An entry's gradients by operand; those that are not asked for are missing.
using Answers = std::map<std::size_t, Values>;

bool all_finite(const Answers& answers);

/// The first operand, of those in both, whose answers are further apart than sums in another order.
struct Gap {
    std::size_t operand = 0, at = 0;
    double by = 0, usual = 0, other = 0;
};
std::optional<Gap> gap_between(const Answers& usual, const Answers& other);

/// The numbers of all f64 tensors.
Values numbers_of(const Tensors& tensors);

class EntryCaller {
public:
    EntryCaller(Op& op, Tensors inputs, Tensors outputs, std::uint64_t seed);

    /// The first convention that the entry breaks.
    std::optional<WrongOp> find();

private:
    bool is_real(std::size_t i) const {
        return inputs_[i].defined() && inputs_[i].dtype() == DType::f64;
    }
    Answers asked(const Tensors& incoming);

    WrongOp named(Mistake mistake, const std::string& evidence, const char* hint,
                  const Gap& gap = {}) const;
    WrongOp other_result(const std::string& how, const char* hint, const Gap& gap) const;
    WrongOp refused(const std::string& how, const char* hint, const Error& error) const;

    // Given the numbers before the first call: a second may write the same again.
    std::optional<WrongOp> overwriting(const Values& incoming, const Values& inputs,
                                       const Values& outputs) const;
    std::optional<WrongOp> twice();
    std::optional<WrongOp> incoming_layouts();
    std::optional<WrongOp> without_one_output();

    // Recorded again (entry_recorded_again.cpp), because the tape decides what is needed.
    std::optional<WrongOp> operand_layouts();
    std::optional<WrongOp> some_needed();
    std::optional<WrongOp> one_tensor_twice();

    // The entry recorded again for other operands; only the chosen ones require a gradient. nullopt
    // if its forward pass records nothing, or not for these.
    struct Again {
        Values values;
        Answers answers;
    };
    std::optional<Again> again(Tensors inputs, const std::vector<std::size_t>& needed) const;
    std::optional<Again> usual_again(const Tensors& inputs,
                                     const std::vector<std::size_t>& needed) const;
    std::vector<std::size_t> needed() const;
    Tensors separate() const;

    Op& op_;
    Tensors inputs_, outputs_, incoming_;
    Answers usual_ = {};
};

}  // namespace tapestry::checker
