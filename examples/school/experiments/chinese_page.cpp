// Words from chinese.txt, and the page that they make. Implements chinese_page.h.
#include <tapestry/examples/school/experiments/chinese_page.h>

#include <tapestry/core/error.h>
#include <tapestry/examples/school/experiments/registry.h>
#include <tapestry/examples/school/experiments/render.h>

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <sstream>
#include <utility>
#include <vector>

namespace tapestry::experiments {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_small(char c) { return c >= 'a' && c <= 'z'; }

// The end of the number that begins at `from`: digits, groups after "," or ".", an exponent.
std::size_t end_of_number(const std::string& text, std::size_t from) {
    const auto digit_at = [&](std::size_t i) { return i < text.size() && is_digit(text[i]); };
    std::size_t end = from;
    while (digit_at(end)) ++end;
    while (end < text.size() && (text[end] == ',' || text[end] == '.') && digit_at(end + 1)) {
        while (digit_at(++end)) {
        }
    }
    if (end < text.size() && text[end] == 'e') {
        std::size_t exponent = end + 1;
        if (exponent < text.size() && (text[exponent] == '-' || text[exponent] == '+')) ++exponent;
        if (digit_at(exponent)) {
            end = exponent;
            while (digit_at(end)) ++end;
        }
    }
    return end;
}

/// A text with "#" for each number.
struct Masked {
    std::string text;
    std::vector<std::string> numbers;
};

Masked masked(const std::string& text) {
    Masked result;
    for (std::size_t i = 0; i < text.size();) {
        if (!is_digit(text[i])) {
            result.text += text[i++];
            continue;
        }
        const std::size_t end = end_of_number(text, i);
        result.text += '#';
        result.numbers.push_back(text.substr(i, end - i));
        i = end;
    }
    return result;
}

std::string filled_in(const std::string& text, const std::vector<std::string>& numbers) {
    std::string result;
    std::size_t next = 0;
    for (const char c : text) {
        if (c == '#' && next < numbers.size()) {
            result += numbers[next++];
        } else {
            result += c;
        }
    }
    return result;
}

// "MB", "RNN" and "d_k = 64" are the same in both languages, "MB of the process" is not.
bool has_words(const std::string& text) {
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (is_small(text[i - 1]) && is_small(text[i])) return true;
    }
    return false;
}

std::vector<std::string> parts_of(const std::string& text) {
    std::vector<std::string> parts;
    std::size_t from = 0;
    for (std::size_t at = text.find(", "); at != std::string::npos; at = text.find(", ", from)) {
        parts.push_back(text.substr(from, at - from));
        from = at + 2;
    }
    parts.push_back(text.substr(from));
    return parts;
}

}  // namespace

Chinese::Chinese(std::string_view file) {
    std::istringstream lines{std::string(file)};
    std::string line, experiment;
    for (int number = 1; std::getline(lines, line); ++number) {
        if (line == "@end") {
            experiment.clear();
        } else if (!experiment.empty()) {
            theories_[experiment] += line + "\n";
        } else if (line.starts_with("@theory ")) {
            experiment = line.substr(8);
        } else if (!line.empty() && !line.starts_with("//")) {
            const std::size_t arrow = line.find(" => ");
            require<ValueError>(arrow != std::string::npos,
                                "chinese.txt: line {} has no ' => ' and is in no theory", number);
            const bool is_new =
                words_.emplace(line.substr(0, arrow), line.substr(arrow + 4)).second;
            require<ValueError>(is_new, "chinese.txt: line {}: '{}' occurs twice", number,
                                line.substr(0, arrow));
        }
    }
}

std::string Chinese::found(const std::string& english) const {
    if (const auto whole = words_.find(english); whole != words_.end()) return whole->second;
    const Masked mask = masked(english);
    if (const auto pattern = words_.find(mask.text); pattern != words_.end()) {
        return filled_in(pattern->second, mask.numbers);
    }
    return "";
}

std::string Chinese::of(const std::string& english) {
    if (!has_words(english)) return english;
    if (std::string whole = found(english); !whole.empty()) return whole;
    const std::size_t open = english.find('\''), close = english.rfind('\'');
    if (open != std::string::npos && close > open) {
        const std::string name = english.substr(open + 1, close - open - 1);
        std::string around = found(english.substr(0, open + 1) + "$" + english.substr(close));
        if (const std::size_t at = around.find('$'); at != std::string::npos) {
            return around.replace(at, 1, of(name));
        }
    }
    const std::vector<std::string> parts = parts_of(english);
    if (parts.size() == 1) {
        missing_.insert(english);
        return english;
    }
    std::string result;
    for (const std::string& part : parts) result += (result.empty() ? "" : "，") + of(part);
    return result;
}

std::string Chinese::theory(const std::string& experiment) const {
    const auto found = theories_.find(experiment);
    require<ValueError>(found != theories_.end(), "chinese.txt: no theory of {}", experiment);
    return found->second;
}

// ---- the page

