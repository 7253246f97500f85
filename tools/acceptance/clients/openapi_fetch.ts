// openapi-typescript with openapi-fetch. It makes JSON of a body and reads a response as JSON, so an
// import says that both are text.

import createClient from "openapi-fetch";
import type { paths } from "./generated/openapi-typescript/schema";
import { answer, main, service, type Client, type Query } from "./scenario";

const options = { baseUrl: service.url, headers: { Authorization: `Bearer ${service.key}` } };
const api = createClient<paths>(options);

const at = (user_id: string) => ({ path: { user_id } });

const client: Client = {
  create: async (body) => answer(await api.POST("/users", { body }), (user) => user),
  get: async (id) =>
    answer(await api.GET("/users/{user_id}", { params: at(id) }), (user) => user),
  list: async (query: Query) =>
    answer(await api.GET("/users", { params: { query } }), (page) => ({
      items: page.items,
      next: page.next_cursor,
    })),
  replace: async (id, ifMatch, body) => {
    const params = { ...at(id), header: { "If-Match": ifMatch } };
    return answer(await api.PUT("/users/{user_id}", { params, body }), (user) => user);
  },
  patch: async (id, body) =>
    answer(await api.PATCH("/users/{user_id}", { params: at(id), body }), (user) => user),
  dryPatch: async (id, body) => {
    const params = { ...at(id), query: { dry_run: true } };
    return answer(await api.PATCH("/users/{user_id}", { params, body }), (user) => user);
  },
  remove: async (id) => {
    const { error } = await api.DELETE("/users/{user_id}", { params: at(id) });
    return error === undefined ? { value: undefined } : { problem: error };
  },
  importLines: async (lines) => {
    const { data, response } = await api.POST("/bulk/users", {
      body: lines,
      bodySerializer: String,
      headers: { "Content-Type": "application/x-ndjson" },
      parseAs: "text",
    });
    if (!response.ok || data === undefined) throw new Error(`import: ${response.status}`);
    return data;
  },
};

/** The types whose members types.ts checks. */
export type Types = {
  user: paths["/users/{user_id}"]["get"]["responses"][200]["content"]["application/json"];
  created: paths["/users"]["post"]["responses"][201]["content"]["application/json"];
  rehearsed: paths["/users"]["post"]["responses"][200]["content"]["application/json"];
  replaced: paths["/users/{user_id}"]["put"]["responses"][200]["content"]["application/json"];
  page: paths["/users"]["get"]["responses"][200]["content"]["application/json"];
  problem: paths["/users"]["post"]["responses"][422]["content"]["application/problem+json"];
  body: paths["/users"]["post"]["requestBody"]["content"]["application/json"];
};

main(client);
