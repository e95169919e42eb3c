// Replays the fuzzer's corpus without libFuzzer, in any build: the test `directory_corpus`.
//
//     directory_corpus PATH...                  replays files and all files in directories
//     directory_corpus --mutations N PATH...    and N mutants of each file; writes what
//                                             finds something into the directory for temporaries
//     directory_corpus --make-seeds DIRECTORY   writes the initial corpus
//
// Read next: directory_fuzzer.cpp.
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/core/parallel.h>
#include <tapestry/tests/fuzz/confine.h>
#include <tapestry/tests/fuzz/mutate.h>
#include <tapestry/tests/fuzz/seeds.h>
#include <tapestry/tests/fuzz/world.h>

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace tapestry;
namespace fs = std::filesystem;

namespace {

std::vector<fs::path> files_in(const std::vector<std::string>& paths) {
    std::vector<fs::path> files;
    for (const std::string& path : paths) {
        if (!fs::is_directory(path)) files.push_back(fs::absolute(path));
        if (!fs::is_directory(path)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(path)) {
            if (entry.is_regular_file()) files.push_back(fs::absolute(entry.path()));
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

// Replays archives, each finding in a fresh world, so later archives do not report it again.
class Runner {
public:
    const fuzz::World& world() const { return *world_; }
    int findings() const { return findings_; }

    void run(const std::string& name, const fuzz::Archive& archive) {
        const std::string found = fuzz::run_archive(*world_, archive);
        if (found.empty()) return;
        fmt::print(stderr, "{}: {}\n", name, found);
        ++findings_;
        write_file_atomically(fs::temp_directory_path() / ("finding " + name),
                              fuzz::encode(archive));
        world_.reset();
        world_.emplace();
    }

private:
    std::optional<fuzz::World> world_{std::in_place};
    int findings_ = 0;
};

// An oracle that never complains would accept every directory: plant changes that it must report.
void check_oracle(const fuzz::World& world) {
    const auto check = [&world](const std::string& expected, const std::function<void()>& change) {
        world.unpack({.entries = {{.path = "D/config.json", .contents = "{}"}}});
        const fuzz::Snapshot before = world.look(true);
        change();
        const std::string found = fuzz::difference(before, world.look(true));
        require(found == expected, "the oracle says \"{}\", not \"{}\"", found, expected);
    };
    const auto write = [](const fs::path& path) { std::ofstream(path) << "[]"; };
    check("", [] {});
    check("place/D/config.json has other contents", [&] { write("D/config.json"); });
    check("place/D/config.json is gone", [] { fs::remove("D/config.json"); });
    check("place/D was modified", [&] { write("D/new"), fs::remove("D/new"); });
    check("place/D/config.json has mode 100600, and had 100644",
          [] { fs::permissions("D/config.json", fs::perms{0600}); });
    check("place/new is new", [&] { write("new"); });
    const fs::path outside = world.root() / "outside/new";
    check("outside/new is new", [&] { write(outside); });
    check("outside/new is gone", [&] { fs::remove(outside); });
}

int run(const std::vector<fs::path>& files, unsigned mutations) {
    Runner runner;
    check_oracle(runner.world());
    for (const fs::path& file : files) {
        const fuzz::Archive archive = fuzz::decode(read_file(file));
        runner.run(file.filename(), archive);
        for (unsigned i = 1; i <= mutations; ++i) {
            fuzz::Archive mutant = archive;
            fuzz::Chance chance(i);
            fuzz::mutate(mutant, chance);
            runner.run(fmt::format("{} {}", file.filename().native(), i), mutant);
        }
    }
    fmt::print("{} directories, {} findings\n", files.size() * (1 + mutations), runner.findings());
    return runner.findings() > 0 || files.empty() ? 1 : 0;
}

int make_seeds(const fs::path& directory) {
    const fs::path to = fs::absolute(directory);
    make_directories(to);
    const fuzz::World world;
    const std::vector<fuzz::Seed> good = fuzz::good_seeds(world);
    for (const auto& seeds : {good, fuzz::hostile_seeds(good)}) {
        for (const fuzz::Seed& seed : seeds) {
            std::string name = seed.name;
            for (char& c : name) {
                if (c == '.' || c == '_') c = '-';
            }
            write_file_atomically(to / name, fuzz::encode(seed.archive));
        }
    }
    return 0;
}

int act(std::vector<std::string> arguments) {
    set_num_threads(1);
    std::vector<fs::path> written{fs::temp_directory_path()};
    if (arguments.size() == 2 && arguments[0] == "--make-seeds") return make_seeds(arguments[1]);
    fuzz::confine_writing(written);
    unsigned mutations = 0;
    if (arguments.size() > 2 && arguments[0] == "--mutations") {
        mutations = static_cast<unsigned>(std::stoul(arguments[1]));
        arguments.erase(arguments.begin(), arguments.begin() + 2);
    }
    return run(files_in(arguments), mutations);
}

}  // namespace

int main(int count, char** arguments) {
    try {
        return act({arguments + 1, arguments + count});
    } catch (const std::exception& error) {
        fmt::print(stderr, "directory_corpus: {}\n", error.what());
        return 2;
    }
}
