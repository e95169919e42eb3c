#include <tapestry/nn/io/model_files.h>

#include <tapestry/core/copy.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/file.h>
#include <tapestry/core/skip_drawing.h>
#include <tapestry/core/storage.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/data/bpe.h>
#include <tapestry/nn/io/data_directory.h>
#include <tapestry/nn/io/decoder_formats.h>
#include <tapestry/nn/io/foreign_weights.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/io/shards.h>
#include <tapestry/nn/tokenizers/json_tokenizer.h>
#include <tapestry/ops/comparison.h>
#include <tapestry/ops/reduction.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kModelFormat = 1;
constexpr std::uint64_t kMaxTokenizer = std::uint64_t{1} << 28;

// Reports invalid settings as errors of their file.
template <class Config, class Make>
auto make(const Config& config, const SavedFiles& files, const Make& made) {
    const std::string file = files.path(kConfigName).string();
    check_model_size(parameter_count(config), files);
    const SkipDrawing skip;  // all weights are read
    try {
        return made();
    } catch (const ValueError& error) {
        fail<IoError>("{}: {}", file, error.what());
    } catch (const ShapeError& error) {
        fail<IoError>("{}: {}", file, error.what());
    }
}

}  // namespace

// Elements have 4 bytes, or 2.
void check_model_size(double parameters, const SavedFiles& files) {
    double bytes = 0;
    const std::vector<fs::path> weights = weight_files(files);
    for (const fs::path& file : weights) bytes += static_cast<double>(InputFile(file).size());
    require<IoError>(2 * parameters <= 1.1 * bytes + 65536,
                     "{}: the configuration needs {:.0f} parameters, but {}{} has {:.0f} bytes",
                     files.path(kConfigName).string(), parameters, weights.front().string(),
                     weights.size() == 1 ? "" : fmt::format(" to {}", weights.back().string()),
                     bytes);
}

void check_model_files(const SavedFiles& files) {
    files.check({kConfigName, kTokenizerName, kCharTokenizerName, "vocab.json", "merges.txt",
                 kAddedTokensName, kWeightsName});
}

void put_files(const fs::path& directory, const std::vector<NewFile>& files) {
    check_holds_no_data(directory);
    make_directories(directory);
    const DirectoryLock lock(directory);
    Commit commit(directory);
    const auto is_config = [](const NewFile& file) { return file.name == kConfigName; };
    if (std::any_of(files.begin(), files.end(), is_config)) commit.remove_model();
    for (const NewFile& file : files) commit.write(file.name, file.write);
    commit.finish();
}

void check_can_put(const fs::path& directory, const std::vector<NewFile>& files) {
    check_holds_no_data(directory);
    make_directories(directory);
    const DirectoryLock lock(directory);
    Commit commit(directory);
    for (const NewFile& file : files) commit.write(file.name, file.write);
}

NewFile text_file(std::string name, std::string text) {
    return {std::move(name),
            [text = std::move(text)](const fs::path& path, const WriteOptions& options) {
                return write_file_atomically(path, text, options);
            }};
}

void write_config(Commit& commit, const std::string& folder, std::string text) {
    const NewFile file = text_file(kConfigName, std::move(text));
    commit.write(folder.empty() ? file.name : fmt::format("{}/{}", folder, file.name), file.write);
}

NewFile weights_file(DeferredTensors weights, std::string format) {
    return {kWeightsName, [weights = std::move(weights), format = std::move(format)](
                              const fs::path& path, const WriteOptions& options) {
                return write_deferred(path, weights, {{"format", format}}, options);
            }};
}

namespace {

ModelKind kind_of(const ModelRow& row) {
    if (row.make != nullptr) return ModelKind::language_model;
    if (std::holds_alternative<BagConfig>(row.defaults)) return ModelKind::classifier;
    if (std::holds_alternative<MaskedLanguageModelConfig>(row.defaults)) return ModelKind::masked;
    if (std::holds_alternative<SpanConfig>(row.defaults)) return ModelKind::span_reader;
    if (std::holds_alternative<TableConfig>(row.defaults)) return ModelKind::table;
    if (std::holds_alternative<CustomConfig>(row.defaults)) return ModelKind::custom;
    return std::holds_alternative<VisionTransformerConfig>(row.defaults)
               ? ModelKind::image_classifier
               : ModelKind::transformer;
}

}  // namespace

