// Models and weights from elsewhere: names in wrappers, and what is no model.
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/layers/linear.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/support.h>
#include <tapestry/tests/source_dir.h>

#include <filesystem>

using namespace tapestry;
using namespace std::string_literals;
using test::check_message;
using test::Scratch;
using test::spill;
namespace fs = std::filesystem;

namespace {

const fs::path kFixture = test::source_dir() / "tests/fixtures/gpt2";

// The fixture with this in front of every tensor's name.
void write_wrapped(const fs::path& to, const std::string& wrapper, const fs::path& from) {
    NamedTensors tensors = read_safetensors(from / "model.safetensors", [](const auto& name) {
                               return !name.ends_with(".attn.bias");
                           }).tensors;
    for (auto& [name, tensor] : tensors) name = wrapper + name;
    fs::create_directories(to);
    for (const auto& entry : fs::directory_iterator(from)) {
        if (entry.path().filename() == "tapestry-manifest.json") continue;
        if (entry.is_regular_file()) {
            fs::copy_file(entry.path(), to / entry.path().filename(),
                          fs::copy_options::overwrite_existing);
        }
    }
    write_safetensors(to / "model.safetensors", tensors, {{"format", "pt"}});
}

std::vector<float> logits(const fs::path& directory) {
    return load_model(directory)
        .model->
        operator()(tensor<std::int64_t>({1, 2, 3}, {1, 3}))
        .to_vector<float>();
}

}  // namespace

TEST_CASE("foreign weights: wrappers in front of names are left out") {
    const Scratch scratch;
    const std::vector<float> wanted = logits(kFixture);
    for (const char* wrapper : {"module.", "_orig_mod.", "model.", "module._orig_mod.",
                                "_orig_mod.module.", "model.transformer.", "module.transformer."}) {
        INFO(wrapper);
        write_wrapped(scratch / "wrapped", wrapper, kFixture);
        CHECK(logits(scratch / "wrapped") == wanted);
    }
}

TEST_CASE("foreign weights: a Llama's own names begin with a wrapper's") {
    const Scratch scratch;
    const fs::path fixture = test::source_dir() / "tests/fixtures/llama";
    const std::vector<float> wanted = logits(fixture);
    for (const char* wrapper : {"module.", "_orig_mod.", "model.", "module._orig_mod."}) {
        INFO(wrapper);
        write_wrapped(scratch / "wrapped", wrapper, fixture);
        CHECK(logits(scratch / "wrapped") == wanted);
        const fs::path file = scratch / "wrapped" / "model.safetensors";
        NamedTensors tensors = read_safetensors(file).tensors;
        for (std::size_t i = 0, end = tensors.size(); i < end; ++i) {  // the tied head's, too
            if (!tensors[i].first.ends_with("embed_tokens.weight")) continue;
            const Tensor table = tensors[i].second;
            tensors.emplace_back(std::string(wrapper) + "lm_head.weight", table);
        }
        write_safetensors(file, tensors, {{"format", "pt"}});
        CHECK(logits(scratch / "wrapped") == wanted);
    }
}

TEST_CASE("foreign weights: in our own format and in any module's file, too") {
    const Scratch scratch;
    Generator g(1);
    const GPT model({.vocab = 3, .context = 4, .layers = 1, .heads = 1, .dim = 4}, g);
    save_model(scratch / "ours", model, CharTokenizer(U"abc"));
    write_wrapped(scratch / "wrapped", "_orig_mod.", scratch / "ours");
    CHECK_EQ(test::numbers_of<float>(*load_model(scratch / "wrapped").model),
             test::numbers_of<float>(model));

    Linear linear(2, 3, g), other(2, 3, g);
    NamedTensors named;
    for (const auto& [name, tensor] : saved_tensors(linear)) {
        named.emplace_back("module." + name, tensor);
    }
    write_safetensors(scratch / "linear.safetensors", named);
    load(scratch / "linear.safetensors", other);
    CHECK_EQ(test::numbers_of<float>(other), test::numbers_of<float>(linear));
}

