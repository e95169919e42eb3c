// A directory is data: strings from its files reach the terminal escaped. Every value and every
// name in every file that a command opens is made hostile, one at a time; so are texts, tokens,
// file names and arguments.
#include <tapestry/core/checksum.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/tests/cli/command.h>
#include <tapestry/tests/skip.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

using namespace tapestry::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;
namespace utf8 = tapestry::utf8;

namespace {

// Clears the screen, sets the title, moves back, starts a C1 command, reverses the text direction.
const std::string kAttack = "\x1B[2J\x1B]0;t\x07\b\x7F\u009B2J\u202E\u2066\u200F\u061C\u2028";
const std::string kNoText = kAttack + "\xE9\x9B" + "2J";  // not UTF-8 either

// ---- what may reach a terminal

std::string without(std::string text, const std::string& part) {
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part)) {
        text.erase(at, part.size());
    }
    return text;
}

bool is_command(char32_t c) {
    return (c < 0x20 && c != U'\n' && c != U'\t') || (c >= 0x7F && c < 0xA0) || c == 0x61C ||
           c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x2069);
}

void check_text(const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
        const utf8::Step here = utf8::step(text, at);
        if (here.flaw != nullptr || is_command(here.code)) {
            FAIL_CHECK("byte ", at, " of ", utf8::quoted(text, 4000));
            return;
        }
        at += here.bytes;
    }
}

void check_clean(const Outcome& outcome) {
    CHECK(outcome.code >= 0);  // no signal
    check_text(outcome.out);
    check_text(outcome.err);
}

// A terminal ends its lines with "\r\n", and rewrites a progress line by "\r" and "\033[K".
void check_clean_on_terminal(const Outcome& outcome) {
    CHECK(outcome.code >= 0);
    check_text(without(without(outcome.out, "\r"), "\x1B[K"));
}

// ---- hostile files

// For an array, two elements represent all; a string may itself be JSON.
std::vector<Json> variants_of(const Json& value) {
    std::vector<Json> all;
    const auto add_each = [&](const auto& key) {
        for (Json& variant : variants_of(value.at(key))) {
            all.push_back(value);
            all.back()[key] = std::move(variant);
        }
    };
    if (value.is_object()) {
        for (const auto& [name, member] : value.items()) add_each(name);
        for (const char* name : {"format", "step", "type", "vocab", "files", "optimizer"}) {
            if (!value.contains(name)) continue;
            all.push_back(value);
            all.back().erase(name);
            all.back()[kAttack] = value[name];
        }
    } else if (value.is_array()) {
        for (std::size_t i = 0; i < std::min<std::size_t>(2, value.size()); ++i) add_each(i);
    } else {
        all.emplace_back(kAttack);
        const Json inside = value.is_string()
                                ? Json::parse(value.get<std::string>(), nullptr, false)
                                : Json(Json::value_t::discarded);
        if (!inside.is_object()) return all;
        for (const Json& variant : variants_of(inside)) all.emplace_back(variant.dump());
    }
    return all;
}

using Files = std::vector<std::string>;

Files variants_of_json(const std::string& text) {
    Files all;
    for (const Json& variant : variants_of(Json::parse(text))) all.push_back(variant.dump(1));
    const auto string =
        text.find(": \"") != std::string::npos ? text.find(": \"") + 3 : text.find(":\"") + 2;
    all.push_back(text.substr(0, string) + kNoText + text.substr(string));  // raw
    all.push_back(kNoText);
    return all;
}

// Variants of each line, JSON or not.
Files variants_of_lines(const std::string& text) {
    std::vector<std::string> lines = lines_of(text);
    const std::string line = lines.at(2);
    Files all;
    const auto add = [&](const std::string& instead) {
        lines[2] = instead;
        std::string whole;
        for (const std::string& each : lines) whole += each + "\n";
        all.push_back(whole);
    };
    if (Json::accept(line)) {
        for (const Json& variant : variants_of(Json::parse(line))) add(variant.dump());
    }
    for (const std::string& instead : {kNoText, kAttack + " " + kAttack}) add(instead);
    return all;
}

