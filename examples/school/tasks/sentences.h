// Sentences with a question about one word: a BERT-like model reads the whole sentence and predicts
// a word at one place, such as the noun that "it" refers to. Read next: pronouns.h and
// who_bit_whom.h, which ask such questions; bank.h and sentiment.h read sentences the same way.
#pragma once

#include <tapestry/examples/school/tasks/masked_words.h>

namespace tapestry::examples {

/// Splits "one|two|three" at the bars.
Words choices(std::string_view list);

/// The words of a pattern in which digits stand for nouns: "the 1 saw the 2". A noun stays one
/// word, so 老鼠 has one vector.
Words fill(std::string_view pattern, const Words& nouns);

struct Question {
    Words words;
    std::size_t place = 0;  ///< the word in question
    std::string answer;
};

/// Rows of [CLS] and a sentence, padded: i64 [N, length].
Tensor pack(const std::vector<Words>& sentences, const WordTable& table, std::int64_t length);

struct QuestionRows {
    Tensor ids;      ///< i64 [N, T]; place p of a sentence is column p + 1
    Tensor targets;  ///< i64 [N, T]: the answer at its place, -100 elsewhere
};

QuestionRows pack(const std::vector<Question>& questions, const WordTable& table,
                  std::int64_t length);

/// The questions' sentences, and the number of columns that the longest sentence needs.
std::vector<Words> sentences_of(const std::vector<Question>& questions);
std::int64_t columns_for(const std::vector<Words>& sentences);

/// Two layers, dim 64, no dropout: learns short sentences in seconds.
MaskedLanguageModelConfig sentence_model(const WordTable& table, std::int64_t length);

/// How many questions the model answers right, choosing from the whole vocabulary.
Score examine(const MaskedLanguageModel& model, const QuestionRows& questions);

void learn_questions(MaskedLanguageModel& model, const TaskOptions& options,
                     const QuestionRows& learn, const QuestionRows& held_out, Generator& generator);

}  // namespace tapestry::examples
