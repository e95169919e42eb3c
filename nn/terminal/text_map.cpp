#include <tapestry/nn/terminal/text_map.h>

#include <tapestry/core/create.h>
#include <tapestry/core/text/unicode.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/terminal/text_label.h>

#include <algorithm>
#include <cmath>

namespace tapestry {
namespace {

using namespace terminal;

constexpr int kCell = 2;          // columns: about as wide as a row is high
constexpr int kLabel = 16;        // maximum columns of a query's label
constexpr std::size_t kHigh = 8;  // maximum rows of a key's label

using Lines = std::vector<std::string>;

// Weights [rows, columns] in f32.
struct Map {
    std::size_t rows = 0, columns = 0;
    std::vector<float> weights;

    float at(std::size_t row, std::size_t column) const { return weights[row * columns + column]; }
};

class Shades {
public:
    explicit Shades(const std::string& shades) : shades_(utf8::decode("text_map: shades", shades)) {
        const bool good = shades_.size() >= 2 &&
                          std::all_of(shades_.begin(), shades_.end(),
                                      [](char32_t c) { return unicode::width_of(c) == 1; });
        require(good, "text_map: shades {} are not two or more characters, one column wide each",
                utf8::quoted(shades));
    }
    std::size_t count() const { return shades_.size(); }
    std::string at(std::size_t i) const { return utf8::encode(shades_[i]); }

