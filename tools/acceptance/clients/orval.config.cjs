module.exports = {
  roster: {
    input: "./openapi.json",
    output: {
      target: "./generated/orval/roster.ts",
      client: "fetch",
      mode: "single",
      headers: true,
      baseUrl: { getBaseUrlFromSpecification: true },
    },
  },
};
