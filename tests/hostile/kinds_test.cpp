// Hostile files in other kinds of directory: Hugging Face's models, data, texts, and configurations
// with numbers that no machine can handle.
#include <tapestry/tests/hostile/attack.h>
#include <tapestry/tests/hostile/manifest_text.h>
#include <tapestry/tests/hostile/odd_files.h>
#include <tapestry/tests/hostile/states.h>

using namespace tapestry::test;
namespace fs = std::filesystem;
using Json = StateJson;

namespace {

constexpr const char* kManifest = "tapestry-manifest.json";

// Changes a member of a JSON file; no manifest records the original file.
Attack setting(const std::string& file, const std::string& member, const Json& value,
               const char* why = "a size from a file") {
    return {.name = file + ": " + member + " is " + value.dump().substr(0, 40),
            .why = why,
            .prepare = [=](const Target& target) {
                fs::remove(target.directory / kManifest);
                Json json = Json::parse(slurp(target.directory / file));
                json[member] = value;
                spill(target.directory / file, json.dump());
            }};
}

Attack with(const std::string& name, const std::string& what, const Replacement& replacement) {
    return {.name = name + " is " + what,
            .why = "a command reads it, or writes where it is",
            .prepare = [=](const Target& target) {
                fs::remove(target.directory / kManifest);
                put(target.directory / name, replacement);
            }};
}

std::vector<Attack> odd_files(const std::vector<std::string>& names) {
    std::vector<Attack> attacks;
    for (const std::string& name : names) {
        const std::vector<Attack> some{
            with(name, "a pipe", a_fifo),
            with(name, "a folder", a_folder),
            with(name, "a terabyte", a_huge_file),
            with(name, "an endless file", link_to("/dev/zero")),
            with(name, "a link to a text", link_to("../victim/notes.txt")),
            {name + " is a hard link to a text", "written in place", [name](const Target& target) {
                 put(target.directory / name, hard_link_to(target.victim / "notes.txt"));
             }}};
        attacks.insert(attacks.end(), some.begin(), some.end());
    }
    return attacks;
}

constexpr const char* kPath = "a path where none is read";

}  // namespace

TEST_CASE("hostile: settings of Hugging Face's configurations") {
    const char* const file = "config.json";
    std::vector<Attack> attacks{
        setting(file, "_name_or_path", "../victim", kPath),
        setting(file, "auto_map", {{"AutoModel", "../victim/notes.txt"}}, "code elsewhere"),
        setting(file, "tapestry_tokenizer", "../victim/tokenizer.json", kPath),
        setting(file, "activation_function", "../victim/notes.txt", kPath),
        setting(file, "model_type", "\x1B[2J", "a terminal's command"),
        setting(file, "activation_function", std::string(1 << 20, 'x'), "a long word"),
        setting(file, "n_head", 0),
        setting(file, "n_head", -3),
        setting(file, "n_inner", "../victim", kPath)};
    for (const char* member : {"n_layer", "n_embd", "n_positions", "vocab_size", "n_inner"}) {
        for (const Json& value :
             {Json(1000000000), Json(std::int64_t{1} << 61), Json(-1), Json(1e300)}) {
            attacks.push_back(setting(file, member, value));
        }
    }
    try_attacks(Kind::hugging_face, attacks);
}

TEST_CASE("hostile: files of Hugging Face's models") {
    const Json index{{"metadata", {{"total_size", 1}}},
                     {"weight_map", {{"wte.weight", "../victim/model.safetensors"}}}};
    std::vector<Attack> attacks{
        with("model.safetensors.index.json", "a map to another directory", contents(index.dump())),
        with("pytorch_model.bin", "a link out", link_to("../victim/notes.txt")),
        with("tokenizer_config.json", "of a file elsewhere",
             contents("{\"tokenizer_file\":\"../victim/tokenizer.json\"}")),
        {"encoder.json and vocab.bpe are links out", "OpenAI's names", [](const Target& target) {
             fs::remove(target.directory / kManifest);
             for (const auto& [from, to] :
                  {std::pair("vocab.json", "encoder.json"), std::pair("merges.txt", "vocab.bpe")}) {
                 fs::rename(target.directory / from, target.victim.parent_path() / from);
                 fs::create_symlink(fs::path("..") / from, target.directory / to);
             }
         }}};
    for (Attack& attack : odd_files({"config.json", "model.safetensors", "vocab.json", "merges.txt",
                                     "tapestry_tokenizer.json"})) {
        attacks.push_back(std::move(attack));
    }
    try_attacks(Kind::hugging_face, attacks);
}

TEST_CASE("hostile: settings of Tapestry's configurations") {
    std::vector<Attack> attacks{
        setting("config.json", "tokenizer", "../victim/tokenizer.json", kPath),
        setting("config.json", "model", "../victim/config.json", kPath),
        setting("config.json", "model", "\x1B]0;owned\a", "a terminal's command"),
        setting("config.json", "heads", 0)};
    for (const char* member : {"layers", "dim", "context", "vocab", "hidden", "heads"}) {
        for (const Json& value : {Json(1000000000), Json(std::int64_t{1} << 61), Json(-1)}) {
            attacks.push_back(setting("config.json", member, value));
        }
    }
    try_attacks(Kind::run, attacks);
    attacks.resize(4);
    for (const char* member : {"layers", "dim", "source_vocab", "begin", "padding_id"}) {
        attacks.push_back(setting("config.json", member, std::int64_t{1} << 61));
    }
    try_attacks(Kind::transformer, attacks);
}

