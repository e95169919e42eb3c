// Who may include whom: core <- autograd <- ops <- nn <- examples, and the kernels apart.
//
// The checker runs over the tree, where it must find nothing, and over planted files, where it must
// find exactly what was planted: a checker that never complains would pass the first test too.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

struct Room {
    std::string folder;  ///< and those below it, as far as they are no room of their own
    Names may_include;   ///< rooms of this tree
};

const std::vector<Room>& rooms() {
    static const std::vector<Room> all{
        {"core", {"core"}},
        {"autograd", {"core", "autograd"}},
        {"ops/kernels", {"core", "ops/kernels"}},
        {"ops/catalog", {"core", "autograd", "ops", "ops/catalog"}},
        {"ops", {"core", "autograd", "ops", "ops/kernels"}},
        {"nn/catalog", {"core", "autograd", "ops", "nn", "nn/catalog"}},
        {"nn", {"core", "autograd", "ops", "nn"}},
        {"examples/cli",
         {"core", "autograd", "ops", "ops/catalog", "nn", "nn/catalog", "examples", "examples/cli",
          "tapestry.h"}},
        {"examples", {"core", "autograd", "ops", "nn", "examples", "tapestry.h"}},
        {"tapestry.h", {"core", "autograd", "ops", "nn"}},
    };
    return all;
}

struct Library {
    std::string header;  ///< or the folder its headers lie in, with a slash
    Names rooms;         ///< that may include it
    bool in_headers;     ///< there too, and not in .cpp files alone?
};

/// Libraries that not everybody may see. What is public must compile without them.
const std::vector<Library>& libraries() {
    static const std::vector<Library> all{
        {"xsimd/", {"ops/kernels"}, true},
        {"immintrin.h", {"ops/kernels"}, true},
        {"arm_neon.h", {"ops/kernels"}, true},
        {"omp.h", {"core"}, false},
        {"nlohmann/", {"autograd", "nn", "examples", "examples/cli"}, false},
        {"CLI/", {"examples", "examples/cli"}, true},
        {"doctest/", {}, false},
    };
    return all;
}

bool contains(const Names& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool lies_in(const std::string& path, const std::string& folder) {
    return path == folder || path.starts_with(folder + "/");
}

/// The room of a path, or null: the first that matches, for rooms() has inner ones before outer.
const Room* room_of(const std::string& path) {
    const auto found = std::find_if(rooms().begin(), rooms().end(),
                                    [&](const Room& room) { return lies_in(path, room.folder); });
    return found == rooms().end() ? nullptr : &*found;
}

/// What is wrong with `#include <header>` (or "header") in `file`; empty if nothing.
std::string wrong_with(const std::string& file, const std::string& header, bool quoted) {
    if (quoted) return "is not written <tapestry/ROOM/FILE.h>";
    const Room& room = *room_of(file);
    if (header.starts_with("tapestry/")) {
        const Room* other = room_of(header.substr(std::string("tapestry/").size()));
        if (other == nullptr) return "is in no room";
        return contains(room.may_include, other->folder) ? "" : "runs against the layers";
    }
    for (const Library& library : libraries()) {
        if (!header.starts_with(library.header)) continue;
        if (!contains(library.rooms, room.folder)) return "is not for this room";
        if (!library.in_headers && file.ends_with(".h")) return "is for .cpp files alone";
    }
    return "";
}

/// "file:line: <header> complaint" for every wrong include of the tree at `root`.
Names violations(const fs::path& root) {
    static const std::regex include(R"(\s*#\s*include\s*([<"])([^>"]+)[>"].*)");
    Names found;
    for (const char* top : {"core", "autograd", "ops", "nn", "examples", "tapestry.h"}) {
        std::vector<fs::path> files;
        if (fs::is_regular_file(root / top)) files.push_back(root / top);
        if (fs::is_directory(root / top)) {
            for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
                const auto extension = entry.path().extension();
                if (extension == ".h" || extension == ".cpp") files.push_back(entry.path());
            }
        }
        for (const fs::path& path : files) {
            const std::string file = path.lexically_relative(root).generic_string();
            std::ifstream text(path);
            int number = 1;
            for (std::string line; std::getline(text, line); ++number) {
                std::smatch match;
                if (!std::regex_match(line, match, include)) continue;
                const std::string complaint = wrong_with(file, match[2], match[1] == "\"");
                if (complaint.empty()) continue;
                found.push_back(file + ":" + std::to_string(number) + ": <" + match[2].str() +
                                "> " + complaint);
            }
        }
    }
    return found;
}

