#include <tapestry/nn/layers/embedding.h>

#include <tapestry/ops/indexing.h>

namespace tapestry {

Embedding::Embedding(std::int64_t count, std::int64_t dim, Generator& generator)
    : Module("Embedding") {
    require(count > 0 && dim > 0, "Embedding: sizes {} x {} are not positive", count, dim);
    weight = randn({count, dim}, generator);
    register_parameter("weight", weight);
}

Tensor Embedding::operator()(const Tensor& ids) const {
    const ModuleScope scope(name());
    return hooked(embedding(weight, ids), ids);
}

std::string Embedding::settings() const {
    return fmt::format("{} x {}", weight.size(0), weight.size(1));
}

}  // namespace tapestry