    /// The smallest weight drawn with shade i.
    double from(std::size_t i) const {
        const double root = static_cast<double>(i) / static_cast<double>(count());
        return root * root;
    }
    /// The cell for this weight.
    std::string cell(float weight) const {
        if (std::isnan(weight)) return std::string(kCell, '?');
        std::size_t i = count() - 1;
        while (i > 0 && weight < static_cast<float>(from(i))) --i;
        return at(i) + at(i);
    }

private:
    std::u32string shades_;
};

std::size_t size_of(std::int64_t n) { return static_cast<std::size_t>(n); }

void check_width(const TextMapOptions& options) {
    require(options.width >= 20, "text_map: the width must be at least 20 columns, got {}",
            options.width);
}

std::vector<std::string> tokens_or_numbers(const char* what, const std::vector<std::string>& tokens,
                                           std::size_t count) {
    require<ShapeError>(tokens.empty() || tokens.size() == count, "text_map: {} tokens for {} {}",
                        tokens.size(), count, what);
    if (!tokens.empty()) return tokens;
    std::vector<std::string> numbers;
    for (std::size_t i = 0; i < count; ++i) numbers.push_back(std::to_string(i));
    return numbers;
}

// A key's token as the cells above its column, top to bottom; cells are at most kCell wide.
std::vector<std::string> stacked(const std::string& token) {
    std::vector<std::string> cells;
    for (const std::string& character : shown_characters(token)) {
        if (cells.empty() && character == " ") continue;  // an invisible leading space
        if (columns_of(character) <= kCell) {
            cells.push_back(character);
        } else {  // an escape sequence in ASCII
            for (const char c : character) cells.emplace_back(1, c);
        }
    }
    if (cells.size() > kHigh) {
        cells.resize(kHigh - 1);
        cells.emplace_back("..");
    }
    return cells;
}

// The keys first .. last - 1 above their columns, aligned at the bottom.
std::string header(const std::vector<std::string>& keys, std::size_t first, std::size_t last,
                   int indent) {
    std::vector<std::vector<std::string>> stacks;
    std::size_t height = 0;
    for (std::size_t key = first; key < last; ++key) {
        stacks.push_back(stacked(keys[key]));
        height = std::max(height, stacks.back().size());
    }
    std::string text;
    for (std::size_t row = 0; row < height; ++row) {
        std::string line(static_cast<std::size_t>(indent), ' ');
        for (const auto& stack : stacks) {
            const std::size_t above = height - stack.size();
            line += padded(row < above ? "" : stack[row - above], kCell);
        }
        text += line_of(line);
    }
    return text;
}

// Keys first .. last - 1 of a row.
std::string row_of(const Map& map, std::size_t row, std::size_t first, std::size_t last,
                   const Shades& shades) {
    std::string line = "|";
    for (std::size_t key = first; key < last; ++key) line += shades.cell(map.at(row, key));
    return line + "|";
}

std::string draw(const Map& map, const std::vector<std::string>& query_tokens,
                 const std::vector<std::string>& key_tokens, const TextMapOptions& options) {
    check_width(options);
    const Shades shades(options.shades);
    const auto keys = tokens_or_numbers("keys", key_tokens, map.columns);
    std::vector<std::string> labels = tokens_or_numbers("queries", query_tokens, map.rows);
    int widest = 0;
    for (std::string& label : labels) {
        label = label_of(label, std::min(kLabel, options.width / 2));
        widest = std::max(widest, columns_of(label));
    }
    const auto piece = static_cast<std::size_t>((options.width - widest - 3) / kCell);
    std::string text;
    for (std::size_t first = 0; first < map.columns; first += piece) {
        const std::size_t last = std::min(first + piece, map.columns);
        if (first > 0) text += '\n';
        text += header(keys, first, last, widest + 2);
        for (std::size_t row = 0; row < map.rows; ++row) {
            text += fmt::format("{} {}\n", padded(labels[row], widest, true),
                                row_of(map, row, first, last, shades));
        }
    }
    return text;
}

Map head_of(const AttentionTrace& a, std::int64_t head) {
    require<IndexError>(head >= 0 && head < a.heads, "text_map: head {}; {} has {}, 0 to {}", head,
                        a.module.empty() ? "the attention" : a.module, a.heads, a.heads - 1);
    const auto size = a.queries * a.keys;
    const auto from = a.weights.begin() + head * size;
    return {size_of(a.queries), size_of(a.keys), {from, from + size}};
}

// The largest weight of every patch, with at most `cells` patches per row and column.
Map shrunk(const Map& map, std::size_t cells) {
    Map small{std::min(map.rows, cells), std::min(map.columns, cells), {}};
    small.weights.assign(small.rows * small.columns, 0);
    for (std::size_t row = 0; row < map.rows; ++row) {
        for (std::size_t column = 0; column < map.columns; ++column) {
            float& patch = small.weights[row * small.rows / map.rows * small.columns +
                                         column * small.columns / map.columns];
            const float weight = map.at(row, column);
            if (std::isnan(weight) || weight > patch) patch = weight;
        }
    }
    return small;
}

// Places blocks of equal height side by side, as many as fit.
std::string side_by_side(const std::vector<Lines>& blocks, int width) {
    constexpr int kGap = 2;
    int widest = 0;
    for (const Lines& block : blocks) {
        for (const std::string& line : block) widest = std::max(widest, columns_of(line));
    }
    const auto count = static_cast<std::size_t>(std::max(1, (width + kGap) / (widest + kGap)));
    std::string text;
    for (std::size_t first = 0; first < blocks.size(); first += count) {
        const std::size_t last = std::min(first + count, blocks.size());
        if (first > 0) text += '\n';
        for (std::size_t row = 0; row < blocks[first].size(); ++row) {
            std::string line;
            for (std::size_t i = first; i < last; ++i) {
                line += padded(blocks[i][row], widest + kGap);
            }
            text += line_of(line);
        }
    }
    return text;
}

}  // namespace

std::string text_map(const Tensor& weights, const std::vector<std::string>& queries,
                     const std::vector<std::string>& keys, const TextMapOptions& options) {
    require<ShapeError>(weights.defined() && weights.rank() == 2,
                        "text_map: needs weights [T, S], got {}", weights.shape());
    return draw({size_of(weights.size(0)), size_of(weights.size(1)), weights.to_vector<float>()},
                queries, keys, options);
}

std::string text_map(const AttentionTrace& attention, std::int64_t head,
                     const std::vector<std::string>& queries, const std::vector<std::string>& keys,
                     const TextMapOptions& options) {
    return draw(head_of(attention, head), queries, keys, options);
}

std::string text_heads(const AttentionTrace& attention, const TextMapOptions& options) {
    check_width(options);
    require(options.cells >= 1, "text_map: maps of {} cells", options.cells);
    const Shades shades(options.shades);
    std::vector<Lines> blocks;
    for (std::int64_t head = 0; head < attention.heads; ++head) {
        const Map map = shrunk(head_of(attention, head), static_cast<std::size_t>(options.cells));
        blocks.push_back({fmt::format("{}: {:.2f} nats", head, attention.entropy[size_of(head)])});
        for (std::size_t row = 0; row < map.rows; ++row) {
            blocks.back().push_back(row_of(map, row, 0, map.columns, shades));
        }
    }
    return side_by_side(blocks, options.width);
}

std::string shades_legend(const TextMapOptions& options) {
    const Shades shades(options.shades);
    std::string text;
    for (std::size_t i = 1; i < shades.count(); ++i) {
        text += fmt::format("{}{} {:.2f}", i > 1 ? "  " : "", shades.at(i), shades.from(i));
    }
    return text;
}

}  // namespace tapestry
