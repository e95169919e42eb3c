// Tells the stories: a teller that expands the grammar and remembers where it said what.
//
// Every noun is written through say() and every pronoun through refer(), and these note the byte
// offsets; references are therefore right by construction, and nothing has to be parsed back.
// The random numbers are our own: std::uniform_int_distribution differs between libraries.
// Read next: stories_data.h (the notation), tests/examples/stories_test.cpp (what is promised).
#include <tapestry/examples/stories/stories.h>
#include <tapestry/examples/stories/stories_data.h>
#include <tapestry/examples/stories/stories_schemas.h>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <string_view>
#include <unordered_set>

namespace tapestry::examples {
namespace {

/// SplitMix64.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::size_t below(std::size_t n) {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        return static_cast<std::size_t>((z >> 32) * n >> 32);
    }

    template <class Range>
    const auto& pick(const Range& range) {
        return std::data(range)[below(std::size(range))];
    }

private:
    std::uint64_t state_;
};

constexpr std::string_view kRuleLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

std::logic_error mistake(std::string_view what, std::string_view where) {
    return std::logic_error("stories: " + std::string(what) + ": " + std::string(where));
}

/// Where the first of `wanted` is outside any inner brackets, or the end.
std::size_t find_outside(std::string_view text, std::size_t from, std::string_view wanted) {
    int depth = 0;
    for (std::size_t i = from; i < text.size(); ++i) {
        const char c = text[i];
        if (depth == 0 && wanted.find(c) != std::string_view::npos) return i;
        if (c == '[' || c == '{') ++depth;
        if (c == ']' || c == '}') --depth;
    }
    return text.size();
}

/// "one|two|[three|four]" in its three pieces.
std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> pieces;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t end = find_outside(text, from, "|");
        pieces.push_back(text.substr(from, end - from));
        from = end + 1;
    }
    return pieces;
}

std::vector<std::string_view> choices(std::string_view rule) {
    for (const Rule& r : kRules) {
        if (r.name == rule) return split(r.choices);
    }
    throw mistake("no such rule", rule);
}

bool is_one_of(std::string_view noun, std::string_view rule) {
    const auto nouns = choices(rule);
    return std::find(nouns.begin(), nouns.end(), noun) != nouns.end();
}

/// What is said for a noun, by its gender and number; kHe names the columns.
using Forms = std::array<std::string_view, 4>;
constexpr Forms kHe = {"he", "him", "his", "boy"};
constexpr Forms kShe = {"she", "her", "her", "girl"};
constexpr Forms kIt = {"it", "it", "its", ""};
constexpr Forms kThey = {"they", "them", "their", ""};

const Forms& forms_of(std::string_view noun) {
    for (const std::string_view rule : {"boy", "dad", "king"}) {
        if (is_one_of(noun, rule)) return kHe;
    }
    for (const std::string_view rule : {"girl", "mom", "queen"}) {
        if (is_one_of(noun, rule)) return kShe;
    }
    const bool group = noun.find(" and ") != std::string_view::npos;
    return group || is_one_of(noun, "plural") ? kThey : kIt;
}

class Teller {
public:
    explicit Teller(Random& random) : random_(random) {}

    /// Forgets who was in the last story.
    void begin_story() {
        cast_.clear();
        summary_.clear();
        mention_ = verb_ = adjective_ = {};
        dependencies_before_ = stories_.dependencies.size();
        before_ = stories_.text.size();
        references_before_ = stories_.references.size();
        if (before_ != 0) stories_.text += '\n';
        begin_ = stories_.text.size();
    }

    void end_story() {
        while (stories_.text.back() == ' ') stories_.text.pop_back();
        if (!summary_.empty()) {
            stories_.summaries.push_back({begin_, stories_.text.size(), summary_});
        }
        stories_.text += '\n';
    }

    /// Takes all of the story back.
    void undo_story() {
        if (!summary_.empty()) stories_.summaries.pop_back();
        stories_.text.resize(before_);
        stories_.references.resize(references_before_);
        stories_.dependencies.resize(dependencies_before_);
    }

    std::string_view story() const { return std::string_view(stories_.text).substr(begin_); }

    /// Gives `noun` a part in the story, but does not say it yet.
    void cast(std::string_view part, std::string_view noun) { cast_[part] = {std::string(noun)}; }

