#include <tapestry/nn/data/token_file.h>

#include <tapestry/core/file.h>
#include <tapestry/core/text/shown.h>
#include <tapestry/core/text/utf8.h>

#include <algorithm>
#include <charconv>
#include <span>

namespace tapestry {
namespace {

constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";

}  // namespace

std::vector<std::int64_t> read_token_file(const std::string& path, std::int64_t vocab) {
    const std::string text = read_file(path);
    const std::string file = shown(path);
    std::vector<std::int64_t> ids;
    for (std::string_view rest = text;;) {
        rest.remove_prefix(std::min(rest.find_first_not_of(kWhiteSpace), rest.size()));
        if (rest.empty()) break;
        const std::string_view word = rest.substr(0, rest.find_first_of(kWhiteSpace));
        rest.remove_prefix(word.size());
        std::int64_t id = 0;
        const char* end = word.data() + word.size();
        const auto [stop, error] = std::from_chars(word.data(), end, id);
        require<IoError>(error != std::errc::invalid_argument && stop == end,
                         "{}: {} at position {} is no token id", file, utf8::quoted(word, 40),
                         ids.size());
        require<IoError>(error == std::errc{} && id >= 0 && id < vocab,
                         "{}: token {} at position {} is outside the vocabulary of {}", file,
                         word.substr(0, 40), ids.size(), vocab);
        ids.push_back(id);
    }
    require<IoError>(ids.size() >= 2, "{}: {} tokens; at least 2 are needed", file, ids.size());
    return ids;
}

}  // namespace tapestry
