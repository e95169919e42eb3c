// Allowed includes: core <- autograd <- ops <- nn <- examples, and the rooms within these.
//
// The checker runs over the tree, where it must find nothing, and over planted files, where it must
// find exactly what was planted: a checker that never complains would pass the first test as well.
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
using Names = std::vector<std::string>;

Names operator+(Names a, const Names& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

struct Room {
    std::string folder;  ///< with its subfolders, unless they are rooms themselves; or a file
    Names sees;          ///< rooms of this tree whose files it may include, besides itself
};

/// From bottom to top: each room sees some of those before it, so no two can include each other,
/// even indirectly.
const std::vector<Room>& rooms() {
    static const Names core{"core/clock.h", "core/error.h", "core/text", "core"};
    static const Names autograd = core + Names{"autograd", "autograd/profile", "autograd/check"};
    static const Names ops = autograd + Names{"ops"};
    static const Names modules = ops + Names{"nn/module", "nn/layers"};
    static const Names layers = modules + Names{"nn/attention", "nn/recurrent", "nn/transformer"};
    static const Names nn =
        layers + Names{"nn/models",     "nn/optim",   "nn/data",        "nn/chat",
                       "nn/tokenizers", "nn/metrics", "nn/io",          "nn/generate",
                       "nn/inspect",    "nn/pages",   "nn/distributed", "nn/data_parallel",
                       "nn/train",      "nn/terminal"};
    static const Names catalogs{"ops/catalog", "nn/catalog"};
    static const std::vector<Room> all{
        {"core/clock.h", {}},
        {"core/error.h", {}},
        {"core/text", {"core/error.h"}},
        {"core", {"core/clock.h", "core/error.h", "core/text"}},
        {"autograd", core},
        {"autograd/profile", core + Names{"autograd"}},
        {"autograd/check", core + Names{"autograd"}},
        {"autograd/capi", core + Names{"autograd", "autograd/check"}},
        {"ops/kernels", core},
        {"ops", autograd + Names{"ops/kernels"}},
        {"ops/catalog/reference", core + Names{"autograd/check"}},
        {"ops/catalog", ops + Names{"ops/catalog/reference"}},
        {"nn/module", ops},
        {"nn/layers", ops + Names{"nn/module"}},
        {"nn/attention", modules},
        {"nn/recurrent", modules + Names{"nn/attention"}},
        {"nn/transformer", modules + Names{"nn/attention"}},
        {"nn/models", layers},
        {"nn/optim", ops + Names{"nn/module"}},
        {"nn/data", ops + Names{"nn/module"}},
        {"nn/metrics", ops},
        {"nn/tokenizers", ops + Names{"nn/data"}},
        {"nn/chat", ops + Names{"nn/module", "nn/data"}},
        {"nn/io", layers + Names{"nn/models", "nn/optim", "nn/data", "nn/chat", "nn/tokenizers"}},
        {"nn/generate", layers + Names{"nn/models", "nn/data", "nn/chat"}},
        {"nn/inspect", modules + Names{"nn/attention"}},
        {"nn/pages", modules + Names{"nn/inspect"}},
        {"nn/distributed", {"core/clock.h", "core/error.h"}},
        {"nn/data_parallel", modules + Names{"nn/optim", "nn/io", "nn/distributed"}},
        {"nn/train", layers + Names{"nn/models", "nn/optim", "nn/data", "nn/chat", "nn/metrics",
                                    "nn/io", "nn/generate", "nn/inspect", "nn/pages",
                                    "nn/distributed", "nn/data_parallel"}},
        {"nn/terminal", layers + Names{"nn/models", "nn/data", "nn/chat", "nn/io", "nn/inspect",
                                       "nn/pages", "nn/train"}},
        {"nn/bench", nn},
        {"nn/catalog", layers + Names{"nn/models", "nn/data", "nn/io", "ops/catalog"}},
        {"tapestry.h", nn + Names{"nn/bench"}},
        {"python", {"autograd/capi"}},
        {"examples/options", nn},
        {"examples/stories", {}},
        {"examples/school/playground", nn + Names{"examples/stories"}},
        {"examples/school/site", {}},
        {"examples/school/tasks", nn + Names{"tapestry.h", "examples/stories"}},
        {"examples/school/pictures", core},
        {"examples/school/experiments",
         nn + Names{"tapestry.h", "examples/stories", "examples/school/tasks"}},
        {"examples/programs",
         nn + Names{"nn/bench", "tapestry.h", "examples/options", "examples/stories",
                    "examples/school/tasks", "examples/school/pictures"}},
        {"examples/cli",
         nn + catalogs + Names{"nn/bench", "examples/options", "examples/school/experiments"}},
    };
    return all;
}

struct Library {
    std::string header;  ///< or its headers' folder, with a slash
    Names folders;       ///< whose files may include it
    Names headers;       ///< headers or folders that may as well; elsewhere only .cpp files
};

/// Libraries with restricted use. Public headers must compile without them.
const std::vector<Library>& libraries() {
    static const std::vector<Library> all{
        {"xsimd/", {"ops/kernels"}, {"ops/kernels"}},
        {"immintrin.h", {"ops/kernels"}, {"ops/kernels"}},
        {"arm_neon.h", {"ops/kernels"}, {"ops/kernels"}},
        {"omp.h", {"core"}, {}},
        {"mpi.h", {"nn/distributed/mpi.cpp"}, {}},
        {"nlohmann/", {"core/text/json_tree.cpp"}, {}},
        {"CLI/", {"examples/options"}, {}},
        {"pybind11/", {"python"}, {}},
        {"doctest/", {}, {}},
    };
    return all;
}

bool contains(const Names& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool lies_in(const std::string& path, const std::string& folder) {
    return path == folder || path.starts_with(folder + "/");
}

/// The innermost room of a path, or null.
const Room* room_of(const std::string& path) {
    const Room* found = nullptr;
    for (const Room& room : rooms()) {
        if (!lies_in(path, room.folder)) continue;
        if (found == nullptr || room.folder.size() > found->folder.size()) found = &room;
    }
    return found;
}

/// "nn/io" for a header whose opening comment says "Internal to nn/io."; empty otherwise.
/// cmake/install.cmake leaves out those headers. "Internal to Tapestry.": to the whole tree.
std::string internal_to(const fs::path& header) {
    static const std::regex says("//.*Internal to (Tapestry|[a-z/_]+).*");
    std::ifstream text(header);
    std::smatch match;
    for (std::string line; std::getline(text, line) && line.starts_with("//");) {
        if (std::regex_match(line, match, says)) return match[1];
    }
    return "";
}

/// The error in `#include <tapestry/header>` in `file` of the tree at `root`, or empty.
std::string wrong_within(const fs::path& root, const std::string& file, const std::string& header) {
    const Room& room = *room_of(file);
    const Room* other = room_of(header);
    if (other == nullptr) return "is in no room";
    if (other != &room && !contains(room.sees, other->folder)) return "runs against the layers";
    const std::string owner = internal_to(root / header);
    if (owner.empty() || file.ends_with(".cpp")) {
        const bool may = owner.empty() || owner == "Tapestry" || lies_in(file, owner);
        return may ? "" : "is internal to " + owner;
    }
    return internal_to(root / file).empty() ? "is internal, and this header is not" : "";
}

/// The error in `#include <header>` (or "header") in `file`; empty if there is none.
std::string wrong_with(const fs::path& root, const std::string& file, const std::string& header,
                       bool quoted) {
    static const std::string ours = "tapestry/";
    if (quoted) return "is not written <tapestry/ROOM/FILE.h>";
    if (header.starts_with(ours)) return wrong_within(root, file, header.substr(ours.size()));
    for (const Library& library : libraries()) {
        if (!header.starts_with(library.header)) continue;
        const auto lies_in_any = [&](const Names& folders) {
            return std::any_of(folders.begin(), folders.end(),
                               [&](const std::string& folder) { return lies_in(file, folder); });
        };
        if (!lies_in_any(library.folders)) return "is not for this room";
        if (file.ends_with(".h") && !lies_in_any(library.headers)) return "is for .cpp files alone";
    }
    return "";
}

/// "file:line: <header> complaint" for every wrong include of the tree at `root`.
Names violations(const fs::path& root) {
    static const std::regex include(R"(\s*#\s*include\s*([<"])([^>"]+)[>"].*)");
    Names found;
    for (const char* top : {"core", "autograd", "ops", "nn", "python", "examples", "tapestry.h"}) {
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
                const std::string complaint = wrong_with(root, file, match[2], match[1] == "\"");
                if (complaint.empty()) continue;
                found.push_back(file + ":" + std::to_string(number) + ": <" + match[2].str() +
                                "> " + complaint);
            }
        }
    }
    return found;
}

