#include <tapestry/core/error.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/chat/chat_encoder.h>
#include <tapestry/nn/chat/chat_probe.h>
#include <tapestry/nn/chat/chat_tool_calls.h>
#include <tapestry/nn/chat/jinja_functions.h>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace tapestry {
namespace {

constexpr fmt::string_view kOtherwise =
    "message {}: the chat template asks for an answer otherwise than it writes one, so it cannot "
    "be learned";

// A template may remove them.
std::string without_last_blanks(std::string_view text) {
    return jinja::stripped(text, {}, false, true);
}

}  // namespace

// ---- where answers begin ------------------------------------------------------------------------

// Older templates do not heed add_generation_prompt: then all that comes before a content asks.
std::string ChatEncoder::header_of_answers() const {
    const std::vector<ChatMessage> probe{{"user", "a"}, {std::string(kAnswer), std::string(kMark)}};
    const Conversation both{probe, kNoVariables}, asked = both.first(1);
    const std::string before = written(asked, false);
    if (written(asked, true) != before) return {};
    const std::string text = written(both, false);
    const std::size_t content = text.find(kMark);
    if (content == text.npos || !text.starts_with(before) || content < before.size()) return {};
    const std::string header = text.substr(before.size(), content - before.size());
    return jinja::stripped(header, {}, true, true).empty() ? std::string() : header;
}

std::optional<std::string> ChatEncoder::question() const {
    const std::vector<ChatMessage> probe{{"user", "a"}};
    const std::string all = written({probe, kNoVariables}, true);
    const std::string before = written({probe, kNoVariables}, false);
    return all.starts_with(before) ? std::optional(all.substr(before.size())) : std::nullopt;
}

ChatEncoder::Answer ChatEncoder::find(const std::string& text, const Conversation& from,
                                      std::size_t i, bool asks) const {
    std::size_t begin = 0;
    if (i == 0) {
        begin = begin_of_first(text, from, asks);
    } else {
        const std::string asked = written(from.first(i), true);
        begin = text.starts_with(asked) ? asked.size() : begin_behind_role(asked, from, i, asks);
    }
    const std::size_t end = has_tool_calls(from.messages[i])
                                ? end_of_calls(text, begin, from, i, asks)
                                : end_of_content(text, begin, from, i, asks);
    return {begin, end, from.messages[i].is_learned};
}

// A conversation without messages asks nothing: many templates do not render one, and others do not
// ask there.
std::size_t ChatEncoder::begin_of_first(const std::string& text, const Conversation& from,
                                        bool asks) const {
    require(question_.has_value(), kOtherwise, 1);
    if (!question_->empty()) {
        const std::size_t at = text.find(*question_);
        require(at != text.npos, kOtherwise, 1);
        return at + question_->size();
    }
    std::vector<ChatMessage> marked(from.messages.begin(), from.messages.end());
    marked[0].content.insert(0, kMark);
    const std::size_t at = written({marked, from.variables}, asks).find(kMark);
    require(at != text.npos, "message 1: the chat template does not write it as it is");
    return at;
}

// Templates of R1 and of Qwen3's models that always think ask with <think> and leave thoughts out
// of answers that came earlier. In place of the content, the mark has no thoughts to leave out.
std::size_t ChatEncoder::begin_behind_role(const std::string& asked, const Conversation& from,
                                           std::size_t i, bool asks) const {
    std::vector<ChatMessage> marked(from.messages.begin(), from.messages.end());
    marked[i].content = kMark;
    const std::string all = written({marked, from.variables}, asks);
    const std::size_t begin = std::min(all.find(kMark), all.size());
    const bool only_thinks = std::string_view(asked).starts_with(all.substr(0, begin)) &&
                             mark_length(std::string_view(asked).substr(begin)) > 0;
    require(only_thinks, kOtherwise, i + 1);
    return begin;
}

// ---- where they end -----------------------------------------------------------------------------

