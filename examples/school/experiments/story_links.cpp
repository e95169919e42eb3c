// Read story_links.h first.
#include <tapestry/examples/school/experiments/story_links.h>

#include <tapestry/examples/school/tasks/masked_words.h>
#include <tapestry/examples/stories/stories.h>

namespace tapestry::experiments {
namespace {

struct LinkInText {
    Link link;
    std::size_t end, earlier_end;  // bytes
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
                                std::int64_t context) {
    const examples::Stories stories = examples::write_stories(seed, bytes);
    const std::vector<LinkInText> links = links_of(stories);
    std::vector<Piece> pieces;
    std::size_t begin = 0;
    for (const std::string& story : examples::stories_of(stories.text)) {
        Piece piece{.ids = encode(story), .links = {}};
        if (static_cast<std::int64_t>(piece.ids.size()) > context) {
            piece.ids.resize(static_cast<std::size_t>(context));
        }
        const auto place = [&](std::size_t end) {  // of the token that ends there
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

}  // namespace tapestry::experiments
