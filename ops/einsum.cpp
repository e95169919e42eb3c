// Parses the equation into letters, simplifies each operand (takes diagonals, drops axes that only
// broadcast, sums letters that nothing else uses), then contracts them two at a time. Everything is
// composed of recordable ops, so there is no backward rule here.
#include <tapestry/ops/einsum.h>

#include <tapestry/core/error.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/ops/check.h>
#include <tapestry/ops/contraction.h>
#include <tapestry/ops/reduction.h>
#include <tapestry/ops/view.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {

// ---- the equation -------------------------------------------------------------------------------

namespace {

/// "ij, jk" parsed to terms {"ij", "jk"} and output "ik". An ellipsis is one '.', spaces are
/// removed, and an implicit output is filled in.
struct EinsumEquation {
    std::vector<std::string> terms;
    std::string output;
};

bool contains(const std::string& term, char c) { return term.find(c) != std::string::npos; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Text before the position has been parsed and is ASCII, so bytes are characters.
template <class... Args>
[[noreturn]] void misfit(std::string_view text, std::size_t position,
                         fmt::format_string<Args...> what, Args&&... args) {
    fail("einsum: \"{}\" at position {}: {}", utf8::printable(text), position,
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
    // Consumes the token at the current position; returns its length.
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
            misfit(text_, at_, "'{}' is not one of a-z A-Z , ... ->", utf8::printable(character));
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

    // The ellipsis comes first: '.' sorts before all letters.
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

/// Throws ValueError with the position (from 0) of the character that does not fit.
EinsumEquation parse_einsum(std::string_view text) { return Parser(text).run(); }

// ---- letters ------------------------------------------------------------------------------------

constexpr int kLetters = 52;

// 0 .. 25 for capitals, 26 .. 51 for lower case.
int label_of(char letter) { return letter < 'a' ? letter - 'A' : letter - 'a' + 26; }

std::string name_of_label(int label) {
    if (label >= kLetters) return fmt::format("axis {} of ...", kLetters - 1 - label);
    return {static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26)};
}

// An ellipsis of n axes has labels 51 + n .. 52: its last axis has the same label in all terms.
Labels labels_of(const std::string& term, int ellipsis) {
    Labels labels;
    for (const char c : term) {
        if (c != '.') {
            labels.push_back(label_of(c));
            continue;
        }
        for (int axis = ellipsis; axis > 0; --axis) labels.push_back(kLetters + axis - 1);
    }
    return labels;
}

struct Contraction {
    std::string_view text;
    std::vector<Labelled> operands;
    Labels output;
    std::array<std::int64_t, 64> sizes;  // of every label; 1 if unused
};

// ---- from the equation to labelled operands -----------------------------------------------------

// Number of axes that the ellipsis of `term` covers.
int ellipsis_of(std::string_view text, const std::string& term, const Tensor& x) {
    const bool open = term.find('.') != std::string::npos;
    const int named = static_cast<int>(term.size()) - (open ? 1 : 0);
    if (open ? x.rank() < named : x.rank() != named) {
        fail<ShapeError>("einsum: \"{}\": a term of {}{} for an operand {}", text,
                         open ? "at least " : "", pluralize(named, "letter"), x.shape());
    }
    return x.rank() - named;
}

std::int64_t size_of(const Labelled& operand, int label) {
    const auto found = std::find(operand.labels.begin(), operand.labels.end(), label);
    if (found == operand.labels.end()) return 1;
    return operand.x.size(static_cast<int>(found - operand.labels.begin()));
}

[[noreturn]] void sizes_disagree(const Contraction& contraction, int label, std::size_t number) {
    std::size_t other = 0;
    while (size_of(contraction.operands[other], label) == 1) ++other;
    const Labelled& a = contraction.operands[other];
    const Labelled& b = contraction.operands[number];
    fail<ShapeError>("einsum: \"{}\": {} is {} in operand {} {} and {} in operand {} {}",
                     contraction.text, name_of_label(label), size_of(a, label), other, a.x.shape(),
                     size_of(b, label), number, b.x.shape());
}

// Merges an operand's sizes into those of the labels: equal, or 1 in some operands.
void merge_sizes(Contraction& contraction, std::size_t number) {
    const Labelled& operand = contraction.operands[number];
    for (int axis = 0; axis < operand.x.rank(); ++axis) {
        const int label = operand.labels[static_cast<std::size_t>(axis)];
        const std::int64_t size = size_of(operand, label);
        require<ShapeError>(
            operand.x.size(axis) == size, "einsum: \"{}\": {} has no diagonal {}: sizes {} and {}",
            contraction.text, operand.x.shape(), name_of_label(label), size, operand.x.size(axis));
        std::int64_t& known = contraction.sizes[static_cast<std::size_t>(label)];
        if (known == 1) known = size;
        if (size != 1 && size != known) sizes_disagree(contraction, label, number);
    }
}

Contraction labelled(std::string_view text, const Tensors& operands) {
    const EinsumEquation equation = parse_einsum(text);
    if (operands.size() != equation.terms.size()) {
        fail<ShapeError>("einsum: \"{}\" needs {}, got {}", text,
                         pluralize(std::ssize(equation.terms), "operand"), operands.size());
    }
    Contraction contraction{text, {}, {}, {}};
    contraction.sizes.fill(1);
    int widest = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        check_floating("einsum", operands[i]);
        check_same_dtype("einsum", operands.front(), operands[i]);
        const int ellipsis = ellipsis_of(text, equation.terms[i], operands[i]);
        widest = std::max(widest, ellipsis);
        contraction.operands.push_back({operands[i], labels_of(equation.terms[i], ellipsis)});
        merge_sizes(contraction, i);
    }
    contraction.output = labels_of(equation.output, widest);
    return contraction;
}

// ---- simplifying operands -----------------------------------------------------------------------

// The first pair of axes with one label, if any.
std::optional<std::pair<int, int>> repeated(const Labels& labels) {
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const auto again =
            std::find(labels.begin() + static_cast<std::ptrdiff_t>(i) + 1, labels.end(), labels[i]);
        if (again == labels.end()) continue;
        return std::pair(static_cast<int>(i), static_cast<int>(again - labels.begin()));
    }
    return std::nullopt;
}

// Merges axes of equal label into the last: of the n^2 elements of two, every (n + 1)-th.
void read_diagonals(Labelled& operand) {
    while (const auto pair = repeated(operand.labels)) {
        std::vector<int> order;
        Shape shape;
        Labels labels;
        for (int axis = 0; axis < operand.x.rank(); ++axis) {
            if (axis == pair->first || axis == pair->second) continue;
            order.push_back(axis);
            shape.push_back(operand.x.size(axis));
            labels.push_back(operand.labels[static_cast<std::size_t>(axis)]);
        }
        order.insert(order.end(), {pair->first, pair->second});
        labels.push_back(operand.labels[static_cast<std::size_t>(pair->first)]);
        const std::int64_t n = operand.x.size(pair->first);
        shape.push_back(n * n);
        const Tensor flat = reshape(permute(operand.x, order), shape);
        operand = {slice(flat, -1, 0, n * n, n + 1), std::move(labels)};
    }
}

// Drops axes of size 1 whose label is larger elsewhere.
void drop_broadcast(Labelled& operand, const std::array<std::int64_t, 64>& sizes) {
    for (int axis = operand.x.rank() - 1; axis >= 0; --axis) {
        const auto place = operand.labels.begin() + axis;
        if (operand.x.size(axis) == sizes[static_cast<std::size_t>(*place)]) continue;
        operand.x = squeeze(operand.x, axis);
        operand.labels.erase(place);
    }
}

// Sums the labels that are not in `keep`.
void sum_others(Labelled& operand, LabelSet keep) {
    std::vector<int> axes;
    Labels left;
    for (std::size_t i = 0; i < operand.labels.size(); ++i) {
        if ((keep & set_of(operand.labels[i])) != 0) {
            left.push_back(operand.labels[i]);
        } else {
            axes.push_back(static_cast<int>(i));
        }
    }
    if (!axes.empty()) operand = {sum(operand.x, axes), left};
}

// Labels of the output and of all operands except number `without`.
LabelSet asked_for(const std::vector<Labelled>& operands, std::size_t without,
                   const Labels& output) {
    LabelSet asked = set_of(output);
    for (std::size_t i = 0; i < operands.size(); ++i) {
        if (i != without) asked |= set_of(operands[i].labels);
    }
    return asked;
}

void simplify(Contraction& contraction) {
    for (Labelled& operand : contraction.operands) {
        read_diagonals(operand);
        drop_broadcast(operand, contraction.sizes);
    }
    for (std::size_t i = 0; i < contraction.operands.size(); ++i) {
        sum_others(contraction.operands[i], asked_for(contraction.operands, i, contraction.output));
    }
}

// ---- contraction --------------------------------------------------------------------------------

bool has(const Labels& labels, int label) {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// Contracted operands stay in the list without labels; results are appended.
Labelled contract_all(Contraction& contraction) {
    std::vector<Labelled>& all = contraction.operands;
    std::vector<LabelSet> sets;
    for (const Labelled& operand : all) sets.push_back(set_of(operand.labels));
    LabelSizes sizes{};
    std::copy(contraction.sizes.begin(), contraction.sizes.end(), sizes.begin());
    for (const auto& pair : contraction_order(sets, set_of(contraction.output), sizes)) {
        Labelled a = std::exchange(all[pair.first], {});
        Labelled b = std::exchange(all[pair.second], {});
        const LabelSet keep = asked_for(all, all.size(), contraction.output);
        // b's axes come last in the result, so the output's last axis should be among them.
        const bool last_in_a =
            !contraction.output.empty() && has(a.labels, contraction.output.back());
        if (last_in_a && !has(b.labels, contraction.output.back())) std::swap(a, b);
        all.push_back(contract("einsum", a, b, keep));
    }
    return all.back();
}

}  // namespace

Tensor einsum(std::string_view equation, const Tensors& operands) {
    Contraction contraction = labelled(equation, operands);
    simplify(contraction);
    return ordered(contract_all(contraction), contraction.output).x;
}

}  // namespace tapestry
