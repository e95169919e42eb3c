// Sentences in which one word is asked for: a model of BERT's shape reads all of a sentence and
// names a word at one of its places, as where "it" stands the noun that is meant. Read next:
// pronouns.h and who_bit_whom.h, which ask; bank.h and sentiment.h read sentences in the same way.
#pragma once

#include <tapestry/examples/school/tasks/masked_words.h>

namespace tapestry::examples {

/// The pieces of "one|two|three".
Words choices(std::string_view list);

/// The words of a pattern, in which digits stand for nouns: "the 1 saw the 2". A noun is one word,
/// whatever it is made of, so that 老鼠 has one vector.
Words fill(std::string_view pattern, const Words& nouns);

struct Question {
    Words words;
    std::size_t place = 0;  ///< the word here is asked about
    std::string answer;
};

/// Rows of [CLS] and a sentence, filled up with padding: i64 [N, length].
Tensor pack(const std::vector<Words>& sentences, const WordTable& table, std::int64_t length);

struct QuestionRows {
    Tensor ids;      ///< i64 [N, T]; place p of a sentence is column p + 1
    Tensor targets;  ///< i64 [N, T]: the answer at its place, elsewhere -100
};

QuestionRows pack(const std::vector<Question>& questions, const WordTable& table,
                  std::int64_t length);

/// The sentences of questions, and the columns that the longest of sentences needs.
std::vector<Words> sentences_of(const std::vector<Question>& questions);
std::int64_t columns_for(const std::vector<Words>& sentences);

/// Two layers, dim 64, no dropout: learns short sentences in seconds.
MaskedLanguageModelConfig sentence_model(const WordTable& table, std::int64_t length);

/// How many questions are answered right, out of all words there are.
Score examine(const MaskedLanguageModel& model, const QuestionRows& questions);

void learn_questions(MaskedLanguageModel& model, const TaskOptions& options,
                     const QuestionRows& learn, const QuestionRows& held_out, Generator& generator);

}  // namespace tapestry::examples
