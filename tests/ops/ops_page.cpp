#include <fmt/format.h>
#include <tapestry/ops/catalog/op_case.h>
#include <tapestry/tests/ops/ops_page.h>

#include <tapestry/tests/ops/public_header.h>
#include <tapestry/tests/ops/range_rows.h>

#include <algorithm>

namespace tapestry::test {
namespace {

/// Escapes characters that Markdown would read as a tag, emphasis or list. Indented and backquoted
/// text is code, in Markdown as in the header.
std::string escaped(const std::string& line) {
    if (line.starts_with("    ")) return line;
    std::string text;
    bool in_code = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char next = i + 1 < line.size() ? line[i + 1] : ' ';
        if (line[i] == '`') in_code = !in_code;
        const bool tag = line[i] == '<' && next != ' ' && next != '=' && next != '-';
        const bool emphasis = line[i] == '*' && (i == 0 || next != ' ' || line[i - 1] != ' ');
        const bool item = i == 0 && next == ' ' && (line[i] == '-' || line[i] == '+');
        if (!in_code && (tag || emphasis || item)) text += '\\';
        text += line[i];
    }
    return text;
}

/// The lines without the ends of paragraphs from "Read next:" on, which are for readers of the
/// source.
Lines without_read_next(const Lines& lines) {
    Lines kept;
    bool skipping = false;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (lines[i].empty()) skipping = false;
        const std::string two = lines[i] + " " + (i + 1 < lines.size() ? lines[i + 1] : "");
        const std::size_t at = two.find("Read next:");
        if (at < lines[i].size()) {
            if (at > 1) kept.push_back(lines[i].substr(0, at - 1));
            skipping = true;
        }
        if (!skipping) kept.push_back(lines[i]);
    }
    return kept;
}

/// A header's line "---- by name ------" as a title in bold; of other lines an empty one.
std::string section_title(const std::string& line) {
    if (!line.starts_with("---- ")) return "";
    return "**" + line.substr(5, line.find_last_not_of("- ") - 4) + "**";
}

/// Markdown paragraphs: with empty lines before and after code, and after a section's title.
std::string paragraphs(const Lines& lines) {
    std::string text;
    bool in_code = false;
    for (const std::string& line : without_read_next(lines)) {
        if (const std::string title = section_title(line); !title.empty()) {
            text += title + "\n\n";
            continue;
        }
        const bool code = line.starts_with("    ");
        if (code != in_code && !line.empty() && !text.ends_with("\n\n")) text += "\n";
        text += escaped(line) + "\n";
        if (!line.empty()) in_code = code;
    }
    while (text.ends_with("\n\n")) text.pop_back();
    return text;
}

std::string joined(const Lines& names) { return fmt::format("{}", fmt::join(names, ", ")); }

/// A table cell.
std::string cell(const std::string& code) {
    std::string text = "`";
    for (const char c : code) text += c == '|' ? std::string("\\|") : std::string(1, c);
    return text + "`";
}

std::string hundred(const Phrasebook& phrasebook) {
    const auto& subjects = phrasebook.subjects;
    const auto there = std::count_if(subjects.begin(), subjects.end(),
                                     [](const Subject& subject) { return subject.is_there(); });
    std::string text = fmt::format(
        "Of the {} functions that programs on a CPU call most often, {} are there. Functions that "
        "are nearly the\nsame share a number, which counts if none of them is missing. The tests "
        "compile and run the right column.\n",
        subjects.size(), there);
    std::string group;
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        const Subject& subject = subjects[i];
        if (subject.group != group) {
            group = subject.group;
            text += fmt::format("\n**{}**\n\n| | PyTorch | here |\n|---|---|---|\n", group);
        }
        for (const Phrase& phrase : subject.phrases) {
            text += fmt::format("| {} | {} | {} |\n", i + 1, cell(phrase.torch),
                                phrase.ours.empty() ? "not there" : cell(phrase.ours));
        }
    }
    return text;
}

