// The fields of a directory's manifest: names, stages, lengths and checksums. Each named file is
// also staged, in both layouts, so a commit seems unfinished.
#include <tapestry/tests/hostile/attack.h>
#include <tapestry/tests/hostile/manifest_text.h>

#include <string>

using namespace tapestry::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kEvil = "hostile\n";

struct Piece {
    std::string json;  ///< as in the manifest
    const char* why;
};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what)) {
        text.replace(at, what.size(), by);
    }
    return text;
}

std::string repeated(const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

// A name that is listed, with a staged file.
Attack listing(const Piece& name, const std::string& refusal = "tapestry-manifest.json") {
    return {.name = "a file called " + name.json.substr(0, 60),
            .why = name.why,
            .prepare =
                [name](const Target& target) {
                    const std::string json = replaced(name.json, "VICTIM", target.victim.native());
                    ManifestText manifest(target.directory);
                    manifest.list(json, kEvil);
                    manifest.write(target.directory);
                    put_staged(target.directory, decoded(json), kEvil);
                },
            .refusal = refusal};
}

std::vector<Attack> listing_all(const std::vector<Piece>& names) {
    std::vector<Attack> attacks;
    for (const Piece& name : names) attacks.push_back(listing(name));
    return attacks;
}

const std::vector<Piece> kPaths{
    {"../victim/notes.txt", "leads out"},
    {"VICTIM/notes.txt", "absolute"},
    {"//VICTIM/notes.txt", "absolute, with slashes"},
    {"best/../../victim/notes.txt", "out by the way of a folder"},
    {"checkpoints/../../victim/notes.txt", "the same, of another folder"},
    {"./../victim/notes.txt", "behind a dot"},
    {"best/../../../home/.bashrc", "a shell's start-up file"},
    {"../../home/.ssh/authorized_keys", "who may log in"},
    {"../config.json", "a good name in the directory above"},
    {"../model.safetensors", "the same, of the weights"},
    {"best/../config.json", "back to the directory"},
    {"checkpoints/../best/model.safetensors", "back, and into another folder"},
    {"best/..", "ends with the directory"},
    {"..", "the directory above"},
    {".", "the directory"},
    {"", "empty"},
    {"best/.", "ends with a folder"},
    {"best/", "ends with a slash"},
    {"checkpoints/", "the same"},
    {"best", "a folder"},
    {"checkpoints", "the same"},
    {"best//model.safetensors", "two slashes"},
    {"./config.json", "a dot"},
    {"best/./model.safetensors", "a dot in the middle"},
    {"/config.json", "absolute in name"},
    {"~/.bashrc", "a home"},
    {"$HOME/.bashrc", "a variable"},
};

const std::vector<Piece> kLetters{
    {"..\\\\victim\\\\notes.txt", "backslashes"},
    {"best\\\\model.safetensors", "a folder in Windows' way"},
    {"C:config.json", "a drive"},
    {"config.json:stream", "a stream"},
    {"config.json\\u0000.txt", "NUL cuts it for the system"},
    {"\\u0000../victim/notes.txt", "NUL first"},
    {"config.json\\n", "a line's end"},
    {"\\u001b]0;owned\\u0007config.json", "a terminal's command"},
    {"config.json\\u007f", "DEL"},
    {"config.json\\u0085", "a control character of two bytes"},
    {" config.json", "a space before"},
    {"config.json ", "a space behind"},
    {"config.json.", "a dot behind"},
    {"\xD1\x81onfig.json", "a Cyrillic letter"},
    {"..\xEF\xBC\x8Fvictim\xEF\xBC\x8Fnotes.txt", "full-width slashes"},
    {"\xE2\x80\xA4\xE2\x80\xA4/victim/notes.txt", "characters that look like dots"},
    {"config.json\xE2\x80\x8B", "a space without width"},
    {"\xE2\x80\xAEnosj.gifnoc", "from right to left"},
    {"\\ud800config.json", "half a character"},
    {"\xC0\xAE\xC0\xAE/victim/notes.txt", "dots of two bytes, which are not UTF-8"},
    {"%2e%2e/victim/notes.txt", "a URL's dots"},
    {"..%2fvictim%2fnotes.txt", "a URL's slashes"},
    {"Config.json", "a capital"},
    {"MODEL.SAFETENSORS", "capitals"},
    {repeated("x", 300) + ".safetensors", "longer than names may be"},
    {repeated("best/", 2000) + "model.safetensors", "deeper than paths may be"},
    {repeated("../", 2000) + "home/.bashrc", "up to the root and beyond"},
};

const std::vector<Piece> kKinds{
    {"report.html", "a page that a browser opens"},
    {".lock", "the lock"},
    {"tapestry-manifest.json", "the manifest itself"},
    {".bashrc", "anything"},
    {"run.sh", "anything"},
    {"data.json", "of data"},
    {"ids.bin", "of data"},
    {"metrics.new.jsonl", "a file on its way"},
    {".tapestry-1-0.tmp", "a temporary"},
    {".saving-0123456789abcdef-config.json", "a staged file"},
    {"best/metrics.jsonl", "which best/ does not have"},
    {"best/.lock", "the same"},
    {"best/best/model.safetensors", "a folder too deep"},
    {"checkpoints/config.json", "which checkpoints/ does not have"},
    {"checkpoints/.lock", "the same"},
    {"rewind/model.safetensors", "which rewind/ does not have"},
    {"trap/model.safetensors", "of a separate directory"},
    {"step-00000010.safetensors", "a state out of place"},
    {"checkpoints/step-1000.safetensors", "too few digits"},
    {"checkpoints/step-0000001a.safetensors", "a letter"},
    {"checkpoints/step--0000010.safetensors", "a negative step"},
    {"checkpoints/step-+0000010.safetensors", "a sign"},
    {"checkpoints/step- 0000010.safetensors", "a space"},
    {"checkpoints/step-00000010.safetensors/x", "below a file"},
    {"checkpoints/step-00000010.safetensors.tmp", "another ending"},
    {"checkpoints/STEP-00000010.safetensors", "capitals"},
    {"checkpoints/step-99999999999999999999.safetensors", "a number too large"},
    {"checkpoints/step-\xEF\xBC\x91"
     "0000000.safetensors",
     "a full-width digit"},
    {"rewind/../checkpoints/step-00000040.safetensors", "by the way of another folder"},
};

}  // namespace

