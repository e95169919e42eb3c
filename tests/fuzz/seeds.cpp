#include <tapestry/core/create.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/nn/chat/chat_template.h>
#include <tapestry/nn/data/npy.h>
#include <tapestry/nn/io/hugging_face.h>
#include <tapestry/nn/io/manifest.h>
#include <tapestry/nn/io/model_directory.h>
#include <tapestry/nn/io/peft.h>
#include <tapestry/nn/io/tokenize.h>
#include <tapestry/nn/io/transformer_directory.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/models/lora.h>
#include <tapestry/nn/train/begin_run.h>
#include <tapestry/nn/train/task.h>
#include <tapestry/tests/fuzz/calls.h>
#include <tapestry/tests/fuzz/repair.h>
#include <tapestry/tests/fuzz/seeds.h>
#include <tapestry/tests/fuzz/small.h>

#include <exception>
#include <functional>
#include <string_view>
#include <utility>

namespace tapestry::fuzz {
namespace {

constexpr const char* kText = "../outside/text.txt";
constexpr const char* kD = "D";
constexpr std::size_t kOfRuns = 8;  // writers that continue a run; the first are

std::uint32_t writer(std::string_view name) {
    for (std::size_t i = 0; i < writers().size(); ++i) {
        if (writers()[i].name == name) return static_cast<std::uint32_t>(i);
    }
    fail("seeds: no writer {}", name);
}

// A run with everything it can leave: a best model, states to resume and to rewind from.
void train(TrainingConfig config, const std::string& start = {}, const std::string& data = {}) {
    config.start = start;
    if (!data.empty()) config.text = {}, config.data = data;
    BegunRun begun = begin_run({.config = config, .out = kD});
    TrainingRunOptions options{.report = false, .hash_every = 1};
    options.checkpoints = {.every_steps = 2, .keep = 2, .best = true};
    TrainingRun(*begun.session, *begun.directory, options).to_the_end();
}

TrainingConfig steps(std::int64_t count) {
    TrainingConfig config = small_training(kText);
    config.steps = count;
    return config;
}

// Ignores errors: the seed is what the call leaves behind.
void write_by(std::string_view name) {
    try {
        writers()[writer(name)].run({.directory = kD, .text = kText});
    } catch (const std::exception&) {
    }
}

void tokenize(const std::string& out, const std::string& tokenizer) {
    tokenize_files(out, {.texts = {kText}, .tokenizer = tokenizer, .vocab = 262});
}

void save_gpt(const std::function<void(GPTConfig&)>& change, bool exported = false) {
    const CharTokenizer tokenizer = CharTokenizer::from_text("the cat sat on m\n");
    GPTConfig config = small_gpt(tokenizer.vocab_size());
    change(config);
    const GPT model(config);
    if (exported) return export_hugging_face(kD, model, &tokenizer);
    save_model(kD, model, tokenizer);
}

void save_byte_pairs(bool exported) {
    const std::vector<std::pair<std::string, std::string>> merges{{"t", "h"}, {"th", "e"}};
    const auto tokenizer = BytePairTokenizer::from_merges(merges);
    GPTConfig config = small_gpt(tokenizer.vocab_size());
    config.dim = 2;
    const GPT model(config);
    exported ? export_hugging_face(kD, model, &tokenizer) : save_model(kD, model, tokenizer);
}

void save_transformer() {
    const MarkedVocabulary vocabulary{CharTokenizer::from_text("the cat")};
    save_model(kD, Transformer(small_transformer(vocabulary.size())), vocabulary);
}

// A commit that was killed after it replaced the manifest: some files are still staged.
Archive interrupted(Archive archive, bool beside_manifest) {
    const std::string stage = stage_in(archive, kD);
    for (Entry& entry : archive.entries) {
        const std::string name = entry.path.substr(2);
        if (entry.path == std::string("D/") + kManifestName || !name.ends_with("s")) continue;
        entry.path = beside_manifest ? "D/" + staged_path(name, stage, true)
                                     : staged_path(entry.path, stage, false);
    }
    return archive;
}

class Maker {
public:
    explicit Maker(const World& world) : world_(world) {}