    void tell(std::string_view text);
    /// Tells the summary of the story so far, which is not part of the text.
    void summarise(std::string_view summary);

    const Stories& stories() const { return stories_; }

private:
    struct Entity {
        std::string noun;
        std::size_t begin = 0, end = 0;  ///< Last mention; end is 0 if there was none.
    };
    struct Range {
        std::size_t begin = 0, end = 0;
    };

    void put(char c);
    void slot(std::string_view inside);
    void say(std::string_view part, std::string_view words);
    void refer(const Entity& entity, std::string_view form);
    void tell_rule(std::string_view rule);
    void mark_verb(char c);
    void mentioned(Range noun);
    void connect(Relation relation, Range later, Range earlier);

    Random& random_;
    Stories stories_;
    std::map<std::string_view, Entity> cast_;  ///< The keys lie in the grammar, which is static.
    std::size_t before_ = 0, references_before_ = 0, dependencies_before_ = 0;  ///< This story.
    std::size_t begin_ = 0;
    std::string summary_;                              ///< Of this story, if it has one.
    Range mention_ = {}, verb_ = {}, adjective_ = {};  ///< The latest; an end of 0: none waits.
};

void Teller::tell(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::size_t from = i + 1;
        if (text[i] == '[' || text[i] == '{') {
            const std::size_t close = find_outside(text, from, "]}");
            const std::string_view inside = text.substr(from, close - from);
            if (text[i] == '[') {
                tell(random_.pick(split(inside)));
            } else {
                slot(inside);
            }
            i = close;
        } else if (text[i] == '@') {
            const std::size_t end = text.find_first_not_of(kRuleLetters, from);
            const std::string_view rule = text.substr(from, end - from);
            tell_rule(rule);
            i += rule.size();
        } else if (text[i] == '<' || text[i] == '>') {
            mark_verb(text[i]);
        } else {
            put(text[i]);
        }
    }
}

void Teller::summarise(std::string_view summary) {
    const std::size_t text = stories_.text.size(), references = stories_.references.size(),
                      dependencies = stories_.dependencies.size();
    stories_.text += ' ';
    tell(summary);
    summary_ = stories_.text.substr(text + 1);
    stories_.text.resize(text);
    stories_.references.resize(references);
    stories_.dependencies.resize(dependencies);
}

void Teller::tell_rule(std::string_view rule) {
    std::size_t begin = stories_.text.size();
    tell(random_.pick(choices(rule)));
    if (rule != "color" && rule != "kind") return;
    if (stories_.text[begin] == ' ') ++begin;  // The article before has become "an".
    adjective_ = {begin, stories_.text.size()};
}

/// The subject of a verb is what was last mentioned before it.
void Teller::mark_verb(char c) {
    if (c == '<') {
        verb_ = {stories_.text.size(), 0};
    } else {
        verb_.end = stories_.text.size();
        connect(Relation::subject, verb_, mention_);
    }
}

/// A noun, name or pronoun was written: the object of the verb right before it, and what the
/// adjective right before it belongs to.
void Teller::mentioned(Range noun) {
    const std::string_view text = stories_.text;
    const auto between = [&](Range before) {
        return before.end == 0 ? "." : text.substr(before.end, noun.begin - before.end);
    };
    if (between(verb_) == " " || between(verb_) == " the ") {
        connect(Relation::object, noun, verb_);
    }
    if (between(adjective_) == " ") connect(Relation::modifier, noun, adjective_);
    mention_ = noun;
    verb_ = adjective_ = {};
}

void Teller::connect(Relation relation, Range later, Range earlier) {
    stories_.dependencies.push_back({relation, later.begin, later.end, earlier.begin, earlier.end});
}

/// Appends one character: joins white space, breaks the line at a slash, mends "a owl".
void Teller::put(char c) {
    std::string& text = stories_.text;
    const bool at_gap = text.size() == begin_ || text.back() == ' ' || text.back() == '\n';
    if (c == ' ' || c == '\n') {
        if (!at_gap) text += ' ';
    } else if (c == '/') {
        if (at_gap) text.pop_back();
        text += '\n';
    } else {
        const std::string_view told = story();
        const bool article = told.ends_with(" a ") || told.ends_with(" A ") ||
                             told.ends_with("\nA ") || told == "A ";
        if (article && std::string_view("aeiou").find(c) != std::string_view::npos) {
            text.back() = 'n';
            text += ' ';
        }
        text += c;
    }
}