std::size_t ChatEncoder::end_of_content(const std::string& text, std::size_t begin,
                                        const Conversation& from, std::size_t i, bool asks) const {
    std::vector<ChatMessage> marked(from.messages.begin(), from.messages.end());
    marked[i].content += kMark;
    const std::string with_mark = written({marked, from.variables}, asks);
    const std::size_t at = with_mark.find(kMark);
    require(at != with_mark.npos, "message {}: the chat template does not write it", i + 1);
    const std::string_view behind = std::string_view(with_mark).substr(at + kMark.size());
    const std::size_t end = text.size() - std::min(text.size(), behind.size());
    const std::string_view same = std::string_view(text).substr(0, end);
    require(text.ends_with(behind) && end >= begin &&
                without_last_blanks(same) == without_last_blanks(with_mark.substr(0, at)),
            "message {}: the chat template does not write it as it is", i + 1);
    return end;
}

// The mark is in the last call: behind it comes what the template writes there if the message is
// the last, which ends with the end of an answer.
std::size_t ChatEncoder::end_of_calls(const std::string& text, std::size_t begin,
                                      const Conversation& from, std::size_t i, bool asks) const {
    std::vector<ChatMessage> marked(from.messages.begin(), from.messages.end());
    const Conversation with{marked, from.variables};
    if (!jinja::stripped(marked[i].content, {}, true, true).empty()) {
        marked[i].content += kMark;
        require(written(with, asks).find(kMark) != std::string::npos,
                "message {}: the chat template writes its calls of tools without its content",
                i + 1);
    }
    marked[i] = with_marked_call(from.messages[i], kMark);
    const std::string all = written(with, asks), alone = written(with.first(i + 1), false);
    const std::size_t at = all.find(kMark), at_alone = alone.find(kMark);
    require(at != all.npos && at_alone != alone.npos,
            "message {}: the chat template does not write \"tool_calls\", so a model would never "
            "see them",
            i + 1);
    require(at >= begin && without_marks(all, kMark) == text,
            "message {}: the chat template does not write its calls of tools as they are", i + 1);
    const std::string_view behind = std::string_view(alone).substr(at_alone + kMark.size());
    const std::size_t end = behind.rfind(end_text_);
    const bool is_end =
        end != behind.npos && without_last_blanks(behind.substr(end + end_text_.size())).empty() &&
        std::string_view(text).substr(at).starts_with(behind.substr(0, end + end_text_.size()));
    require(is_end, "message {}: the chat template does not end its calls of tools with {}", i + 1,
            utf8::quoted(end_text_));
    return at + end;
}

// ---- {% generation %} ---------------------------------------------------------------------------

std::vector<ChatEncoder::Part> ChatEncoder::generated(const std::string& text,
                                                      const Conversation& from) const {
    const std::string marked = run(program_, from, false, true);
    constexpr std::size_t kSize = jinja::kGenerationBegins.size();
    std::string plain;
    std::vector<Part> parts;
    for (std::size_t at = 0; at < marked.size();) {
        const std::string_view rest = std::string_view(marked).substr(at);
        const bool ends = rest.starts_with(jinja::kGenerationEnds) && !parts.empty();
        if (ends) {
            parts.back().end = plain.size();
        } else if (rest.starts_with(jinja::kGenerationBegins)) {
            parts.push_back({plain.size(), plain.size()});
        } else {
            plain += marked[at++];
            continue;
        }
        at += kSize;
    }
    require(plain == text,
            "the chat template changes what its {{% generation %}} writes, so what is learned "
            "cannot be found");
    return parts;
}

// An answer with its end.
bool ChatEncoder::is_generated(const std::vector<Part>& parts, const Answer& answer,
                               std::size_t i) const {
    const std::size_t end = answer.end + end_text_.size();
    for (const Part& part : parts) {
        if (part.end <= answer.begin || end <= part.begin) continue;
        require(part.begin <= answer.begin && end <= part.end,
                "message {}: the chat template's {{% generation %}} has only a part of the answer "
                "and its end {}, which is not supported",
                i + 1, utf8::quoted(end_text_));
        return true;
    }
    return false;
}

}  // namespace tapestry
