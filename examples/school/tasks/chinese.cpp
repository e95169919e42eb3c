#include <tapestry/examples/school/tasks/chinese.h>

#include <fmt/ranges.h>

#include <algorithm>

namespace tapestry::examples {
namespace {

constexpr const char* kEndMark = "[end]";

struct Entry {
    std::string_view english, chinese;
};
constexpr Entry kSubjects[] = {{"the boy", "男孩"},     {"the girl", "女孩"},
                               {"the teacher", "老师"}, {"the doctor", "医生"},
                               {"the farmer", "农夫"},  {"my sister", "我姐姐"},
                               {"my friend", "我朋友"}, {"the old man", "老人"}};
constexpr Entry kPlacePhrases[] = {{"in the garden", "在花园里"}, {"at the market", "在市场"},
                                   {"in the park", "在公园里"},   {"by the river", "在河边"},
                                   {"at school", "在学校"},       {"at the station", "在车站"}};
constexpr Entry kPast[] = {
    {"yesterday", "昨天"}, {"last week", "上周"}, {"this morning", "今天早上"}};
constexpr Entry kFuture[] = {
    {"tomorrow", "明天"}, {"next week", "下周"}, {"this evening", "今天晚上"}};

struct Verb {
    std::string_view base, past, chinese;
};
constexpr Verb kVerbs[] = {{"see", "saw", "看见"}, {"buy", "bought", "买"},
                           {"draw", "drew", "画"}, {"find", "found", "找到"},
                           {"sell", "sold", "卖"}, {"photograph", "photographed", "拍"}};

struct Noun {
    std::string_view english, chinese, measure;
    bool alive;
};
constexpr Noun kNouns[] = {
    {"dog", "狗", "只", true},      {"cat", "猫", "只", true},    {"bird", "鸟", "只", true},
    {"horse", "马", "匹", true},    {"snake", "蛇", "条", true},  {"cow", "牛", "头", true},
    {"rabbit", "兔子", "只", true}, {"frog", "青蛙", "只", true}, {"goat", "山羊", "只", true},
    {"book", "书", "本", false},    {"car", "车", "辆", false},   {"lamp", "灯", "盏", false},
    {"chair", "椅子", "把", false}, {"hat", "帽子", "顶", false}, {"table", "桌子", "张", false},
    {"shirt", "衬衫", "件", false}, {"clock", "钟", "座", false}, {"boat", "船", "条", false}};
constexpr std::string_view kAdjectives[] = {"small", "big", "white", "black", "old"};

std::string adjective_in_chinese(std::string_view adjective, const Noun& noun) {
    if (adjective == "old") return noun.alive ? "老" : "旧";
    if (adjective == "small") return "小";
    if (adjective == "big") return "大";
    return adjective == "white" ? "白" : "黑";
}

bool only_held_out(std::string_view adjective, const Noun& noun) {
    return held_out(fmt::format("the {} {}", adjective, noun.english), 6);
}

/// A part of a sentence in both languages. Parts are listed in English order; `place` gives the
/// part's place in the Chinese sentence.
struct Part {
    std::string english, chinese;
    int place;
};

Translated put_together(const std::vector<Part>& parts) {
    Translated t;
    std::vector<Origin> origins;
    for (const Part& part : parts) {
        const std::size_t begin = t.english.size();
        for (const std::string& word : words_of(part.english)) t.english.push_back(word);
        origins.push_back({begin, t.english.size()});
    }
    for (int place = 0; place < 10; ++place) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (parts[i].place != place) continue;
            for (const std::string& character : words_of(parts[i].chinese)) {
                t.chinese.push_back(character);
                t.origins.push_back(origins[i]);
                origins[i] = {};  // only the first character counts
            }
        }
    }
    return t;
}

