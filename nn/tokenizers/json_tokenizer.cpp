#include <tapestry/nn/tokenizers/json_tokenizer.h>

#include <tapestry/core/checksum.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/utf8.h>
#include <tapestry/nn/tokenizers/post_processor.h>
#include <tapestry/nn/tokenizers/pre_tokenizer.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace tapestry {
namespace {

constexpr std::size_t kMostMarks = 100'000;

bool is_absent(const JsonNode& node, const std::string& member) {
    const auto found = node.find(member);
    return !found || found->is(JsonKind::null);
}

// Throws unless a member is absent, null, false, 0, "" or []: what it would turn on is unknown
// here.
void check_off(const JsonNode& node, const std::string& member, const std::string& what) {
    const auto found = node.find(member);
    if (!found) return;
    const std::string value = found->text();
    const bool is_off = value == "null" || value == "false" || value == "0" || value == "0.0" ||
                        value == "\"\"" || value == "[]";
    require(is_off, "{}: \"{}\" is {}, which is not supported", what, member,
            utf8::printable(value.substr(0, 60)));
}

// Steps of which only some types are known: a node, the members of a Sequence, or null.
void check_types(const JsonNode& root, const std::string& member, const std::string& list,
                 std::span<const std::string_view> known, const std::string& what) {
    if (is_absent(root, member)) return;
    const JsonNode node = root.at(member);
    const auto type = node.get<std::string>("type");
    if (type == "Sequence") {
        for (const JsonNode& step : node.at(list).elements()) {
            const auto inner = step.get<std::string>("type");
            require(std::find(known.begin(), known.end(), inner) != known.end(),
                    "{}: the {} {} is not supported", what, member, utf8::quoted(inner));
        }
        return;
    }
    require(std::find(known.begin(), known.end(), type) != known.end(),
            "{}: the {} {} is not supported", what, member, utf8::quoted(type));
}

// Pairs are written ["a", "b"], or "a b" in older files.
std::pair<std::string, std::string> read_pair(const JsonNode& node, const std::string& name,
                                              std::size_t number) {
    if (node.is(JsonKind::array)) {
        const auto parts = node.get<std::vector<std::string>>();
        require(parts.size() == 2, "{}: merge {}: {} tokens instead of two", name, number,
                parts.size());
        return {BytePairTokenizer::bytes_of(parts[0], name),
                BytePairTokenizer::bytes_of(parts[1], name)};
    }
    const auto text = node.get<std::string>();
    const std::size_t space = text.find(' ');
    if (space == std::string::npos || space == 0 || space + 1 == text.size() ||
        text.find(' ', space + 1) != std::string::npos) {
        fail("{}: merge {}: {} is not two tokens with a space between", name, number,
             utf8::quoted(text));
    }
    return {BytePairTokenizer::bytes_of(text.substr(0, space), name),
            BytePairTokenizer::bytes_of(text.substr(space + 1), name)};
}

// Whether a text is written as it is among tokens of bytes: printable ASCII without a space.
bool represents_itself(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

// By id; "" for ids without a token.
class TokensById {
public:
    // `count`: tokens, which may leave some ids out.
    TokensById(std::string place, std::size_t count)
        : place_(std::move(place)), end_(4 * static_cast<std::int64_t>(count) + 65536) {}

    void add(std::int64_t id, const std::string& bytes) {
        if (id < 0 || id >= end_) fail("{}: {} has the id {}", place_, utf8::quoted(bytes), id);
        const auto at = static_cast<std::size_t>(id);
        if (at >= tokens_.size()) tokens_.resize(at + 1);
        if (!tokens_[at].empty()) {
            fail("{}: {} and {} have the same id {}", place_, utf8::quoted(tokens_[at]),
                 utf8::quoted(bytes), id);
        }
        tokens_[at] = bytes;
    }
    void remove(std::int64_t id) { tokens_[static_cast<std::size_t>(id)].clear(); }
    std::vector<std::string> take() { return std::move(tokens_); }

private:
    std::string place_;
    std::int64_t end_;  // of ids
    std::vector<std::string> tokens_;
};

}  // namespace

JsonTokenizer JsonTokenizer::from_json(std::string json, const std::string& name) {
    JsonTokenizer tokenizer;
    tokenizer.json_ = std::move(json);
    try {
        const JsonTree tree(tokenizer.json_);
        tokenizer.read(tree.root(), name);
    } catch (const JsonError& error) {
        fail("{}: {}", name, error.what());
    }
    return tokenizer;
}

void JsonTokenizer::read(const JsonNode& root, const std::string& name) {
    require(!is_absent(root, "model"), "{}: no \"model\": not a tokenizer of Hugging Face's", name);
    read_normalizer(root, name);
    static constexpr std::array<std::string_view, 2> kProcessors{"ByteLevel", "TemplateProcessing"};
    check_types(root, "post_processor", "processors", kProcessors, name);
    static constexpr std::array<std::string_view, 1> kDecoders{"ByteLevel"};
    check_types(root, "decoder", "decoders", kDecoders, name);
    if (!is_absent(root, "added_tokens")) read_marks(root, name);
    read_model(root.at("model"), name);
    begin_of_text_ = first_id_in(root, name);
    if (begin_of_text_ && (*begin_of_text_ < 0 || *begin_of_text_ >= vocab_size())) {
        fail("{}: the post_processor puts the id {} before a text; the vocabulary has {}", name,
             *begin_of_text_, vocab_size());
    }
    require(!is_absent(root, "pre_tokenizer"),
            "{}: a tokenizer without a pre-tokenizer is not supported", name);
    words_ = std::make_shared<const PreTokenizer>(root.at("pre_tokenizer"), name);
}

// Canonical forms undo one another, so the last one decides.
void JsonTokenizer::read_normalizer(const JsonNode& root, const std::string& name) {
    static constexpr std::array<std::string_view, 2> kForms{"NFC", "NFD"};
    check_types(root, "normalizer", "normalizers", kForms, name);
    if (is_absent(root, "normalizer")) return;
    const auto add = [this](const std::string& type) {
        form_ = type == "NFC" ? unicode::NormalForm::nfc : unicode::NormalForm::nfd;
    };
    const JsonNode node = root.at("normalizer");
    const auto type = node.get<std::string>("type");
    if (type != "Sequence") return add(type);
    for (const JsonNode& step : node.at("normalizers").elements()) {
        add(step.get<std::string>("type"));
    }
}

void JsonTokenizer::read_marks(const JsonNode& root, const std::string& name) {
    for (const JsonNode& token : root.at("added_tokens").elements()) {
        const auto text = token.get<std::string>("content");
        const std::string place = fmt::format("{}: added token {}", name, utf8::quoted(text));
        for (const char* option : {"single_word", "lstrip", "rstrip"}) {
            check_off(token, option, place);
        }
        require(!text.empty(), "{}: an empty added token", name);
        const auto id = token.get<std::int64_t>("id");
        require(marks_.list().size() < kMostMarks, "{}: more than {} added tokens", name,
                kMostMarks);
        marks_.add(text, id);
        mark_by_id_.emplace(id, text);
        const auto special = token.find("special");
        const auto normalized = token.find("normalized");
        if (normalized ? normalized->get<bool>() : !(special && special->get<bool>())) {
            normalized_marks_.add(form_ ? unicode::normalize(text, *form_) : text, id);
        } else {
            plain_marks_.add(text, id);
        }
    }
}

void JsonTokenizer::read_model(const JsonNode& model, const std::string& name) {
    const auto type = model.find("type");
    require(!type || type->get<std::string>() == "BPE", "{}: the model {} is not supported", name,
            utf8::quoted(type ? type->get<std::string>() : ""));
    for (const char* option : {"dropout", "continuing_subword_prefix", "end_of_word_suffix",
                               "byte_fallback", "fuse_unk"}) {
        check_off(model, option, name);
    }
    const auto vocabulary = model.at("vocab").members();
    TokensById tokens(name, vocabulary.size() + marks_.list().size());
    std::map<std::string, std::int64_t> added;
    for (const auto& [text, id] : marks_.list()) {
        if (!added.emplace(text, id).second) {
            fail("{}: the added token {} has two ids", name, utf8::quoted(text));
        }
        tokens.add(id, text);
    }
    for (const auto& [text, node] : vocabulary) {
        const auto id = node.get<std::int64_t>();
        const auto mark = added.find(text);
        if (mark != added.end()) {
            if (mark->second == id) {
                if (represents_itself(text)) added.erase(mark);
                continue;
            }
            fail("{}: the added token {} has the id {}, and {} in the vocabulary", name,
                 utf8::quoted(text), mark->second, id);
        }
        tokens.add(id, BytePairTokenizer::bytes_of(text, name));
    }
    for (const auto& [text, id] : added) tokens.remove(id);  // no merges lead to them

    BytePairTokenizer::Merges merges;
    for (const JsonNode& node : model.at("merges").elements()) {
        merges.push_back(read_pair(node, name, merges.size()));
    }
    const auto whole = model.find("ignore_merges");
    try {
        pairs_ = std::make_shared<const BytePairTokenizer>(BytePairTokenizer::from_tokens(
            tokens.take(), merges, {.whole_words = whole && whole->get<bool>()}));
    } catch (const ValueError& error) {
        fail("{}: {}", name, error.what());
    }
    require(!pairs_->lacks_bytes() || is_absent(model, "unk_token"),
            "{}: a token for unknown bytes (\"unk_token\") is not supported", name);
}

std::optional<std::int64_t> JsonTokenizer::first_mark(
    std::span<const std::string_view> names) const {
    for (const std::string_view name : names) {
        for (const auto& [text, id] : marks_.list()) {
            if (text == name) return id;
        }
    }
    return {};
}

namespace {

// Tokens that chat models declare as ends, in addition to the token that ends documents or instead
// of it: ChatML's, Llama 3's, Phi's, Gemma's, OpenChat's, Command R's and GLM's.
bool ends_turn(std::string_view mark) {
    static constexpr std::array<std::string_view, 12> kMarks{
        "<|im_end|>", "<|im_start|>",  "<|eot_id|>",      "<|eom_id|>",
        "<|end|>",    "<end_of_turn>", "<|end_of_turn|>", "<|END_OF_TURN_TOKEN|>",
        "<|user|>",   "<|assistant|>", "<|system|>",      "<|observation|>"};
    return std::find(kMarks.begin(), kMarks.end(), mark) != kMarks.end();
}

}  // namespace

std::optional<std::int64_t> JsonTokenizer::end_of_text() const {
    for (const std::int64_t id : declared_ends()) {
        const auto mark = mark_by_id_.find(id);
        if (mark != mark_by_id_.end() && !ends_turn(mark->second)) return id;
    }
    static constexpr std::array<std::string_view, 5> kNames{
        "<|endoftext|>", "<|end_of_text|>", "<\uFF5Cend\u2581of\u2581sentence\uFF5C>", "</s>",
        "<eos>"};
    return first_mark(kNames);
}

std::int64_t JsonTokenizer::beginning() const {
    if (begin_of_text_) return *begin_of_text_;
    static constexpr std::array<std::string_view, 3> kNames{"<|begin_of_text|>", "<s>", "<bos>"};
    if (const auto id = first_mark(kNames)) return *id;
    if (const auto id = end_of_text()) return *id;
    return std::max(pairs_->id_of("\n"), 0);
}

namespace {

// Calls part(text) for what is between marks, and mark(id) for these, in order.
template <class Part, class Mark>
void split_at(const Marks& marks, std::string_view text, const Part& part, const Mark& mark) {
    std::size_t at = 0;
    for (auto found = marks.find(text, at); found; found = marks.find(text, at)) {
        part(text.substr(at, found->at - at));
        mark(found->id);
        at = found->at + found->size;
    }
    part(text.substr(at));
}

// What may become a mark ends the text: with the mark, the words before it end there.
struct Rest {
    std::size_t begin, end;  // behind the last mark before `end`, which may be 0
};
Rest rest_behind(const Marks& marks, std::string_view text) {
    Rest rest{0, marks.unfinished(text)};
    auto mark = marks.find(text, 0);
    for (; mark && mark->at < rest.end; mark = marks.find(text, rest.begin)) {
        rest.begin = mark->at + mark->size;
    }
    return rest;
}

// The last place before `end` where a segment of a normal form begins; 0 if there is none.
std::size_t last_segment(std::string_view text, std::size_t end, unicode::NormalForm form) {
    for (std::size_t at = end; at-- > 0;) {
        if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;
        if (unicode::begins_segment(utf8::step(text, at).code, form)) return at;
    }
    return 0;
}

}  // namespace

void JsonTokenizer::encode_piece(const TextPiece& piece, std::vector<std::int64_t>& ids) const {
    if (const auto flaw = utf8::find_flaw(piece.text)) {
        fail("{}: not UTF-8 at byte {}: {}", piece.what, flaw->byte, flaw->what);
    }
    const auto mark = [&ids](std::int64_t id) { ids.push_back(id); };
    split_at(
        plain_marks_, piece.text, [&](std::string_view part) { encode_part(part, ids); }, mark);
}

// Text without marks that are found as they are.
void JsonTokenizer::encode_part(std::string_view text, std::vector<std::int64_t>& ids) const {
    std::string normal;
    if (form_ && !unicode::is_surely_normal(text, *form_)) {
        normal = unicode::normalize(text, *form_);
        text = normal;
    }
    std::vector<std::string_view> words;
    const auto encode = [&](std::string_view part) {
        words.clear();
        words_->split(part, words);
        pairs_->encode_words(words, ids);
    };
    split_at(normalized_marks_, text, encode, [&ids](std::int64_t id) { ids.push_back(id); });
}

std::size_t JsonTokenizer::piece_end(std::string_view text) const {
    const Rest rest = rest_behind(plain_marks_, text);
    if (rest.begin >= rest.end) return rest.begin;
    const std::string_view part = text.substr(rest.begin, rest.end - rest.begin);
    return rest.begin + (form_ ? sure_end_normalized(part) : sure_end(part));
}

// Of text in its normal form, without plain marks.
std::size_t JsonTokenizer::sure_end(std::string_view text) const {
    const Rest rest = rest_behind(normalized_marks_, text);
    if (rest.begin >= rest.end) return rest.begin;
    return rest.begin + words_->sure_end(text.substr(rest.begin, rest.end - rest.begin));
}

// Of text that is to be normalized: only where a segment begins has its beginning the same form
// whatever follows. So the beginning is shortened until the form's sure end is such a place. Every
// attempt splits the text again: in one without a place (a run of letters and marks) few are made.
std::size_t JsonTokenizer::sure_end_normalized(std::string_view text) const {
    std::size_t size = last_segment(text, text.size(), *form_);
    const bool is_normal = unicode::is_surely_normal(text.substr(0, size), *form_);
    std::string normal;
    if (!is_normal) normal = unicode::normalize(text.substr(0, size), *form_);
    std::string_view known = is_normal ? text.substr(0, size) : std::string_view(normal);
    std::size_t end = sure_end(known);
    constexpr int kAttempts = 16;
    for (int i = 0; end > 0 && end < known.size() &&
                    !unicode::begins_segment(utf8::step(known, end).code, *form_);
         ++i) {
        if (i == kAttempts) return 0;
        known = known.substr(0, last_segment(known, end, *form_));
        end = sure_end(known);
    }
    if (is_normal || end == 0) return end;
    // The place in the text: segments up to it have as many bytes in the form.
    std::size_t at = 0;
    for (std::size_t bytes = 0; bytes < end;) {
        const std::size_t begin = at;
        bool is_kept = unicode::begins_segment(utf8::step(text, at).code, *form_);
        at += utf8::step(text, at).bytes;
        while (at < size && !unicode::begins_segment(utf8::step(text, at).code, *form_)) {
            at += utf8::step(text, at).bytes;
            is_kept = false;
        }
        const std::string_view segment = text.substr(begin, at - begin);
        bytes += is_kept ? segment.size() : unicode::normalize(segment, *form_).size();
    }
    return at;
}

std::string JsonTokenizer::decode(std::span<const std::int64_t> ids) const {
    std::string text;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto mark = mark_by_id_.find(ids[i]);
        text += mark != mark_by_id_.end() ? mark->second : pairs_->decode(ids.subspan(i, 1));
    }
    return text;
}

std::string JsonTokenizer::hash() const {
    Checksum sum;
    sum.add(json_);
    return sum.hex();
}

}  // namespace tapestry
