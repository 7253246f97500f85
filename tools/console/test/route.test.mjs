import assert from "node:assert/strict";
import test from "node:test";

const { formatRoute, isId, parseRoute, samePlace } =
    await import("../../../crates/roster-console/web/route.js");

test("a fragment is read and written without loss", () => {
    const text = "#/t/acme/users/01a1fb98-4b12-74db-aa79-777b1997ebb5/history?field=%2Femail";
    const route = parseRoute(text);
    assert.deepEqual(route, { tenant: "acme", screen: "users",
        parts: ["01a1fb98-4b12-74db-aa79-777b1997ebb5", "history"], query: { field: "/email" } });
    assert.equal(formatRoute(route), text);
});

test("filters keep quotation marks, plus signs, hash signs and slashes", () => {
    const query = { q: "a/b #c", f: 'email eq "g+sea@b.example" and title sw "ä"', sort: "-updated_at" };
    assert.deepEqual(parseRoute(formatRoute({ screen: "users", query })).query, query);
});

test("an empty fragment is the list of users, and empty values are left out", () => {
    assert.deepEqual(parseRoute(""), { tenant: "", screen: "users", parts: [], query: {} });
    assert.equal(formatRoute({ screen: "users", query: { q: "", f: undefined } }), "#/users");
});

test("a part that would lead to another path of the API is nothing", () => {
    for (const part of ["..%2Ftenants%2Facme", "%2e%2e", "..", ".", "a%2Fb", "a%5Cb", "a%3Fb", "%zz",
        "a%23b", "%252e"]) {
        assert.deepEqual(parseRoute(`#/users/${part}`).parts, ["-"], part);
    }
    assert.equal(parseRoute("#/t/../users").tenant, "-");
    const parts = ["01a22bc6-dfdd-717a-8022-a15a942d8a41", "rst.a_b~c"];
    assert.deepEqual(parseRoute(formatRoute({ screen: "users", parts })).parts, parts);
});

test("the same place has the same tenant, screen and parts", () => {
    assert.ok(samePlace(parseRoute("#/users?q=a"), parseRoute("#/users?q=b")));
    assert.ok(!samePlace(parseRoute("#/users"), parseRoute("#/t/acme/users")));
    assert.ok(!samePlace(parseRoute("#/users/1"), parseRoute("#/users/2")));
});

test("ids", () => {
    assert.ok(isId(" 01A1FB98-4b12-74db-aa79-777b1997ebb5 "));
    assert.ok(!isId("ada"));
});