// "a black horse": 一匹黑马. Plural nouns end in s.
void add_object(std::vector<Part>& parts, bool held_out, bool negated, Generator& generator) {
    for (;;) {
        const Noun& noun = kNouns[generator.below(std::size(kNouns))];
        const std::string_view adjective = kAdjectives[generator.below(std::size(kAdjectives))];
        const bool described = held_out || generator.below(3) != 0;
        if (described && only_held_out(adjective, noun) != held_out) continue;
        constexpr Entry articles[] = {{"the", "那"}, {"a", "一"}, {"two", "两"}, {"three", "三"}};
        const std::size_t article = negated ? 0 : generator.below(4);
        const bool vowel = described && adjective == "old" && article == 1;
        parts.push_back({vowel ? "an" : std::string(articles[article].english),
                         fmt::format("{}{}", articles[article].chinese, noun.measure), 5});
        if (described) {
            parts.push_back({std::string(adjective), adjective_in_chinese(adjective, noun), 6});
        }
        parts.push_back({fmt::format("{}{}", noun.english, article > 1 ? "s" : ""),
                         std::string(noun.chinese), 7});
        return;
    }
}

Part part_of(const Entry& entry, int place) {
    return {std::string(entry.english), std::string(entry.chinese), place};
}

// ---- batches ------------------------------------------------------------------------------------

struct Tables {
    WordTable english, chinese;
};

struct Rows {
    Tensor source, target, next;  // i64; target begins with a mark, next ends with one
};

Rows pack_rows(const std::vector<Translated>& all, const Tables& tables) {
    std::vector<Words> english, before, after;
    for (const Translated& t : all) {
        english.push_back(t.english);
        before.push_back(t.chinese);
        after.push_back(t.chinese);
        after.back().emplace_back(kEndMark);
    }
    const auto length = columns_for(after);
    // pack() prepends a mark, which the target needs and the other two do not.
    const Tensor next = pack(after, tables.chinese, length);
    const Tensor source = pack(english, tables.english, columns_for(english));
    return {slice(source, 1, 1, source.size(1)),
            slice(pack(before, tables.chinese, length), 1, 0, length - 1),
            slice(next, 1, 1, length)};
}

std::string decode_characters(const std::vector<std::int64_t>& ids, const WordTable& table) {
    std::string text;
    for (const std::int64_t id : ids) text += table.word(id);
    return text;
}

std::string joined(const Words& words) { return fmt::format("{}", fmt::join(words, "")); }

// Exact translations with this many beams; one beam without penalty is greedy search.
Score score_translations(const Transformer& model, const std::vector<Translated>& asked,
                         const Tables& tables, std::int64_t beams) {
    const Tensor source = pack_rows(asked, tables).source;
    TransformerDecoding decoding(model, source);
    BeamOptions options;
    options.begin_id = kStart;
    options.end_id = tables.chinese.id(kEndMark);
    options.max_length = 30;
    options.beams = beams;
    options.length_penalty = beams > 1 ? 0.6 : 0;
    const auto found = beam_search(decoding, source.size(0), options);
    Score score{0, source.size(0)};
    for (std::size_t i = 0; i < asked.size(); ++i) {
        if (decode_characters(found[i].front().ids, tables.chinese) == joined(asked[i].chinese))
            ++score.right;
    }
    return score;
}

// Cross-attention averaged over the heads of the last layer: [B, T, S].
Tensor looks(const Transformer& model, const Rows& rows) {
    std::vector<DecoderRecord> records;
    model.decode(rows.target, model.encode(rows.source), rows.source, {.records = &records});
    return mean(records.back().memory.weights, {1});
}

Score alignment(const Transformer& model, const std::vector<Translated>& asked,
                const Tables& tables) {
    const Tensor where = argmax(looks(model, pack_rows(asked, tables)));
    Score score;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        for (std::size_t t = 0; t < asked[i].chinese.size(); ++t) {
            const Origin& origin = asked[i].origins[t];
            if (origin.begin == origin.end) continue;
            const auto at = static_cast<std::size_t>(where.at<std::int64_t>(
                {static_cast<std::int64_t>(i), static_cast<std::int64_t>(t)}));
            score += {at >= origin.begin && at < origin.end ? 1 : 0, 1};
        }
    }
    return score;
}

