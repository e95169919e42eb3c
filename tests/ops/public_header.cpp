#include <tapestry/tests/ops/public_header.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <stdexcept>

namespace tapestry::test {
namespace {

bool is_in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// "x" of "// x" or "/// x".
std::string without_slashes(const std::string& line) {
    const std::size_t begin = line.find_first_not_of('/');
    if (begin == std::string::npos) return {};
    return line.substr(line[begin] == ' ' ? begin + 1 : begin);
}

bool is_type(const std::string& code) {
    return code.starts_with("struct ") || code.starts_with("class ") || code.starts_with("enum ");
}

/// The end of a function's declaration: a semicolon or a brace outside all parentheses.
std::size_t end_of_declaration(const std::string& code) {
    int open = 0;
    for (std::size_t i = 0; i < code.size(); ++i) {
        if (code[i] == '(') ++open;
        if (code[i] == ')') --open;
        if (open == 0 && (code[i] == ';' || code[i] == '{')) return i;
    }
    return std::string::npos;
}

/// One past the parenthesis that closes the first one.
std::size_t end_of_condition(const std::string& code) {
    int open = 0;
    for (std::size_t i = code.find('('); i < code.size(); ++i) {
        if (code[i] == '(') ++open;
        if (code[i] == ')' && --open == 0) return i + 1;
    }
    return code.size();
}

/// "exp" for "Tensor exp(const Tensor& x)", "operator+" for "Tensor operator+(...)", "Gelu" for
/// "enum class Gelu { tanh, erf };".
std::string declared_name(const std::string& code) {
    if (is_type(code)) {
        const std::size_t end = code.find_first_of(":{;");
        const std::size_t last = code.find_last_not_of(' ', end - 1);
        return code.substr(code.rfind(' ', last) + 1, last - code.rfind(' ', last));
    }
    if (const std::size_t at = code.find("operator"); at != std::string::npos) {
        return code.substr(at, code.find('(', at) - at);
    }
    std::size_t end = code.find_first_of("(;=");
    while (end > 0 && code[end - 1] == ' ') --end;
    std::size_t begin = end;
    while (begin > 0 && is_in_name(code[begin - 1])) --begin;
    return code.substr(begin, end - begin);
}

class Reader {
public:
    Reader(std::string path, Lines lines) : lines_(std::move(lines)) {
        header_.path = std::move(path);
    }

    PublicHeader read() {
        for (; !at_end() && line().starts_with("//"); ++at_) {
            header_.opening.push_back(without_slashes(line()));
        }
        while (!at_end()) step();
        return std::move(header_);
    }

private:
    bool at_end() const { return at_ == lines_.size(); }
    const std::string& line() const {
        if (at_end()) throw std::runtime_error(header_.path + ": a declaration does not end");
        return lines_[at_];
    }

    void step() {
        if (line().empty()) {
            docstring_.clear();
            together_ = false;
            ++at_;
        } else if (line().starts_with("///")) {
            docstring_.push_back(without_slashes(line()));
            together_ = false;
            ++at_;
        } else if (line().starts_with("//")) {
            Entry remark;
            for (; line().starts_with("//"); ++at_) remark.text.push_back(without_slashes(line()));
            header_.entries.push_back(remark);
        } else if (line().starts_with("namespace detail")) {
            while (!line().starts_with("}  // namespace detail")) ++at_;
            ++at_;
        } else if (line().starts_with('#') || line().starts_with("namespace ") ||
                   line().starts_with("using ") || line().starts_with('}')) {
            ++at_;
        } else {
            declaration();
        }
    }

    void declaration() {
        std::string code;
        for (; line().starts_with("template "); ++at_) code += line() + "\n";
        const bool type = is_type(line());
        std::string end = type ? type_here() : function_here();
        if (end.starts_with("requires(")) {  // a condition is part of the template
            const std::size_t last = end_of_condition(end);
            code += end.substr(0, last) + "\n";
            end.erase(0, last + 1);
        }
        const std::string name = declared_name(end);
        const bool forward = type && end.find('{') == std::string::npos;
        const bool shown = !forward && code != "template <>\n";  // for example fmt's formatters
        if (shown && !end.starts_with("[[deprecated")) {
            if (!together_) header_.entries.push_back({{}, docstring_});
            header_.entries.back().declarations.push_back({name, code + end});
            together_ = true;
        }
        docstring_.clear();
    }

    /// A type without its private members.
    std::string type_here() {
        std::string code;
        bool shown = true;
        while (!line().ends_with(";") || line().starts_with(' ')) {
            shown = shown && line() != "private:";
            if (shown) code += line() + "\n";
            ++at_;
        }
        while (code.ends_with("\n\n")) code.pop_back();
        return code + lines_[at_++];
    }

    /// A function declaration without its body.
    std::string function_here() {
        std::string all;
        std::size_t end = std::string::npos;
        for (; (end = end_of_declaration(all)) == std::string::npos; ++at_) {
            all += (all.empty() ? "" : "\n") + line();
        }
        const bool has_body = all[end] == '{';
        if (has_body && !lines_[at_ - 1].ends_with('}')) {
            while (line() != "}") ++at_;
            ++at_;
        }
        while (end > 0 && all[end - 1] == ' ') --end;
        const std::size_t begin = all.starts_with("inline ") ? 7 : 0;
        return all.substr(begin, end - begin) + ";";
    }

    Lines lines_;
    PublicHeader header_;
    std::size_t at_ = 0;
    Lines docstring_;
    bool together_ = false;  // no empty line since the last declaration
};

}  // namespace

Lines Entry::names() const {
    Lines names;
    for (const Declaration& one : declarations) {
        if (std::count(names.begin(), names.end(), one.name) == 0) names.push_back(one.name);
    }
    return names;
}

Lines lines_of(const std::filesystem::path& file) {
    Lines lines;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

PublicHeader read_public_header(const std::filesystem::path& root, const std::string& path) {
    return Reader(path, lines_of(root / path)).read();
}

Lines public_op_headers(const std::filesystem::path& root) {
    Lines paths;
    for (const auto& file : std::filesystem::directory_iterator(root / "ops")) {
        if (file.path().extension() != ".h") continue;
        std::string opening;
        for (const std::string& line : lines_of(file.path())) {
            if (!line.starts_with("//")) break;
            opening += without_slashes(line) + " ";
        }
        if (opening.find("Internal to ") == std::string::npos) {
            paths.push_back("ops/" + file.path().filename().string());
        }
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

}  // namespace tapestry::test
