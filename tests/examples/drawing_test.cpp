// Diagrams: illegible ones are refused, and how words are laid out.
#include <tapestry/core/error.h>
#include <tapestry/examples/school/pictures/course.h>

#include <doctest/doctest.h>

using namespace tapestry::pictures;

namespace {

constexpr Drawing::Size kSize{200, 100};

bool has(const std::string& text, const std::string& what) {
    return text.find(what) != std::string::npos;
}

std::string complaint(const Drawing& drawing) {
    try {
        drawing.svg();
    } catch (const tapestry::ValueError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("drawing: words in two languages, with subscripts") {
    const auto draw = [](Language language) {
        Drawing d(kSize, {"Title", "标题"}, language);
        d.box({20, 40, 100, 30}, {"W_Q and h_{t-1}, a__b", "权重 W_Q"}, kGreen);
        return d.svg();
    };
    const std::string english = draw(Language::english), chinese = draw(Language::chinese);
    CHECK(has(english, ">Title</text>"));
    CHECK(has(english, "font-size=\"9.4px\">Q</tspan><tspan dy=\"-3\"> and h</tspan>"));
    CHECK(has(english, ">t-1</tspan><tspan dy=\"-3\">, a_b</tspan>"));
    CHECK(has(english, "class=\"c2 f2\""));
    CHECK(has(english, "prefers-color-scheme:dark"));
    CHECK(has(chinese, ">标题</text>"));
    CHECK(has(chinese, ">权重 W<tspan"));
}

TEST_CASE("drawing: what lies on one another, outside, or does not fit is an error") {
    Drawing d(kSize, "Title", Language::english);
    CHECK_EQ(complaint(d), "");
    CHECK_THROWS_WITH_AS(d.box({20, 40, 30, 20}, "much too wide"),
                         doctest::Contains("'much too wide' is"), tapestry::ValueError);
    {
        Drawing other = d;
        other.text({60, 60}, "one"), other.text({70, 62}, "two");
        CHECK_EQ(complaint(other), "picture 'Title': 'two' lies on 'one'");
    }
    {
        Drawing other = d;
        other.text({60, 60}, "one");
        CHECK_EQ(complaint(other), "");
        other.arrow({{10, 90}, {60, 75}, {60, 40}});
        CHECK_EQ(complaint(other), "picture 'Title': a line runs through 'one'");
    }
    Drawing other = d;
    other.text({190, 60}, "outside");
    CHECK_EQ(complaint(other), "picture 'Title': 'outside' does not lie on the paper");
}