ModelKind kind_in(const ConfigFile& file) {
    if (is_hugging_face(file)) return ModelKind::language_model;
    const auto name = file.get<std::string>("model");
    const std::vector<std::string> names = model_names();
    std::string known;
    for (const std::string& each : names) {
        if (each == name) return kind_of(model_row(each));
        const bool is_last = &each == &names.back();
        known += fmt::format("{}\"{}\"", known.empty() ? "" : is_last ? " and " : ", ", each);
    }
    fail<IoError>(
        "{}: \"model\" is \"{}\"; must be one of {}, or its task is not registered in this "
        "program",
        file.path(), utf8::printable(name), known);
}

void check_kind(const ConfigFile& file, ModelKind needed) {
    const auto format = file.get<std::int64_t>("format", kModelFormat);
    require<IoError>(format == kModelFormat,
                     "{}: a model of format {}; this Tapestry reads format {}", file.path(), format,
                     kModelFormat);
    if (kind_in(file) == needed) return;
    std::string phrases = needed == ModelKind::custom ? "that of a registered task" : "";
    for (const ModelRow& row : model_rows()) {
        if (kind_of(row) != needed) continue;
        phrases += fmt::format("{}{}", phrases.empty() ? "" : " or ", row.phrase);
    }
    const DecoderFormat* const foreign = decoder_format_of(file);
    const auto name =
        file.get<std::string>("model", foreign != nullptr ? foreign->model_type : "gpt");
    fail<IoError>("{}: the model is {}, expected {}", file.path(), model_row(name).phrase, phrases);
}

std::vector<NewFile> tokenizer_files(const Tokenizer& tokenizer, const std::string& char_name) {
    if (const auto* characters = dynamic_cast<const CharTokenizer*>(&tokenizer)) {
        return {text_file(char_name, characters->to_json())};
    }
    if (const auto* json = dynamic_cast<const JsonTokenizer*>(&tokenizer)) {
        return {text_file(kTokenizerName, json->json())};
    }
    const auto* pairs = dynamic_cast<const BytePairTokenizer*>(&tokenizer);
    require(pairs != nullptr, "a tokenizer of kind {} cannot be saved", tokenizer.kind());
    std::vector<NewFile> files{text_file("vocab.json", pairs->vocab_json()),
                               text_file("merges.txt", pairs->merges_text())};
    const std::string added = pairs->added_json();
    if (!added.empty()) files.push_back(text_file(kAddedTokensName, added));
    return files;
}

std::unique_ptr<CharTokenizer> read_char_tokenizer(const fs::path& file) {
    const std::string text = read_file(file, kMaxTokenizer);
    try {
        return std::make_unique<CharTokenizer>(CharTokenizer::from_json(text));
    } catch (const ValueError& error) {
        fail<IoError>("{}: {}", file.string(), error.what());
    }
}

std::unique_ptr<Tokenizer> read_json_tokenizer(const fs::path& file) {
    try {
        return std::make_unique<JsonTokenizer>(
            JsonTokenizer::from_json(read_file(file, kMaxTokenizer), file.string()));
    } catch (const ValueError& error) {
        throw IoError(error.what());
    }
}

