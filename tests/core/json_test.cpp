// JsonWriter, JsonTree, JsonHandler: writing and reading are exact, and both fail cleanly however
// little memory there is.
#include <tapestry/core/shape.h>
#include <tapestry/core/text/json_tree.h>
#include <tapestry/core/text/json_writer.h>
#include <tapestry/tests/core/scarce_memory.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/core/support.h>
#include <tapestry/tests/skip.h>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>

using namespace tapestry;
using Json = nlohmann::json;

namespace {

struct Calls : JsonHandler {
    void null() override { text += "null "; }
    void boolean(bool value) override { text += value ? "true " : "false "; }
    void number(std::uint64_t value) override { text += fmt::format("{} ", value); }
    void negative_number(std::int64_t value) override { text += fmt::format("minus {} ", value); }
    void real_number(const std::string& written) override { text += "real " + written + " "; }
    void string(const std::string& value) override { text += "'" + value + "' "; }
    void begin_array() override { text += "[ "; }
    void end_array() override { text += "] "; }
    void begin_object() override { text += "{ "; }
    void name(const std::string& name) override { text += name + ": "; }
    void end_object() override { text += "} "; }

    std::string text;
};

}  // namespace

TEST_CASE("json writer: alternating names and values are members") {
    JsonWriter json;
    json.object("a", 1, "b", "two", "c", [&] { json.object([&] { json.members("d", true); }); });
    CHECK_EQ(json.text(), R"({"a":1,"b":"two","c":{"d":true}})");
}

TEST_CASE("json writer: it writes what it was given") {
    JsonWriter json;
    json.object([&] {
        json.member("text", "a \"b\" \\ \n \x01 \xC3\xA9 <");
        json.member("broken", std::string("x\xFFy"));
        json.member("numbers", std::vector<double>{0, -0.5, 1e300, 1.0 / 3, NAN, INFINITY});
        json.member("integers", std::vector<std::int64_t>{0, -5, std::int64_t{1} << 62});
        json.member("shape", Shape{2, 3});
        json.member("true", true);
        json.member("nothing", nullptr);
        json.member("empty", [&] { json.object([] {}); });
        json.list("list", std::vector<int>{1, 2},
                  [&](int x) { json.object([&] { json.member("x", x); }); });
        json.member("nested", [&] {
            json.array([&] {
                json.array([] {});
                json.value("z");
            });
        });
    });
    const Json read = Json::parse(json.text());
    CHECK_EQ(read, Json{{"text", "a \"b\" \\ \n \x01 \xC3\xA9 <"},
                        {"broken", "x\xEF\xBF\xBDy"},
                        {"numbers", {0, -0.5, 1e300, 1.0 / 3, nullptr, nullptr}},
                        {"integers", {0, -5, std::int64_t{1} << 62}},
                        {"shape", {2, 3}},
                        {"true", true},
                        {"nothing", nullptr},
                        {"empty", Json::object()},
                        {"list", {{{"x", 1}}, {{"x", 2}}}},
                        {"nested", {Json::array(), "z"}}});
}

TEST_CASE("json writer: with lines, as nlohmann's, to the last byte") {
    const auto written = nlohmann::ordered_json::parse(
        R"({"a": 1, "x": [1.0, 0.1, 1e-07, 1e300, -2.5], "none": [], "no": {}, "o": {"p": {"q": "r"}},)"
        R"( "deep": [[1, [2]], {"s": null}]})");
    JsonWriter json(2);
    json.object([&] {
        json.member("a", 1);
        json.member("x", std::vector<double>{1, 0.1, 1e-7, 1e300, -2.5});
        json.member("none", std::vector<int>());
        json.member("no", [&] { json.object([] {}); });
        json.member("o", [&] {
            json.object([&] {
                json.member("p", [&] {
                    json.object([&] { json.member("q", std::optional<std::string>("r")); });
                });
            });
        });
        json.member("deep", [&] {
            json.array([&] {
                json.array([&] {
                    json.value(1);
                    json.value(std::vector<int>{2});
                });
                json.object([&] { json.member("s", std::optional<int>()); });
            });
        });
    });
    CHECK_EQ(json.text(), written.dump(2));
}