TEST_CASE("foreign weights: files that are no safetensors are called what they are") {
    const Scratch scratch;
    const fs::path file = scratch / "model.safetensors";
    const auto refused = [&](const std::string& bytes, const std::string& words) {
        spill(file, bytes);
        INFO(words);
        check_message<IoError>([&] { read_safetensors(file); }, words);
    };
    refused("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 548105171\n",
            "not safetensors, but a Git LFS pointer; `git lfs pull` downloads");
    refused("<!DOCTYPE html>\n<html><head>", "not safetensors, but a web page; download the file");
    refused("  <HTML lang=\"en\">", "a web page");
    refused("PK\x03\x04 and more bytes", "what torch.save writes; in Python, safetensors");
    refused("\x80\x02\x8A\x0Ale and more", "what torch.save writes");
    refused("x,y,z\n1,2,3\n4,5,6\n", "a table as text (CSV), which `--text` reads");
    refused("GGUF\x03\0\0\0 and more"s, "a GGUF file");
    refused("Entry not found, and so on", "text, which `--text` reads");
}

TEST_CASE("foreign weights: directories and files that are no model") {
    const Scratch scratch;
    const auto refused = [&](const fs::path& model, const std::string& words) {
        check_message<IoError>([&] { load_model(model); }, words);
    };
    spill(scratch / "data.csv", "x,y\n1,2\n3,4\n");
    refused(scratch / "data.csv",
            "not a model, but a table as text (CSV), which `--text` reads; a model is a directory");
    fs::create_directory(scratch / "adapter");
    spill(scratch / "adapter" / "adapter_config.json", "{}");
    refused(scratch / "adapter", "an adapter (adapter_config.json), which needs its base model");
    fs::create_directory(scratch / "shards");
    fs::copy_file(kFixture / "config.json", scratch / "shards" / "config.json");
    spill(scratch / "shards" / "model.safetensors.index.json", "{}");
    refused(scratch / "shards", "\"weight_map\" is missing");
}

TEST_CASE("foreign weights: added_tokens.json") {
    const Scratch scratch;
    const auto plain = load_model(kFixture).tokenizer;
    const std::int64_t n = plain->vocab_size();
    Generator g(1);
    const GPT model({.vocab = n + 2, .context = 4, .layers = 1, .heads = 1, .dim = 4}, g);
    save_model(scratch / "m", model, *plain);
    const auto with = [&](const std::string& added) {
        spill(scratch / "m" / "added_tokens.json", added);
        return load_model(scratch / "m").tokenizer;
    };
    CHECK_EQ(with(fmt::format("{{\"<pad>\": {}, \"<mask>\": {}}}", n, n + 1))->vocab_size(), n + 2);
    const auto tokenizer = with(fmt::format("{{\"<x1>\": {}, \"<x1> y\": {}}}", n, n + 1));
    const std::string text = "the<x1> cat<x1> y<x1>";
    const auto ids = tokenizer->encode(text);
    CHECK_EQ(std::count(ids.begin(), ids.end(), n), 2);
    CHECK_EQ(std::count(ids.begin(), ids.end(), n + 1), 1);
    CHECK_EQ(tokenizer->decode(ids), text);
    CHECK(tokenizer->hash() != plain->hash());
    // No cut is within one, although a cut next to its number would end a word.
    for (std::size_t size = 0; size <= text.size(); ++size) {
        const std::size_t end = tokenizer->piece_end(text.substr(0, size));
        auto parts = tokenizer->encode(text.substr(0, end));
        const auto rest = tokenizer->encode(text.substr(end));
        parts.insert(parts.end(), rest.begin(), rest.end());
        CHECK_EQ(parts, ids);
    }
    check_message<IoError>([&] { with(fmt::format("{{\"<pad>\": {}}}", n + 5)); },
                           "the ids after the vocabulary's");
    check_message<IoError>([&] { with("[]"); }, "added_tokens.json");

    // It is saved with the model.
    with(fmt::format("{{\"<pad>\": {}}}", n));
    const auto again = load_tokenizer(scratch / "m");
    save_model(scratch / "saved", model, *again);
    CHECK_EQ(load_tokenizer(scratch / "saved")->hash(), again->hash());
}
