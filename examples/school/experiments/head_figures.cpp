// Implements head_figures.h.
#include <tapestry/examples/school/experiments/head_figures.h>

#include <tapestry/core/error.h>
#include <tapestry/examples/school/tasks/masked_words.h>
#include <tapestry/examples/stories/stories.h>
#include <tapestry/tapestry.h>

#include <cmath>
#include <set>

namespace tapestry::experiments {
namespace {

struct LinkInText {
    Link link;
    std::size_t end, earlier_end;  // byte offsets
};

std::vector<LinkInText> links_of(const examples::Stories& stories) {
    std::vector<LinkInText> all;
    for (const examples::Reference& r : stories.references) {
        all.push_back({Link::coreference, r.pronoun_end, r.antecedent_end});
    }
    for (const examples::Dependency& d : stories.dependencies) {
        all.push_back({static_cast<Link>(d.relation), d.end, d.earlier_end});
    }
    return all;
}

}  // namespace

const char* name_of(Link link) {
    constexpr const char* kNames[] = {"subject", "object", "modifier", "coreference"};
    return kNames[static_cast<int>(link)];
}

std::vector<Piece> story_pieces(std::uint64_t seed, std::size_t bytes, const Encode& encode,
                                std::int64_t context,
                                const std::function<bool(std::string_view)>& is_wanted) {
    const examples::Stories stories = examples::write_stories(seed, bytes);
    const std::vector<LinkInText> links = links_of(stories);
    std::vector<Piece> pieces;
    std::size_t begin = 0;
    for (const std::string& story : examples::stories_of(stories.text)) {
        if (!is_wanted(story)) {
            begin += story.size() + 2;
            continue;
        }
        Piece piece{.ids = encode(story), .links = {}};
        if (static_cast<std::int64_t>(piece.ids.size()) > context) {
            piece.ids.resize(static_cast<std::size_t>(context));
        }
        const auto place = [&](std::size_t end) {  // index of the token that ends there
            return static_cast<std::int64_t>(
                       encode(std::string_view(story).substr(0, end - begin)).size()) -
                   1;
        };
        for (const LinkInText& l : links) {
            if (l.earlier_end <= begin || l.end > begin + story.size()) continue;
            const std::int64_t from = place(l.end);
            if (from >= static_cast<std::int64_t>(piece.ids.size())) continue;
            piece.links[static_cast<int>(l.link)].push_back({from, place(l.earlier_end)});
        }
        begin += story.size() + 2;
        pieces.push_back(std::move(piece));
    }
    return pieces;
}

// ---- heads

namespace {

/// Attention weights of one head on one piece: [T, T].
struct Weights {
    const float* data;
    std::int64_t length;
    double at(std::int64_t from, std::int64_t to) const { return data[from * length + to]; }
    /// Weight relative to uniform attention over the visible words.
    double over_uniform(std::int64_t from, std::int64_t to) const {
        return at(from, to) * static_cast<double>(from + 1);
    }
};

/// Sums over pieces for one head.
struct Sums {
    double distance = 0, entropy = 0, previous = 0, words = 0;
    double linked[kLinks] = {};                  // weight over uniform, on linked words
    std::vector<double> profile[kLinks], count;  // by distance: weight on words that are not linked
    std::vector<double> counts[kLinks];
};

void add_to(std::vector<double>& values, std::int64_t at, double value) {
    if (static_cast<std::int64_t>(values.size()) <= at) {
        values.resize(static_cast<std::size_t>(at) + 1, 0);
    }
    values[static_cast<std::size_t>(at)] += value;
}

void add_links(const Piece& piece, const Weights& w, int link, Sums& sums) {
    std::set<std::pair<std::int64_t, std::int64_t>> linked;
    std::set<std::int64_t> queries;
    for (const Piece::Pair& pair : piece.links[link]) {
        linked.insert({pair.from, pair.to});
        queries.insert(pair.from);
        sums.linked[link] += w.over_uniform(pair.from, pair.to);
    }
    if (link != static_cast<int>(Link::coreference)) {
        for (std::int64_t from = 0; from < w.length; ++from) queries.insert(from);
    }
    for (const std::int64_t from : queries) {
        for (std::int64_t to = 0; to < from; ++to) {
            if (linked.count({from, to}) > 0) continue;
            add_to(sums.profile[link], from - to, w.over_uniform(from, to));
            add_to(sums.counts[link], from - to, 1);
        }
    }
}

void add(const Piece& piece, const Weights& w, Sums& sums) {
    for (std::int64_t from = 1; from < w.length; ++from) {
        for (std::int64_t to = 0; to <= from; ++to) {
            const double p = w.at(from, to);
            sums.distance += p * static_cast<double>(from - to);
            if (p > 0) sums.entropy -= p * std::log(p);
        }
        sums.previous += w.at(from, from - 1);
        sums.words += 1;
    }
    for (int link = 0; link < kLinks; ++link) add_links(piece, w, link, sums);
}

HeadFigures figures_of(const Sums& sums, const std::vector<Piece>& pieces) {
    HeadFigures f{.distance = sums.distance / sums.words,
                  .entropy = sums.entropy / sums.words,
                  .previous = sums.previous / sums.words,
                  .links = {}};
    for (int link = 0; link < kLinks; ++link) {
        double links = 0, expected = 0;
        for (const Piece& piece : pieces) {
            for (const Piece::Pair& pair : piece.links[link]) {
                const auto d = static_cast<std::size_t>(pair.from - pair.to);
                ++links;
                if (d < sums.profile[link].size() && sums.counts[link][d] > 0) {
                    expected += sums.profile[link][d] / sums.counts[link][d];
                }
            }
        }
        require<ValueError>(links > 0, "no {} in {} stories", name_of(static_cast<Link>(link)),
                            pieces.size());
        f.links[link] = {sums.linked[link] / links, expected / links};
    }
    return f;
}

}  // namespace

std::vector<std::vector<HeadFigures>> look(const GPT& model, const std::vector<Piece>& pieces) {
    const NoGradGuard no_grad;
    std::vector<std::vector<Sums>> sums;
    for (const Piece& piece : pieces) {
        const auto length = static_cast<std::int64_t>(piece.ids.size());
        std::vector<AttentionRecord> records;
        model(tensor(piece.ids, {1, length}), {.records = &records});
        sums.resize(records.size());
        for (std::size_t l = 0; l < records.size(); ++l) {
            const Tensor weights = records[l].weights.clone();  // [1, H, T, T]
            sums[l].resize(static_cast<std::size_t>(weights.size(1)));
            for (std::size_t h = 0; h < sums[l].size(); ++h) {
                const float* head =
                    weights.data<float>() + static_cast<std::int64_t>(h) * length * length;
                add(piece, {head, length}, sums[l][h]);
            }
        }
    }
    std::vector<std::vector<HeadFigures>> layers;
    for (const auto& heads : sums) {
        layers.emplace_back();
        for (const Sums& head : heads) layers.back().push_back(figures_of(head, pieces));
    }
    return layers;
}

}  // namespace tapestry::experiments