// A directory with everything that commands open, made from a hostile text.
struct HostilePlace : Place {
    std::string checkpoint;

    HostilePlace() {
        std::string text = simple_text(1000);
        for (std::size_t at = 0; at < text.size(); at += 100) text.insert(at, kAttack);
        spill(*this / "t.txt", text);
        check_clean(run(tiny_training({"--hash-every", "1", "--checkpoint-every", "10"})));
        check_clean(run({"tokenize", "--text", "t.txt", "--tokenizer", "m", "--out", "d"}));
        fs::copy(source_dir() / "tests/fixtures/gpt2", *this / "g");
        put_trap();
        for (const auto& entry : fs::directory_iterator(*this / "m/checkpoints")) {
            checkpoint = "m/checkpoints/" + entry.path().filename().native();
        }
    }

    // The files that training leaves after non-finite weights.
    void put_trap() const {
        fs::copy(*this / "m", *this / "start");
        fs::remove(*this / "start" / tapestry::kManifestName);
        const fs::path weights = *this / "start/model.safetensors";
        auto tensors = tapestry::read_safetensors(weights).tensors;
        tensors.front().second.mutable_data<float>()[0] = NAN;
        tapestry::write_safetensors(weights, tensors, {{"format", "tapestry-gpt"}});
        check_clean(run({"train", "--text", "t.txt", "--model", "start", "--out", "s", "--steps",
                         "3", "--batch", "2", "--eval-every", "0", "--trap-nan"}));
        fs::rename(*this / "s/trap", *this / "trap");
    }

    // Updates the file's entry in the directory's manifest, if there is one.
    static void list_in_manifest(const fs::path& directory, const fs::path& file) {
        const fs::path manifest = directory / tapestry::kManifestName;
        if (!fs::exists(manifest) || file == manifest) return;
        Json listed = Json::parse(slurp(manifest));
        const std::string name = file.lexically_relative(directory).native();
        if (!listed["files"].contains(name)) return;
        const tapestry::FileDigest digest = tapestry::digest_of_file(file);
        listed["files"][name] = {{"bytes", digest.bytes}, {"xxh3_128", digest.checksum}};
        spill(manifest, listed.dump());
    }

    static std::map<fs::path, std::string> contents_of(const fs::path& directory) {
        std::map<fs::path, std::string> all;
        for (const auto& entry : fs::recursive_directory_iterator(directory)) {
            if (!entry.is_regular_file()) continue;
            all[entry.path().lexically_relative(directory)] = slurp(entry.path());
        }
        return all;
    }

    static void restore(const fs::path& from, const fs::path& to, const fs::path& file) {
        if (!fs::exists(from / file)) return;
        fs::copy_file(from / file, to / file, fs::copy_options::overwrite_existing);
    }

    // Runs the commands with each variant of the file, then restores what they may have changed.
    void try_each(const fs::path& file, const Files& files,
                  const std::vector<Arguments>& commands) const {
        const fs::path directory = path() / *file.begin(), before = path() / "before";
        bool seen = false;  // was the escaped attack printed?
        fs::remove_all(before);
        fs::copy(directory, before, fs::copy_options::recursive);
        // Every value is attacked by several letters: in short, one of four is tried by one of the
        // commands, and the last two, which are not JSON, by all: some of these print the attack.
        for (std::size_t i = 0; i < files.size(); ++i) {
            const bool by_all = is_long() || i + 2 >= files.size();
            if (!by_all && i % 4 != 0) continue;
            const std::string& content = files[i];
            spill(path() / file, content);
            list_in_manifest(directory, path() / file);
            bool writes = false;  // into the directory
            const auto one = commands.begin() + static_cast<std::ptrdiff_t>(i % commands.size());
            for (const Arguments& command : by_all ? commands : std::vector<Arguments>{*one}) {
                INFO(file.native(), ", ", command[0], ": ", utf8::quoted(content, 4000));
                writes = writes || command[0] == "train";
                const Outcome outcome = run(command);
                check_clean(outcome);
                const std::string all = outcome.out + outcome.err;
                seen = seen || all.find("\\u{1B}[2J") != std::string::npos ||
                       all.find("\\u001b[2J") != std::string::npos;
            }
            if (writes) {
                fs::remove_all(directory);
                fs::copy(before, directory, fs::copy_options::recursive);
            } else {
                restore(before, directory, file.lexically_relative(*file.begin()));
                restore(before, directory, tapestry::kManifestName);
            }
        }
        INFO(file.native());
        CHECK(seen);
        CHECK(contents_of(directory) == contents_of(before));
    }
};

