// Counts the members of type `any` and `unknown` in the exported `Types` of adapters, and fails if
// there is one where the API has a type.
//
//     node types.js ADAPTER...

import ts from "typescript";

/** Values of `attributes` are the caller's own. */
const FREE = [/\.attributes\[\]$/];
const HOLES = ts.TypeFlags.Any | ts.TypeFlags.Unknown;

function holes(checker: ts.TypeChecker, root: ts.Type): { members: number; found: string[] } {
  const seen = new Set<ts.Type>();
  const found: string[] = [];
  let members = 0;
  const visit = (type: ts.Type, path: string): void => {
    members += 1;
    if (type.flags & HOLES) found.push(path);
    if (type.isUnionOrIntersection()) {
      for (const part of type.types) visit(part, path);
    } else if (type.flags & ts.TypeFlags.Object && !seen.has(type)) {
      seen.add(type);
      const element = checker.getIndexTypeOfType(type, ts.IndexKind.Number);
      const value = checker.getIndexTypeOfType(type, ts.IndexKind.String);
      if (element) visit(element, `${path}[]`);
      else if (value) visit(value, `${path}[]`);
      if (checker.isArrayType(type) || type.getCallSignatures().length > 0) return;
      if (type.symbol?.name === "Date") return;
      for (const property of checker.getPropertiesOfType(type)) {
        const inner = checker.getTypeOfSymbol(property);
        visit(inner, path === "" ? property.name : `${path}.${property.name}`);
      }
    }
  };
  visit(root, "");
  return { members, found };
}

const adapters = process.argv.slice(2);
const config = ts.readConfigFile("tsconfig.json", ts.sys.readFile).config;
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ".");
const program = ts.createProgram(adapters.map((name) => `${name}.ts`), options);
const checker = program.getTypeChecker();
for (const adapter of adapters) {
  const source = program.getSourceFile(`${adapter}.ts`);
  const module = source && checker.getSymbolAtLocation(source);
  const types = module && checker.getExportsOfModule(module).find((it) => it.name === "Types");
  if (!types) throw new Error(`${adapter} exports no Types`);
  const { members, found } = holes(checker, checker.getDeclaredTypeOfSymbol(types));
  const wrong = found.filter((path) => !FREE.some((free) => free.test(path)));
  for (const path of wrong) console.error(`${adapter}: ${path} has no type`);
  console.log(`${adapter}: ${members} members of types, ${wrong.length} without one`);
  if (wrong.length > 0 || members < 100) process.exitCode = 1;
}
