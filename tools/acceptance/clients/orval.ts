// orval with its client for fetch. An import goes to the generated URL by fetch itself, because the
// generated function makes JSON of its lines.

import * as api from "./generated/orval/roster";
import { main, service, type Client, type Problem } from "./scenario";

const authorization = { Authorization: `Bearer ${service.key}` };
const options = { headers: authorization };

/** The problem of a response that is none of the successful ones. */
function problem(reply: { status: number; data: Problem | void }): { problem: Problem } {
  if (reply.data === undefined) throw new Error(`no problem: ${reply.status}`);
  return { problem: reply.data };
}

const client: Client = {
  create: async (body) => {
    const reply = await api.createUser(body, undefined, undefined, options);
    return reply.status === 201 || reply.status === 200 ? { value: reply.data } : problem(reply);
  },
  get: async (id) => {
    const reply = await api.getUser(id, undefined, options);
    return reply.status === 200 ? { value: reply.data } : problem(reply);
  },
  list: async (query) => {
    const reply = await api.listUsers(query, undefined, options);
    if (reply.status !== 200) return problem(reply);
    return { value: { items: reply.data.items, next: reply.data.next_cursor } };
  },
  replace: async (id, ifMatch, body) => {
    const headers = { "If-Match": ifMatch };
    const reply = await api.replaceUser(id, body, undefined, headers, options);
    return reply.status === 200 ? { value: reply.data } : problem(reply);
  },
  patch: async (id, body) => {
    const reply = await api.patchUser(id, body, undefined, undefined, options);
    return reply.status === 200 ? { value: reply.data } : problem(reply);
  },
  dryPatch: async (id, body) => {
    const reply = await api.patchUser(id, body, { dry_run: true }, undefined, options);
    return reply.status === 200 ? { value: reply.data } : problem(reply);
  },
  remove: async (id) => {
    const reply = await api.deleteUser(id, undefined, undefined, options);
    if (reply.status === 204 || reply.status === 200) return { value: undefined };
    return problem(reply);
  },
  importLines: async (body) => {
    const headers = { ...authorization, "Content-Type": "application/x-ndjson" };
    const response = await fetch(api.getImportUsersUrl(), { method: "POST", headers, body });
    if (!response.ok) throw new Error(`import: ${response.status}`);
    return response.text();
  },
};

/** The types whose members types.ts checks. */
export type Types = {
  user: api.getUserResponseSuccess["data"];
  created: api.createUserResponseSuccess["data"];
  replaced: api.replaceUserResponse200["data"];
  page: api.listUsersResponseSuccess["data"];
  problem: api.createUserResponseError["data"];
  body: Parameters<typeof api.createUser>[0];
};

main(client);