TEST_CASE("json writer: with lines down to a level") {
    JsonWriter json(1, 1);
    json.object([&] {
        json.member("x", std::vector<int>{1, 2});
        json.member("none", [&] { json.object([] {}); });
        json.list("all", std::vector<int>{3, 4},
                  [&](int each) { json.object([&] { json.member("n", each); }); });
    });
    CHECK_EQ(json.text(),
             "{\n \"x\": [1,2],\n \"none\": {},\n \"all\": [{\"n\": 3},{\"n\": 4}]\n}");
}

TEST_CASE("json writer: any bytes as nlohmann writes them, what is not UTF-8 replaced") {
    for (const std::string& text :
         {std::string("\0 \x1F \x7F \b\f\r\t/", 12), std::string("\xE2\x82"),
          std::string("\xE0\x80x"), std::string("\xED\xA0\x80"),
          std::string("\xF0\x9F\x98\x80 \xC3"), std::string("\xFF\xFE")}) {
        JsonWriter json;
        json.value(text);
        CHECK_EQ(json.text(), Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
        CHECK_EQ(json.text(), json_text(text));
    }
}

TEST_CASE("json writer: the members of another object, as deep as they are now") {
    const auto written = [](int indent, const std::string& object) {
        JsonWriter json(indent);
        json.array([&] {
            json.object([&] {
                json.member("a", 1);
                json.members_of(object);
                json.member("z", 2);
            });
            json.object([&] { json.members_of(object); });
        });
        return json.text();
    };
    const nlohmann::ordered_json part{{"b", {{"c", {1, 2}}, {"d", "line\nline"}}}, {"e", nullptr}};
    nlohmann::ordered_json whole{{{"a", 1}}, part};
    whole[0].update(part);
    whole[0]["z"] = 2;
    for (const int indent : {-1, 1, 2}) {
        CHECK_EQ(written(indent, part.dump(indent)), whole.dump(indent));
    }
    CHECK_EQ(written(-1, "{}"), R"([{"a":1,"z":2},{}])");
    CHECK_EQ(written(2, "{\n}"), "[\n  {\n    \"a\": 1,\n    \"z\": 2\n  },\n  {}\n]");
    CHECK_EQ(test::message_of<ValueError>([&] { written(2, "[1]"); }),
             "JsonWriter: expected an object, got [1]");
}

TEST_CASE("json tree: read as it stands, and what is no JSON or too deep refused") {
    const JsonTree tree(R"({"a": [1, {"b": "c"}], "d": null})");
    CHECK_EQ(tree.root().at("a").elements().at(1).get<std::string>("b"), "c");
    const JsonTree part(tree.root().at("a"));
    CHECK_EQ(part.root().elements().size(), 2);
    const auto refused = [](std::string_view text) {
        return test::message_of<JsonError>([text] { JsonTree{text}; });
    };
    CHECK_EQ(refused("[1, 2"), "not JSON: error at byte 6");
    CHECK_EQ(refused(""), "not JSON: error at byte 1");
    CHECK_EQ(refused("[1e999]"), "not JSON: a number is too large");
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    const JsonTree deepest(nested(100));
    CHECK_EQ(JsonTree(deepest.root()).root().elements().size(), 1);
    CHECK_EQ(refused(nested(101)), "nested deeper than 100 levels");
    CHECK_EQ(refused(std::string(100000, '[')), "nested deeper than 100 levels");
    std::string objects;
    for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
    CHECK_EQ(refused(objects), "nested deeper than 100 levels");
}

TEST_CASE("json tree: every value has the type it is asked for with") {
    const std::string text =
        R"({"yes": true, "n": -3, "u": 3, "big": 9223372036854775807, "bigger": 9223372036854775808,
            "x": 0.5, "s": "t", "none": null, "o": {}, "list": [1, 2], "words": ["a", "b"]})";
    const JsonTree tree(text);
    const JsonNode root = tree.root();
    CHECK(root.get<bool>("yes"));
    CHECK_EQ(root.get<std::int64_t>("n"), -3);
    CHECK_EQ(root.get<std::uint64_t>("u"), 3);
    CHECK_EQ(root.get<std::int64_t>("big"), INT64_MAX);
    CHECK_EQ(root.get<double>("x"), 0.5);
    CHECK_EQ(root.get<double>("u"), 3);
    CHECK(root.get<std::vector<std::int64_t>>("list") == std::vector<std::int64_t>{1, 2});
    CHECK(root.get<std::vector<std::string>>("words") == std::vector<std::string>{"a", "b"});
    CHECK(root.at("u").holds<std::int64_t>());
    CHECK(root.at("u").holds<double>());
    CHECK_FALSE(root.at("n").holds<std::uint64_t>());
    CHECK_FALSE(root.at("none").holds<bool>());
    CHECK_EQ(root.at("list").text(), "[1,2]");
    CHECK_EQ(root.at("s").text(), "\"t\"");
    CHECK_FALSE(root.find("nowhere"));
    CHECK_FALSE(root.at("x").find("nowhere"));
    CHECK_EQ(root.members().size(), 11);
    const auto message = [](auto&& ask) { return test::message_of<JsonError>(ask); };
    CHECK_EQ(message([&] { root.get<bool>("nowhere"); }), "\"nowhere\" is missing");
    CHECK_EQ(message([&] { root.get<std::uint64_t>("n"); }), "\"n\" has an invalid value: -3");
    CHECK_EQ(message([&] { root.get<std::int64_t>("bigger"); }),
             "\"bigger\" has an invalid value: 9223372036854775808");
    CHECK_EQ(message([&] { root.get<std::int64_t>("x"); }), "\"x\" has an invalid value: 0.5");
    CHECK_EQ(message([&] { root.get<std::vector<std::int64_t>>("words"); }),
             "\"words\" has an invalid value: array");
    CHECK_EQ(message([&] { root.at("s").get<double>(); }), "invalid value: \"t\"");
    CHECK_EQ(message([&] { root.at("none").elements(); }), "expected a list, got null");
    CHECK_EQ(message([&] { root.at("list").members(); }), "expected an object, got array");
    const Json read = Json::parse(text);
    for (const auto& member : root.members()) {
        CHECK_EQ(name_of(member.second.kind()), read.at(member.first).type_name());
    }
}

