// Read copiers.h first.
#include <tapestry/examples/school/experiments/copiers.h>

#include <tapestry/core/views.h>

namespace tapestry::experiments {
namespace {

using examples::CopyBatch;
using examples::CopyModel;
using examples::LongCopyOptions;

constexpr std::int64_t kBudget = 20'000;  // parameters

// Reads symbols and silence, in one direction; then writes. Each symbol is asked for after the
// true ones before it, which say nothing of it.
Copier recurrent_copier(const LongCopyOptions& o, RecurrentCell cell, Alignment alignment,
                        double forget_bias, std::int64_t width, Generator& generator) {
    const auto model = std::make_shared<Seq2Seq>(Seq2SeqConfig{.source_vocab = o.alphabet + 1,
                                                               .target_vocab = o.alphabet + 1,
                                                               .dim = 16,
                                                               .hidden = width,
                                                               .cell = cell,
                                                               .bidirectional = false,
                                                               .alignment = alignment},
                                                 generator);
    set_forget_bias(*model->encoder, forget_bias);
    set_forget_bias(*model->decoder, forget_bias);
    return {model, [model, o](const CopyBatch& batch) {
                const Tensor begin =
                    full({batch.ids.size(0), 1}, static_cast<double>(o.alphabet), DType::i64);
                const Tensor before = slice(batch.targets, 1, 0, o.symbols - 1);
                const Tensor y =
                    (*model)(slice(batch.ids, 1, 0, o.distance), {}, concat({begin, before}, 1));
                return slice(y, 2, 0, o.alphabet);
            }};
}

Copier make_copier(const std::string& name, LongCopyOptions o, std::int64_t width) {
    Generator generator(o.seed);
    if (name == "Transformer") {
        o.dim = width;
        const auto model = std::make_shared<CopyModel>(o, AttentionFormFactory{}, generator);
        return {model, [model](const CopyBatch& batch) { return (*model)(batch.ids); }};
    }
    return recurrent_copier(o, name == "RNN" ? RecurrentCell::rnn : RecurrentCell::lstm,
                            name == "LSTM, Bahdanau" ? Alignment::bahdanau : Alignment::none,
                            name == "LSTM, forget bias 1" ? 1 : 0, width, generator);
}

}  // namespace

const std::vector<std::string>& copier_names() {
    static const std::vector<std::string> names{"RNN", "LSTM, forget bias 0", "LSTM, forget bias 1",
                                                "LSTM, Bahdanau", "Transformer"};
    return names;
}

Copier widest_copier(const std::string& name, const LongCopyOptions& o) {
    Copier best = make_copier(name, o, 4);
    for (std::int64_t width = 6;; width += 2) {
        Copier next = make_copier(name, o, width);
        if (next.module->parameter_count() > kBudget) return best;
        best = std::move(next);
    }
}

void set_forget_bias(Recurrent& network, double value) {
    if (!network.has_cell() || value == 0) return;
    const std::int64_t hidden = network.config().hidden;
    for (RecurrentWeights& w : network.weights) {  // gates in the order i, f, g, o
        Tensor forget = views::slice(w.bias_ih.detach(), 0, hidden, 2 * hidden);
        forget.copy_(forget.clone() + value);
    }
}

}  // namespace tapestry::experiments
