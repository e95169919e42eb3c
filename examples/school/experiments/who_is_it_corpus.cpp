// The sentences of who_is_it: riddles of the generated stories, those to learn from and those that
// judge. Implements a part of who_is_it.h.
#include <tapestry/examples/school/experiments/who_is_it.h>
#include <tapestry/tapestry.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

namespace tapestry::experiments::who_is_it {
namespace {

using examples::Words;
using examples::words_of;
using examples::WordTable;

constexpr const char* kShown = "dog street";  // this pair of nouns is always held out

}  // namespace

std::optional<Riddle> riddle_of(const std::string& text, const examples::Reference& r) {
    const std::size_t before = text.find_last_of(".!?\"\n", r.pronoun_begin);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    const std::size_t end = text.find('.', r.pronoun_end) + 1;
    if (r.antecedent_begin < begin) return {};
    const auto place = [&](std::size_t offset) {
        return words_of(std::string_view(text).substr(begin, offset - begin)).size();
    };
    Riddle riddle{words_of(std::string_view(text).substr(begin, end - begin)),
                  place(r.pronoun_begin), place(r.antecedent_begin), 0};
    const Words& w = riddle.words;
    const std::size_t it = riddle.pronoun;
    if (it < 6 || w.size() > kLength || w[0] != "the" || w[it - 1] != "because" ||
        w[it - 3] != "the" || (w[it] != "it" && w[it] != "they")) {
        return {};
    }
    riddle.rival = riddle.antecedent == 1 ? it - 2 : 1;
    return riddle;
}

namespace {

// The index of the verb that is nearest before the pronoun, of those that the stories mark.
std::size_t effect_of(const Riddle& riddle, const examples::Stories& stories,
                      const examples::Reference& reference) {
    const auto& all = stories.dependencies;
    const auto after =
        std::ranges::upper_bound(all, reference.pronoun_begin, {}, &examples::Dependency::begin);
    const auto verb =
        std::find_if(std::make_reverse_iterator(after), all.rend(),
                     [](const auto& d) { return d.relation == examples::Relation::subject; });
    if (verb == all.rend()) return 0;
    const Words words = words_of(stories.text.substr(verb->begin, verb->end - verb->begin));
    const auto found = std::ranges::find(riddle.words, words.at(0));
    const auto place = static_cast<std::size_t>(found - riddle.words.begin());
    return place < riddle.pronoun ? place : 0;
}

// All distinct riddles in `bytes` of text. Some pairs of nouns are held out, in every sentence;
// test answers that were never an answer in training are dropped.
Riddles find_riddles(std::size_t bytes) {
    const examples::Stories stories = examples::write_stories(1, bytes);
    std::set<Words> seen;
    std::set<std::string> answers, effects;
    Riddles all;
    for (const examples::Reference& reference : stories.references) {
        std::optional<Riddle> riddle = riddle_of(stories.text, reference);
        if (!riddle || !seen.insert(riddle->words).second) continue;
        riddle->effect = effect_of(*riddle, stories, reference);
        const bool test = riddle->nouns() == kShown || examples::held_out(riddle->nouns(), 6);
        (test ? all.test : all.train).push_back(*riddle);
        if (test) continue;
        answers.insert(riddle->words[riddle->antecedent]);
        effects.insert(riddle->words[riddle->effect]);
    }
    for (Riddle& riddle : all.test) {
        if (!effects.contains(riddle.words[riddle.effect])) riddle.effect = 0;
    }
    std::erase_if(all.test,
                  [&](const Riddle& r) { return !answers.contains(r.words[r.antecedent]); });
    return all;
}

WordTable words_in(const Riddles& riddles) {
    std::vector<std::string> sentences;
    for (const Riddle& riddle : riddles.train) {
        sentences.push_back(fmt::format("{}", fmt::join(riddle.words, " ")));
    }
    return WordTable(sentences);
}

// Takes every third riddle out of `all`.
std::vector<Riddle> third_of(std::vector<Riddle>& all) {
    std::vector<Riddle> taken, left;
    for (std::size_t i = 0; i < all.size(); ++i) (i % 3 == 0 ? taken : left).push_back(all[i]);
    all = left;
    return taken;
}

}  // namespace

Questions pack(const std::vector<Riddle>& riddles, const WordTable& table) {
    const auto count = static_cast<std::int64_t>(riddles.size());
    Questions q{full({count, kLength}, examples::kPadding, DType::i64),
                full({count, kLength}, -100, DType::i64)};
    auto* ids = q.ids.mutable_data<std::int64_t>();
    auto* targets = q.targets.mutable_data<std::int64_t>();
    for (const Riddle& riddle : riddles) {
        for (std::size_t i = 0; i < riddle.words.size(); ++i) ids[i] = table.id(riddle.words[i]);
        targets[riddle.pronoun] = ids[riddle.antecedent];
        ids += kLength;
        targets += kLength;
    }
    return q;
}

Corpus::Corpus()
    : riddles(find_riddles(2'000'000)),
      table(words_in(riddles)),
      choosing(third_of(riddles.test)),
      train(pack(riddles.train, table)),
      test(pack(riddles.test, table)) {
    const double share = 1 / static_cast<double>(riddles.test.size());
    for (const Riddle& riddle : riddles.test) {
        chance += share / static_cast<double>(riddle.words.size());
        first_noun += riddle.antecedent < riddle.rival ? share : 0;
    }
}

}  // namespace tapestry::experiments::who_is_it
