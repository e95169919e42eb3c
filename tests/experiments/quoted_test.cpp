// Read quoted.h first.
#include <tapestry/core/error.h>
#include <tapestry/tests/experiments/quoted.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <sstream>

namespace tapestry::experiments {
namespace {

std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream in(line);
    for (std::string cell; std::getline(in, cell, '|');) {
        const auto first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
        cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
    }
    return cells;
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Is this part of the same number: a digit, or a point followed by a digit?
bool goes_on(const std::string& text, std::size_t at, std::ptrdiff_t step) {
    const auto there = [&](std::ptrdiff_t far) {
        const std::ptrdiff_t i = static_cast<std::ptrdiff_t>(at) + far;
        return i >= 0 && i < std::ssize(text) ? text[static_cast<std::size_t>(i)] : ' ';
    };
    return is_digit(there(0)) || (there(0) == '.' && is_digit(there(step)));
}

}  // namespace

std::vector<Quoted> read_quoted(const std::string& text) {
    std::vector<Quoted> all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line.front() == '#') continue;
        const std::vector<std::string> c = cells_of(line);
        require<ValueError>(c.size() == 6, "quoted.txt: six cells are wanted: {}", line);
        all.push_back({line, c[0], c[1], c[2], c[3], c[4], c[5]});
    }
    return all;
}

bool contains_figure(const std::string& text, const std::string& figure) {
    for (std::size_t at = 0; (at = text.find(figure, at)) != std::string::npos; ++at) {
        const bool begins = at == 0 || !goes_on(text, at - 1, -1);
        if (begins && !goes_on(text, at + figure.size(), 1)) return true;
    }
    return false;
}

double quoted_value(const Results& results, const Quoted& q) {
    const auto found = std::find_if(results.found.begin(), results.found.end(),
                                    [&](const Found& f) { return f.name == q.experiment; });
    require<ValueError>(found != results.found.end(), "no results of experiment {}", q.experiment);
    if (q.table == "claims") return found->report.decided.at(q.row).mean;
    return found->report.tables.at(std::stoul(q.table) - 1).number(q.row, q.column);
}

bool rounds_to(double value, const std::string& figure) {
    const double scale = figure.find('%') == std::string::npos ? 1 : 100;
    const std::size_t point = figure.find('.');
    int decimals = 0;
    if (point != std::string::npos) {
        while (point + 1 + static_cast<std::size_t>(decimals) < figure.size() &&
               is_digit(figure[point + 1 + static_cast<std::size_t>(decimals)])) {
            ++decimals;
        }
    }
    const double shown = std::strtod(figure.c_str(), nullptr);
    return std::abs(scale * value - shown) <= 0.5000001 * std::pow(10.0, -decimals);
}

}  // namespace tapestry::experiments

using namespace tapestry::experiments;

TEST_CASE("quoted figures: a figure is found as a separate number, and rounds") {
    CHECK(contains_figure("it is 0.41, or", "0.41"));
    CHECK(contains_figure("0.41.", "0.41"));
    CHECK_FALSE(contains_figure("it is 0.412", "0.41"));
    CHECK_FALSE(contains_figure("it is 10.41", "0.41"));
    CHECK_FALSE(contains_figure("it is 5.2", "5"));
    CHECK(contains_figure("对 20.1 %。", "20.1 %"));
    CHECK(rounds_to(0.2009, "20.1 %"));
    CHECK_FALSE(rounds_to(0.2004, "20.1 %"));
    CHECK(rounds_to(-0.514, "-0.51"));
    CHECK(rounds_to(16.4, "16"));
    CHECK_FALSE(rounds_to(16.6, "16"));
    CHECK_THROWS_AS(read_quoted("a | b | c\n"), tapestry::ValueError);
    CHECK(read_quoted("# a\n\na | b | 1 | r | c | 5 %\n").at(0).figure == "5 %");
}
