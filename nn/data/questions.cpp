#include <tapestry/nn/data/questions.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/error.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/message.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/data/delimited.h>
#include <tapestry/nn/data/documents.h>
#include <tapestry/nn/data/text.h>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace tapestry {
namespace {

// A question of the file.
struct QuestionRow {
    PassageQuestion question;
    std::optional<std::int64_t> start;  // in characters
};

// ---- JSON Lines ---------------------------------------------------------------------------------

std::vector<std::string> answers_of(const JsonNode& object) {
    const auto answer = object.find("answer");
    if (!answer) return {};
    const bool is_list = answer->is(JsonKind::array);
    std::vector<std::string> all =
        is_list ? answer->get<std::vector<std::string>>() : std::vector{answer->get<std::string>()};
    for (std::string& one : all) one = without_blanks(one);
    return all;
}

QuestionRow question_from_json(std::string_view line, const PlaceInFile& place) {
    try {
        const JsonTree tree(line);
        const JsonNode object = tree.root();
        QuestionRow row;
        row.question = {
            .passage = object.get<std::string>("passage"),
            .question = std::string(without_blanks(object.get<std::string>("question"))),
            .answers = answers_of(object),
            .line = place.line};
        if (object.find("start")) row.start = object.count("start");
        return row;
    } catch (const JsonError& error) {
        place.wrong(R"({}; expected an object with the texts "passage", "question" and "answer")",
                    error.what());
    }
}

// ---- TSV ----------------------------------------------------------------------------------------

using LineFields = std::vector<std::string_view>;

// Places beyond the last field stand for columns that are not there.
struct QuestionColumns {
    std::size_t passage = 0, question = 1, answer = 2, start = 3, count = 3;
};

// The columns that a first line names, if it does.
std::optional<QuestionColumns> question_columns(const LineFields& first) {
    const QuestionColumns columns{
        place_of_column(first, "passage"), place_of_column(first, "question"),
        place_of_column(first, "answer"), place_of_column(first, "start"), first.size()};
    if (columns.passage == first.size() || columns.question == first.size()) return std::nullopt;
    return columns;
}

std::optional<std::int64_t> start_in(std::string_view field, const PlaceInFile& place) {
    if (field.empty()) return std::nullopt;
    std::int64_t start = -1;
    const char* const end = field.data() + field.size();
    const auto [stop, error] = std::from_chars(field.data(), end, start);
    if (error != std::errc{} || stop != end || start < 0) {
        place.wrong("start is {}; it must be a character of the passage, counted from 0",
                    utf8::quoted(field, 20));
    }
    return start;
}

QuestionRow question_from_fields(const LineFields& fields, const QuestionColumns& columns,
                                 const PlaceInFile& place) {
    const bool is_short = fields.size() == 2 && columns.count == 3;  // a question to be answered
    if (fields.size() != columns.count && !is_short) {
        place.wrong(
            "has {}, expected {}: PASSAGE<tab>QUESTION<tab>ANSWER, or the columns of a first line "
            "with the names passage, question and answer (or name the file .jsonl)",
            pluralize(std::ssize(fields), "field"), columns.count);
    }
    QuestionRow row;
    row.question = {.passage = std::string(fields[columns.passage]),
                    .question = std::string(fields[columns.question]),
                    .answers = {},
                    .line = place.line};
    if (columns.answer < fields.size())
        row.question.answers = {std::string(fields[columns.answer])};
    if (columns.start < fields.size()) row.start = start_in(fields[columns.start], place);
    return row;
}

// ---- where the answer is ------------------------------------------------------------------------

// The byte of a character, or text.size() at most.
std::size_t byte_of(std::string_view text, std::int64_t character) {
    std::size_t at = 0;
    for (std::int64_t i = 0; i < character && at < text.size(); ++i)
        at += utf8::step(text, at).bytes;
    return at;
}

std::int64_t begin_of_answer(const QuestionRow& row, const PlaceInFile& place) {
    const std::string& passage = row.question.passage;
    const std::string& answer = row.question.answers.front();
    if (row.start) {
        const std::size_t at = byte_of(passage, *row.start);
        if (passage.compare(at, answer.size(), answer) != 0) {
            place.wrong("at character {} of the passage is {}, not the answer {}", *row.start,
                        utf8::quoted(passage.substr(at, answer.size()), 40),
                        utf8::quoted(answer, 40));
        }
        return static_cast<std::int64_t>(at);
    }
    const std::size_t at = passage.find(answer);
    if (at == passage.npos) {
        place.wrong(
            "the answer {} is not in the passage; it must be copied from it, with the same capital "
            "letters",
            utf8::quoted(answer, 40));
    }
    if (passage.find(answer, at + 1) != passage.npos) {
        place.wrong(
            "the answer {} occurs more than once in the passage; a field \"start\" says at which "
            "character, counted from 0, the right one begins",
            utf8::quoted(answer, 40));
    }
    return static_cast<std::int64_t>(at);
}

void check_question(QuestionRow& row, AnswersRead read, const PlaceInFile& place) {
    PassageQuestion& q = row.question;
    if (without_blanks(q.passage).empty()) place.wrong("the passage is empty");
    if (q.question.empty()) place.wrong("the question is empty");
    if (read == AnswersRead::none) return;
    if (q.answers.empty()) place.wrong("has no answer");
    for (const std::string& answer : q.answers) {
        if (answer.empty()) place.wrong("the answer is empty");
    }
    if (read == AnswersRead::places) q.begin = begin_of_answer(row, place);
}

std::string hash_of_questions(const std::vector<PassageQuestion>& questions) {
    Checksum sum;
    constexpr std::string_view kNul("\0", 1);
    for (const PassageQuestion& q : questions) {
        sum.add(q.passage);
        sum.add(kNul);
        sum.add(q.question);
        for (const std::string& answer : q.answers) {
            sum.add(kNul);
            sum.add(answer);
        }
        sum.add(fmt::format("\n{}\n", q.begin));
    }
    return sum.hex();
}

}  // namespace

Questions read_questions(const std::filesystem::path& file, AnswersRead read) {
    const std::string whole = read_text(file);
    const bool is_json = is_json_lines(file);
    DelimitedText from(utf8::printable(file.string()), whole);
    Questions questions{.file = from.place().name, .all = {}, .hash = {}};
    std::optional<QuestionColumns> columns;
    while (!from.is_done()) {
        const std::string_view line = from.next_line();
        if (without_blanks(line).empty()) continue;
        QuestionRow row;
        if (is_json) {
            row = question_from_json(line, from.place());
        } else {
            const LineFields fields = tab_fields(line);
            if (!columns) {
                const auto named = question_columns(fields);
                columns = named.value_or(QuestionColumns());
                if (named) continue;
            }
            row = question_from_fields(fields, *columns, from.place());
        }
        check_question(row, read, from.place());
        questions.all.push_back(std::move(row.question));
    }
    require<IoError>(!questions.all.empty(), "{}: no questions", questions.file);
    questions.hash = hash_of_questions(questions.all);
    return questions;
}

bool names_passage_and_question(const std::filesystem::path& file) {
    return begins_with_names(file, {"passage", "question"});
}

}  // namespace tapestry
