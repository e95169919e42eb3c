// Tells the stories: a teller that expands the grammar and remembers where it said what.
//
// Every noun is written through say() and every pronoun through refer(), and these note the byte
// offsets; references are therefore right by construction, and nothing has to be parsed back.
// The random numbers are our own: std::uniform_int_distribution differs between libraries.
// Read next: stories_data.h (the notation), tests/examples/stories_test.cpp (what is promised).
#include <tapestry/examples/stories.h>

#include <array>
#include <map>
#include <stdexcept>
#include <string_view>
#include <tapestry/examples/stories_data.h>
#include <tapestry/examples/stories_schemas.h>
#include <unordered_set>
#include <utility>

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

std::logic_error mistake(std::string_view what, std::string_view where) {
    return std::logic_error("stories: " + std::string(what) + ": " + std::string(where));
}

/// The end of the piece of text that begins at `from`: the first | or closing bracket outside of
/// any inner brackets, or the end of the text.
std::size_t end_of_piece(std::string_view text, std::size_t from) {
    int depth = 0;
    for (std::size_t i = from; i < text.size(); ++i) {
        const char c = text[i];
        if (depth == 0 && (c == '|' || c == ']' || c == '}')) return i;
        if (c == '[' || c == '{') ++depth;
        if (c == ']' || c == '}') --depth;
    }
    return text.size();
}

/// "one|two|[three|four]" in its pieces, up to a closing bracket if there is one.
std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> pieces;
    for (std::size_t from = 0;; ++from) {
        const std::size_t end = end_of_piece(text, from);
        pieces.push_back(text.substr(from, end - from));
        from = end;
        if (end == text.size() || text[end] != '|') return pieces;
    }
}

std::vector<std::string_view> choices(std::string_view rule) {
    for (const Rule& r : kRules) {
        if (r.name == rule) return split(r.choices);
    }
    throw mistake("no such rule", rule);
}

bool is_one_of(std::string_view noun, std::string_view rule) {
    for (const std::string_view choice : choices(rule)) {
        if (choice == noun) return true;
    }
    return false;
}

/// What depends on the gender and number of a noun, each keyed by its form for a man.
using Forms = std::map<std::string_view, std::string_view>;

const Forms& forms_of(std::string_view noun) {
    static const Forms he = {{"he", "he"}, {"him", "him"}, {"his", "his"}, {"He", "He"},
                             {"His", "His"}, {"was", "was"}, {"boy", "boy"}};
    static const Forms she = {{"he", "she"}, {"him", "her"}, {"his", "her"}, {"He", "She"},
                              {"His", "Her"}, {"was", "was"}, {"boy", "girl"}};
    static const Forms it = {{"he", "it"}, {"him", "it"}, {"his", "its"}, {"He", "It"},
                             {"His", "Its"}, {"was", "was"}};
    static const Forms they = {{"he", "they"}, {"him", "them"}, {"his", "their"}, {"He", "They"},
                               {"His", "Their"}, {"was", "were"}, {"They", "They"},
                               {"they", "they"}};
    for (const std::string_view rule : {"boy", "dad", "king"}) {
        if (is_one_of(noun, rule)) return he;
    }
    for (const std::string_view rule : {"girl", "mom", "queen"}) {
        if (is_one_of(noun, rule)) return she;
    }
    const bool group = noun.find(" and ") != std::string_view::npos;
    return group || is_one_of(noun, "plural") ? they : it;
}

class Teller {
public:
    explicit Teller(Random& random) : random_(random) {}

    /// Forgets who was in the last story.
    void begin_story() {
        story_begin_ = stories_.text.size();
        story_references_ = stories_.references.size();
        cast_.clear();
        if (story_begin_ != 0) stories_.text += "\n\n";
        text_begin_ = stories_.text.size();
    }

    /// Takes back all of the story.
    void undo_story() {
        stories_.text.resize(story_begin_);
        stories_.references.resize(story_references_);
    }

    std::string_view story() const {
        return std::string_view(stories_.text).substr(text_begin_);
    }

    /// Gives `noun` a part in the story, but does not say it yet.
    void cast(std::string_view part, std::string_view noun) { cast_[part] = {std::string(noun)}; }

