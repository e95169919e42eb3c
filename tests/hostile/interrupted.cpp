#include <tapestry/tests/hostile/interrupted.h>

#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/hostile/manifest_text.h>

#include <algorithm>

namespace tapestry::test {
namespace {

namespace fs = std::filesystem;

// Commands that print durations.
bool tells_times(const Command& command) {
    const std::string& verb = command.arguments[0];
    return verb == "train" || verb == "profile" || verb == "inspect" || verb == "tokenize" ||
           verb == "gradcheck";
}

bool is_same_each_time(const fs::path& path) {
    const std::string name = path.filename();
    return name == "model.safetensors" || name == "config.json" || name == "ids.bin" ||
           name == "vocab.json" || name == "merges.txt" || name == "tokenizer.json" ||
           name == "tapestry_tokenizer.json";
}

// "'page.html': 28 entries, 309.9 KB" without the size, which varies with the digits of its times.
std::string without_sizes(const std::string& text) {
    std::string kept;
    for (std::string line : lines_of(text)) {
        if (line.ends_with(" KB")) line.resize(line.rfind(" entries, ") + 8);
        kept += line + "\n";
    }
    return kept;
}

}  // namespace

void interrupt(const fs::path& directory, Layout layout,
               const std::function<bool(std::size_t)>& is_staged, const std::string& older) {
    const ManifestText manifest(directory);
    manifest.write(directory);
    const std::vector<std::string> names = manifest.names();
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (!is_staged(i)) continue;
        const fs::path staged =
            layout == Layout::beside ? staged_beside(names[i]) : staged_on_top(names[i]);
        // Also across file systems.
        const std::string text = slurp(directory / names[i]);
        fs::remove(directory / names[i]);
        spill(directory / staged, text);
        if (!older.empty()) spill(directory / names[i], older);
    }
    set_back_times(directory);
}

Answer answer_of(const AttackPlace& place, const Command& command, bool as_nobody) {
    const Outcome outcome = place.run(command, as_nobody);
    Answer answer{.code = outcome.code,
                  .out = tells_times(command) ? "" : without_sizes(outcome.out),
                  .err = outcome.err,
                  .files = {}};
    for (const auto& entry : fs::recursive_directory_iterator(place / "out")) {
        if (!entry.is_regular_file() || !is_same_each_time(entry.path())) continue;
        answer.files[fs::relative(entry.path(), place / "out").native()] = slurp(entry.path());
    }
    return answer;
}

const Answer& right_answer(Kind kind, const Command& command) {
    static std::map<std::pair<Kind, std::string>, Answer> answers;
    const auto [found, is_new] = answers.try_emplace({kind, command.name});
    if (is_new) {
        static std::map<Kind, AttackPlace> places;
        const AttackPlace& place = places.try_emplace(kind, kind).first->second;
        if (!fs::exists(place.target().directory)) place.prepare({});
        found->second = answer_of(place, command);
        INFO("command: " << command.name);
        INFO("stderr: " << found->second.err);
        CHECK_LE(found->second.code, kind == Kind::trap ? 2 : 1);  // a diverged model
    }
    return found->second;
}

}  // namespace tapestry::test
