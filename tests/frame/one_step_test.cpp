// There is only one training step: in the library, the command, the tasks and the experiments, only
// nn/train/train_step.cpp calls an optimiser's step(). (The small programs each show a loop by hand
// on purpose.)
#include <doctest/doctest.h>
#include <tapestry/tests/source_dir.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

bool updates(const std::string& line) {
    static const std::regex call(R"(optimizer\w*(\(\))?(\.|->)step\()");
    const std::size_t comment = line.find("//");
    return std::regex_search(line.substr(0, comment), call);
}

std::vector<std::string> files_that_update(const fs::path& root, const std::string& room) {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
        const std::string extension = entry.path().extension().string();
        if (extension != ".cpp" && extension != ".h") continue;
        std::ifstream file(entry.path());
        for (std::string line; std::getline(file, line);) {
            if (!updates(line)) continue;
            found.push_back(entry.path().lexically_relative(root).generic_string());
            break;
        }
    }
    return found;
}

}  // namespace

TEST_CASE("one step: the search finds what it looks for") {
    CHECK(updates("        optimizer.step(clip);"));
    CHECK(updates("optimizer_->step();"));
    CHECK(updates("    session.optimizer().step();"));
    CHECK_FALSE(updates("//     optimizer.step();"));
    CHECK_FALSE(updates("while (optimizer.steps() < 3) step();"));
}

TEST_CASE("one step: there is one") {
    std::vector<std::string> found;
    const fs::path root = tapestry::test::source_dir();
    for (const char* room :
         {"nn", "examples/cli", "examples/school/tasks", "examples/school/experiments"}) {
        const auto more = files_that_update(root, room);
        found.insert(found.end(), more.begin(), more.end());
    }
    // A process's slice of the parameters is updated on behalf of the step (data_parallel.h).
    std::sort(found.begin(), found.end());
    CHECK(found == std::vector<std::string>{"nn/data_parallel/optimizer_slice.cpp",
                                            "nn/train/train_step.cpp"});
}
