// An attention of your own in a GPT: scores are cosines with a learnt temperature, registered under
// a name, so training, checkpoints, directories and sampling find it. After Henry et al. 2020.
#include <tapestry/core/file.h>
#include <tapestry/tapestry.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include <unistd.h>

using namespace tapestry;

namespace {

class CosineAttention : public AttentionForm {
public:
    Tensor log_temperature;  // a scalar: the scores' factor is e to it

    CosineAttention() : AttentionForm("CosineAttention") {
        log_temperature = scalar(std::log(10.0));
        register_parameter("log_temperature", log_temperature);
    }
    // q [B, H, T, D], k [B, H, S, D], v [B, H, S, E] -> [B, H, T, E]
    Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& v,
                      const AttentionOptions& options) const override {
        const ModuleScope scope(name());
        const Tensor cosines = matmul(unit(q), unit(k).transpose(-2, -1));  // [B, H, T, S]
        const std::int64_t queries = q.size(2), keys = k.size(2);
        Tensor scores = cosines * exp(to(log_temperature, q.dtype()));
        if (options.causal) {
            const Tensor ahead = triu(ones({queries, keys}, DType::boolean), keys - queries + 1);
            scores = masked_fill(scores, ahead, -1e9);
        }
        return hooked(matmul(scores.softmax(), v), q, k, v);
    }

private:
    static Tensor unit(const Tensor& x) { return x / (x.norm(2, {-1}, true) + 1e-6); }
};

}  // namespace

int main() {
    register_attention_form("cosine", [] { return std::make_unique<CosineAttention>(); });
    const auto directory =
        std::filesystem::temp_directory_path() / fmt::format("own-attention-{}", getpid());
    make_directories(directory);
    std::string sums;
    for (int i = 0; i < 600; ++i) {
        sums += fmt::format("{} and {} is {}\n", i % 7, i % 5, i % 7 + i % 5);
    }
    write_file_atomically(directory / "sums.txt", sums);

    Session session({.text = (directory / "sums.txt").native(),
                     .model = {.context = 32,
                               .layers = 2,
                               .heads = 4,
                               .dim = 64,
                               .positions = Positions::rotary,
                               .form = "cosine"},
                     .batch = 16,
                     .steps = 250,
                     .lr = 3e-3,
                     .warmup = 20});
    while (session.steps() < 125) session.take_step();
    session.save(directory / "half.safetensors");
    const auto resumed = Session::resume(directory / "half.safetensors");  // finds the form
    double loss = 0;
    bool same = true;
    while (!session.is_finished()) {
        loss = session.take_step().loss;
        same = same && resumed->take_step().loss == loss;
    }
    save_model(directory / "model", session.model(), session.tokenizer());
    const LoadedModel loaded = load_model(directory / "model");
    loaded.model->eval();
    Generator generator(1);
    const std::string said = sample_text(*loaded.model, *loaded.tokenizer, "4 and 3 is ",
                                         {.tokens = 1, .temperature = 0}, generator);
    fmt::print("loss {:.2f}, resumed to the same bits: {}\n{}\n", loss, same, said);
    for (const auto& [name, parameter] : loaded.model->named_parameters()) {
        if (name.ends_with("log_temperature")) fmt::print("{} {}\n", name, parameter);
    }
    std::filesystem::remove_all(directory);
    return loss < 0.6 && same && said == "4 and 3 is 7" ? 0 : 1;
}
