// inspect: one page of what the model did with the prompt; what it says is in its data.
#include <tapestry/tests/cli/command.h>

#include <nlohmann/json.hpp>

using namespace tapestry::test;
using Json = nlohmann::json;

namespace {

Json data_of(const std::string& page) {
    const std::string start = "id=\"data\">";
    const auto first = page.find(start);
    REQUIRE(first != std::string::npos);
    const auto begin = first + start.size();
    return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

}  // namespace

TEST_CASE("cli inspect: a page of the step that was taken") {
    const Place place;
    put_model(place / "m");
    const std::string before = slurp(place / "m" / "model.safetensors");
    const Outcome outcome =
        place.run({"inspect", "--model", "m", "--prompt", "The cat sat", "--out", "p.html"});
    check_done(outcome);
    CHECK(outcome.out.starts_with("'p.html': "));
    CHECK(outcome.out.find(" 2 heads, ") != std::string::npos);
    CHECK_EQ(slurp(place / "m" / "model.safetensors"), before);

    const std::string page = slurp(place / "p.html");
    CHECK(page.starts_with("<!doctype html>"));
    CHECK(page.find("default-src 'none'") != std::string::npos);
    const Json data = data_of(page);
    CHECK(data.at("subtitle").get<std::string>().find("10 characters predicted") !=
          std::string::npos);
    REQUIRE_EQ(data.at("attention").size(), 1);
    const Json& attention = data.at("attention").at(0);
    CHECK_EQ(attention.at("queryTexts"), (Json{"T", "h", "e", " ", "c", "a", "t", " ", "s", "a"}));
    CHECK_EQ(attention.at("heads"), 2);
    CHECK_EQ(attention.at("dim"), 8);
    CHECK_EQ(data.at("entries").back().at("op"), "cross_entropy");
    CHECK_EQ(data.at("walk").size(), data.at("entries").size());
    for (const Json& parameter : data.at("parameters")) {
        INFO(parameter.at("name"));
        CHECK_FALSE(parameter.at("grad").is_null());
    }
}

TEST_CASE("cli inspect: what makes no sense is refused, and leaves no page") {
    const Place place;
    put_model(place / "m");
    const auto refused = [&](const Arguments& arguments, const std::string& words) {
        const Outcome outcome = place.run(Arguments{"inspect"} + arguments);
        check_refused(outcome, words);
        CHECK_FALSE(std::filesystem::exists(place / "page.html"));
    };
    refused({"--model", "m"}, "--prompt is required");
    refused({"--prompt", "The"}, "--model is required");
    refused({"--model", "nowhere", "--prompt", "The"}, "nowhere");
    refused({"--model", "m", "--prompt", ""}, "the prompt has 0 characters");
    refused({"--model", "m", "--prompt", "T"}, "the prompt has 1 character; at least 2 are needed");
    refused({"--model", "m", "--prompt", "The \xe7\x8c\xab"}, "prompt");
    refused({"--model", "m", "--prompt", "The cat sat on the mat"},
            "the prompt has 22 characters; the model looks at 16 and predicts one more, so 17 are "
            "the most");
    refused({"--model", "m", "--prompt", "The", "--out", "no/p.html"}, "no/p.html");
}
