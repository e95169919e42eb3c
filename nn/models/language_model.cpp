#include <tapestry/nn/models/language_model.h>

#include <tapestry/ops/loss.h>

namespace tapestry {

Tensor LanguageModel::loss(const Tensor& ids, const Tensor& targets) const {
    return cross_entropy((*this)(ids), targets);
}

}  // namespace tapestry
