#include <tapestry/tests/mutations/judge.h>
#include <tapestry/tests/mutations/serve.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <sstream>
#include <string>

namespace tapestry::test {
namespace {

using Values = std::vector<double>;

std::string text_of(const Values& values) {
    std::string text;
    for (const double value : values) text += fmt::format("{}{:a}", text.empty() ? "" : " ", value);
    return text;
}

Values numbers_in(const std::string& text) {
    Values numbers;
    const char* at = text.c_str();
    for (;;) {
        char* end = nullptr;
        const double number = std::strtod(at, &end);
        if (end == at) return numbers;
        numbers.push_back(number);
        at = end;
    }
}

class Server {
public:
    explicit Server(std::uint64_t seed) : seed_(seed) {}

    std::string answer(const std::string& line) {
        const std::size_t space = line.find(' ');
        const std::string what = line.substr(0, space);
        const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
        if (what == "right" || what == "wrong") return opened(what == "wrong", std::stoull(rest));
        Values x = numbers_in(rest);
        const std::size_t n = one_.plain.x.size(), expected = n + (what == "g" ? outputs_ : 0);
        require((what == "f" || what == "g") && x.size() == expected,
                "{} with {} numbers; a case of {} and {} is open", what, x.size(), n, outputs_);
        if (what == "f") return text_of(one_.plain.f(x));
        const Values g(x.begin() + static_cast<std::ptrdiff_t>(n), x.end());
        x.resize(n);
        return text_of(one_.plain.pullback(x, g));
    }

private:
    std::string opened(bool wrong, std::uint64_t number) {
        one_ = wrong ? wrong_case(number, seed_) : right_case(number, seed_);
        outputs_ = one_.plain.f(one_.plain.x).size();
        std::string ours = "exception";
        if (const auto report = checked(one_, number)) ours = to_string(report->verdict);
        return nlohmann::json{{"title", one_.title},
                              {"of", std::string(one_.of)},
                              {"x", text_of(one_.plain.x)},
                              {"outputs", outputs_},
                              {"ours", ours}}
            .dump();
    }

    std::uint64_t seed_;
    CorpusCase one_ = {};
    std::size_t outputs_ = 0;
};

}  // namespace

void serve(std::istream& in, std::ostream& out, std::uint64_t seed) {
    Server server(seed);
    for (std::string line; std::getline(in, line);) {
        try {
            out << server.answer(line) << std::endl;
        } catch (const std::exception& error) {
            out << "error: " << error.what() << std::endl;
        }
    }
}

}  // namespace tapestry::test
