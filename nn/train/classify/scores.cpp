#include <tapestry/nn/train/classify/scores.h>

#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace tapestry {
namespace {

std::int64_t row_sum(const ClassificationScores& scores, std::size_t right) {
    const auto& row = scores.confusion[right];
    return std::accumulate(row.begin(), row.end(), std::int64_t{0});
}

std::int64_t column_sum(const ClassificationScores& scores, std::size_t predicted) {
    std::int64_t sum = 0;
    for (const auto& row : scores.confusion) sum += row[predicted];
    return sum;
}

// Right label by row, predicted by column.
std::string confusion_text(const ClassificationScores& scores) {
    std::vector<std::vector<std::string>> rows{{"right \\ predicted"}};
    for (const std::string& label : scores.labels) rows[0].push_back(utf8::printable(label));
    for (std::size_t r = 0; r < scores.labels.size(); ++r) {
        auto& row = rows.emplace_back(std::vector{utf8::printable(scores.labels[r])});
        for (const std::int64_t n : scores.confusion[r]) row.push_back(fmt::format("{}", n));
        row.push_back(fmt::format("F1 {:.4f}", scores.f1(r)));
    }
    rows[0].emplace_back();
    std::string text;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            std::size_t width = 0;
            for (const auto& each : rows) width = std::max(width, each[i].size());
            text += i == 0 ? fmt::format("{:<{}}", row[i], width)
                           : fmt::format("  {:>{}}", row[i], width);
        }
        text.erase(text.find_last_not_of(' ') + 1);
        text += '\n';
    }
    return text;
}

}  // namespace

ClassificationScores::ClassificationScores(std::vector<std::string> names)
    : labels(std::move(names)),
      confusion(labels.size(), std::vector<std::int64_t>(labels.size(), 0)) {}

std::int64_t ClassificationScores::count() const {
    std::int64_t sum = 0;
    for (std::size_t r = 0; r < labels.size(); ++r) sum += row_sum(*this, r);
    return sum;
}

double ClassificationScores::accuracy() const {
    std::int64_t right = 0;
    for (std::size_t r = 0; r < labels.size(); ++r) right += confusion[r][r];
    return static_cast<double>(right) / static_cast<double>(count());
}

double ClassificationScores::f1(std::size_t label) const {
    const std::int64_t both = row_sum(*this, label) + column_sum(*this, label);
    if (both == 0) return 0;
    return 2 * static_cast<double>(confusion[label][label]) / static_cast<double>(both);
}

double ClassificationScores::macro_f1() const {
    double sum = 0;
    std::int64_t found = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (row_sum(*this, i) + column_sum(*this, i) == 0) continue;
        sum += f1(i);
        ++found;
    }
    return sum / static_cast<double>(found);
}

std::string to_text(const ClassificationScores& scores, const std::string& of) {
    constexpr std::size_t kMost = 20;
    return fmt::format("accuracy {:.4f}, macro F1 {:.4f}, loss {:.4f} over {} of {}\n",
                       scores.accuracy(), scores.macro_f1(), scores.loss,
                       pluralize(scores.count(), "text"), utf8::printable(of)) +
           (scores.labels.size() > kMost ? "" : confusion_text(scores));
}

std::string to_json(const ClassificationScores& scores) {
    JsonWriter json;
    json.object([&] {
        json.member("texts", scores.count());
        json.member("accuracy", scores.accuracy());
        json.member("macro_f1", scores.macro_f1());
        json.member("loss", scores.loss);
        json.member("labels", scores.labels);
        std::vector<double> f1;
        for (std::size_t i = 0; i < scores.labels.size(); ++i) f1.push_back(scores.f1(i));
        json.member("f1", f1);
        json.list("confusion", scores.confusion,
                  [&](const std::vector<std::int64_t>& row) { json.value(std::span(row)); });
    });
    return json.text();
}

}  // namespace tapestry
