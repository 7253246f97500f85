// What every generated TypeScript client does against a running service. scenario.py does the same
// with the Python clients.
//
// An adapter makes the calls of one client. The generated types must be assignable to the types
// here, and the compiler checks that.

import assert from "node:assert/strict";

export interface User {
  readonly id: string;
  version: number;
  username: string;
  name?: string;
  title?: string;
  attributes?: object;
}

export interface Page {
  items: { id: string; version: number; username?: string; title?: string }[];
  next: string | null;
}

export interface Problem {
  status: number;
  code: string;
  detail: string;
  errors?: { pointer?: string; parameter?: string; code: string; detail: string }[];
}

export interface NewUser {
  username?: string;
  email?: string;
  name?: string;
  title?: string;
  attributes?: { [name: string]: unknown };
}

export interface Query {
  limit?: number;
  cursor?: string;
  filter?: string;
  q?: string;
  sort?: "id" | "-username";
  count?: boolean;
  fields?: ("username" | "email")[];
}

/** What a call returned, or the typed problem of its response. */
export type Answer<T> = { value: T } | { problem: Problem };

export interface Client {
  create(body: NewUser): Promise<Answer<User>>;
  get(id: string): Promise<Answer<User>>;
  list(query: Query): Promise<Answer<Page>>;
  replace(id: string, ifMatch: string, body: NewUser): Promise<Answer<User>>;
  patch(id: string, body: { [K in keyof NewUser]: NewUser[K] | null }): Promise<Answer<User>>;
  dryPatch(id: string, body: NewUser): Promise<Answer<User>>;
  remove(id: string): Promise<Answer<undefined>>;
  importLines(lines: string): Promise<string>;
}

/** The result of a call that the adapters of clients with `data` and `error` return. */
export function answer<T, V = T>(
  result: { data?: T; error?: Problem },
  read: (data: T) => V,
): Answer<V> {
  if (result.error !== undefined) return { problem: result.error };
  const { data } = result;
  if (data === undefined) throw new Error("neither data nor error");
  return { value: read(data) };
}

/** The user of a response to a write, which has none only after `return=minimal`. */
export function there<T>(user: T | null | undefined | void): T {
  if (user === null || user === undefined) throw new Error("no user");
  return user;
}

const USERS = 25;

async function value<T>(called: Promise<Answer<T>>): Promise<T> {
  const answer = await called;
  assert("value" in answer, `refused: ${JSON.stringify(answer)}`);
  return answer.value;
}

async function refused<T>(called: Promise<Answer<T>>, status: number, code: string) {
  const answer = await called;
  assert("problem" in answer, "a problem was expected");
  assert.deepEqual([answer.problem.status, answer.problem.code], [status, code]);
  return answer.problem;
}

async function everybody(client: Client, query: Query = {}): Promise<string[]> {
  const ids: string[] = [];
  let next: string | null | undefined;
  while (next !== null) {
    const cursor = next === undefined ? {} : { cursor: next };
    const page: Page = await value(client.list({ ...query, ...cursor, limit: 10 }));
    ids.push(...page.items.map((item) => item.id));
    next = page.next;
  }
  return ids;
}

async function writes(client: Client, user: User): Promise<void> {
  const { id, username } = user;
  const replaced = await value(client.replace(id, '"1"', { username, title: "Countess" }));
  assert.deepEqual([replaced.version, replaced.title, replaced.name], [2, "Countess", undefined]);
  await refused(client.replace(id, '"1"', { username }), 412, "version-mismatch");
  const patched = await value(client.patch(id, { name: "Ada King", title: null }));
  assert.deepEqual([patched.version, patched.name, patched.title], [3, "Ada King", undefined]);
  const rehearsed = await value(client.dryPatch(id, { name: "Nobody" }));
  assert.deepEqual([rehearsed.id, rehearsed.version, rehearsed.name], [id, 4, "Nobody"]);
  assert.equal((await value(client.get(id))).version, 3);
}

async function errors(client: Client): Promise<void> {
  const invalid = await refused(client.create({ email: "nobody" }), 422, "invalid-user");
  assert.deepEqual(
    invalid.errors?.map((error) => [error.pointer, error.code]),
    [["/email", "invalid-email"]],
  );
  const unread = await refused(client.list({ filter: "nmae pr" }), 400, "invalid-filter");
  assert.equal(unread.errors?.[0]?.parameter, "filter");
}

async function imports(client: Client): Promise<void> {
  const users = [{ username: "line1" }, { email: "nobody" }, { username: "line3" }];
  const lines = await client.importLines(users.map((user) => JSON.stringify(user) + "\n").join(""));
  const results = lines.trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(results.map((result) => result.status), [201, 422, 201, undefined]);
  assert.equal(results[3].done, true);
}

export async function run(client: Client): Promise<void> {
  assert.deepEqual(await everybody(client), [], "users of another run");
  const created: User[] = [];
  for (let number = 0; number < USERS; number += 1) {
    const username = `user${number}`;
    const attributes = { number };
    const body = { username, email: `${username}@example.com`, name: `User ${number}`, attributes };
    const user = await value(client.create(body));
    assert.deepEqual([user.version, user.username, user.name], [1, username, body.name]);
    assert.deepEqual(user.attributes, attributes);
    created.push(user);
  }
  for (const user of created) assert.deepEqual(await value(client.get(user.id)), user);
  const ids = created.map((user) => user.id);
  assert.deepEqual(await everybody(client), ids);
  assert.deepEqual(await everybody(client, { filter: 'username sw "user1"' }), [
    ids[1],
    ...ids.slice(10, 20),
  ]);
  const defaults = { q: "user7", sort: "id", count: false } as const;
  assert.deepEqual(await everybody(client, defaults), [ids[7]]);
  const shown = await value(client.list({ fields: ["username", "email"], sort: "-username" }));
  assert.deepEqual([shown.items[0]?.username, shown.items.length], ["user9", USERS]);
  await writes(client, created[0]!);
  await errors(client);
  await imports(client);
  for (const id of await everybody(client)) await value(client.remove(id));
  await refused(client.get(ids[0]!), 404, "user-not-found");
}

/** The address of the service and the key, which clients.py sets. */
export const service = {
  url: process.env.SERVICE_URL ?? "",
  key: process.env.SERVICE_KEY ?? "",
};

/** Runs the scenario; the process fails with it. */
export function main(client: Client): void {
  run(client).then(
    () => console.log("passed"),
    (error: unknown) => {
      console.error(error);
      process.exitCode = 1;
    },
  );
}
