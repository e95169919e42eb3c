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
        Drawing d(kSize, "Title|标题", language);
        d.box({20, 40, 100, 30}, "W_Q and h_{t-1}, a__b|权重 W_Q", kGreen);
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

TEST_CASE("drawing: a script draws what the calls draw") {
    Drawing by_script({200, 200}, "Title", Language::english), by_calls = by_script;
    by_script.draw(R"(
blue 11px box a 0 30 60 30 two\nlines
box b 100 30 60 30 b ; c 100 120 60 30 c
dashed green arrow a b ; b 130,80 b,90 c.top@0.5
orange start text a,100 words; more
line b.right@1 c.right
circle 10,100 5 
pink bar 0 0 5 6
)",
                   {10, 20});
    const Rect a = by_calls.box({10, 50, 60, 30}, "two\nlines", kBlue, {.size = 11});
    const Rect b = by_calls.box({110, 50, 60, 30}, "b"), c = by_calls.box({110, 140, 60, 30}, "c");
    by_calls.arrow({a.right(), b.left()}, {.colour = kGreen, .dashed = true});
    by_calls.arrow({b.bottom(), {140, 100}, {140, 110}, c.top()},
                   {.colour = kGreen, .dashed = true});
    by_calls.text({40, 120}, "words; more", {.anchor = "start", .colour = kOrange});
    by_calls.line({b.right(1), c.right()});
    by_calls.circle({20, 120}, 5, "");
    by_calls.bar({10, 20, 5, 6}, kPink);
    CHECK_EQ(by_script.svg(), by_calls.svg());
}

TEST_CASE("drawing: what a script cannot mean is refused") {
    const std::pair<const char*, const char*> wrong[] = {
        {"bubble 1,2 x", "expected box, text, ..., found 'bubble'"},
        {"arrow 1,2 gone", "no box 'gone'"},
        {"arrow 1,2", "from nowhere or to nowhere"},
        {"box a 1 2 x 4 words", "expected a number, found 'x'"}};
    for (const auto& [script, message] : wrong) {
        Drawing d(kSize, "Title", Language::english);
        CHECK_THROWS_WITH_AS(d.draw(script), doctest::Contains(message), tapestry::ValueError);
    }
}

TEST_CASE("pictures: a text of several, each with its script") {
    const auto pictures = read_pictures(
        "# a comment\n\npicture one 100 50 First|第一\ntext 50,40 x\npicture two 90 60 Second\n");
    REQUIRE_EQ(pictures.size(), 2);
    CHECK_EQ(pictures[0].name, "one");
    CHECK_EQ(pictures[0].size.width, 100);
    CHECK_EQ(pictures[0].size.height, 50);
    CHECK_EQ(pictures[0].script, "text 50,40 x\n");
    CHECK_EQ(pictures[1].title, "Second");
    CHECK(has(draw(pictures[0], Language::chinese), ">第一</text>"));
    CHECK_THROWS_WITH_AS(
        read_pictures("picture one wide 50 First"),
        "expected picture NAME WIDTH HEIGHT TITLE, found 'picture one wide 50 First'",
        tapestry::ValueError);
}
