#include <tapestry/examples/school/tasks/masked_words.h>

#include <tapestry/core/text/utf8.h>

#include <algorithm>
#include <cctype>

namespace tapestry::examples {
namespace {

MaskingOptions masking(const StoryWords& data) {
    return {
        .vocab = data.table.size(), .mask_id = kMask, .special_ids = {kPadding, kStart, kUnknown}};
}

// Replaces one word in seven by [MASK], with no other corruption, and counts right guesses of the
// model and of always guessing the commonest word.
Guesses guess(const MaskedLanguageModel& model, const StoryWords& data, std::int64_t rows) {
    Generator generator(1);  // the same words every time
    MaskingOptions hide = masking(data);
    hide.masked = 1;
    hide.random = 0;
    Guesses guesses;
    for (const Tensor& batch : split(slice(data.test, 0, 0, rows), 64, 0)) {
        const MaskedTokens hidden = mask_tokens(batch, hide, generator);
        const auto said = argmax(model(hidden.ids), -1).to_vector<std::int64_t>();
        const auto truth = hidden.targets.to_vector<std::int64_t>();
        for (std::size_t i = 0; i < truth.size(); ++i) {
            if (truth[i] < 0) continue;
            ++guesses.model.of;
            if (said[i] == truth[i]) ++guesses.model.right;
            if (data.commonest == truth[i]) ++guesses.commonest.right;
        }
    }
    guesses.commonest.of = guesses.model.of;
    return guesses;
}

// One held-out window with some words hidden; always the same one.
MaskedTokens question(const StoryWords& data) {
    Generator generator(2);
    return mask_tokens(slice(data.test, 0, 0, 1), masking(data), generator);
}

// That window with the model's guesses in place of the hidden words, and the truth next to wrong
// guesses: "tom had a [red] ball and a <big, not small> dog".
std::string show_guesses(const MaskedLanguageModel& model, const StoryWords& data) {
    const MaskedTokens hidden = question(data);
    const auto said = argmax(model(hidden.ids), -1).to_vector<std::int64_t>();
    const auto ids = hidden.ids.to_vector<std::int64_t>();
    const auto truth = hidden.targets.to_vector<std::int64_t>();
    std::string text;
    for (std::size_t i = 1; i < ids.size() && ids[i] != kPadding; ++i) {
        const std::string& word = data.table.word(said[i]);
        if (ids[i] != kMask) {
            text += data.table.word(ids[i]);
        } else if (said[i] == truth[i]) {
            text += fmt::format("[{}]", word);
        } else {
            text += fmt::format("<{}, not {}>", data.table.word(truth[i]), word);
        }
        text += ' ';
    }
    return text;
}

}  // namespace

Words words_of(std::string_view text) {
    Words words;
    bool inside = false;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t bytes = utf8::step(text, at).bytes;
        const auto c = static_cast<unsigned char>(text[at]);
        const bool letter = c < 0x80 && std::isalpha(c) != 0;
        if (!letter || !inside) words.emplace_back();
        if (c < 0x80 && std::isspace(c) != 0) {
            words.pop_back();
        } else {
            words.back() += letter ? std::string(1, static_cast<char>(std::tolower(c)))
                                   : std::string(text.substr(at, bytes));
        }
        inside = letter;
        at += bytes;
    }
    return words;
}

std::vector<std::string> stories_of(std::string_view text) {
    std::vector<std::string> stories;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find("\n\n"), text.size());
        stories.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 2, text.size()));
    }
    return stories;
}

WordTable::WordTable(const std::vector<std::string>& stories) {
    for (const std::string& story : stories) add(words_of(story));
    number();
}

WordTable WordTable::of(const std::vector<Words>& sentences) {
    WordTable table({});
    for (const Words& words : sentences) table.add(words);
    table.number();
    return table;
}

void WordTable::add(const Words& words) {
    for (const std::string& word : words) ids_.emplace(word, 0);
}

void WordTable::number() {
    for (auto& entry : ids_) {
        entry.second = size();
        words_.push_back(entry.first);
    }
}

std::int64_t WordTable::id(const std::string& word) const {
    const auto found = ids_.find(word);
    return found == ids_.end() ? kUnknown : found->second;
}

Tensor windows(const std::vector<std::string>& stories, const WordTable& table) {
    std::vector<std::int64_t> ids;
    for (const std::string& story : stories) {
        for (const std::string& word : words_of(story)) {
            if (ids.size() % kWindow == 0) ids.push_back(kStart);
            ids.push_back(table.id(word));
        }
        while (ids.size() % kWindow != 0) ids.push_back(kPadding);
    }
    return tensor(ids, {static_cast<std::int64_t>(ids.size()) / kWindow, kWindow});
}

StoryWords story_words(std::size_t bytes) {
    std::vector<std::string> train, test;
    for (const std::string& story : stories_of(write_stories(1, bytes).text)) {
        (held_out(story, 10) ? test : train).push_back(story);
    }
    WordTable table(train);
    StoryWords data{table, windows(train, table), windows(test, table), 0};
    std::vector<std::int64_t> counts(static_cast<std::size_t>(table.size()), 0);
    for (const std::int64_t id : data.train.to_vector<std::int64_t>()) {
        if (id > kUnknown) ++counts[static_cast<std::size_t>(id)];
    }
    data.commonest = std::max_element(counts.begin(), counts.end()) - counts.begin();
    return data;
}

Guesses learn_masked_words(const TaskOptions& options, std::size_t bytes, std::int64_t layers) {
    const StoryWords data = story_words(bytes);
    Generator generator(options.seed);
    MaskedLanguageModel model({.vocab = data.table.size(),
                               .max_length = kWindow,
                               .dim = 64,
                               .heads = 4,
                               .layers = layers,
                               .dropout = 0,
                               .padding_id = kPadding,
                               .deviation = 0.08},
                              generator);
    if (options.print) {
        fmt::print("{} different words; {} windows to learn from, {} held out\n", data.table.size(),
                   data.train.size(0), data.test.size(0));
    }
    fit(
        model, options,
        [&] {
            const Tensor rows = randint(0, data.train.size(0), {options.batch}, generator);
            const MaskedTokens hidden =
                mask_tokens(index_select(data.train, 0, rows), masking(data), generator);
            return model.loss(hidden.ids, hidden.targets);
        },
        [&] { return guess(model, data, 64).model; });
    const MaskedTokens asked = question(data);
    Words tokens;
    for (const auto id : asked.ids.to_vector<std::int64_t>()) tokens.push_back(data.table.word(id));
    write_page(options, model,
               {.what = "a story with hidden words",
                .texts = {{.queries = tokens}},
                .name_of = [&](std::int64_t id) { return data.table.word(id); },
                .loss = [&] { return model.loss(asked.ids, asked.targets); }});
    const Answering answering(model);
    if (options.print) fmt::print("\n{}\n\n", show_guesses(model, data));
    return guess(model, data, data.test.size(0));
}

}  // namespace tapestry::examples