/// "x", "x=words" or "x:form".
void Teller::slot(std::string_view inside) {
    const std::size_t mark = inside.find_first_of("=:");
    const std::string_view part = inside.substr(0, mark);
    if (mark == std::string_view::npos) {
        say(part, std::string(cast_.at(part).noun));
    } else if (inside[mark] == '=') {
        say(part, inside.substr(mark + 1));
    } else {
        refer(cast_.at(part), inside.substr(mark + 1));
    }
}

/// Tells `words`, which may contain slots, and makes them the name of `part`.
void Teller::say(std::string_view part, std::string_view words) {
    std::size_t begin = stories_.text.size();
    tell(words);
    if (stories_.text[begin] == ' ') ++begin;  // The article before has become "an".
    const std::size_t end = stories_.text.size();
    cast_[part] = {stories_.text.substr(begin, end - begin), begin, end};
    mentioned({begin, end});
}

/// Writes the form of "he", "him", "his" or "boy" that is right for the entity.
void Teller::refer(const Entity& entity, std::string_view form) {
    const bool capital = form.front() == 'H';
    std::string wanted(form);
    if (capital) wanted.front() = 'h';
    std::size_t column = 0;
    while (column < kHe.size() && kHe[column] != wanted) ++column;
    const std::string_view word = column < kHe.size() ? forms_of(entity.noun)[column] : "";
    if (word.empty()) throw mistake("no such form", form);
    const std::size_t begin = stories_.text.size();
    stories_.text += word;
    if (capital) stories_.text[begin] = static_cast<char>(stories_.text[begin] - 'a' + 'A');
    mentioned({begin, stories_.text.size()});
    if (wanted == "boy") return;  // Not a pronoun.
    if (entity.end == 0) throw mistake("a pronoun before its noun", entity.noun);
    stories_.references.push_back({begin, stories_.text.size(), entity.begin, entity.end});
}

void tell_scene(Teller& teller, Random& random, const Schema& schema) {
    for (const std::string_view part :
         {schema.setup, schema.sentence, random.below(2) == 0 ? schema.first : schema.second}) {
        teller.tell(part);
        teller.tell(" ");
    }
}

/// Half of the stories have a plot; the others are schemas: one scene, two scenes, or two children.
void tell_story(Teller& teller, Random& random) {
    const bool girl = random.below(2) == 0;
    const auto cast = [&](std::string_view part, std::string_view rule) {
        const std::string_view noun = random.pick(choices(rule));
        teller.cast(part, noun);
        return noun;
    };
    cast("c", girl ? "girl" : "boy");
    cast("f", girl ? "boy" : "girl");
    cast("m", girl ? "dad" : "mom");
    cast("k", girl ? "king" : "queen");

    const std::size_t sort = random.below(20);
    if (sort < 10) {
        const Plot& plot = random.pick(kPlots);
        teller.tell(plot.text);
        teller.summarise(plot.summary);
    } else if (sort < 17) {
        teller.tell("@intro @day ");
        const Schema& scene = random.pick(kThings);
        tell_scene(teller, random, scene);
        const Schema& other = random.pick(kThings);
        if (sort < 14 && &other != &scene) {
            teller.tell("/ @later ");
            tell_scene(teller, random, other);
        }
        teller.tell("[@close|@close|]");
    } else {
        const std::string_view x = cast("x", girl ? "girl" : "boy");
        while (cast("y", girl ? "girl" : "boy") == x) continue;
        teller.tell("[@intro_people|] @day ");
        tell_scene(teller, random, random.pick(kPeople));
        teller.tell("[@close_people|]");
    }
}

std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

}  // namespace

Stories write_stories(std::uint64_t seed, std::size_t bytes) {
    Random random(seed);
    Teller teller(random);
    std::unordered_set<std::uint64_t> told;
    while (teller.stories().text.size() < bytes) {
        teller.begin_story();
        tell_story(teller, random);
        teller.end_story();
        if (!told.insert(fnv1a(teller.story())).second) teller.undo_story();
    }
    return teller.stories();
}

}  // namespace tapestry::examples