/// The violations of a tree of one file with one include.
Names violations_of(const std::string& file, const std::string& include) {
    std::string name = (fs::temp_directory_path() / "tapestry-layers-XXXXXX").string();
    const fs::path root = mkdtemp(name.data());
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << "// A planted file.\n#pragma once\n#include " << include << "\n";
    Names found = violations(root);
    fs::remove_all(root);
    return found;
}

}  // namespace

TEST_CASE("includes follow the layers") {
    for (const std::string& violation : violations(TAPESTRY_SOURCE_DIR)) FAIL_CHECK(violation);
}

TEST_CASE("an include against the layers is found") {
    CHECK(violations_of("core/a.h", "<tapestry/autograd/tape.h>") ==
          Names{"core/a.h:3: <tapestry/autograd/tape.h> runs against the layers"});
    const std::vector<std::pair<std::string, std::string>> planted{
        {"core/tensor.cpp", "<tapestry/ops/arithmetic.h>"},
        {"autograd/tape.cpp", "<tapestry/ops/arithmetic.h>"},
        {"autograd/tape.cpp", "<tapestry/nn/module.h>"},
        {"ops/norm.cpp", "<tapestry/nn/module.h>"},
        {"ops/kernels/norm.cpp", "<tapestry/ops/norm.h>"},
        {"ops/kernels/norm.cpp", "<tapestry/autograd/tape.h>"},
        {"nn/linear.cpp", "<tapestry/ops/kernels/table.h>"},
        {"nn/io/safetensors.cpp", "<tapestry/examples/stories.h>"},
        {"ops/softmax.cpp", "<tapestry/ops/catalog/op_case.h>"},
        {"nn/linear.cpp", "<tapestry/nn/catalog/checked_modules.h>"},
        {"examples/xor.cpp", "<tapestry/ops/kernels/table.h>"},
        {"examples/xor.cpp", "<tapestry/ops/catalog/op_case.h>"},
        {"core/tensor.cpp", "<tapestry/tapestry.h>"},
        {"core/tensor.cpp", "<tapestry/nowhere/file.h>"},
        {"core/tensor.cpp", "\"tensor.h\""},
        {"core/simd.h", "<xsimd/xsimd.hpp>"},
        {"ops/softmax.cpp", "<immintrin.h>"},
        {"core/parallel.h", "<omp.h>"},
        {"nn/io/safetensors.h", "<nlohmann/json.hpp>"},
        {"ops/softmax.cpp", "<nlohmann/json.hpp>"},
        {"nn/train/loop.cpp", "<CLI/CLI.hpp>"},
        {"core/error.cpp", "<doctest/doctest.h>"},
        {"tapestry.h", "<tapestry/ops/kernels/table.h>"},
    };
    for (const auto& plant : planted) {  // clang 14 captures no structured bindings
        CHECK_MESSAGE(violations_of(plant.first, plant.second).size() == 1,
                      plant.first << " includes " << plant.second);
    }
}

TEST_CASE("an include along the layers is not") {
    const std::vector<std::pair<std::string, std::string>> planted{
        {"autograd/tape.cpp", "<tapestry/core/tensor.h>"},
        {"ops/softmax.cpp", "<tapestry/ops/kernels/table.h>"},
        {"ops/kernels/simd.h", "<xsimd/xsimd.hpp>"},
        {"ops/kernels/gemm.h", "<tapestry/core/parallel.h>"},
        {"nn/io/safetensors.cpp", "<nlohmann/json.hpp>"},
        {"core/parallel.cpp", "<omp.h>"},
        {"examples/cli/gradcheck.cpp", "<tapestry/ops/catalog/op_case.h>"},
        {"examples/train_gpt.cpp", "<tapestry/tapestry.h>"},
        {"tests/core/tensor_test.cpp", "<tapestry/nn/module.h>"},
        {"core/tensor.h", "<vector>"},
    };
    for (const auto& plant : planted) {  // clang 14 captures no structured bindings
        CHECK_MESSAGE(violations_of(plant.first, plant.second).empty(),
                      plant.first << " includes " << plant.second);
    }
}

TEST_CASE("the tape can be read in one sitting") {
    std::ifstream file(TAPESTRY_SOURCE_DIR "/autograd/tape.cpp");
    int lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    CHECK(lines > 0);
    CHECK(lines <= 300);
}