/// PyTorch's equivalents of these functions.
std::string in_torch(const Lines& functions, const Phrasebook& phrasebook) {
    Lines list;
    for (const std::string& function : functions) {
        if (phrasebook.no_counterpart.count(function) != 0) return "\nPyTorch: none.\n";
        for (const Phrase& phrase : phrasebook.with(function)) {
            const bool same = phrase.torch.ends_with("." + phrase.ours);
            list.push_back(same ? fmt::format("`{}`", phrase.torch)
                                : fmt::format("`{}` is `{}`", phrase.torch, phrase.ours));
        }
    }
    return list.empty() ? "" : fmt::format("\nPyTorch: {}.\n", fmt::join(list, "; "));
}

/// The variants that their rows in the catalogue test.
std::string tried(const Lines& functions) {
    Lines list;
    for (const catalog::OpCase& row : catalog::all_cases()) {
        const bool asked = std::count(functions.begin(), functions.end(), row.name) != 0;
        if (asked && !row.variant.empty()) list.push_back(escaped(row.variant));
    }
    return list.empty() ? "" : fmt::format("\nThe tests try: {}.\n", fmt::join(list, "; "));
}

std::string header_text(const PublicHeader& header, const Phrasebook& phrasebook) {
    std::string text = fmt::format("\n## {}\n\n{}", header.path, paragraphs(header.opening));
    for (std::size_t i = 0; i < header.entries.size(); ++i) {
        const Entry& entry = header.entries[i];
        const Lines names = entry.names();
        if (!names.empty()) {
            const bool first = i == 0 || header.entries[i - 1].names() != names;
            if (first) text += "\n### " + escaped(joined(names)) + "\n";
            text += "\n```cpp\n";
            for (const Declaration& one : entry.declarations) text += one.code + "\n";
            text += "```\n";
        }
        if (names.empty() && i > 0) text += "\n---\n";  // does not belong to the function above
        if (!entry.text.empty()) text += "\n" + paragraphs(entry.text);
        const bool last = i + 1 == header.entries.size() || header.entries[i + 1].names() != names;
        if (last) text += in_torch(names, phrasebook) + tried(names);
    }
    return text;
}

}  // namespace

Lines headers_of_ops_page(const std::filesystem::path& root) {
    Lines paths = {"core/create.h", "core/random.h", "core/size_2d.h"};
    const Lines ops = public_op_headers(root);
    paths.insert(paths.end(), ops.begin(), ops.end());
    return paths;
}

std::string ops_page(const std::filesystem::path& root, const Phrasebook& phrasebook) {
    std::string contents, reference;
    for (const std::string& path : headers_of_ops_page(root)) {
        const PublicHeader header = read_public_header(root, path);
        Lines names;
        for (const Entry& entry : header.entries) {
            for (const std::string& name : entry.names()) {
                if (std::count(names.begin(), names.end(), name) == 0) names.push_back(name);
            }
        }
        std::string anchor;
        for (const char c : path) {
            if (c != '/' && c != '.') anchor += c;
        }
        contents += fmt::format("| [{}](#{}) | {} |\n", path, anchor, escaped(joined(names)));
        reference += header_text(header, phrasebook);
    }
    return fmt::format(
        R"(# Functions

Every function of tensors: its signature, what it computes and its gradient, as its header says it.
This page is made of the headers, of the phrases in `tests/ops/phrases_test.cpp` and of the catalogue
(`ops/catalog`), whose rows drive the tests: values and gradients of each function against its definition,
for every instruction set, f32 and f64, and with inputs of every layout. Members of `Tensor` are
in `core/tensor.h`, views without gradients, for those who write ops, in `core/views.h`, modules in
[modules.md](modules.md).

| header | what it declares |
|---|---|
{}{}
## PyTorch's hundred

{}{})",
        contents, accuracy_section(), hundred(phrasebook), reference);
}

}  // namespace tapestry::test