TEST_CASE("json: a 0 byte does not end the text") {
    Calls seen;
    for (const std::string& text : {std::string("[1]\0[2]", 7), std::string("[1] \0", 5)}) {
        const auto refused = [&](auto&& read) {
            try {
                read();
            } catch (const JsonSyntaxError& error) {
                return error.byte;
            }
            return std::size_t{0};
        };
        CHECK_EQ(refused([&] { JsonTree{text}; }), text.find('\0') + 1);
        CHECK_EQ(refused([&] { handle_json(text, seen); }), text.find('\0') + 1);
    }
}

TEST_CASE("json tree: what is said twice") {
    CHECK_EQ(test::message_of<JsonError>([] { JsonTree{R"({"a": 1, "b": {}, "a": 2})"}; }),
             "duplicate key 'a'");
    // Objects inside it may hold fields that are never read.
    JsonTree{R"({"a": {"b": 1}, "c": {"b": 2, "b": 3}})"};
    JsonTree{R"([{"a": 1, "a": 2}])"};
}

TEST_CASE("json handler: every value in its place, and where the text is no JSON") {
    const auto calls = [](std::string_view text) {
        Calls seen;
        handle_json(text, seen);
        return seen.text;
    };
    CHECK_EQ(calls(R"({"b": [1, -1, -0, 1.50, 1e3, 18446744073709551616], "a": {}, "a": "x\n"})"),
             "{ b: [ 1 minus -1 minus 0 real 1.50 real 1e3 real 18446744073709551616 ] "
             "a: { } a: 'x\n' } ");
    CHECK_EQ(calls("[null, true, false]"), "[ null true false ] ");
    CHECK_EQ(calls(std::string(1000, '[') + std::string(1000, ']')).size(), 4000);
    try {
        calls("[1,]");
        FAIL("accepted");
    } catch (const JsonSyntaxError& error) {
        CHECK_EQ(std::string(error.what()), "not JSON: error at byte 4");
        CHECK_EQ(error.byte, 4);
        CHECK(error.rule.starts_with("parse error at line 1, column 4: syntax error"));
    }
    CHECK_EQ(test::message_of<JsonSyntaxError>([&] { calls("[1e999]"); }),
             "not JSON: a number is too large");
}

TEST_CASE("json tree: where memory ends it cannot be read, and nothing worse" *
          doctest::skip(test::kAddressSanitizer)) {
    std::string text = "[0";
    for (int i = 0; i < 500; ++i) text += R"(,{"a": [1, 2, "a text that needs memory"]})";
    text += "]";
    const int failures = test::failures_before_success([&] { JsonTree{text}; });
    if (failures == -2) return test::skip("the address space cannot be limited here");
    CHECK_GT(failures, 10);
    CHECK_LT(failures, 250);
}
