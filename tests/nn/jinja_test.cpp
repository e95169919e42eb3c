// Programs in Jinja: the same text as Python's jinja2 writes (tests/fixtures/make_jinja_cases.py),
// errors with their line, and programs that never end or grow without end.
#include <doctest/doctest.h>
#include <tapestry/nn/chat/jinja.h>
#include <tapestry/tests/core/scratch.h>
#include <tapestry/tests/nn/resident_peak.h>
#include <tapestry/tests/source_dir.h>

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <string>
#include <utility>

using namespace tapestry;
using test::check_message;
using test::slurp;
using Json = nlohmann::ordered_json;
using jinja::JinjaError;

namespace {

jinja::Value value_of(const Json& json) {
    if (json.is_string()) return json.get<std::string>();
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_array()) {
        jinja::List list;
        for (const Json& one : json) list.push_back(value_of(one));
        return list;
    }
    jinja::Members members;
    for (const auto& [name, one] : json.items()) members.emplace_back(name, value_of(one));
    return members;
}

std::string run(const std::string& program) {
    return jinja::Program(program).run({{"text", std::string(1000, 'x')}});
}

}  // namespace

TEST_CASE("jinja: programs write what Python's jinja2 writes, and fail where it does") {
    const Json all = Json::parse(slurp(test::source_dir() / "tests/fixtures/jinja_cases.json"));
    jinja::Members variables;
    for (const auto& [name, one] : all["variables"].items()) {
        variables.emplace_back(name, value_of(one));
    }
    for (const Json& one : all["cases"]) {
        const auto program = one["program"].get<std::string>();
        CAPTURE(program);
        if (one.contains("out")) {
            CHECK(jinja::Program(program).run(variables) == one["out"].get<std::string>());
        } else {
            CHECK_THROWS_AS(jinja::Program(program).run(variables), JinjaError);
        }
    }
}

TEST_CASE("jinja: errors have their line") {
    const auto refused = [](const std::string& program, const char* words) {
        check_message<JinjaError>([&] { run(program); }, words);
    };
    refused("a\n\n{{ 1 | cube }}", "line 3: the filter 'cube' is not supported");
    refused("{% if a is prime %}", "line 1: the test 'prime' is not supported");
    refused("\n{% include 'x' %}", "line 2: the block 'include' is not supported");
    refused("{% for a in text recursive %}{% endfor %}", "a recursive loop is not supported");
    refused("{% for a in text %}\n{{ a.b.c }}{% endfor %}", "line 2: 'b', which is not defined");
    refused("{{ text + 1 }}", "line 1: a text + a number");
    refused("{{ (1 }}", "line 1: a bracket that closes nothing");
    refused("{{ [1, 2 }}", "line 1: a bracket that closes nothing");
    refused("{{ text @ 1 }}", "line 1: a character that begins nothing: '@'");
    refused("{{ '\\ud800' }}", "line 1: an escape that stands for no character: \\u");
    refused("{{ text", "line 1: a tag that is not closed");
    refused("{% for a in text %}", "line 1: the program's end in place of endfor");
    refused("{% if text %}{% endfor %}", "the block 'endfor' is not supported");
    refused("{{ raise_exception('Only users.') }}",
            "line 1: the template refuses this: Only users.");
    refused("{% set text.a = 1 %}", "only a namespace's members can be set, not a text's");
    refused("{% set a, b = [1] %}", "1 values for 2 names");
    refused("{{ 9223372036854775807 + 1 }}", "a number beyond 64 bits");
    refused("{{ 1 // 0 }}", "division by 0");
    refused("{{ text() }}", "a text cannot be called");
}

