#include <tapestry/nn/models/seq2seq.h>

#include <tapestry/core/create.h>
#include <tapestry/nn/attention/masks.h>
#include <tapestry/nn/module/check_ids.h>
#include <tapestry/nn/recurrent/recurrent.h>
#include <tapestry/ops/arithmetic.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/elementwise.h>
#include <tapestry/ops/join.h>
#include <tapestry/ops/loss.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>

#include <algorithm>

namespace tapestry {
namespace {

const Seq2SeqConfig& checked(const Seq2SeqConfig& c) {
    const auto positive = [](const char* what, std::int64_t value) {
        require(value > 0, "Seq2Seq: {} must be positive, got {}", what, value);
    };
    positive("source_vocab", c.source_vocab);
    positive("target_vocab", c.target_vocab);
    positive("dim", c.dim);
    positive("hidden", c.hidden);
    positive("layers", c.layers);
    require(!c.bidirectional || c.hidden % 2 == 0,
            "Seq2Seq: hidden {} is odd; a bidirectional encoder has half of it in each direction",
            c.hidden);
    require(c.padding_id >= 0 && c.padding_id < std::min(c.source_vocab, c.target_vocab),
            "Seq2Seq: padding_id {} is not a token of both vocabularies, {} and {}", c.padding_id,
            c.source_vocab, c.target_vocab);
    return c;
}

// Checks token ids: i64 [B, T], not empty, each in the vocabulary.
void check_tokens(const char* what, const Tensor& ids, std::int64_t vocab) {
    check_ids("Seq2Seq", what, ids);
    const auto tokens = ids.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i] >= 0 && tokens[i] < vocab) continue;
        const auto place = static_cast<std::int64_t>(i);
        fail<IndexError>("Seq2Seq: {}[{}, {}] is {}, outside the vocabulary of {}", what,
                         place / ids.size(1), place % ids.size(1), tokens[i], vocab);
    }
}

void check_token(const char* what, std::int64_t id, std::int64_t vocab) {
    require<IndexError>(id >= 0 && id < vocab, "Seq2Seq: {} {} is outside the vocabulary of {}",
                        what, id, vocab);
}

// [layers D, B, H / D] -> [layers, B, H]: concatenates the directions of a layer.
Tensor join_directions(const Tensor& state, std::int64_t directions) {
    if (directions == 1 || !state.defined()) return state;
    const std::int64_t layers = state.size(0) / directions, batch = state.size(1);
    const std::int64_t half = state.size(2);
    const Tensor apart = reshape(state, {layers, directions, batch, half});
    return reshape(transpose(apart, 1, 2), {layers, batch, directions * half});
}

}  // namespace

Seq2Seq::Seq2Seq(const Seq2SeqConfig& config, Generator& generator)
    : Module("Seq2Seq"),
      source_embedding(checked(config).source_vocab, config.dim, generator),
      target_embedding(config.target_vocab, config.dim, generator),
      encoder(make_recurrent(config.cell,
                             {.input = config.dim,
                              .hidden = config.hidden / (config.bidirectional ? 2 : 1),
                              .layers = config.layers,
                              .bidirectional = config.bidirectional,
                              .dropout = config.dropout},
                             generator)),
      decoder(make_recurrent(
          config.cell,
          {.input = config.dim + (config.alignment == Alignment::bahdanau ? config.hidden : 0),
           .hidden = config.hidden,
           .layers = config.layers,
           .dropout = config.dropout},
          generator)),
      head(config.hidden, config.target_vocab, true, generator),
      config_(config),
      dropout_(config.dropout, generator) {
    register_module("source_embedding", source_embedding);
    register_module("target_embedding", target_embedding);
    register_module("encoder", *encoder);
    register_module("decoder", *decoder);
    const std::int64_t hidden = config.hidden;
    if (config.alignment == Alignment::bahdanau) {
        const AdditiveAttentionConfig sizes{.query = hidden, .key = hidden, .hidden = hidden};
        register_module("attention", additive.emplace(sizes, generator));
    } else if (config.alignment == Alignment::luong) {
        register_module("attention", dot.emplace());
    }
    if (config.alignment != Alignment::none) {
        register_module("combine", combine.emplace(2 * hidden, hidden, false, generator));
    }
    register_module("head", head);
    register_module("dropout", dropout_);
}

EncodedSource Seq2Seq::encode(const Tensor& source, const Tensor& source_lengths) const {
    const ModuleScope scope(name());
    check_tokens("source", source, config_.source_vocab);
    const std::int64_t steps = source.size(1);
    EncodedSource found;
    if (source_lengths.defined()) {
        checked_lengths("Seq2Seq", source_lengths, source.size(0), steps);
        found.mask = squeeze(length_mask(source_lengths, steps), 1);  // [B, 1, S]
    }
    const Tensor embedded = dropout_(source_embedding(source));  // [B, S, E]
    const RecurrentOutput read = (*encoder)(embedded, {.lengths = source_lengths});
    found.memory = read.output;
    found.state.h = join_directions(read.state.h, encoder->directions());
    found.state.c = join_directions(read.state.c, encoder->directions());
    if (additive) found.keys = additive->remember(found.memory, {}, found.mask);
    return found;
}

