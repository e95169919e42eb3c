// What a TranslateTask writes, and what people see of it.
#include <tapestry/autograd/tape.h>
#include <tapestry/core/create.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/generate/search.h>
#include <tapestry/nn/train/train_step.h>
#include <tapestry/nn/train/translate/translate_task.h>
#include <tapestry/ops/cast.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace tapestry {
namespace {

using Ids = std::vector<std::int64_t>;

std::vector<Ids> searched(const Transformer& model, const Tensor& source,
                          const TranslateOptions& options, const BeamOptions& form) {
    TransformerDecoding decoding(model, source);
    const std::int64_t rows = source.size(0);
    if (options.beams == 1) return greedy(decoding, rows, form);
    std::vector<Ids> best;
    for (auto& found : beam_search(decoding, rows, form)) best.push_back(std::move(found[0].ids));
    return best;
}

Ids row_of(const Tensor& ids, std::int64_t row) {
    return views::slice(ids, 0, row, row + 1).to_vector<std::int64_t>();
}

// ---- characters that are written or read in several pieces --------------------------------------

// Consecutive tokens that are shown as one.
struct Shown {
    std::size_t begin = 0, end = 0;
    std::string text = {};
};

// A token each, but those that are parts of one character together.
std::vector<Shown> whole_characters(const MarkedVocabulary& vocabulary, const Ids& ids) {
    constexpr std::size_t kMost = 4;  // bytes of a character, and so pieces
    std::vector<Shown> all;
    for (std::size_t i = 0; i < ids.size();) {
        std::string text;
        std::size_t end = i;
        do {
            const std::int64_t token = ids[end++] - vocabulary.first;
            text += vocabulary.tokenizer->decode({&token, 1});
        } while (utf8::find_flaw(text) && end < ids.size() && end < i + kMost);
        if (end == i + 1 || utf8::find_flaw(text)) {
            text = vocabulary.name_of(ids[i]);
            end = i + 1;
        }
        all.push_back({i, end, std::move(text)});
        i = end;
    }
    return all;
}

// [T, S] -> one row and column for each that is shown: the mean over its rows, which look by turns,
// and the sum over its columns, which share the attention.
Tensor merge_pieces(const Tensor& weights, const std::vector<Shown>& written,
                    const std::vector<Shown>& read) {
    const auto columns = static_cast<std::size_t>(weights.size(1));
    const std::vector<float> from = weights.to_vector<float>();
    Tensor to({std::ssize(written), std::ssize(read)}, DType::f32);
    float* at = to.mutable_data<float>();
    for (const Shown& row : written) {
        for (const Shown& column : read) {
            double sum = 0;
            for (std::size_t t = row.begin; t < row.end; ++t) {
                for (std::size_t s = column.begin; s < column.end; ++s)
                    sum += from[t * columns + s];
            }
            *at++ = static_cast<float>(sum / static_cast<double>(row.end - row.begin));
        }
    }
    return to;
}

std::vector<std::string> texts_of(const std::vector<Shown>& all) {
    std::vector<std::string> texts;
    for (const Shown& one : all) texts.push_back(one.text);
    return texts;
}

}  // namespace

// ---- translations -------------------------------------------------------------------------------

// Sources of similar length are read together: padding costs time.
std::vector<std::string> TranslateTask::translations(const std::vector<const Ids*>& sources,
                                                     const TranslateOptions& options) const {
    const NoGradGuard no_grad;
    std::vector<std::size_t> order(sources.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return sources[a]->size() < sources[b]->size();
    });
    std::vector<std::string> written(sources.size());
    for (std::size_t begin = 0; begin < order.size(); begin += kAtOnce) {
        const std::size_t end = std::min<std::size_t>(begin + kAtOnce, order.size());
        const std::size_t longest = sources[order[end - 1]]->size();
        Ids padded((end - begin) * longest, config().padding_id);
        for (std::size_t i = begin; i < end; ++i) {
            const Ids& one = *sources[order[i]];
            std::copy(one.begin(), one.end(),
                      padded.begin() + static_cast<std::ptrdiff_t>((i - begin) * longest));
        }
        const auto length = static_cast<std::int64_t>(longest);
        BeamOptions form;
        form.begin_id = vocabulary_.begin;
        form.end_id = vocabulary_.end;
        form.max_length = config().max_length > 0 ? config().max_length - 1 : 2 * length + 50;
        form.beams = options.beams;
        form.length_penalty = options.length_penalty;
        const auto found =
            searched(*model_, tensor(padded, {std::ssize(padded) / length, length}), options, form);
        for (std::size_t i = begin; i < end; ++i) {
            // Without max_length the limit is that of the batch's longest source: cut to this
            // one's.
            const auto& ids = found[i - begin];
            const std::size_t most = config().max_length > 0
                                         ? ids.size()
                                         : std::min(ids.size(), 2 * sources[order[i]]->size() + 50);
            written[order[i]] = vocabulary_.decode(std::span(ids).first(most));
        }
    }
    return written;
}

