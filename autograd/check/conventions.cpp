#include <tapestry/autograd/check/conventions.h>

#include <tapestry/autograd/check/entry_caller.h>
#include <tapestry/autograd/check/plain_op.h>
#include <tapestry/autograd/observer.h>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tapestry::checker {
namespace {

class ConventionChecker final : public TapeObserver {
public:
    explicit ConventionChecker(std::uint64_t seed) : seed_(seed) {}

    void recorded(const Op& op, const Tensors& inputs, const Tensors& outputs) override {
        if (!busy_ && !is_plain(op)) known_[&op] = {inputs, outputs};
    }

    void walked(Op& op, const Tensors&, Tensors&) override {
        const auto found = known_.find(&op);
        if (busy_ || found == known_.end()) return;
        busy_ = true;
        const NoGradGuard no_grad;
        auto wrong = EntryCaller(op, found->second.first, found->second.second, seed_).find();
        if (wrong) all_.push_back(*std::move(wrong));
        known_.erase(found);  // an entry is walked again for every output of the subject
        busy_ = false;
    }

    std::vector<WrongOp> wrong() {
        std::stable_sort(all_.begin(), all_.end(),
                         [](const WrongOp& a, const WrongOp& b) { return a.number < b.number; });
        return std::move(all_);
    }

private:
    std::uint64_t seed_;
    std::unordered_map<const Op*, std::pair<Tensors, Tensors>> known_;
    std::vector<WrongOp> all_;
    bool busy_ = false;
};

}  // namespace

std::vector<WrongOp> find_broken_conventions(Subject& subject, const std::vector<double>& weights,
                                             std::uint64_t seed) {
    std::vector<Values> before;
    Tensors leaves;
    for (const auto& [name, leaf] : subject.leaves()) {
        leaves.push_back(leaf);
        before.push_back(leaf.to_vector<double>());
    }
    ConventionChecker checker(seed);
    {
        Tape tape;
        const Tensors outputs = subject.outputs_on(tape);
        const Tensors cotangents = subject.as_cotangents(weights);
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (!tape.follows(outputs[i])) continue;
            try {
                tape.gradient(outputs[i], leaves, {.cotangent = cotangents[i], .retain = true});
            } catch (const AutogradError&) {  // a saved tensor has been changed, as found already
                break;
            }
        }
    }
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        if (same_bits(leaves[i].to_vector<double>(), before[i])) continue;
        std::copy(before[i].begin(), before[i].end(), leaves[i].mutable_data<double>());
    }
    return checker.wrong();
}

std::string convention_text(const WrongOp& wrong) {
    const std::string path =
        wrong.module_path.empty() ? "" : fmt::format(", {}", wrong.module_path);
    return fmt::format("{} (#{}{}): {}", wrong.op, wrong.number, path, wrong.cause.evidence);
}

}  // namespace tapestry::checker