// Each step's input contains the context, which depends on the previous step: one step at a time.
Seq2Seq::Decoded Seq2Seq::decode_bahdanau(const EncodedSource& source, const Tensor& embedded,
                                          RecurrentState& state, Tensor* alignment) const {
    Tensors states, contexts, weights;
    for (const Tensor& y : split(embedded, 1, 1)) {  // [B, 1, E]
        const Tensor top = slice(state.h, 0, config_.layers - 1, config_.layers);
        Tensor w;
        const Tensor context =  // [B, 1, H]
            (*additive)(transpose(top, 0, 1), source.keys, alignment != nullptr ? &w : nullptr);
        const RecurrentOutput next = (*decoder)(concat({y, context}, -1), {.state = state});
        state = next.state;
        states.push_back(next.output);
        contexts.push_back(context);
        weights.push_back(w);
    }
    if (alignment != nullptr) *alignment = concat(weights, 1);
    return {concat(states, 1), concat(contexts, 1)};
}

Tensor Seq2Seq::decode(const EncodedSource& source, const Tensor& target_in, RecurrentState& state,
                       Tensor* alignment) const {
    const ModuleScope scope(name());
    check_tokens("target_in", target_in, config_.target_vocab);
    require<ShapeError>(target_in.size(0) == source.memory.size(0),
                        "Seq2Seq: {} targets for {} sources", target_in.size(0),
                        source.memory.size(0));
    require(alignment == nullptr || config_.alignment != Alignment::none,
            "Seq2Seq: a model without attention has no alignment");
    const Tensor embedded = dropout_(target_embedding(target_in));  // [B, T, E]
    Decoded found;
    if (additive) {
        found = decode_bahdanau(source, embedded, state, alignment);
    } else {
        const RecurrentOutput written = (*decoder)(embedded, {.state = state});
        state = written.state;
        found.states = written.output;
        if (!dot) return head(found.states);
        found.contexts = (*dot)(found.states, source.memory, source.memory, source.mask, alignment);
    }
    return head(tanh((*combine)(concat({found.contexts, found.states}, -1))));  // [B, T, V]
}

Tensor Seq2Seq::operator()(const Tensor& source, const Tensor& source_lengths,
                           const Tensor& target_in, Tensor* alignment) const {
    const EncodedSource found = encode(source, source_lengths);
    RecurrentState state = found.state;
    return hooked(decode(found, target_in, state, alignment), source, target_in);
}

Tensor Seq2Seq::loss(const Tensor& source, const Tensor& source_lengths, const Tensor& target_in,
                     const Tensor& target_out) const {
    check_tokens("target_out", target_out, config_.target_vocab);
    check_defined("Seq2Seq: target_in", target_in);
    require<ShapeError>(target_in.shape() == target_out.shape(),
                        "Seq2Seq: target_in is {}, target_out {}", target_in.shape(),
                        target_out.shape());
    const auto wanted = target_out.to_vector<std::int64_t>();
    require(std::any_of(wanted.begin(), wanted.end(),
                        [&](std::int64_t id) { return id != config_.padding_id; }),
            "Seq2Seq: target_out is padding ({}) everywhere: there is nothing to learn",
            config_.padding_id);
    return cross_entropy((*this)(source, source_lengths, target_in), target_out,
                         {.ignore_index = config_.padding_id});
}

Tensor Seq2Seq::greedy(const Tensor& source, const Tensor& source_lengths, std::int64_t begin_id,
                       std::int64_t end_id, std::int64_t max_length, Tensor* alignment) const {
    check_token("begin_id", begin_id, config_.target_vocab);
    check_token("end_id", end_id, config_.target_vocab);
    require(max_length > 0, "Seq2Seq: max_length must be positive, got {}", max_length);
    const NoGradGuard no_grad;
    const EncodedSource found = encode(source, source_lengths);
    const std::int64_t batch = source.size(0);
    RecurrentState state = found.state;
    Tensor latest = full({batch, 1}, static_cast<double>(begin_id), DType::i64);
    std::vector<bool> ended(static_cast<std::size_t>(batch), false);
    Tensors written, weights;
    for (std::int64_t t = 0; t < max_length; ++t) {
        Tensor w;
        const Tensor logits = decode(found, latest, state, alignment != nullptr ? &w : nullptr);
        auto ids = argmax(logits).to_vector<std::int64_t>();  // [B, 1]
        for (std::size_t b = 0; b < ids.size(); ++b) {
            if (ended[b]) ids[b] = config_.padding_id;
            ended[b] = ended[b] || ids[b] == end_id;
        }
        latest = tensor(ids, {batch, 1});
        written.push_back(latest);
        weights.push_back(w);
        if (std::find(ended.begin(), ended.end(), false) == ended.end()) break;
    }
    if (alignment != nullptr) *alignment = concat(weights, 1);  // [B, T, S]
    return concat(written, 1);
}

std::string Seq2Seq::settings() const {
    const char* const kinds[] = {"no attention", "Bahdanau's attention", "Luong's attention"};
    return kinds[static_cast<std::size_t>(config_.alignment)];
}

}  // namespace tapestry