/// A temporary tree, removed at the end.
struct Planted {
    Planted() {
        std::string name = (fs::temp_directory_path() / "tapestry-layers-XXXXXX").string();
        root = mkdtemp(name.data());
    }
    ~Planted() { fs::remove_all(root); }
    Planted(const Planted&) = delete;
    Planted& operator=(const Planted&) = delete;

    void file(const std::string& path, const std::string& comment, const std::string& include) {
        fs::create_directories((root / path).parent_path());
        std::ofstream(root / path)
            << "// " << comment << "\n#pragma once\n#include " << include << "\n";
    }

    fs::path root;
};

/// The violations of a tree of one file with one include.
Names violations_of(const std::string& file, const std::string& include) {
    Planted tree;
    tree.file(file, "A planted file.", include);
    return violations(tree.root);
}

}  // namespace

TEST_CASE("includes follow the layers") {
    for (const std::string& violation : violations(tapestry::test::source_dir()))
        FAIL_CHECK(violation);
}

TEST_CASE("each room sees some of those before it") {
    Names before;
    for (const Room& room : rooms()) {
        for (const std::string& seen : room.sees) {
            CHECK_MESSAGE(contains(before, seen), room.folder << " sees " << seen);
        }
        CHECK_MESSAGE(!contains(before, room.folder), room.folder << " is there twice");
        before.push_back(room.folder);
    }
}

