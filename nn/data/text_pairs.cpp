#include <tapestry/nn/data/text_pairs.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/error.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/delimited.h>
#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/data/text.h>

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace tapestry {
namespace {

using Fields = std::vector<std::string_view>;

struct PairColumns {
    std::size_t source = 0, target = 1, count = 2;
};

// The columns that a first line names, if it does.
std::optional<PairColumns> columns_named(const Fields& first) {
    const PairColumns columns{place_of_column(first, "source"), place_of_column(first, "target"),
                              first.size()};
    if (columns.source == first.size() || columns.target == first.size()) return std::nullopt;
    return columns;
}

TextPair pair_from_json(std::string_view line, const PlaceInFile& place) {
    try {
        const JsonTree tree(line);
        return {.source = std::string(without_blanks(tree.root().get<std::string>("source"))),
                .target = std::string(without_blanks(tree.root().get<std::string>("target"))),
                .line = place.line};
    } catch (const JsonError& error) {
        place.wrong(R"({}; expected an object with the texts "source" and "target")", error.what());
    }
}

TextPair pair_from_fields(const Fields& fields, const PairColumns& columns,
                          const PlaceInFile& place) {
    if (fields.size() == 1) {
        place.wrong(
            "has no tab between source and target; a line is SOURCE<tab>TARGET (or name "
            "the file .jsonl)");
    }
    if (fields.size() != columns.count) {
        place.wrong(
            "has {}, expected {}: a source and a target, or the columns of a first line "
            "with the names source and target",
            pluralize(std::ssize(fields), "field"), columns.count);
    }
    return {.source = std::string(fields[columns.source]),
            .target = std::string(fields[columns.target]),
            .line = place.line};
}

std::string hash_of_pairs(const std::vector<TextPair>& pairs) {
    Checksum sum;
    for (const TextPair& pair : pairs) {
        sum.add(pair.source);
        sum.add(std::string_view("\t", 1));
        sum.add(pair.target);
        sum.add(std::string_view("\n", 1));
    }
    return sum.hex();
}

}  // namespace

TextPairs read_text_pairs(const std::filesystem::path& file) {
    const std::string whole = read_text(file);
    const bool is_json = is_json_lines(file);
    DelimitedText from(utf8::printable(file.string()), whole);
    const PlaceInFile& place = from.place();
    TextPairs all{.file = place.name, .pairs = {}, .hash = {}};
    std::optional<PairColumns> columns;
    while (!from.is_done()) {
        const std::string_view line = from.next_line();
        if (without_blanks(line).empty()) continue;
        if (is_json) {
            all.pairs.push_back(pair_from_json(line, place));
        } else {
            const Fields fields = tab_fields(line);
            if (!columns) {
                const auto named = columns_named(fields);
                columns = named.value_or(PairColumns());
                if (named) continue;
            }
            all.pairs.push_back(pair_from_fields(fields, *columns, place));
        }
        const TextPair& pair = all.pairs.back();
        if (pair.source.empty()) place.wrong("the source is empty");
        if (pair.target.empty()) place.wrong("the target is empty");
    }
    require<IoError>(!all.pairs.empty(), "{}: no pairs", place.name);
    all.hash = hash_of_pairs(all.pairs);
    return all;
}

bool names_source_and_target(const std::filesystem::path& file) {
    return begins_with_names(file, {"source", "target"});
}

}  // namespace tapestry