TEST_CASE("jinja: programs that never end, nest too deeply or grow without end are refused") {
    const auto refused = [](const std::string& program, const char* words) {
        check_message<JinjaError>([&] { run(program); }, words);
    };
    const auto times = [](int count, const std::string& text) {
        std::string all;
        for (int i = 0; i < count; ++i) all += text;
        return all;
    };
    const std::string loop = "{% for a in range(2000) %}";
    refused(loop + loop + "{% endfor %}{% endfor %}", "more than 200000 turns of loops and calls");
    refused("{{ range(10000000) }}", "range: more than 100000 numbers");
    refused("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "more than 200 loops and calls");
    // Each call is inside of 98 blocks: they fill the stack long before there are 200.
    refused("{% macro f() %}" + times(98, "{% if 1 %}") + "{{ " + times(250, "not ") + "f() }}" +
                times(98, "{% endif %}") + "{% endmacro %}{{ f() }}",
            "loops and calls");
    refused("{{ text * 100000000 }}", "a text of more than 16777216 bytes");
    refused("{% set a = text %}" + times(20, "{% set a = a ~ a %}"),
            "a text of more than 16777216");
    refused(loop + "{% for b in range(9) %}{{ text }}{% endfor %}{% endfor %}",
            "more than 16777216");
    refused("{% set a = [1, 1] %}" + times(30, "{% set a = a + a %}"), "a list of ");
    refused("{% set a = [text] %}" + times(40, "{% set a = [a, a] %}") + "{{ a | tojson }}",
            "a text of more than 16777216 bytes");
    // Each text is short enough; all of them at a time are not, nor what unfinished macros wrote.
    const std::string big = "{% set a = text * 16000 %}{% set n = namespace(l=[]) %}";
    const std::string add = "{% for i in range(30) %}{% set n.l = n.l + [";
    refused(big + add + "a ~ i] %}{% endfor %}",
            "values and texts of more than 134217728 bytes at a time");
    refused("{% macro f() %}{{ text * 16000 }}{{ f() }}{% endmacro %}{{ f() }}",
            "values and texts of more than 134217728 bytes at a time");
    CHECK_EQ(run(big + add + "a] %}{% set n.b = a ~ i %}{% endfor %}{{ n.l | length }}"), "30");
    refused(
        "{% set a = range(90000) | list %}{% set n = namespace(l=[]) %}{% for j in range(9) %}" +
            add + "a + [i]] %}{% endfor %}{% endfor %}",
        "values and texts of more than 134217728 bytes at a time");
    refused("{{ (text * 101) | list }}", "a list of 101000 elements");
    refused("{% set a = [1] %}" + times(101, "{% set a = [a] %}"), "more than 100 levels");
    refused("{% set n = namespace(a=0) %}{% set n.a = n %}", "a namespace cannot be a member");
    refused("{% set n = namespace(a=0) %}{% set n.a = [n] %}", "a namespace cannot be an element");
    refused("{{ " + times(1000, "(") + "1" + times(1000, ")") + " }}",
            "a tag of more than 300 operators");
    refused("{{ 1" + times(1000, " + 1") + " }}", "a tag of more than 300 operators");
    refused("{{ " + times(1000, "not ") + "1 }}", "a tag of more than 300 operators");
    refused("{{ " + times(1000, "[") + "1" + times(1000, "]") + " }}",
            "a tag of more than 300 operators");
    refused(times(200, "{% if 1 %}"), "blocks of more than 100 levels");
}

TEST_CASE("jinja: a character of a long text, and their number, take no memory for all of them") {
    const std::string asked = "{{ a[0] }}{{ a[-1] }} {{ a | length }}";
    const auto peak = test::resident_peak(
        [&] { CHECK_EQ(run("{% set a = text * 4000 ~ '\u00e9' %}" + asked), "x\u00e9 4000001"); });
    if (peak) CHECK_LT(*peak, 100e6);
}

TEST_CASE("jinja: arguments are done as in Python, or refused by their names") {
    const auto refused = [](const std::string& program, const char* words) {
        CAPTURE(program);
        check_message<JinjaError>([&] { run(program); }, words);
    };
    refused("{{ text | tojson(sort_keys=true) }}", "line 1: tojson does not take sort_keys=true");
    refused("{{ text | tojson(ensure_ascii=true) }}", "tojson does not take ensure_ascii=true");
    refused("{{ text | tojson(separators=(',', ':')) }}", "tojson does not take separators");
    refused("{{ text | tojson(none, false) }}", "tojson takes at most 1 argument, not 2");
    refused("{{ text | upper(1) }}", "upper takes at most 0 arguments, not 1");
    refused("{{ text | trim('x', chars='y') }}", "trim gets chars twice");
    refused("{{ [1] | map('int', base=2) }}", "int does not take base");
    refused("{{ [1] | map(by='a') }}", "map does not take by");
    refused("{{ [1] | select(flag=1) }}", "a filter without a test does not take flag");
    refused("{{ [1, 2] | sort(attribute='a,b') }}", "several attributes, 'a,b', are not supported");
    refused("{{ text.find('x', 3) }}", "find takes at most 1 argument, not 2");
    refused("{{ text.splitlines(keepends=true) }}", "splitlines does not take keepends");
    refused("{{ {}.items(1) }}", "items takes at most 0 arguments, not 1");
    refused("{{ {}.get('a', fallback=1) }}", "get does not take fallback");
    refused("{{ text is defined(1) }}", "defined takes at most 0 arguments, not 1");
    refused("{{ range(3, by=2) }}", "range does not take by");
    refused("{{ range(2, stop=5) }}", "range does not take arguments with names");
    refused("{{ range(start=2, stop=5) }}", "range does not take arguments with names");
    refused("{{ 'ab'[::-9223372036854775807 - 1] }}",
            "a slice with a step of -9223372036854775808");
    refused("{{ dict({}, {}) }}", "dict takes 1 argument without a name, not 2");
    refused("{% macro f(a) %}{{ a }}{% endmacro %}{{ f(b=1) }}", "f does not take b");
    refused("{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}", "f takes at most 1 argument");

    const std::string list = "{% set all = [{'f': {'n': 'x'}}, {'g': 1}] %}";
    for (const auto& [source, out] : std::initializer_list<std::pair<std::string, std::string>>{
             {"{{ {'b': 1, 'A': 2} | dictsort(reverse=true) | map('first') | join }}", "bA"},
             {"{{ {'b': 1, 'A': 2} | dictsort(by='value') | map('first') | join }}", "bA"},
             {"{{ ['b', 'A', 'C'] | sort | join }}", "AbC"},
             {"{{ ['b', 'A', 'C'] | sort(case_sensitive=true) | join }}", "ACb"},
             {"{{ ['a', 'A'] | unique | join }}", "a"},
             {list + "{{ all[:1] | map(attribute='f.n') | join }}", "x"},
             {list + "{{ all | map(attribute='g', default='-') | join }}", "-1"},
             {list + "{{ all[:1] | selectattr('f.n', 'eq', 'x') | list | length }}", "1"},
             {"{{ [['a', 'b']] | map(attribute=1) | join }}", "b"},
             {"{{ dict({'a': 1, 'b': 2}, b=3) | tojson }}", "{\"a\": 1, \"b\": 3}"},
             {"{% set n = namespace({'a': 4}, b=5) %}{{ n.a }}{{ n.b }}", "45"},
             {"{{ range(-9000000000000000000, 9000000000000000000, 6000000000000000000) | join(' "
              "') }}",
              "-9000000000000000000 -3000000000000000000 3000000000000000000"},
             {"{{ 'h\u00e9llo'[::-1] }}{{ 'h\u00e9'[-1] }}{{ 'h\u00e9' | length }}",
              "oll\u00e9h\u00e92"},
             {"{{ 'a' | tojson(ensure_ascii=false, sort_keys=False) }}", "\"a\""}}) {
        const std::string& program = source;
        CAPTURE(program);
        CHECK(run(program) == out);
    }
}