    void add(const std::string& name, const std::function<void()>& make) {
        world_.unpack({});
        make();
        Archive archive = world_.pack();
        std::erase_if(archive.entries,
                      [](const Entry& entry) { return entry.path.ends_with(".lock"); });
        archive.readers = quick_readers();
        archive.step = 3;
        latest_ = {name, std::move(archive)};
        seeds_.push_back(latest_);
    }

    // The latest seed again, followed by this writer.
    void add_written(std::string_view by) {
        Seed seed = latest_;
        seed.name += "-then-" + std::to_string(writer(by));
        seed.archive.writer = writer(by);
        seed.archive.readers = 1;
        seeds_.push_back(std::move(seed));
    }

    // The latest seed again, for each slow reader.
    void add_slow() {
        for (std::size_t i = 0; i < readers().size(); ++i) {
            if (!readers()[i].slow) continue;
            Seed seed = latest_;
            seed.name += std::string("-by-") + readers()[i].name;
            seed.archive.readers = std::uint32_t{1} << i;
            seed.archive.step = 2;
            seeds_.push_back(std::move(seed));
        }
    }

    void add_interrupted() {
        seeds_.push_back({latest_.name + "-interrupted", interrupted(latest_.archive, false)});
        seeds_.push_back({latest_.name + "-interrupted-old", interrupted(latest_.archive, true)});
    }

