// A response that may also be NDJSON would be typed as a stream, so only JSON is generated.
const contentType = {
  include: [
    "application/json",
    "application/merge-patch+json",
    "application/problem+json",
    "application/scim+json",
  ],
};

module.exports = {
  roster: {
    input: "./openapi.json",
    output: {
      target: "./generated/orval/roster.ts",
      client: "fetch",
      mode: "single",
      headers: true,
      baseUrl: { getBaseUrlFromSpecification: true },
      override: { contentType },
    },
  },
};
