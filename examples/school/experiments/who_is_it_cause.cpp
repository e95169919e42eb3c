// "The dog didn't cross the street because it was too tired": "it" is the dog, and being tired is
// why it didn't cross. Does an encoder whose layers have one head miss one of the two? Implements
// the part of who_is_it.h on causes.
#include <tapestry/examples/school/experiments/who_is_it.h>
#include <tapestry/tapestry.h>

#include <fmt/format.h>

namespace tapestry::experiments::who_is_it {
namespace {

constexpr std::int64_t kCauseLayers = 2;  // one does not find the antecedent

// Asks at the last word for the verb that it explains.
Questions pack_effects(const std::vector<Riddle>& riddles, const examples::WordTable& table) {
    Questions q = pack(riddles, table);
    q.targets.fill_(-100);
    const auto* ids = q.ids.data<std::int64_t>();
    auto* targets = q.targets.mutable_data<std::int64_t>();
    for (const Riddle& riddle : riddles) {
        const std::size_t cause = riddle.words.size() - 2;  // a full stop is last
        if (riddle.effect > 0) targets[cause] = ids[riddle.effect];
        ids += kLength;
        targets += kLength;
    }
    return q;
}

// Both: their places differ.
Questions pack_both(const std::vector<Riddle>& riddles, const examples::WordTable& table) {
    const Questions who = pack(riddles, table), what = pack_effects(riddles, table);
    return {who.ids, maximum(who.targets, what.targets)};
}

constexpr std::int64_t kHeadsOf[] = {1, 2};

std::string name_of(std::int64_t heads) {
    return fmt::format("who and why, {} {} a layer", heads, heads == 1 ? "head" : "heads");
}

Measured learn(std::int64_t heads, const Corpus& corpus, std::int64_t steps, double rate,
               std::uint64_t seed) {
    MaskedLanguageModel model = encoder_of(corpus, kCauseLayers, heads, seed);
    const Questions effects = pack_effects(corpus.riddles.test, corpus.table);
    Measured m;
    const auto ask = [&](const std::string& when) {
        const examples::Answering answering(model);
        m.numbers[when + "who"] = accuracy(model, corpus.test);
        m.numbers[when + "effect"] = accuracy(model, effects);
        m.numbers[when + "who, loss"] = model.loss(corpus.test.ids, corpus.test.targets).item();
        m.numbers[when + "effect, loss"] = model.loss(effects.ids, effects.targets).item();
        const Questions choosing = pack_both(corpus.choosing, corpus.table);
        m.numbers[when + "loss"] = model.loss(choosing.ids, choosing.targets).item();
    };
    ask("untrained, ");
    teach(model, pack_both(corpus.riddles.train, corpus.table), steps, rate, seed);
    ask("");
    return m;
}

}  // namespace

std::vector<Trial> cause_trials(const Setting& setting, const Corpus& corpus) {
    std::vector<Trial> all;
    for (const std::int64_t heads : kHeadsOf) {
        all.push_back(
            swept(setting, name_of(heads), {1.5e-3, 3e-3, 6e-3},
                  [&corpus, heads, steps = setting.pick(600, 60)](std::uint64_t seed, double rate) {
                      return learn(heads, corpus, steps, rate, seed);
                  }));
    }
    return all;
}

std::vector<Claim> cause_claims() {
    const Design design = Design::compared({.arms = {name_of(kHeadsOf[0]), name_of(kHeadsOf[1])},
                                            .control = "the losses in the table"});
    return designed(
        design, {{"one_head_misses_the_cause",
                  "Asked who and why, one head a layer finds what a cause explains less well than "
                  "two.",
                  "held-out loss on the verb, one head's less two heads'", above(0.05)},
                 {"one_head_misses_the_antecedent",
                  "Asked who and why, one head a layer finds the antecedent less well than two.",
                  "held-out loss on the noun, one head's less two heads'", above(0.05)}});
}

void add_causes(const Outcomes& o, Report& report) {
    Table table{"Asked who \"it\" is and, at the last word, which verb it explains; held out",
                {"encoder", "who", "which verb", "loss, who", "loss, which verb"},
                {}};
    for (const std::int64_t heads : kHeadsOf) {
        for (const std::string when : {"untrained, ", ""}) {
            const auto of = [&](const char* what) { return o.of(name_of(heads), when + what); };
            table.rows.push_back({when + name_of(heads), percent(of("who")), percent(of("effect")),
                                  fixed(of("who, loss"), 3), fixed(of("effect, loss"), 3)});
        }
    }
    report.tables.push_back(table);
    const auto one_less_two = [&](const char* what) {
        return student(differences(o.values(name_of(kHeadsOf[0]), what),
                                   o.values(name_of(kHeadsOf[1]), what)));
    };
    report.decided["one_head_misses_the_cause"] = one_less_two("effect, loss");
    report.decided["one_head_misses_the_antecedent"] = one_less_two("who, loss");
}

}  // namespace tapestry::experiments::who_is_it