TEST_CASE("hostile: paths in a manifest") { try_attacks(Kind::run, listing_all(kPaths)); }

TEST_CASE("hostile: letters in a manifest's names") {
    try_attacks(Kind::run, listing_all(kLetters));
}

TEST_CASE("hostile: names in a manifest that no run has") {
    try_attacks(Kind::run, listing_all(kKinds));
}

TEST_CASE("hostile: names in the manifests of other kinds of directory") {
    for (const Kind kind : {Kind::hugging_face, Kind::transformer}) {
        try_attacks(kind, {listing(kPaths[0]), listing(kPaths[1]), listing(kPaths[3]),
                           listing(kLetters[0]), listing(kKinds[3])});
    }
}

namespace {

Attack staging(const Piece& stage, const std::string& refusal = "tapestry-manifest.json") {
    return {.name = "the stage " + stage.json.substr(0, 60),
            .why = stage.why,
            .prepare =
                [stage](const Target& target) {
                    const std::string json = replaced(stage.json, "VICTIM", target.victim.native());
                    ManifestText manifest(target.directory);
                    manifest.stage = json;
                    manifest.write(target.directory);
                    const std::string text =
                        json.starts_with('"') ? decoded(json.substr(1, json.size() - 2)) : json;
                    for (const char* folder : {".saving-a", ".saving-", ".saving-"}) {
                        std::error_code ignored;
                        fs::create_directory(target.directory / folder, ignored);
                    }
                    for (const char* name : {"config.json", "model.safetensors", "metrics.jsonl",
                                             "best/model.safetensors"}) {
                        put_staged(target.directory, name, kEvil, text);
                    }
                },
            .refusal = refusal};
}

const std::vector<Piece> kStages{
    {"\"a/../../victim/secret\"", "takes files from outside"},
    {"\"/../../victim/secret\"", "the same"},
    {"\"../victim/secret\"", "leads out"},
    {"\"VICTIM/secret\"", "absolute"},
    {"\"0123456789abcde\"", "a digit too few"},
    {"\"0123456789abcdef0\"", "a digit too many"},
    {"\"0123456789ABCDEF\"", "capitals"},
    {"\"0123456789abcdeg\"", "no digit"},
    {"\"0123456789abcde/\"", "a slash"},
    {"\" 123456789abcdef\"", "a space"},
    {"\"0123456789abcdef\\n\"", "a line's end"},
    {"\"0123456789abcdef\\u0000\"", "NUL"},
    {"\"01234567-9abcdef\"", "a hyphen, which names have, too"},
    {"\"-\"", "a hyphen alone"},
    {"\"..\"", "dots"},
    {"\"\xEF\xBC\x90"
     "123456789abcd\"",
     "a full-width digit, 16 bytes"},
    {"\"" + repeated("0123456789abcdef", 400) + "\"", "very long"},
    {"5", "a number"},
    {"null", "nothing"},
    {"[\"0123456789abcdef\"]", "a list"},
};

Attack describing(const std::string& bytes, const std::string& checksum, const char* why) {
    return {.name = "bytes " + bytes.substr(0, 30) + ", checksum " + checksum.substr(0, 40),
            .why = why,
            .prepare =
                [=](const Target& target) {
                    ManifestText manifest(target.directory);
                    manifest.drop("config.json");
                    manifest.list("config.json", bytes, checksum);
                    manifest.write(target.directory);
                    put_staged(target.directory, "config.json", kEvil);
                },
            .refusal = "tapestry-manifest.json"};
}

const std::string kRight = "\"0123456789abcdef0123456789abcdef\"";

}  // namespace