std::vector<std::string> TranslateTask::translate(const std::vector<std::string>& sources,
                                                  const TranslateOptions& options) const {
    std::vector<Ids> all;
    for (const std::string& text : sources) all.push_back(ids_of(text, "source", 0));
    std::vector<const Ids*> rows;
    for (const Ids& one : all) rows.push_back(&one);
    return translations(rows, options);
}

TranslationMap TranslateTask::align(std::string_view source, std::string_view target) const {
    const NoGradGuard no_grad;
    Example one{ids_of(source, "source", 0), vocabulary_.encode(target, "target"), 0};
    const auto most = static_cast<std::size_t>(config().max_length - 1);
    if (config().max_length > 0 && one.target.size() > most) one.target.resize(most);
    const Batch batch = batch_from({&one});
    const Tensor read = slice(batch.targets, 1, 0, batch.targets.size(1) - 1);
    std::vector<DecoderRecord> records;
    model_->decode(read, model_->encode(batch.inputs), batch.inputs, {.records = &records});
    const Tensor heads = tapestry::to(records.back().memory.weights, DType::f32);  // [1, H, T, S]
    std::vector<Shown> written = whole_characters(vocabulary_, one.target);
    const std::vector<Shown> source_texts = whole_characters(vocabulary_, one.source);
    const std::size_t end = one.target.size();
    written.push_back({end, end + 1, vocabulary_.name_of(vocabulary_.end)});
    return {merge_pieces(squeeze(mean(heads, {1}), 0), written, source_texts), texts_of(written),
            texts_of(source_texts)};
}

TranslationScores TranslateTask::score(const TextPairs& pairs, const TranslateOptions& options,
                                       BleuTokens tokens) const {
    const std::vector<Example> all = examples_of(pairs);
    std::vector<std::pair<std::int64_t, std::int64_t>> lengths;
    std::vector<const Ids*> sources;
    for (const Example& e : all) {
        lengths.emplace_back(std::ssize(e.target), std::ssize(e.source));
        sources.push_back(&e.source);
    }
    MeanLoss mean;
    {
        const NoGradGuard no_grad;
        const std::vector<std::int64_t> order = LengthBuckets(std::move(lengths)).by_length();
        for (std::size_t begin = 0; begin < order.size(); begin += kAtOnce) {
            std::vector<const Example*> rows;
            for (std::size_t i = begin; i < std::min<std::size_t>(begin + kAtOnce, order.size());
                 ++i) {
                rows.push_back(&all[static_cast<std::size_t>(order[i])]);
            }
            mean.add(loss(batch_from(rows)));
        }
    }
    const std::vector<std::string> written = translations(sources, options);
    std::vector<std::string> right;
    for (const TextPair& pair : pairs.pairs) right.push_back(pair.target);
    TranslationScores scores = score_translations(written, right, tokens);
    require<DivergedError>(std::isfinite(mean.value()),
                           "eval: the loss is {}: the model has "
                           "diverged",
                           std::abs(mean.value()));
    scores.loss = mean.value();
    scores.characters = static_cast<std::int64_t>(mean.count());
    scores.unit = vocabulary_.unit();
    return scores;
}

// ---- what people see ----------------------------------------------------------------------------

std::vector<std::string> TranslateTask::names_of(const Ids& ids) const {
    std::vector<std::string> names;
    for (const std::int64_t id : ids) names.push_back(vocabulary_.name_of(id));
    return names;
}

// The source, an arrow, the target.
std::vector<std::string> TranslateTask::texts(const Batch& batch, std::int64_t row) const {
    std::vector<std::string> all;
    const auto add = [&](const Tensor& side) {
        for (const std::int64_t id : row_of(side, row)) {
            if (id >= vocabulary_.first) all.push_back(vocabulary_.text_of(id));
        }
    };
    add(batch.inputs);
    all.emplace_back(" -> ");
    add(batch.targets);
    return all;
}

std::vector<PageText> TranslateTask::page_texts(const Batch& batch, std::int64_t row) const {
    Ids written = row_of(batch.targets, row);
    written.pop_back();
    return texts_of_both(names_of(row_of(batch.inputs, row)), names_of(written));
}

