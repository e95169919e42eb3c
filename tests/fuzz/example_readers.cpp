// Readers of examples and of what learns from them: pairs, labels, questions, tables,
// conversations, images, NumPy's files, the model of any task, and adapters. Files are found by the
// beginnings of their names.
#include <tapestry/core/create.h>
#include <tapestry/core/directory.h>
#include <tapestry/core/error.h>
#include <tapestry/core/file.h>
#include <tapestry/nn/chat/chat_examples.h>
#include <tapestry/nn/data/images.h>
#include <tapestry/nn/data/labelled_texts.h>
#include <tapestry/nn/data/npy.h>
#include <tapestry/nn/data/questions.h>
#include <tapestry/nn/data/table.h>
#include <tapestry/nn/data/text_pairs.h>
#include <tapestry/nn/io/peft.h>
#include <tapestry/nn/models/gpt.h>
#include <tapestry/nn/train/task.h>
#include <tapestry/tests/fuzz/calls.h>
#include <tapestry/tests/fuzz/small.h>

#include <array>
#include <string>
#include <string_view>

namespace tapestry::fuzz {
namespace {

namespace fs = std::filesystem;

// Calls read(path) for every file or folder in D with this beginning; an error of one does not hide
// the others.
template <class F>
void for_each_named(const Place& p, std::string_view beginning, const F& read) {
    for (const std::string& name : names_in(p.directory)) {
        if (!name.starts_with(beginning)) continue;
        try {
            read(fs::path(p.directory) / name);
        } catch (const Error&) {
        }
    }
}

void read_pairs(const Place& p) {
    for_each_named(p, "pairs", [](const fs::path& path) {
        names_source_and_target(path);
        read_text_pairs(path);
    });
}

void read_labels(const Place& p) {
    for_each_named(p, "labels", [](const fs::path& path) { read_labelled_texts(path); });
}

void read_question_files(const Place& p) {
    for_each_named(p, "questions", [](const fs::path& path) {
        names_passage_and_question(path);
        read_questions(path, AnswersRead::none);
        read_questions(path, AnswersRead::places);
    });
}

void read_tables(const Place& p) {
    for_each_named(p, "table", [](const fs::path& path) {
        const Table table = read_table(path, {.categories = {"kind"}});
        for (std::size_t row = 0; row < table.lines.size(); ++row) table.place(row);
    });
}

void read_conversations(const Place& p) {
    for_each_named(p, "chat_template", [](const fs::path& path) {
        constexpr std::uint64_t kMost = 1 << 20;
        const CharTokenizer tokenizer = CharTokenizer::from_text("User: Assistant\nhello <|>_");
        const ChatEncoder encoder({read_file(path, kMost), "hello", "hell"}, tokenizer);
        encoder.prompt(std::vector<ChatMessage>{{"user", "hello"}});
    });
    for_each_named(p, "chat.", [](const fs::path& path) {
        const CharTokenizer tokenizer = CharTokenizer::from_text("User: Assistant\nhello 2+=4?!");
        const ChatEncoder encoder({chat_program(ChatStyle::plain)}, tokenizer);
        const ChatExamples all = read_chat_examples(path);
        for (const ChatExample& one : all.examples) {
            ChatTokens tokens = encoded(all, one, encoder);
            cut_to(tokens, 6);
            question_of(one);
        }
    });
}

void read_image_files(const Place& p) {
    for_each_named(p, "images", [](const fs::path& path) {
        const ImagesByClass all = read_images_by_class(path);
        read_images_by_class(path, {.size = all.images.size, .labels = all.labels});
        read_images(path, all.images.size);
    });
}

void read_arrays(const Place& p) {
    for_each_named(p, "array", [](const fs::path& path) {
        if (path.native().ends_with(".npz")) {
            read_npz(path);
        } else {
            read_npy(path);
        }
    });
    for_each_named(p, "array", [](const fs::path& path) {
        const SeriesWindows windows(path, {.length = 2});
        windows.batch(tensor<std::int64_t>({0, windows.size() - 1}));
    });
}

void open_task(const Place& p) {
    const auto task = load_task(p.directory);
    task->name_of(0);
    task->shape_text();
}

// As a run leaves it.
void read_adapter(const Place& p) {
    GPT model(small_gpt(6));
    load_adapter(p.directory + "/adapter", model);
}

constexpr std::array<Call, 9> kExampleReaders{
    {{.name = "read_text_pairs", .run = read_pairs},
     {.name = "read_labelled_texts", .run = read_labels},
     {.name = "read_questions", .run = read_question_files},
     {.name = "read_table", .run = read_tables},
     {.name = "read_chat_examples", .run = read_conversations},
     {.name = "read_images_by_class", .run = read_image_files},
     {.name = "read_npy", .run = read_arrays},
     {.name = "load_task", .run = open_task},
     {.name = "load_adapter", .run = read_adapter}}};

}  // namespace

std::span<const Call> example_readers() { return kExampleReaders; }

}  // namespace tapestry::fuzz