namespace {

std::string text_of(const Design& design, Chinese& chinese) {
    if (design.source == Source::computed) return "计算得出：没有随机的东西。";
    std::string text = fmt::format("每个数值：{}。", chinese.of(design.unit));
    if (design.source == Source::clocked) return text + "取决于机器。";
    if (design.source == Source::drawn) return text + "不经训练。";
    constexpr const char* kEqual[] = {"与界限比较", "步数相同时比较", "时间相同时比较",
                                      "损失相同时比较", "步数不同，其余相同时比较"};
    text += fmt::format("{}，", kEqual[static_cast<int>(design.equal)]);
    const std::string rates =
        design.rates.empty() ? "各取自己最好的学习率" : chinese.of(design.rates);
    text += design.untuned.empty() ? rates + "，它在网格内部。"
                                   : fmt::format("学习率没有调：{}。", chinese.of(design.untuned));
    if (!design.score.empty()) text += "都到了满分就不作判定。";
    if (design.equal == Equal::time) text += "取决于机器。";
    return text + fmt::format("未训练时：{}。", chinese.of(design.control));
}

// Titles, heads and cells that are not numbers. A first column of names becomes code.
Table translated(Table table, Chinese& chinese, bool has_names = false) {
    table.title = chinese.of(table.title);
    for (std::string& column : table.columns) column = chinese.of(column);
    for (auto& row : table.rows) {
        if (has_names) row[0].text = fmt::format("`{}`", row[0].text);
        for (std::size_t i = has_names ? 1 : 0; i < row.size(); ++i) {
            if (std::isnan(row[i].value)) row[i].text = chinese.of(row[i].text);
        }
    }
    return table;
}

std::string section(const Experiment& experiment, const Found& found, const std::string& folder,
                    Chinese& chinese) {
    std::string text =
        fmt::format("## {}\n\n`tapestry experiment {}`\n\n{}\n", chinese.of(experiment.question),
                    experiment.name, chinese.theory(experiment.name));
    for (const Table& table : found.report.tables) {
        text += to_markdown(translated(table, chinese)) + "\n";
    }
    for (const Figure& figure : found.report.figures) {
        text += fmt::format("![{}]({}/{})\n\n", chinese.of(figure.caption), folder,
                            file_name(experiment, figure));
    }
    text += to_markdown(translated(claims_table(experiment, found.report), chinese)) + "\n";
    const auto in_chinese = [&](const Design& design) { return text_of(design, chinese); };
    for (const auto& [design, names] : designs_of(experiment, found.report, in_chinese)) {
        text += fmt::format("- `{}`：{}\n", names, design);
    }
    for (const auto& [name, why] : found.report.undecided) {
        text += fmt::format("- `{}` 没有判定：{}。\n", name, chinese.of(why));
    }
    if (!found.report.remark.empty()) {
        text += fmt::format("\n{}\n", chinese.of(found.report.remark));
    }
    return text;
}

}  // namespace

std::string to_chinese_page(const Results& results, const std::string& folder, Chinese& chinese) {
    std::string page = fmt::format(
        "# 实验\n\n"
        "对关于注意力与训练的说法作检验（[英文](experiments.md)，数字出自同一份 "
        "[experiments.json](experiments.json)）：问题、理论怎么说、测到了什么，\n"
        "以及对每条说法的判定。决定它的数，整个 95 % 区间都合乎规则，说法就*成立*；全都不合，就*不"
        "成立*；否则*未证实*。规则写在代码里，\n"
        "在运行之前写下，例外见 [claims.zh.md](claims.zh.md)。说法多了，有的会碰巧成立：“校正后”"
        "一列是用 Holm 的方法得出的判定，\n"
        "先在一个实验的说法之间，最后在全部说法之间；claims.zh.md 引用后者。*都相同*的数值没有"
        "离散程度可供判断：\n"
        "判定只说这些运行得出了什么（十个数值时符号检验给出 p = 0.002），校正不计入它们。"
        "“再现”是同样多的别的种子给出同一判定的概率，从这些数值估计。\n"
        "*未证实*的地方，“所需"
        "数值”是均值和离散程度不变时能够判定的\n"
        "数值个数。每个表下面是各条说法的设计：一个数值是什么，比较的模型有什么相同，学习率怎么选，"
        "未训练的模型得多少。学习率由别的种子的模型来选，没有另说的实验，选学习率和作判定用同一份留"
        "出文本。\n"
        "x ± y 是 {} 个种子的\n"
        "平均和学生 95 % 区间宽度的一半。英文页和 JSON 由下面的命令写出，种子数不同的实验另有各自的"
        "命令：\n\n"
        "    {}\n\n"
        "（版本 {}）。同样的种子、同样的指令集，数字相同；测得的时间会不同。图里的文字是英文。\n"
        "`tapestry experiment all --quick` "
        "只要一两分钟：训练得少，不调学习率，最后列出与这里不同的判定。\n\n",
        results.seeds, results.command, results.version);
    for (const Found& found : results.found) {
        page += section(find_experiment(found.name), found, folder, chinese) + "\n";
        const std::int64_t seeds = seeds_of(found);
        if (seeds == 0 || seeds == results.seeds) continue;
        page += fmt::format(
            "这个实验用了 {} 个种子：`TAPESTRY_ISA={} tapestry experiment {} --seed {} --seeds "
            "{}`。\n\n",
            seeds, results.isa, found.name, results.seed, seeds);
    }
    const ExpectedMoves expected = expected_moves(judged(results.found));
    return page + "## 全部说法\n\n" +
           to_markdown(translated(table_of_claims(results.found), chinese, true)) +
           fmt::format(
               "\n数值随种子而变的说法有 {} 条，各自单独判定；换同样多的种子，预计 {:.1f} "
               "条的判定会变。另有 {} 条，所有种子的值都相同，离散程度未知，无从预计。\n",
               expected.of, expected.moves, expected.same);
}

}  // namespace tapestry::experiments