const HostilePlace& hostile_place() {
    static const HostilePlace place;
    return place;
}

const Arguments kEval{"eval", "--model", "m", "--text", "t.txt", "--batches", "1"};
const Arguments kEvalData{"eval", "--model", "m", "--data", "d", "--batches", "1"};
const Arguments kEvalTokens{"eval", "--model", "g", "--tokens", "g/tokens.txt"};
const Arguments kCurve{"curve", "m", "m"};
const Arguments kRewind{"rewind", "m", "--step", "3"};
const Arguments kRewindAll{"rewind", "m", "--all"};
const Arguments kResume{"train", "--resume", "--out", "m", "--steps", "20"};
const Arguments kBisect{"bisect", "m", "--first", "loss < 100"};

}  // namespace

TEST_CASE("cli escape: values and names in files") {
    const HostilePlace& place = hostile_place();
    struct Opened {
        std::string file;
        Files (*variants)(const std::string&);
        std::vector<Arguments> commands;
    };
    const std::vector<Opened> all{
        {"m/config.json", variants_of_json, {kEval}},
        {"m/tokenizer.json", variants_of_json, {kEval}},
        {std::string("m/") + tapestry::kManifestName, variants_of_json, {kEval}},
        {"g/config.json", variants_of_json, {kEvalTokens}},
        {"g/vocab.json", variants_of_json, {kEvalTokens}},
        {"g/merges.txt", variants_of_lines, {kEvalTokens}},
        {"d/data.json", variants_of_json, {kEvalData}},
        {"trap/step.json", variants_of_json, {{"replay", "trap", "--out", "r.html"}}},
        {"m/metrics.jsonl", variants_of_lines, {kCurve, kRewind, kRewindAll, kBisect, kResume}},
    };
    for (const Opened& one : all) {
        place.try_each(one.file, one.variants(slurp(place / one.file)), one.commands);
    }
}

TEST_CASE("cli escape: a checkpoint's metadata, and names of tensors") {
    const HostilePlace& place = hostile_place();
    const auto file = tapestry::read_safetensors(place / place.checkpoint);
    const std::string before = slurp(place / place.checkpoint);
    Files files{kNoText};
    const auto add = [&](const std::string& metadata, const std::string& format = "") {
        auto variant = file;
        variant.metadata["checkpoint"] = metadata;
        if (!format.empty()) variant.metadata["format"] = format;
        tapestry::write_safetensors(place / "variant", variant.tensors, variant.metadata);
        files.push_back(slurp(place / "variant"));
    };
    const std::string metadata = file.metadata.at("checkpoint");
    for (const std::string& variant : variants_of_json(metadata)) {
        if (!utf8::find_flaw(variant)) add(variant);
    }
    add(metadata, kAttack);
    auto renamed = file;
    renamed.tensors.front().first += kAttack;
    tapestry::write_safetensors(place / "variant", renamed.tensors, renamed.metadata);
    files.push_back(slurp(place / "variant"));
    place.try_each(place.checkpoint, files, {kCurve, kRewind, kResume});
}

