#include <tapestry/nn/io/hugging_face_decoder.h>

#include <tapestry/core/text/json_writer.h>
#include <tapestry/core/views.h>
#include <tapestry/nn/io/config_file.h>
#include <tapestry/nn/io/decoder_formats.h>
#include <tapestry/nn/io/foreign_tokenizer.h>
#include <tapestry/nn/io/foreign_weights.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_files.h>
#include <tapestry/nn/io/safetensors.h>
#include <tapestry/nn/io/shards.h>
#include <tapestry/nn/models/llama/llama.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace tapestry {
namespace {

namespace fs = std::filesystem;

// ---- names

// Rows of the packed matrix [(H + 2 G) D, C], or of its bias, under the family's names.
class Projections {
public:
    Projections(const DecoderFormat& format, const LlamaConfig& config)
        : names_(format.projections), heads_(config.heads), width_(head_width(config)) {
        const std::int64_t groups = config.kv_heads == 0 ? config.heads : config.kv_heads;
        sizes_ = {heads_ * width_, groups * width_, groups * width_};
    }

    void add(const std::string& layer, const std::string& leaf, const Tensor& packed,
             std::vector<StoredParameter>& to) const {
        if (names_.size() == 1) {  // [3, H, D, ...] here, [H, 3, D, ...] there
            Shape shape = packed.shape();
            const std::int64_t rest = packed.rank() == 2 ? shape[1] : 1;
            const Tensor split = views::reshape(packed, {3, heads_, width_, rest});
            to.push_back({fmt::format("{}{}.{}", layer, names_[0], leaf),
                          views::transpose(split, 0, 1), false, shape});
            return;
        }
        std::int64_t from = 0;
        for (std::size_t i = 0; i < names_.size(); from += sizes_[i++]) {
            to.push_back({fmt::format("{}{}.{}", layer, names_[i], leaf),
                          views::slice(packed, 0, from, from + sizes_[i])});
        }
    }

private:
    std::vector<const char*> names_;
    std::int64_t heads_, width_;
    std::array<std::int64_t, 3> sizes_{};
};

const char* their_part(const DecoderFormat& format, const std::string& ours) {
    for (const DecoderPart& part : format.parts) {
        if (ours == part.ours) return part.theirs;
    }
    fail("export: the files of {} have no place for the parameter {}", format.model_type, ours);
}

// All parameters but a tied head, which is the embedding.
std::vector<StoredParameter> stored_parameters(const Llama& model, const DecoderFormat& format) {
    const Projections projections(format, model.config());
    std::vector<StoredParameter> parameters;
    constexpr std::string_view kBlocks = "blocks.";
    for (const auto& [name, parameter] : model.named_parameters()) {
        const std::size_t dot = name.rfind('.');
        const std::string leaf = name.substr(dot + 1);  // "weight"
        const auto at = [&](const char* theirs) { return fmt::format("{}.{}", theirs, leaf); };
        if (!name.starts_with(kBlocks)) {
            const std::string part = name.substr(0, dot);
            const char* const theirs = part == "token_embedding"      ? format.embedding
                                       : part == "position_embedding" ? format.positions
                                       : part == "final_norm"         ? format.final_norm
                                                                      : format.head;
            parameters.push_back({at(theirs), parameter});
            continue;
        }
        const std::size_t end = name.find('.', kBlocks.size());  // of the block's number
        const std::string layer =
            fmt::format("{}.{}.", format.layers, name.substr(kBlocks.size(), end - kBlocks.size()));
        const std::string part = name.substr(end + 1, dot - end - 1);
        if (part == "attention.qkv") {
            projections.add(layer, leaf, parameter, parameters);
        } else {
            parameters.push_back({layer + at(their_part(format, part)), parameter});
        }
    }
    return parameters;
}

// ---- reading

bool is_buffer(const DecoderFormat& format, const std::string& name) {
    return std::any_of(format.buffers.begin(), format.buffers.end(),
                       [&](const char* end) { return name.ends_with(end); });
}

void read_weights(const SavedFiles& files, Llama& model, const DecoderFormat& format,
                  WeightType weights) {
    const auto wanted = [&](const std::string& name) { return !is_buffer(format, name); };
    std::vector<StoredParameter> parameters = stored_parameters(model, format);
    if (weights == WeightType::int8) quantize_when_filled(parameters, model);
    const std::string head = fmt::format("{}.weight", format.head);
    const auto own_name = names_without_wrappers(parameters, head);
    std::map<std::string, Tensor> others =
        read_parameters(files, wanted, own_name, std::move(parameters));
    const std::string file = weight_files(files).front().string();
    if (model.config().tied_head) {
        drop_copy_of_head(file, others, head, fmt::format("{}.weight", format.embedding),
                          model.token_embedding.weight);
    }
    check_all_used(file, others);
}

// ---- writing

std::string config_json(const Llama& model, const DecoderFormat& format, const Tokenizer* tokenizer,
                        const TextConventions& conventions) {
    JsonWriter json(2);
    json.object([&] {
        json.member("architectures", std::array<const char*, 1>{format.architecture});
        write_text_ids(json, conventions, text_end(tokenizer));
        json.member("initializer_range", model.config().deviation);
        json.member(kTokenizerSetting, tokenizer == nullptr ? "none" : tokenizer->kind());
        json.member("torch_dtype", row_of(model.token_embedding.weight.dtype()).torch);
        write_decoder_config(json, model.config());
    });
    return json.text() + "\n";
}

NamedTensors tensors_of(const Llama& model, const DecoderFormat& format) {
    NamedTensors tensors;
    for (const auto& one : stored_parameters(model, format)) {
        const bool as_is = one.shape.rank() == 0;
        tensors.emplace_back(one.name,
                             as_is ? one.parameter : views::reshape(one.parameter, one.shape));
    }
    return tensors;
}

}  // namespace

LoadedModel load_hugging_face_decoder(const ConfigFile& file, const SavedFiles& files,
                                      const DecoderFormat& format, WeightType weights) {
    const LlamaConfig config = read_decoder_config(file, format);
    LoadedModel loaded{nullptr, read_foreign_tokenizer(file, files), {}};
    loaded.conventions = read_text_conventions(file, files, loaded.tokenizer.get());
    if (loaded.tokenizer) check_vocabulary(*loaded.tokenizer, config.vocab, files.directory());
    check_weights_exist(files);
    loaded.model = make_model(config, files, weights);
    read_weights(files, as<Llama>(*loaded.model), format, weights);
    loaded.model->eval();
    return loaded;
}

void export_hugging_face_decoder(const fs::path& directory, const Llama& model,
                                 const Tokenizer* tokenizer, const TextConventions& conventions) {
    const DecoderFormat& format = decoder_format_of(model.config().family);
    for (const auto& [name, parameter] : model.named_parameters()) {
        const bool known = parameter.dtype() == DType::f32 || parameter.dtype() == DType::bf16;
        require(known, "export: parameter {} is {}, neither f32 nor bf16", name, parameter.dtype());
    }
    const std::string config = config_json(model, format, tokenizer, conventions);
    std::vector<NewFile> files;
    if (tokenizer != nullptr) {
        files = foreign_tokenizer_files(*tokenizer, conventions, model.config().context);
    }
    files.push_back(text_file(kConfigName, config));
    files.push_back(
        {kWeightsName, [&model, &format](const fs::path& path, const WriteOptions& options) {
             return write_safetensors(path, tensors_of(model, format), {{"format", "pt"}}, options);
         }});
    put_files(directory, files);
}

}  // namespace tapestry