    std::vector<Seed> take() { return std::move(seeds_); }

private:
    const World& world_;
    Seed latest_;
    std::vector<Seed> seeds_;
};

void add_models(Maker& maker) {
    maker.add("gpt", [] { save_gpt([](GPTConfig&) {}); });
    maker.add_interrupted();
    for (const Call& by : writers().subspan(1 + kOfRuns)) maker.add_written(by.name);
    maker.add("gpt-fresh", [] {
        save_gpt([](GPTConfig& config) {
            config.positions = Positions::rotary;
            config.activation = Activation::swiglu;
            config.tied_head = config.bias = false;
            config.earlier = 1;
            config.pairs = 4;
            config.softcap = 5;
        });
    });
    maker.add("gpt-of-byte-pairs", [] { save_byte_pairs(false); });
    maker.add("hugging-face", [] { save_byte_pairs(true); });
    maker.add("hugging-face-of-characters", [] { save_gpt([](GPTConfig&) {}, true); });
    maker.add("transformer", save_transformer);
    maker.add("trap", [] { write_by("train --trap-nan"); });
}

void add_data(Maker& maker) {
    maker.add("data-of-characters", [] { tokenize(kD, "chars"); });
    maker.add("data-of-byte-pairs", [] { tokenize(kD, "bpe"); });
    maker.add("cache", [] { write_by("TextCache"); });
    maker.add_written("TextCache");
    maker.add("nothing", [] {});
    maker.add_written("tokenize --out");
}

// Examples of a task, and a model that is to learn them.
void save_untrained(const TrainingConfig& given) {
    TrainingConfig config = given;
    Generator weights(1);
    save_task(kD, *begin_task(config, {}, weights));
}

void add_task(Maker& maker, const std::string& task, const std::string& file,
              const std::string& examples, const ModelConfig& model) {
    maker.add("task-" + task, [&] {
        write_file_atomically("D/" + file, examples);
        TrainingConfig config{.task = task, .text = "D/" + file};
        config.batch = 2;
        config.set_model(model);
        save_untrained(config);
    });
}

std::string repeated(const std::string& some, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += some;
    return all;
}

void add_tasks(Maker& maker) {
    add_task(maker, "translate", "pairs.tsv", "source\ttarget\ncat\tkatze\na mat\tmatte\n",
             small_transformer(0));
    add_task(maker, "classify", "labels.csv",
             "label,text\n" + repeated("b,\"a, mat\"\na,the cat\n", 2),
             BagConfig{.buckets = 8, .dim = 2});
    add_task(maker, "answer", "questions.tsv",
             "passage\tquestion\tanswer\nthe cat sat\twho sat\tthe cat\na hat\twhat\that\n",
             SpanConfig{.max_length = 40, .dim = 2, .heads = 1, .layers = 1, .pieces = 257});
    add_task(maker, "table", "table.csv", "x,kind,y\n" + repeated("1,a,no\n2.5,b,yes\n", 10),
             TableConfig{.target = "y", .dim = 2});
    add_task(maker, "image", "images.csv",
             "label,p,p,p,p\n" + repeated("a,0,1,2,3\nb,9,8,7,6\n", 2),
             VisionTransformerConfig{.dim = 4, .heads = 1, .layers = 1});
    maker.add("task-mask", [] {
        save_untrained({.task = "mask",
                        .text = kText,
                        .other_model = MaskedLanguageModelConfig{
                            .max_length = 8, .dim = 4, .heads = 1, .layers = 1}});
    });
}

// Files that are read, but no task's model.
void add_files(Maker& maker) {
    maker.add("conversations", [] {
        write_file_atomically("D/chat.jsonl",
                              R"({"messages": [{"role": "user", "content": "2+2?"}, )"
                              R"({"role": "assistant", "content": "4"}]})"
                              "\n"
                              R"({"prompt": "2 + 2 =", "completion": " 4"})"
                              "\n"
                              R"({"tools": [{"name": "hello"}], "messages": [{"role": "user", )"
                              R"("content": [{"type": "text", "text": "2"}]}, {"role": )"
                              R"("assistant", "tool_calls": [{"function": {"name": "hello", )"
                              R"("arguments": {}}}]}]})"
                              "\n");
        write_file_atomically("D/chat_template.jinja",
                              with_system(chat_program(ChatStyle::chatml), "hello"));
    });
    maker.add("arrays", [] {
        write_npy("D/array.npy", tensor<float>({1, 2, 3, 4}, {4, 1}));
        write_npz("D/array.npz", {{"x", tensor<std::int64_t>({1, 2})}, {"y", ones({2, 2})}});
    });
    maker.add("images", [] {
        make_directories("D/images/a");
        make_directories("D/images/b");
        write_file_atomically("D/images/a/1.pgm", "P2\n2 2\n255\n0 1 2 3\n");
        write_file_atomically("D/images/b/1.pgm", "P5\n2 2\n255\nabcd");
        const std::string images(
            "\0\0\x8\x3\0\0\0\x2\0\0\0\x1\0\0\0\x2"
            "abcd",
            20);
        const std::string labels("\0\0\x8\x1\0\0\0\x2\x5\x7", 10);
        write_file_atomically("D/images-idx3-ubyte", images);
        write_file_atomically("D/labels-idx1-ubyte", labels);
    });
    maker.add("adapter", [] {
        GPT model(small_gpt(6));
        add_lora(model, {.update = {.rank = 1}});
        Commit commit("D");
        write_adapter(commit, "adapter", model, model.model_config(), saved_tensors(model),
                      {.name = "base"});
        commit.finish();
    });
}

void add_runs(Maker& maker) {
    maker.add("run-of-muon", [] {
        TrainingConfig config = steps(4);
        config.optimizer = "muon";
        config.micro_batches = config.batch = 2;
        config.model.dropout = 0.1;
        train(config);
    });
    maker.add("run-on-data", [] {
        tokenize("data", "chars");
        train(steps(4), "", "data");
    });
    maker.add("run", [] { train(steps(4)); });
    maker.add_interrupted();
    maker.add("short-run", [] { train(steps(2)); });
    maker.add_slow();
    for (const Call& by : writers().subspan(1, kOfRuns)) maker.add_written(by.name);
}

}  // namespace

std::vector<Seed> good_seeds(const World& world) {
    Maker maker(world);
    add_models(maker);
    add_data(maker);
    add_tasks(maker);
    add_files(maker);
    add_runs(maker);
    return maker.take();
}

}  // namespace tapestry::fuzz
