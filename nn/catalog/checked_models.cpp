// One small example of every model.
#include <tapestry/nn/catalog/checked_parts.h>
#include <tapestry/nn/models/bag/bag.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/models/llama/llama.h>
#include <tapestry/nn/models/masked_language_model.h>
#include <tapestry/nn/models/seq2seq.h>
#include <tapestry/nn/models/span/span_reader.h>
#include <tapestry/nn/models/table/table_network.h>
#include <tapestry/nn/models/transformer.h>
#include <tapestry/nn/models/vision_transformer.h>

#include <variant>

namespace tapestry::catalog {
namespace {

CheckedModule gpt(bool recompute, Positions positions) {
    Generator& g = fresh_generator();
    GPTConfig config{.vocab = 11, .context = 6, .layers = 2, .heads = 2, .dim = 8};
    config.recompute = recompute;
    config.positions = positions;
    config.earlier = positions == Positions::rotary ? 2 : 0;
    config.pairs = 20 * config.earlier;
    config.softcap = static_cast<double>(config.earlier);
    const Tensor x = random_ids({2, 5}, 11, 1), y = random_ids({2, 5}, 11, 2);
    return checked_example(std::make_shared<GPT>(config, g), {},
                           [x, y](const GPT& m, const Tensors&) { return m.loss(x, y); });
}

CheckedModule seq2seq(Alignment alignment) {
    Generator& g = fresh_generator();
    Seq2SeqConfig config{.source_vocab = 7, .target_vocab = 6, .dim = 4, .hidden = 6};
    config.alignment = alignment;
    const Tensor source = random_ids({2, 4}, 7, 1), target = random_ids({2, 3}, 6, 2);
    return checked_example(std::make_shared<Seq2Seq>(config, g), {},
                           [=](const Seq2Seq& m, const Tensors&) {
                               return m(source, tensor<std::int64_t>({4, 2}), target);
                           });
}

// A Llama, or a relative.
CheckedModule llama(const char* kind) {
    Generator& g = fresh_generator();
    auto config = std::get<LlamaConfig>(model_row(kind).defaults);
    config.vocab = 11;
    config.context = 6;
    config.layers = 2;
    config.heads = 2;
    config.kv_heads = 1;
    config.dim = 8;
    if (config.rotary_share < 1) config.rotary_share = 0.5;  // of 4 elements
    if (config.window > 0) config.window = 2;
    const Tensor x = random_ids({2, 5}, 11, 1), y = random_ids({2, 5}, 11, 2);
    return checked_example(std::make_shared<Llama>(config, g), {},
                           [x, y](const Llama& m, const Tensors&) { return m.loss(x, y); });
}

// Models that read sequences are in models().
Makers bags() {
    return {
        {"bag_classifier",
         [] {
             Generator& g = fresh_generator();
             const BagConfig config{.classes = 3, .buckets = 7, .dim = 4};
             const Tensor features = tensor<std::int64_t>({1, 4, 2, 6, 3, 0}, {2, 3});
             const Tensor labels = tensor<std::int64_t>({2, 0}, {2, 1});
             return checked_example(
                 std::make_shared<BagClassifier>(config, g), {},
                 [=](const BagClassifier& m, const Tensors&) { return m.loss(features, labels); });
         }},
        {"bag_classifier_several_labels",
         [] {
             Generator& g = fresh_generator();
             const BagConfig config{.classes = 3, .buckets = 7, .dim = 4, .several_labels = true};
             const Tensor features = tensor<std::int64_t>({1, 4, 2, 6, 3, 0}, {2, 3});
             const Tensor labels = tensor<std::int64_t>({1, 0, 1, 0, 0, 0}, {2, 3});
             return checked_example(
                 std::make_shared<BagClassifier>(config, g), {},
                 [=](const BagClassifier& m, const Tensors&) { return m.loss(features, labels); });
         }},
        {"bag_classifier_layers",
         [] {
             Generator& g = fresh_generator();
             const BagConfig config{.classes = 3, .buckets = 9, .dim = 8, .layers = 1, .heads = 2};
             const Tensor words = tensor<std::int64_t>({1, 4, 2, 0, 6, 3, 8, 0, 0, 0, 0, 0},
                                                       {2, 3, 2});  // 3 words, and 1
             const Tensor labels = tensor<std::int64_t>({2, 0}, {2, 1});
             return checked_example(
                 std::make_shared<BagClassifier>(config, g), {},
                 [=](const BagClassifier& m, const Tensors&) { return m.loss(words, labels); });
         }},
    };
}

Makers models_of_rows() {
    return {
        {"span_reader",
         [] {
             Generator& g = fresh_generator();
             const SpanConfig config{
                 .vocab = 9, .max_length = 7, .max_answer = 3, .dim = 8, .heads = 2, .layers = 1};
             // 6: [CLS], 7: [SEP], 8: padding
             const Tensor x = tensor<std::int64_t>({6, 1, 7, 2, 3, 4, 7,  //
                                                    6, 5, 7, 0, 1, 7, 8},
                                                   {2, 7});
             const Tensor spans = tensor<std::int64_t>({4, 5, 3, 3}, {2, 2});
             return checked_example(
                 std::make_shared<SpanReader>(config, g), {},
                 [=](const SpanReader& m, const Tensors&) { return m.loss(x, spans); });
         }},
        {"table_network",
         [] {
             Generator& g = fresh_generator();
             const TableConfig config{.numbers = 2,
                                      .columns = 2,
                                      .values = 5,
                                      .classes = 3,
                                      .dim = 6,
                                      .category_dim = 3};
             const Tensor categories = tensor<std::int64_t>({0, 3, 2, 4, 1, 3}, {3, 2});
             return checked_example(
                 std::make_shared<TableNetwork>(config, g), {random_tensor({3, 2}, 1)},
                 [=](const TableNetwork& m, const Tensors& x) { return m(x[0], categories); });
         }},
    };
}

Makers models() {
    return {
        {"gpt", [] { return gpt(false, Positions::learned); }},
        {"gpt_rotary_checkpoint", [] { return gpt(true, Positions::rotary); }},
        {"llama", [] { return llama("llama"); }},
        {"qwen3", [] { return llama("qwen3"); }},
        {"gpt_neox", [] { return llama("gpt_neox"); }},
        {"gpt_neo", [] { return llama("gpt_neo"); }},
        {"transformer",
         [] {
             Generator& g = fresh_generator();
             const TransformerConfig config{.source_vocab = 7,
                                            .target_vocab = 6,
                                            .dim = 8,
                                            .heads = 2,
                                            .layers = 1,
                                            .padding_id = 0};
             const Tensor source = random_ids({2, 4}, 7, 1), target = random_ids({2, 3}, 6, 2);
             const Tensor next = random_ids({2, 3}, 6, 3);
             return checked_example(std::make_shared<Transformer>(config, g), {},
                                    [=](const Transformer& m, const Tensors&) {
                                        return m.loss(source, target, next);
                                    });
         }},
        {"masked_language_model",
         [] {
             Generator& g = fresh_generator();
             const MaskedLanguageModelConfig config{
                 .vocab = 9, .max_length = 6, .dim = 8, .heads = 2, .layers = 1};
             const Tensor x = random_ids({2, 5}, 9, 1);
             return checked_example(
                 std::make_shared<MaskedLanguageModel>(config, g), {},
                 [x](const MaskedLanguageModel& m, const Tensors&) { return m(x); });
         }},
        {"vision_transformer",
         [] {
             Generator& g = fresh_generator();
             const VisionTransformerConfig config{.height = 4,
                                                  .width = 6,
                                                  .patch = 2,
                                                  .classes = 3,
                                                  .dim = 8,
                                                  .heads = 2,
                                                  .layers = 1};
             return of_input(std::make_shared<VisionTransformer>(config, g), {2, 1, 4, 6});
         }},
        {"seq2seq", [] { return seq2seq(Alignment::none); }},
        {"seq2seq_bahdanau", [] { return seq2seq(Alignment::bahdanau); }},
        {"seq2seq_luong", [] { return seq2seq(Alignment::luong); }},
    };
}

}  // namespace

Makers checked_models() {
    Makers all = models();
    for (Makers more : {bags(), models_of_rows()}) {
        for (auto& one : more) all.push_back(std::move(one));
    }
    return all;
}

}  // namespace tapestry::catalog