// Terminal control characters, in place of rare characters.
TEST_CASE("hostile: a vocabulary of control characters") {
    const auto vocabulary = [](const std::string& file) {
        return [file](const Target& target) {
            Json json = Json::parse(slurp(target.directory / file));
            const std::vector<std::string> controls{"\x1B", "\a", "\x7F", "\xC2\x9B", "\r"};
            for (std::size_t i = 0; i < controls.size(); ++i) json["vocab"][i + 2] = controls[i];
            spill(target.directory / file, json.dump());
            list_again(target.directory, file);
        };
    };
    const AttackPlace run(Kind::run), trap(Kind::trap), translator(Kind::transformer);
    constexpr const char* kWhy = "a terminal obeys them";
    try_readers(run, {"control characters", kWhy, vocabulary("tokenizer.json")},
                reading_commands(Kind::run));
    try_readers(trap, {"control characters", kWhy, vocabulary("tokenizer.json")},
                reading_commands(Kind::trap));
    const Command inspect{"inspect",
                          {"inspect", "--model", "above/m", "--prompt", "\x1B", "--print"}};
    try_readers(run, {"control characters", kWhy, vocabulary("tokenizer.json")}, {inspect});
}

TEST_CASE("hostile: data") {
    const char* const file = "data.json";
    std::vector<Attack> attacks{
        setting(file, "sources", {{{"path", "../../home/.bashrc"}, {"bytes", 1}, {"xxh3", "0"}}},
                kPath),
        setting(file, "sources", {{{"path", "/etc/passwd"}, {"bytes", -1}, {"xxh3", "\x1B[2J"}}},
                kPath),
        setting(file, "sources", "../victim/notes.txt", kPath),
        setting(file, "dtype", "../victim/ids.bin", kPath),
        setting(file, "tokenizer", "../victim/tokenizer.json", kPath),
        setting(file, "tokenizer", "char", "of another kind than its files"),
        setting(file, "ids", std::int64_t{1} << 61),
        setting(file, "ids", -1),
        setting(file, "documents", -1),
        setting(file, "vocab", 1000000000),
        setting(file, "ids_xxh3", "../victim/ids.bin", kPath),
        setting(file, "tokenizer_xxh3", "\x1B[2J", "a terminal's command")};
    for (Attack& attack : odd_files(
             {"data.json", "ids.bin", "vocab.json", "merges.txt", "tokenizer.huggingface.json"})) {
        attacks.push_back(std::move(attack));
    }
    attacks.push_back({"all files are links", "as where data is shared", [](const Target& target) {
                           const fs::path moved = target.victim.parent_path() / "moved";
                           fs::rename(target.directory, moved);
                           fs::create_directory(target.directory);
                           for (const auto& entry : fs::directory_iterator(moved)) {
                               const fs::path name = entry.path().filename();
                               fs::create_symlink("../moved" / name, target.directory / name);
                           }
                       }});
    try_attacks(Kind::data, attacks);
}

// Other users' files, whose names appear in errors.
TEST_CASE("hostile: folders of texts") {
    const auto text = [](const std::string& name, const Replacement& replacement) {
        return Attack{"a folder of texts in which '" + name + "' is odd",
                      "all files below it are read", [=](const Target& target) {
                          fs::remove_all(target.directory);
                          fs::create_directory(target.directory);
                          spill(target.directory / "good.txt", simple_text());
                          put(target.directory / name, replacement);
                      }};
    };
    const std::vector<Attack> attacks{text("pipe.txt", a_fifo),
                                      text("loop", link_to(".")),
                                      text("loop.txt", link_to("loop.txt")),
                                      text("above", link_to("..")),
                                      text("endless.txt", link_to("/dev/zero")),
                                      text("victim.txt", link_to("../victim/notes.txt")),
                                      text("\x1B[2J.txt", contents("\xFF\xFE")),
                                      text("two\nlines.txt", contents("\xFF\xFE")),
                                      text("\xFF.txt", contents("\xFF\xFE")),
                                      text("a.jsonl", contents("{\"text\":[]}")),
                                      text("\x1B[2J.jsonl", contents("{\"text\":[]}")),
                                      text(std::string(251, 'x') + ".txt", contents("text"))};
    const Command tokenize{"tokenize", {"tokenize", "--text", "above/m", "--out", "out/d"}};
    const Command train{
        "train", {"train", "--text", "above/m", "--out", "out/n", "--steps", "1", "--no-report"}};
    const AttackPlace place(Kind::data);
    for (const Attack& attack : attacks) try_readers(place, attack, {tokenize, train});
}
