#include <tapestry/ops/einsum_equation.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/utf8.h>

#include <algorithm>

namespace tapestry {
namespace {

bool contains(const std::string& term, char c) { return term.find(c) != std::string::npos; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// As one may show it, whatever its bytes are.
std::string printable(std::string_view text) {
    const std::string quoted = utf8::quoted(text, text.size());
    return quoted.substr(1, quoted.size() - 2);
}

// What stands before the position has been read: ASCII, so that bytes are characters.
template <class... Args>
[[noreturn]] void misfit(std::string_view text, std::size_t position,
                         fmt::format_string<Args...> what, Args&&... args) {
    fail("einsum: \"{}\" at position {}: {}", printable(text), position,
         fmt::format(what, std::forward<Args>(args)...));
}

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    EinsumEquation run() {
        while (at_ < text_.size()) at_ += step();
        if (!has_output_) equation_.output = letters_that_occur_once();
        return equation_;
    }

private:
    // Takes in what stands at the current position; returns how many characters that was.
    std::size_t step() {
        const char c = text_[at_];
        if (c == ' ') return 1;
        if (is_letter(c)) return letter(c);
        if (c == ',') {
            if (has_output_) misfit(text_, at_, "there is one output, and no ',' in it");
            equation_.terms.emplace_back();
            return 1;
        }
        if (text_.substr(at_, 3) == "...") {
            if (contains(term(), '.')) misfit(text_, at_, "a second ... in one term");
            term() += '.';
            return 3;
        }
        if (text_.substr(at_, 2) != "->") {
            const std::string_view character = text_.substr(at_, utf8::step(text_, at_).bytes);
            misfit(text_, at_, "'{}' is none of a-z A-Z , ... ->", printable(character));
        }
        if (has_output_) misfit(text_, at_, "a second ->");
        has_output_ = true;
        return 2;
    }

    std::size_t letter(char c) {
        if (has_output_) {
            if (contains(equation_.output, c)) misfit(text_, at_, "'{}' is in the output twice", c);
            const auto& terms = equation_.terms;
            const bool known = std::any_of(terms.begin(), terms.end(),
                                           [c](const std::string& t) { return contains(t, c); });
            if (!known) misfit(text_, at_, "the output's '{}' is in no operand", c);
        }
        term() += c;
        return 1;
    }

    std::string& term() { return has_output_ ? equation_.output : equation_.terms.back(); }

    // The ellipsis first: '.' comes before all letters.
    std::string letters_that_occur_once() const {
        std::string all;
        for (const std::string& t : equation_.terms) all += t;
        std::sort(all.begin(), all.end());
        std::string once;
        for (const char c : all) {
            const bool alone = std::count(all.begin(), all.end(), c) == 1;
            if (alone || (c == '.' && once.empty())) once += c;
        }
        return once;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    bool has_output_ = false;
    EinsumEquation equation_{{""}, ""};
};

}  // namespace

EinsumEquation parse_einsum(std::string_view text) { return Parser(text).run(); }

}  // namespace tapestry
