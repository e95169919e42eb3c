// Questions, each with a passage that has its answer, in a file: TSV or JSON Lines. Read next:
// nn/train/answer/answer_task.h, which learns from them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tapestry {

/// A question with its passage.
struct PassageQuestion {
    std::string passage;               ///< the text that has the answer
    std::string question;              ///< what is asked
    std::vector<std::string> answers;  ///< the first is learned; any of them counts as right
    std::int64_t begin = -1;           ///< byte of the passage where the first begins; -1: not read
    std::int64_t line = 0;             ///< in the file, counted from 1
};

/// Questions of a file.
struct Questions {
    std::string file;                  ///< its name, printable
    std::vector<PassageQuestion> all;  ///< in its order
    std::string hash;                  ///< of passages, questions, answers and their places
};

/// How much of the answers is read.
enum class AnswersRead {
    places,  ///< there must be one, and it must be clear where in the passage it begins
    texts,   ///< there must be one, as a text
    none     ///< they need not be there
};

/// Reads questions, by the file's name:
///   .jsonl, .ndjson  an object per line: "passage", "question", "answer" (a text, or a list of
///                    texts that are all right), and "start"
///   others           fields between tabs: the columns that the first line names so ("start" may be
///                    missing), or, if it has no such names, a passage, a question and an answer
/// "start" is the character of the passage, counted from 0, where the first answer begins, as in
/// SQuAD's answer_start; without it the answer must occur once. Blanks around a text are removed
/// (around a passage only in TSV), empty lines skipped. Throws IoError as read_text does; and with
/// file and line for a missing field, an empty text, an answer that is not in the passage, occurs
/// several times or is not at `start`; and for a file without questions.
Questions read_questions(const std::filesystem::path& file, AnswersRead read);

/// Whether the file is clearly one of questions: its name ends in .tsv or .jsonl, and its first
/// line names passage and question. False if it cannot be read.
bool names_passage_and_question(const std::filesystem::path& file);

}  // namespace tapestry