std::string TranslateTask::data_text() const {
    const Examples& e = examples();
    return fmt::format(
        "{}: {}, {} in the vocabulary of both sides; training on {}, validating on {} with other "
        "sources",
        utf8::printable(e.config.text), pluralize(std::ssize(e.pairs), "pair"),
        pluralize(vocabulary_.tokenizer->vocab_size(), vocabulary_.unit()), e.train.size(),
        e.validation.size());
}

std::string TranslateTask::amounts() const {
    return fmt::format("{} pairs to learn from, {} held out", examples().train.size(),
                       examples().held_out.size());
}

std::string TranslateTask::shape_text() const {
    const TransformerConfig& c = config();
    const std::string most = c.max_length == 0 ? ""
                                               : fmt::format(", texts of up to {} {}s",
                                                             c.max_length, vocabulary_.unit());
    return fmt::format("{} + {} layers, {}, dim {}{}", c.layers, c.layers,
                       pluralize(c.heads, "head"), c.dim, most);
}

std::vector<ExpectedLoss> TranslateTask::expected_losses() const {
    const auto choices = static_cast<std::size_t>(vocabulary_.size());
    std::vector<double> share(choices, 1);  // Laplace's: nothing is impossible
    double total = static_cast<double>(choices);
    for (const Example& one : examples().train) {
        for (const std::int64_t id : one.target) ++share[static_cast<std::size_t>(id)];
        ++share[static_cast<std::size_t>(vocabulary_.end)];
        total += static_cast<double>(one.target.size() + 1);
    }
    double loss = 0, count = 0;
    const auto add = [&](std::int64_t id) {
        loss -= std::log(share[static_cast<std::size_t>(id)] / total);
        ++count;
    };
    for (const std::int64_t i : examples().validation) {
        const Example& one = examples().held_out[static_cast<std::size_t>(i)];
        for (const std::int64_t id : one.target) add(id);
        add(vocabulary_.end);
    }
    return {{"guessing", std::log(static_cast<double>(choices)),
             fmt::format("Every one of the {} {}s and marks is as likely as any other: ln({}).",
                         choices, vocabulary_.unit(), choices)},
            {fmt::format("counting {}s", vocabulary_.unit()), loss / count,
             fmt::format("Knows how often each {} occurs in the targets of the training part, and "
                         "does not read the source.",
                         vocabulary_.unit())}};
}

std::string TranslateTask::sample(std::int64_t, Generator&) const {
    constexpr std::size_t kMost = 8;
    const auto& held_out = examples().held_out;
    const std::size_t count = std::min(kMost, held_out.size());
    std::vector<const Example*> chosen;
    std::vector<const Ids*> sources;
    for (std::size_t i = 0; i < count; ++i) {
        chosen.push_back(&held_out[i * held_out.size() / count]);
        sources.push_back(&chosen.back()->source);
    }
    const std::vector<std::string> written = translations(sources, {});
    std::string lines;
    for (std::size_t i = 0; i < count; ++i) {
        const TextPair& pair = examples().pairs[chosen[i]->pair];
        lines += fmt::format(
            "{} -> {}{}\n", utf8::quoted(pair.source, 60), utf8::quoted(written[i], 60),
            written[i] == pair.target ? ""
                                      : fmt::format(", right: {}", utf8::quoted(pair.target, 60)));
    }
    return lines;
}

// The held-out pair whose target a report shows: the longest of at most 24 characters.
const TranslateTask::Example& TranslateTask::watched() const {
    constexpr std::size_t kMost = 24;
    const Example* best = &examples().held_out.front();
    for (const Example& one : examples().held_out) {
        const bool fits = one.target.size() <= kMost;
        const bool best_fits = best->target.size() <= kMost;
        if (fits && (!best_fits || one.target.size() > best->target.size())) best = &one;
    }
    return *best;
}

std::vector<std::string> TranslateTask::sentence() const {
    std::vector<std::string> tokens = names_of(watched().target);
    tokens.insert(tokens.begin(), vocabulary_.name_of(vocabulary_.begin));
    tokens.push_back(vocabulary_.name_of(vocabulary_.end));
    return tokens;
}

// The decoder's view: its tokens are those of sentence().
SentenceProbe TranslateTask::look() const {
    const Batch batch = batch_from({&watched()});
    SentenceProbe seen = probe_sentence(*model_, [&] { return loss(batch).mean; });
    std::erase_if(seen.attention, [](const AttentionTrace& one) {
        return !one.module.starts_with("decoder.") || !one.module.ends_with(".attention");
    });
    return seen;
}

}  // namespace tapestry