TEST_CASE("cli escape: arguments and names of files") {
    const HostilePlace& place = hostile_place();
    const std::string name = kNoText;
    fs::copy(place / "m", place / name, fs::copy_options::recursive);
    fs::copy(place / "trap", place / (name + "trap"));
    fs::copy(place / "t.txt", place / (name + ".txt"));
    fs::copy(place / "d", place / (name + "data"));
    const std::string text = name + ".txt", out = name + "out";
    for (const Arguments& command : {
             Arguments{name},
             {"train", "--" + name},
             {"sample", "--model", "m", "--seed", name},
             {"sample", "--model", name + "none"},
             {"sample", "--model", "m", "--prompt", name},
             {"curve", name},
             {"curve", name, "m"},
             {"eval", "--model", name, "--text", text, "--batches", "1"},
             {"eval", "--model", name, "--data", name + "data", "--batches", "1", "--json"},
             {"export", "--model", name, "--out", out},
             {"gradcheck", "--model", name, "--text", text, "--certainty", "0.5"},
             {"gradcheck", "--op", name},
             {"gradcheck", "--module", name},
             {"profile", "--model", name, "--text", text, "--steps", "1"},
             {"experiment", name},
             {"inspect", "--model", name, "--prompt", kAttack, "--out", name + "page"},
             {"inspect", "--model", name, "--prompt", kAttack, "--print"},
             {"rewind", name, "--step", "3", "--print"},
             {"rewind", name, "--step", "3000"},
             {"bisect", name, "--first", "loss < 100"},
             {"bisect", name, "--first", name},
             {"replay", name + "trap", "--out", name + "page"},
             {"tokenize", "--text", text, "--out", out},
             {"tokenize", "--text", "t.txt", "--tokenizer", name + "none", "--out", out + "2"},
             {"train", "--text", "t.txt", "--out", name, "--resume"},
             {"train", "--text", "t.txt", "--out", out + "3", "--steps", "1", "--model", name},
             {"train", "--text", text, "--out", out + "4", "--steps", "1"},
         }) {
        INFO(utf8::quoted(command[0]), " ", command.size() > 1 ? utf8::quoted(command[1]) : "");
        check_clean(place.run(command));
    }
}

TEST_CASE("cli escape: JSON stays JSON") {
    const HostilePlace& place = hostile_place();
    const std::string name = kNoText + "json";
    fs::copy(place / "m", place / name, fs::copy_options::recursive);
    for (const Arguments& command : {Arguments{"gradcheck", "--model", name, "--certainty", "0.5"},
                                     {"gradcheck", "--model", name, "--dtype", "f32"},
                                     {"profile", "--model", name, "--steps", "1"},
                                     {"eval", "--model", name, "--batches", "1"}}) {
        const Outcome outcome = place.run(command + Arguments{"--text", "t.txt", "--json"});
        INFO(command[0], ": ", outcome.err);
        check_clean(outcome);
        CHECK(outcome.code != 2);
        CHECK(Json::accept(outcome.out));
    }
}

TEST_CASE("cli escape: what a model writes is data in a pipe, and escaped on a terminal") {
    const HostilePlace& place = hostile_place();
    const Arguments sample{"sample", "--model", "m", "--prompt", kAttack, "--tokens", "200"};
    const Outcome piped = place.run(sample);
    check_done(piped);
    CHECK(piped.out.starts_with(kAttack));
    const Arguments training{"--out", "n", "--steps", "1", "--show-samples"};
    check_done(place.run(tiny_training(training)));
    if (!has_terminals()) return skip("there is no /dev/pts");
    const Surroundings terminal{.terminal = true};
    const Outcome written = place.run(sample, terminal);
    CHECK_EQ(written.code, 0);
    CHECK(written.out.starts_with("\\u{1B}[2J\\u{1B}]0;t\\u{7}\\u{8}\\u{7F}\\u{9B}2J\\u{202E}"));
    check_clean_on_terminal(written);
    for (const Arguments& command : {tiny_training(training),
                                     Arguments{"tokenize", "--text", "t.txt", "--out", "e"},
                                     kEval,
                                     kCurve,
                                     {"rewind", "m", "--step", "3", "--print"},
                                     {"inspect", "--model", "m", "--prompt", kAttack, "--print"},
                                     {"replay", "trap"}}) {
        INFO(command[0]);
        check_clean_on_terminal(place.run(command, terminal));
    }
}