    void tell(std::string_view text);

    Stories take() && { return std::move(stories_); }
    std::size_t bytes() const { return stories_.text.size(); }

private:
    struct Entity {
        std::string noun;
        std::size_t begin = 0, end = 0;  ///< Where it was last said; end is 0 if it was not.
    };

    void put(char c);
    void slot(std::string_view inside);
    void say(std::string_view part, std::string_view words);
    void refer(const Entity& entity, std::string_view form);
    Entity& entity(std::string_view part);

    Random& random_;
    Stories stories_;
    std::map<std::string_view, Entity> cast_;
    std::size_t story_begin_ = 0, text_begin_ = 0, story_references_ = 0;
};

void Teller::tell(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '[' || text[i] == '{') {
            const std::string_view inside = text.substr(i + 1);
            if (text[i] == '[') {
                tell(random_.pick(split(inside)));
                while (text[i = end_of_piece(text, i + 1)] == '|') {}
            } else {
                i = end_of_piece(text, i + 1);
                slot(inside.substr(0, i - (text.size() - inside.size())));
            }
        } else if (text[i] == '@') {
            const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", i + 1);
            const std::string_view rule = text.substr(i + 1, end - i - 1);
            tell(random_.pick(choices(rule)));
            i += rule.size();
        } else {
            put(text[i]);
        }
    }
}

/// Appends one character: joins white space, breaks the line at a slash, makes "a owl" "an owl".
void Teller::put(char c) {
    std::string& text = stories_.text;
    const bool at_gap = text.size() == text_begin_ || text.back() == ' ' || text.back() == '\n';
    if (c == ' ' || c == '\n') {
        if (!at_gap) text += ' ';
    } else if (c == '/') {
        if (at_gap) text.pop_back();
        text += '\n';
    } else {
        const std::string_view told = story();
        const bool article = told.ends_with(" a ") || told.ends_with("\"A ") || told == "A " ||
                             told.ends_with(" A ") || told.ends_with("\nA ");
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
        say(part, std::string(entity(part).noun));
    } else if (inside[mark] == '=') {
        say(part, inside.substr(mark + 1));
    } else {
        refer(entity(part), inside.substr(mark + 1));
    }
}

/// Tells `words`, which may hold slots of their own, and makes them the name of `part`.
void Teller::say(std::string_view part, std::string_view words) {
    std::size_t begin = stories_.text.size();
    tell(words);
    if (stories_.text[begin] == ' ') ++begin;  // The article before has become "an".
    const std::size_t end = stories_.text.size();
    cast_[part] = {stories_.text.substr(begin, end - begin), begin, end};
}

void Teller::refer(const Entity& entity, std::string_view form) {
    const Forms& forms = forms_of(entity.noun);
    const auto found = forms.find(form);
    if (found == forms.end()) throw mistake("no such form of " + entity.noun, form);
    const std::size_t begin = stories_.text.size();
    stories_.text += found->second;
    if (form == "was" || form == "boy") return;
    if (entity.end == 0) throw mistake("a pronoun before its noun", entity.noun);
    stories_.references.push_back({begin, stories_.text.size(), entity.begin, entity.end});
}

Teller::Entity& Teller::entity(std::string_view part) {
    const auto found = cast_.find(part);
    if (found == cast_.end()) throw mistake("nobody plays", part);
    return found->second;
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
        teller.tell(random.pick(kPlots));
    } else if (sort < 17) {
        teller.tell("@intro @day ");
        tell_scene(teller, random, random.pick(kThings));
        if (sort < 14) {
            teller.tell("/ @later ");
            tell_scene(teller, random, random.pick(kThings));
        }
        teller.tell("[@close|@close|]");
    } else {
        const std::string_view x = cast("x", girl ? "girl" : "boy");
        while (cast("y", girl ? "girl" : "boy") == x) {}
        teller.tell("@day ");
        tell_scene(teller, random, random.pick(kPeople));
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
    while (teller.bytes() < bytes) {
        teller.begin_story();
        tell_story(teller, random);
        if (!told.insert(fnv1a(teller.story())).second) teller.undo_story();
    }
    Stories stories = std::move(teller).take();
    return stories;
}

}  // namespace tapestry::examples
