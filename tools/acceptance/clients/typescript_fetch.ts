// openapi-generator, typescript-fetch.

import {
  BulkApi,
  Configuration,
  ProblemFromJSON,
  ResponseError,
  UsersApi,
  type ListUsersRequest,
  type UserCreate,
} from "./generated/typescript-fetch";
import { main, service, there, type Answer, type Client } from "./scenario";

const accessToken = service.key;
const configuration = new Configuration({ basePath: service.url, accessToken });
const api = new UsersApi(configuration);
const bulk = new BulkApi(configuration);

/** What a call returns. The generated client throws the response of an error. */
async function answer<T, V>(called: Promise<T>, read: (data: T) => V): Promise<Answer<V>> {
  try {
    return { value: read(await called) };
  } catch (error) {
    if (!(error instanceof ResponseError)) throw error;
    return { problem: ProblemFromJSON(await error.response.json()) };
  }
}

const client: Client = {
  create: (userCreate) => answer(api.createUser({ userCreate }), (user) => user),
  get: (userId) => answer(api.getUser({ userId }), (user) => user),
  list: (query) => {
    const { fields, ...rest } = query;
    const request: ListUsersRequest = { ...rest, ...(fields && { fields }) };
    return answer(api.listUsers(request), (page) => ({
      items: page.items,
      next: page.nextCursor,
    }));
  },
  replace: (userId, ifMatch, userReplace) =>
    answer(api.replaceUser({ userId, ifMatch, userReplace }), there),
  patch: (userId, userPatch) => answer(api.patchUser({ userId, userPatch }), there),
  dryPatch: (userId, userPatch) =>
    answer(api.patchUser({ userId, dryRun: true, userPatch }), there),
  remove: (userId) => answer(api.deleteUser({ userId }), () => undefined),
  importLines: (body) => bulk.importUsers({ body }),
};

type Result<F extends (...args: never[]) => unknown> = Awaited<ReturnType<F>>;

/** The types whose members types.ts checks. */
export type Types = {
  user: Result<UsersApi["getUser"]>;
  created: Result<UsersApi["createUser"]>;
  replaced: Result<UsersApi["replaceUser"]>;
  page: Result<UsersApi["listUsers"]>;
  problem: ReturnType<typeof ProblemFromJSON>;
  body: UserCreate;
};

main(client);
