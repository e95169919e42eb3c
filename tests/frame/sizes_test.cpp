// Readable sizes: files of the library and the examples, functions, and rooms, whose budgets are in
// room_budgets.txt. Read next: figures.sh, which prints them.
#include <doctest/doctest.h>
#include <tapestry/tests/source_dir.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

Lines lines_of(const fs::path& path) {
    Lines lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

std::vector<fs::path> sources_in(const fs::path& folder) {
    std::vector<fs::path> sources;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const fs::path extension = entry.path().extension();
        if (extension == ".h" || extension == ".cpp") sources.push_back(entry.path());
    }
    return sources;
}

constexpr std::array kProduction{"core", "autograd", "ops", "nn", "python", "examples"};

using Sizes = std::map<std::string, std::size_t>;  // lines by room

/// A room is a folder that contains sources.
Sizes sizes_of_rooms(const fs::path& root) {
    Sizes sizes;
    for (const char* top : kProduction) {
        for (const fs::path& source : sources_in(root / top)) {
            const fs::path room = source.parent_path().lexically_relative(root);
            sizes[room.generic_string()] += lines_of(source).size();
        }
    }
    return sizes;
}

Sizes read_budgets(const fs::path& path) {
    Sizes budgets;
    std::ifstream file(path);
    for (std::string room; file >> room;) {
        if (room[0] == '#') {
            std::getline(file, room);
        } else {
            file >> budgets[room];
        }
    }
    return budgets;
}

Lines complaints(const Sizes& sizes, const Sizes& budgets) {
    Lines all;
    for (const auto& [room, lines] : sizes) {
        const auto budget = budgets.find(room);
        if (budget == budgets.end()) {
            all.push_back(room + " has no budget");
        } else if (lines > budget->second) {
            all.push_back(room + " has " + std::to_string(lines) + " lines; its budget is " +
                          std::to_string(budget->second));
        }
    }
    for (const auto& [room, budget] : budgets) {
        if (!sizes.contains(room)) all.push_back(room + " has a budget and no sources");
    }
    return all;
}

/// The longest block that begins with a line of this indentation and ends with a lone brace at it,
/// as clang-format lays out a function (at 0 or, in a class, at 4) and any block inside. Classes
/// and tables end with "};", namespaces with a comment.
std::size_t longest_block(const Lines& lines, std::size_t indentation) {
    const std::string end = std::string(indentation, ' ') + "}";
    std::size_t longest = 0, begin = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (lines[i] == end) {
            longest = std::max(longest, i - begin + 1);
        } else if (lines[i].find_first_not_of(' ') == indentation) {
            begin = i;
        }
    }
    return longest;
}

}  // namespace

TEST_CASE("sizes: the search finds what it looks for") {
    const Lines lines{"struct S {",          //
                      "    int a() {",       // 3 lines
                      "        return 1;",   //
                      "    }",               //
                      "};",                  //
                      "",                    //
                      "int f(int x,",        // 6 lines
                      "      int y) {",      //
                      "    if (x) {",        // 2 lines
                      "    }",               //
                      "    return y;",       //
                      "}",                   //
                      "",                    //
                      "}  // namespace n"};  //
    CHECK_EQ(longest_block(lines, 0), 6);
    CHECK_EQ(longest_block(lines, 4), 3);
    CHECK_EQ(longest_block({}, 0), 0);
}

TEST_CASE("sizes: no file over 400 lines, no function over 60") {
    for (const char* room : kProduction) {
        for (const fs::path& source : sources_in(tapestry::test::source_dir() / room)) {
            const Lines lines = lines_of(source);
            INFO(source.native());
            CHECK_GT(lines.size(), 0);
            CHECK_LE(lines.size(), 400);
            CHECK_LE(longest_block(lines, 0), 60);
            CHECK_LE(longest_block(lines, 4), 60);
        }
    }
}

TEST_CASE("sizes: a room over its budget is found, and one without") {
    const Sizes budgets{{"core", 100}, {"nn/io", 50}, {"nn/gone", 10}};
    CHECK(complaints({{"core", 100}, {"nn/io", 51}, {"ops", 1}}, budgets) ==
          Lines{"nn/io has 51 lines; its budget is 50", "ops has no budget",
                "nn/gone has a budget and no sources"});
}

TEST_CASE("sizes: every room keeps within its budget") {
    const fs::path root = tapestry::test::source_dir();
    const Sizes budgets = read_budgets(root / "tests/frame/room_budgets.txt");
    CHECK_FALSE(budgets.empty());
    for (const std::string& complaint : complaints(sizes_of_rooms(root), budgets)) {
        FAIL_CHECK(complaint);
    }
}