TEST_CASE("an include against the layers is found") {
    CHECK(violations_of("core/a.h", "<tapestry/autograd/tape.h>") ==
          Names{"core/a.h:3: <tapestry/autograd/tape.h> runs against the layers"});
    const std::vector<std::pair<std::string, std::string>> planted{
        {"core/text/utf8.cpp", "<tapestry/core/tensor.h>"},
        {"core/error.h", "<tapestry/core/text/utf8.h>"},
        {"core/tensor.cpp", "<tapestry/ops/arithmetic.h>"},
        {"autograd/tape.cpp", "<tapestry/autograd/profile/profiler.h>"},
        {"autograd/check/gradcheck.cpp", "<tapestry/autograd/profile/profiler.h>"},
        {"autograd/tape.cpp", "<tapestry/ops/arithmetic.h>"},
        {"autograd/check/plain.cpp", "<tapestry/autograd/capi/tapestry_gradcheck.h>"},
        {"python/gradcheck_module.cpp", "<tapestry/autograd/check/gradcheck.h>"},
        {"autograd/capi/tapestry_gradcheck.cpp", "<pybind11/pybind11.h>"},
        {"autograd/tape.cpp", "<tapestry/nn/module/module.h>"},
        {"ops/norm.cpp", "<tapestry/nn/module/module.h>"},
        {"ops/kernels/norm.cpp", "<tapestry/ops/norm.h>"},
        {"ops/kernels/norm.cpp", "<tapestry/autograd/tape.h>"},
        {"nn/layers/linear.cpp", "<tapestry/ops/kernels/table.h>"},
        {"nn/layers/linear.cpp", "<tapestry/nn/attention/masks.h>"},
        {"nn/attention/masks.cpp", "<tapestry/nn/transformer/blocks.h>"},
        {"nn/transformer/blocks.cpp", "<tapestry/nn/models/gpt.h>"},
        {"nn/models/gpt.cpp", "<tapestry/nn/io/model_directory.h>"},
        {"nn/data/text.cpp", "<tapestry/nn/io/safetensors.h>"},
        {"nn/optim/adam.cpp", "<tapestry/nn/train/loop.h>"},
        {"nn/inspect/inspector.cpp", "<tapestry/nn/pages/page.h>"},
        {"nn/pages/page.cpp", "<tapestry/nn/terminal/text_map.h>"},
        {"nn/pages/report.cpp", "<tapestry/nn/train/loop.h>"},
        {"nn/io/safetensors.cpp", "<tapestry/examples/stories/stories.h>"},
        {"ops/softmax.cpp", "<tapestry/ops/catalog/op_case.h>"},
        {"nn/layers/linear.cpp", "<tapestry/nn/catalog/checked_modules.h>"},
        {"examples/programs/xor.cpp", "<tapestry/ops/kernels/table.h>"},
        {"examples/programs/xor.cpp", "<tapestry/ops/catalog/op_case.h>"},
        {"core/tensor.cpp", "<tapestry/tapestry.h>"},
        {"core/tensor.cpp", "<tapestry/nowhere/file.h>"},
        {"core/tensor.cpp", "\"tensor.h\""},
        {"core/simd.h", "<xsimd/xsimd.hpp>"},
        {"ops/softmax.cpp", "<immintrin.h>"},
        {"core/parallel.h", "<omp.h>"},
        {"core/text/json_tree.h", "<nlohmann/json.hpp>"},
        {"core/text/json_writer.cpp", "<nlohmann/json.hpp>"},
        {"nn/io/safetensors.cpp", "<nlohmann/json.hpp>"},
        {"ops/softmax.cpp", "<nlohmann/json.hpp>"},
        {"nn/train/loop.cpp", "<CLI/CLI.hpp>"},
        {"nn/distributed/thread_group.cpp", "<mpi.h>"},
        {"nn/distributed/communicator.cpp", "<tapestry/core/tensor.h>"},
        {"core/error.cpp", "<doctest/doctest.h>"},
        {"tapestry.h", "<tapestry/ops/kernels/table.h>"},
    };
    for (const auto& plant : planted) {  // clang 14 cannot capture structured bindings
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
        {"core/text/json_tree.cpp", "<nlohmann/json.hpp>"},
        {"core/file.cpp", "<tapestry/core/text/utf8.h>"},
        {"core/text/utf8.h", "<tapestry/core/error.h>"},
        {"nn/io/model_directory.h", "<tapestry/nn/data/tokenizer.h>"},
        {"nn/pages/page.h", "<tapestry/nn/inspect/inspector.h>"},
        {"core/parallel.cpp", "<omp.h>"},
        {"examples/cli/gradcheck.cpp", "<tapestry/ops/catalog/op_case.h>"},
        {"examples/programs/train_gpt.cpp", "<tapestry/tapestry.h>"},
        {"tests/core/tensor_test.cpp", "<tapestry/nn/module/module.h>"},
        {"core/tensor.h", "<vector>"},
    };
    for (const auto& plant : planted) {  // clang 14 cannot capture structured bindings
        CHECK_MESSAGE(violations_of(plant.first, plant.second).empty(),
                      plant.first << " includes " << plant.second);
    }
}