std::unique_ptr<Tokenizer> read_byte_pair_tokenizer(const SavedFiles& saved) {
    constexpr std::array<std::array<const char*, 2>, 2> kPairs{
        {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}}};
    for (const auto& pair : kPairs) {
        const std::array<fs::path, 2> files{saved.path(pair[0]), saved.path(pair[1])};
        std::error_code ignored;
        const std::array<bool, 2> there{fs::exists(files[0], ignored),
                                        fs::exists(files[1], ignored)};
        if (!there[0] && !there[1]) continue;
        for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
            require<IoError>(there[i],
                             "{}: incomplete vocabulary: found {} but not {}; a byte-pair "
                             "tokenizer needs both",
                             saved.directory().string(), pair[1 - i], pair[i]);
        }
        const std::string vocab = read_file(files[0], kMaxTokenizer);
        const std::string merges = read_file(files[1], kMaxTokenizer);
        const fs::path more = saved.path(kAddedTokensName);
        const std::string added = is_there(more) ? read_file(more, kMaxTokenizer) : "";
        try {
            return std::make_unique<BytePairTokenizer>(BytePairTokenizer::from_text(
                vocab, merges,
                {.vocab = files[0].string(), .merges = files[1].string(), .added = more.string()},
                added));
        } catch (const ValueError& error) {
            throw IoError(error.what());
        }
    }
    return nullptr;
}

void check_vocabulary(const Tokenizer& tokenizer, std::int64_t vocab, const fs::path& directory) {
    const bool characters = tokenizer.kind() == "char";
    const std::int64_t size = tokenizer.vocab_size();
    require<IoError>(characters ? size == vocab : size <= vocab,
                     "{}: the tokenizer has {} {}, the configuration {}", directory.string(), size,
                     characters ? "characters" : "tokens", vocab);
}

std::unique_ptr<LanguageModel> make_model(const ModelConfig& config, const SavedFiles& files,
                                          WeightType weights) {
    auto model = make(config, files, [&] { return make_model(config); });
    if (weights == WeightType::bf16) {
        quantize_weights(*model, weights);
        release_cached_memory();  // f32 blocks, of which nothing has been written
    }
    return model;
}

std::unique_ptr<Transformer> make_model(const TransformerConfig& config, const SavedFiles& files) {
    return make(config, files, [&] { return std::make_unique<Transformer>(config); });
}
std::unique_ptr<BagClassifier> make_model(const BagConfig& config, const SavedFiles& files) {
    return make(config, files, [&] { return std::make_unique<BagClassifier>(config); });
}
std::unique_ptr<MaskedLanguageModel> make_model(const MaskedLanguageModelConfig& config,
                                                const SavedFiles& files) {
    return make(config, files, [&] { return std::make_unique<MaskedLanguageModel>(config); });
}
std::unique_ptr<VisionTransformer> make_model(const VisionTransformerConfig& config,
                                              const SavedFiles& files) {
    return make(config, files, [&] { return std::make_unique<VisionTransformer>(config); });
}
std::unique_ptr<SpanReader> make_model(const SpanConfig& config, const SavedFiles& files) {
    return make(config, files, [&] { return std::make_unique<SpanReader>(config); });
}
std::unique_ptr<TableNetwork> make_model(const TableConfig& config, const SavedFiles& files) {
    return make(config, files, [&] { return std::make_unique<TableNetwork>(config); });
}

void load_weights(const SavedFiles& files, Module& model, WeightType weights) {
    std::vector<StoredParameter> parameters;
    for (const auto& [name, tensor] : saved_tensors(model)) parameters.push_back({name, tensor});
    if (weights == WeightType::int8) quantize_when_filled(parameters, model);
    const auto own_name = names_without_wrappers(parameters);
    check_all_used(files.path(kWeightsName).string(),
                   read_parameters(files, {}, own_name, std::move(parameters)));
}

void fill_parameter(const std::string& file, const StoredParameter& one, const Tensor& stored) {
    const Tensor wanted = one.transposed ? views::transpose(one.parameter, 0, 1) : one.parameter;
    const Shape shape = one.shape.rank() > 0 ? one.shape : wanted.shape();
    const bool widens = is_narrow(stored.dtype()) && wanted.dtype() == DType::f32;
    const bool rounds = is_narrow(wanted.dtype()) && compute_dtype(stored.dtype()) == DType::f32;
    const Tensor tensor = widens || rounds ? cast(stored, wanted.dtype()) : stored;
    require<IoError>(tensor.shape() == shape && tensor.dtype() == wanted.dtype(),
                     "{}: tensor \"{}\" is {} {}; the configuration needs {} {}", file, one.name,
                     stored.dtype(), stored.shape(), compute_dtype(wanted.dtype()), shape);
    const Tensor as_wanted = views::reshape(tensor, wanted.shape());
    Tensor(one.parameter).copy_(one.transposed ? views::transpose(as_wanted, 0, 1) : as_wanted);
}