void show(const Transformer& model, const Translated& t, const Tables& tables) {
    Words written = t.chinese;
    written.emplace_back(kEndMark);
    fmt::print("\n{}\n{}\n\n{}", fmt::join(t.english, " "), joined(t.chinese),
               text_map(squeeze(looks(model, pack_rows({t}, tables)), 0), written, t.english));
}

}  // namespace

Translated draw_translated(bool held_out, Generator& generator) {
    const auto pick = [&](const auto& list) { return list[generator.below(std::size(list))]; };
    const Verb& verb = kVerbs[generator.below(std::size(kVerbs))];
    const std::string base(verb.base), chinese(verb.chinese);
    const std::uint64_t kind = generator.below(5);  // past, not past, question, future, not future
    const bool past = kind < 3;
    std::vector<Part> parts;
    if (kind == 2) parts.push_back({"did", "吗", 8});
    parts.push_back(part_of(pick(kSubjects), 0));
    switch (kind) {
        case 0: parts.push_back({std::string(verb.past), chinese + "了", 4}); break;
        case 1: parts.push_back({"did not", "没", 2}); break;
        case 3: parts.push_back({"will", "会", 2}); break;
        case 4: parts.push_back({"will not", "不会", 2}); break;
        default: break;
    }
    if (kind != 0) parts.push_back({base, chinese + (kind == 2 ? "了" : ""), 4});
    add_object(parts, held_out, kind == 1 || kind == 4, generator);
    if (generator.below(2) == 0) parts.push_back(part_of(pick(kPlacePhrases), 3));
    if (generator.below(3) != 0) parts.push_back(part_of(past ? pick(kPast) : pick(kFuture), 1));
    parts.push_back(kind == 2 ? Part{"?", "？", 9} : Part{".", "。", 9});
    return put_together(parts);
}

Pair draw_chinese_pair(bool held_out, Generator& generator) {
    const Translated drawn = draw_translated(held_out, generator);
    return {fmt::format("{}", fmt::join(drawn.english, " ")),
            fmt::format("{}", fmt::join(drawn.chinese, ""))};
}

ChineseScores learn_chinese(const TaskOptions& options) {
    Generator generator(options.seed), for_test(1);
    std::vector<Translated> learnt, asked;
    for (int i = 0; i < 6000; ++i) learnt.push_back(draw_translated(false, generator));
    for (int i = 0; i < 500; ++i) asked.push_back(draw_translated(true, for_test));
    std::vector<Words> english, chinese{{kEndMark}};
    for (const Translated& t : learnt) {
        english.push_back(t.english);
        chinese.push_back(t.chinese);
    }
    const Tables tables{WordTable::of(english), WordTable::of(chinese)};
    const Rows rows = pack_rows(learnt, tables);
    Transformer model({.source_vocab = tables.english.size(),
                       .target_vocab = tables.chinese.size(),
                       .dim = 64,
                       .heads = 4,
                       .layers = 2,
                       .dropout = 0.1,
                       .norm_first = true,
                       .padding_id = kPadding,
                       .label_smoothing = 0},
                      generator);
    const std::vector<Translated> few(asked.begin(), asked.begin() + 100);
    fit(
        model, options,
        [&] {
            const Tensor which = randint(0, rows.source.size(0), {options.batch}, generator);
            return model.loss(index_select(rows.source, 0, which),
                              index_select(rows.target, 0, which),
                              index_select(rows.next, 0, which));
        },
        [&] { return score_translations(model, few, tables, 1); });
    const Answering answering(model);
    if (options.print) show(model, asked.front(), tables);
    return {score_translations(model, asked, tables, 4),
            score_translations(model, asked, tables, 1), alignment(model, asked, tables)};
}

}  // namespace tapestry::examples