TEST_CASE("internal headers are seen by their own room and by no public header") {
    Planted tree;
    tree.file("nn/io/inner.h", "Words. Internal to nn/io. More words.", "<vector>");
    tree.file("nn/io/inner.cpp", "The source.", "<tapestry/nn/io/inner.h>");
    tree.file("nn/io/deeper.h", "Internal to nn/io, too.", "<tapestry/nn/io/inner.h>");
    CHECK(violations(tree.root) == Names{});

    tree.file("nn/io/public.h", "For everybody.", "<tapestry/nn/io/inner.h>");
    tree.file("nn/train/loop.cpp", "Of another room.", "<tapestry/nn/io/inner.h>");
    Names found = violations(tree.root);
    std::sort(found.begin(), found.end());
    CHECK(found == Names{"nn/io/public.h:3: <tapestry/nn/io/inner.h> is internal, and this header "
                         "is not",
                         "nn/train/loop.cpp:3: <tapestry/nn/io/inner.h> is internal to nn/io"});
}

TEST_CASE("headers internal to Tapestry are seen by every room and by no public header") {
    Planted tree;
    tree.file("core/text/inner.h", "Words. Internal to Tapestry.", "<vector>");
    tree.file("nn/train/loop.cpp", "Of another room.", "<tapestry/core/text/inner.h>");
    tree.file("nn/io/deeper.h", "Internal to nn/io, too.", "<tapestry/core/text/inner.h>");
    CHECK(violations(tree.root) == Names{});
    tree.file("nn/io/public.h", "For everybody.", "<tapestry/core/text/inner.h>");
    CHECK(violations(tree.root) == Names{"nn/io/public.h:3: <tapestry/core/text/inner.h> is "
                                         "internal, and this header is not"});
}

TEST_CASE("the tape can be read in one sitting") {
    std::ifstream file(tapestry::test::source_dir() / "autograd/tape.cpp");
    int lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    CHECK(lines > 0);
    CHECK(lines <= 300);
}
