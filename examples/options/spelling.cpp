#include <tapestry/examples/options/spelling.h>

#include <algorithm>
#include <vector>

namespace tapestry::cli {

std::size_t mistakes_between(const std::string& a, const std::string& b) {
    std::vector<std::vector<std::size_t>> least(a.size() + 1,
                                                std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                least[i][j] = i + j;
                continue;
            }
            const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
            least[i][j] =
                std::min({least[i - 1][j] + 1, least[i][j - 1] + 1, least[i - 1][j - 1] + change});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                least[i][j] = std::min(least[i][j], least[i - 2][j - 2] + 1);
            }
        }
    }
    return least[a.size()][b.size()];
}

std::string plain_mismatch(const std::string& message) {
    const std::string option = message.substr(0, message.find(": "));
    if (message.find(": At Most 1 ") != message.npos) return option + " is given more than once";
    return message.ends_with(" missing") ? option + " needs a value" : message;
}

std::string plain_number(std::string text) {
    const auto is_digit = [&text](std::size_t at) {
        return at < text.size() && text[at] >= '0' && text[at] <= '9';
    };
    const std::size_t first = text.starts_with('-') ? 1 : 0;
    while (is_digit(first) && text[first] == '0' && is_digit(first + 1)) text.erase(first, 1);
    return text;
}

}  // namespace tapestry::cli
