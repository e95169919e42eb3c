#include <tapestry/tests/ops/phrasebook.h>
#include <tapestry/tests/ops/public_header.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace tapestry::test {
namespace {

/// Sets `rest` to the text after `mark` in `line`; false if there is no `mark`.
bool after(const std::string& line, const std::string& mark, std::string& rest) {
    const std::size_t at = line.find(mark);
    if (at != std::string::npos) rest = line.substr(at + mark.size());
    return at != std::string::npos;
}

class PhraseReader {
public:
    void read(const std::string& line) {
        std::string rest;
        if (after(line, "// no counterpart: ", rest)) {
            std::istringstream names(rest);
            for (std::string name; names >> name;) {
                if (name.ends_with(',')) name.pop_back();
                book_.no_counterpart.insert(name);
            }
        } else if (after(line, "TEST_CASE(\"phrases: ", rest)) {
            group_ = rest.substr(0, rest.find('"'));
            in_subject_ = false;
        } else if (after(line, "    // not there: ", rest)) {
            subject(line).phrases.push_back({rest, ""});
        } else if (line.starts_with("    // ")) {
            book_.subjects.push_back({line.substr(7), group_, {}});
            in_subject_ = true;
        } else if (in_subject_ && line.starts_with("    ")) {
            phrase(line);
        }
    }

    Phrasebook book() && { return std::move(book_); }

private:
    Subject& subject(const std::string& line) {
        if (!in_subject_) throw std::runtime_error("phrases: of none of the hundred: " + line);
        return book_.subjects.back();
    }

    void phrase(const std::string& line) {
        const std::size_t code_end = line.find(';'), comment = line.find("  // ");
        if (code_end == std::string::npos || comment == std::string::npos || comment < code_end) {
            throw std::runtime_error("phrases: expected a call and PyTorch's, found: " + line);
        }
        subject(line).phrases.push_back({line.substr(comment + 5), line.substr(4, code_end - 4)});
    }

    Phrasebook book_;
    std::string group_;
    bool in_subject_ = false;
};

}  // namespace

bool Subject::is_there() const {
    return !phrases.empty() &&
           std::none_of(phrases.begin(), phrases.end(),
                        [](const Phrase& phrase) { return phrase.ours.empty(); });
}

std::vector<Phrase> Phrasebook::with(const std::string& function) const {
    std::vector<Phrase> found;
    for (const Subject& subject : subjects) {
        for (const Phrase& phrase : subject.phrases) {
            const std::string called = phrase.ours.substr(0, phrase.ours.find_first_of("(<"));
            if (called == function) found.push_back(phrase);
        }
    }
    return found;
}

Phrasebook read_phrasebook(const std::filesystem::path& file) {
    PhraseReader reader;
    for (const std::string& line : lines_of(file)) reader.read(line);
    return std::move(reader).book();
}

}  // namespace tapestry::test
