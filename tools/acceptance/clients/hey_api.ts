// @hey-api/openapi-ts with its client for fetch. Its functions make JSON of a body and a blob of an
// unknown response, so an import says that both are text.

import * as api from "./generated/hey-api";
import { client as http } from "./generated/hey-api/client.gen";
import { answer, main, service, there, type Client } from "./scenario";

http.setConfig({ baseUrl: service.url, auth: service.key });

const at = (user_id: string) => ({ path: { user_id } });

const client: Client = {
  create: async (body) => answer(await api.createUser({ body }), (user) => user),
  get: async (id) => answer(await api.getUser(at(id)), (user) => user),
  list: async (query) =>
    answer(await api.listUsers({ query }), (page) => ({
      items: page.items,
      next: page.next_cursor,
    })),
  replace: async (id, ifMatch, body) => {
    const call = { ...at(id), headers: { "If-Match": ifMatch }, body };
    return answer(await api.replaceUser(call), there<api.User>);
  },
  patch: async (id, body) =>
    answer(await api.patchUser({ ...at(id), body }), there<api.User>),
  dryPatch: async (id, body) =>
    answer(
      await api.patchUser({ ...at(id), query: { dry_run: true }, body }),
      there<api.User>,
    ),
  remove: async (id) => {
    const { error } = await api.deleteUser(at(id));
    return error === undefined ? { value: undefined } : { problem: error };
  },
  importLines: async (lines) => {
    const { data, response } = await api.importUsers({
      body: lines,
      bodySerializer: String,
      parseAs: "text",
    });
    if (data === undefined) throw new Error(`import: ${response?.status}`);
    return data;
  },
};

/** The types whose members types.ts checks. */
export type Types = {
  user: api.GetUserResponse;
  created: api.CreateUserResponse;
  replaced: api.ReplaceUserResponse;
  page: api.ListUsersResponse;
  problem: api.CreateUserError | api.ListUsersError | api.ReplaceUserError;
  body: api.CreateUserData["body"];
};

main(client);