TEST_CASE("hostile: stages") {
    std::vector<Attack> attacks;
    for (const Piece& stage : kStages) attacks.push_back(staging(stage));
    // A manifest without staged files states that there are none.
    attacks.push_back(staging({"\"\"", "empty, with staged files there"}, ""));
    try_attacks(Kind::run, attacks);
}

TEST_CASE("hostile: lengths and checksums") {
    try_attacks(
        Kind::run,
        {describing("8", "\"0123456789abcdef0123456789abcde\"", "a digit too few"),
         describing("8", "\"0123456789abcdef0123456789abcdef0\"", "a digit too many"),
         describing("8", "\"0123456789ABCDEF0123456789ABCDEF\"", "capitals"),
         describing("8", "\"../victim/notes.txt\"", "a path"), describing("8", "\"\"", "empty"),
         describing("8", "\"\\u001b[2J456789abcdef0123456789abc\"", "a terminal's command"),
         describing("8", "5", "a number"), describing("8", "null", "nothing"),
         describing("-1", kRight, "negative"), describing("8.5", kRight, "a part of a byte"),
         describing("1e99", kRight, "too large"),
         describing("18446744073709551616", kRight, "2^64"),
         describing("\"8\"", kRight, "a text")});
}

TEST_CASE("hostile: a name that comes twice") {
    const auto twice = [](const Target& target) {
        ManifestText manifest(target.directory);
        manifest.list("config.json", kEvil);
        manifest.write(target.directory);
        put_staged(target.directory, "config.json", kEvil);
    };
    const auto members = [](const Target& target) {
        ManifestText manifest(target.directory);
        manifest.stage = "\"0123456789abcdef\",\"stage\":\"../victim/secret\"";
        manifest.write(target.directory);
    };
    const auto escaped = [](const Target& target) {
        ManifestText manifest(target.directory);
        manifest.list("c\\u006fnfig.json", kEvil);
        manifest.write(target.directory);
        put_staged(target.directory, "config.json", kEvil);
    };
    try_attacks(Kind::run, {{"config.json twice", "either digest may be taken", twice},
                            {"two stages", "either may be taken", members},
                            {"config.json and c\\u006fnfig.json", "they are one name", escaped}});
}