void drop_copy_of_head(const std::string& file, std::map<std::string, Tensor>& stored,
                       const std::string& head, const std::string& table, const Tensor& embedding) {
    const auto copy = stored.find(head);
    if (copy == stored.end()) return;
    const Tensor& found = copy->second;
    const bool same = found.shape() == embedding.shape() &&
                      all(eq(cast(found, embedding.dtype()), embedding)).item<bool>();
    require<IoError>(same,
                     "{}: tensor \"{}\" is not \"{}\", but the configuration ties them "
                     "(\"tie_word_embeddings\")",
                     file, head, table);
    stored.erase(copy);
}

void check_all_used(const std::string& file, const std::map<std::string, Tensor>& stored) {
    require<IoError>(stored.empty(), "{}: tensor \"{}\" does not belong to the model", file,
                     stored.empty() ? "" : stored.begin()->first);
}

// ---- tokenizer.json -----------------------------------------------------------------------------

// The same fields as in GPT-2's own tokenizer.json, where a merge is one string.

namespace {

void write_byte_level(JsonWriter& json, bool add_prefix_space, bool trim_offsets) {
    json.object("type", "ByteLevel", "add_prefix_space", add_prefix_space, "trim_offsets",
                trim_offsets, "use_regex", true);
}

void write_added_token(JsonWriter& json, std::int64_t id, std::string_view content) {
    json.object("id", id, "content", content, "single_word", false, "lstrip", false, "rstrip",
                false, "normalized", false, "special", true);
}

void write_vocabulary(JsonWriter& json, const BytePairTokenizer& tokenizer) {
    const JsonTree tree(tokenizer.vocab_json());
    const auto entries = tree.root().members();
    std::vector<const std::string*> tokens(entries.size());  // by id
    for (const auto& [token, id] : entries) tokens.at(id.get<std::uint64_t>()) = &token;
    json.object([&] {
        for (std::size_t id = 0; id < tokens.size(); ++id) json.member(*tokens[id], id);
    });
}

// The lines of merges.txt after the first, which is its version.
void write_merges(JsonWriter& json, const BytePairTokenizer& tokenizer) {
    const std::string text = tokenizer.merges_text();
    json.array([&] {
        for (std::size_t at = text.find('\n') + 1; at < text.size();) {
            const std::size_t end = text.find('\n', at);
            json.value(std::string_view(text).substr(at, end - at));
            at = end + 1;
        }
    });
}

void write_model(JsonWriter& json, const BytePairTokenizer& tokenizer) {
    json.object([&] {
        json.member("type", "BPE");
        json.member("dropout", nullptr);
        json.member("unk_token", nullptr);
        json.member("continuing_subword_prefix", "");
        json.member("end_of_word_suffix", "");
        json.member("fuse_unk", false);
        json.member("vocab", [&] { write_vocabulary(json, tokenizer); });
        json.member("merges", [&] { write_merges(json, tokenizer); });
    });
}

}  // namespace

std::string tokenizer_json(const BytePairTokenizer& tokenizer) {
    JsonWriter json(2);
    json.object([&] {
        json.member("version", "1.0");
        json.member("truncation", nullptr);
        json.member("padding", nullptr);
        json.member("added_tokens", [&] {
            json.array([&] {
                for (const auto& [text, id] : tokenizer.marks()) write_added_token(json, id, text);
            });
        });
        json.member("normalizer", nullptr);
        json.member("pre_tokenizer", [&] { write_byte_level(json, false, true); });
        json.member("post_processor", [&] { write_byte_level(json, true, false); });
        json.member("decoder", [&] { write_byte_level(json, true, true); });
        json.member("model", [&] { write_model(json, tokenizer); });
    });
    return json.text() + "\n";
}

}  // namespace tapestry
