import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';
import { clientEntries } from './clientEntries.ts';
import { PlainTypes } from './plainTypes.ts';

/** The file of the package that defines a type of the interface. A file each: packed, the copy for the other module format stands right beside it. */
const fileOf = (name: string): string => `wire.${name}.ts`;
const imported = (names: Iterable<string>): string =>
  [...names].map((name) => `import type { ${name} } from './${fileOf(name)}';\n`).join('');

/**
 * Returns the declarations of the client by file name. The package contains neither the schemas of the service nor zod, so each type that comes from
 * there is written out.
 */
export function clientDeclarations(root: string): Map<string, string> {
  const folder = join(root, 'client');
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => readFileSync(path, 'utf8'));
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  const files = Object.keys(clientEntries).map((name) => join(folder, `${name}.ts`));
  const sources = ts.createProgram(files, options);
  const plain = new PlainTypes(sources);
  const texts = new Map<string, string>();
  for (const file of sources.getSourceFiles())
    if (dirname(file.fileName) === folder) texts.set(file.fileName, withPlainTypes(file, sources.getTypeChecker(), plain));
  for (const [name, text] of plain.definitions()) {
    const others = plain.namedIn(text).filter((other) => other !== name);
    texts.set(join(folder, fileOf(name)), `${imported(others)}export type ${name} = ${text};\n`);
  }

  const emitted = { ...options, noEmit: false, declaration: true, emitDeclarationOnly: true, outDir: root, rootDir: root };
  const host = ts.createCompilerHost(emitted);
  const { readFile, fileExists, getSourceFile } = host;
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.getSourceFile = (path, target, ...rest) => {
    const text = texts.get(path);
    return text === undefined ? getSourceFile(path, target, ...rest) : ts.createSourceFile(path, text, target, true);
  };
  const declarations = new Map<string, string>();
  host.writeFile = (path, text) => {
    if (dirname(path) !== folder) return; // what it runs of the interface, and declares nothing of
    declarations.set(relative(folder, path), text.replaceAll(/(['"]\.\/[\w.]+)\.ts(['"])/g, '$1.js$2'));
  };
  const program = ts.createProgram(files, emitted, host);
  const problems = [...ts.getPreEmitDiagnostics(program), ...program.emit().diagnostics];
  if (problems.length > 0) throw new Error(ts.formatDiagnostics(problems, host));
  return declarations;
}

interface Replacement {
  from: number;
  to: number;
  text: string;
}

/** The file with its types of the interface written out: those inferred from a schema where they stand, those with a name imported by it. */
function withPlainTypes(file: ts.SourceFile, checker: ts.TypeChecker, plain: PlainTypes): string {
  const replacements: Replacement[] = [];
  const replace = (node: ts.Node, text: string): void => {
    replacements.push({ from: node.getStart(file), to: node.end, text });
  };
  const used = new Set<ts.Symbol>();
  const defined = new Set<string>();
  const foreign: ts.ImportDeclaration[] = [];

  const write = (node: ts.TypeNode): void => {
    const text = plain.textOf(node);
    for (const name of plain.namedIn(text)) defined.add(name);
    replace(node, ts.isTypeAliasDeclaration(node.parent) ? text : `(${text})`);
  };
  const look = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      if (isForeign(node) && node.importClause?.isTypeOnly) foreign.push(node);
      return;
    }
    if (ts.isExportDeclaration(node) && isForeign(node) && node.exportClause && ts.isNamedExports(node.exportClause)) {
      const names = node.exportClause.elements.map(({ name }) => name);
      for (const name of names) plain.define(aliased(checker, name));
      replace(node, names.map(({ text }) => `export type { ${text} } from './${fileOf(text)}';`).join('\n'));
      return;
    }
    if (isInferred(node, file) || (ts.isIndexedAccessTypeNode(node) && isImportedType(node.objectType, checker))) {
      write(node);
      return;
    }
    if (ts.isIdentifier(node)) {
      const symbol = checker.getSymbolAtLocation(node);
      if (symbol) used.add(symbol);
    }
    ts.forEachChild(node, look);
  };
  look(file);

  for (const declaration of foreign) {
    const bindings = declaration.importClause?.namedBindings;
    const elements = bindings && ts.isNamedImports(bindings) ? bindings.elements : [];
    const kept = elements.filter(({ name }) => used.has(checker.getSymbolAtLocation(name) as ts.Symbol));
    for (const { name } of kept) plain.define(aliased(checker, name));
    for (const { name } of kept) defined.add(name.text);
    replace(declaration, '');
  }
  replacements.push({ from: 0, to: 0, text: imported(defined) });
  return replacements
    .sort((a, b) => b.from - a.from)
    .reduce((text, { from, to, text: by }) => text.slice(0, from) + by + text.slice(to), file.text);
}

const isInferred = (node: ts.Node, file: ts.SourceFile): node is ts.TypeReferenceNode =>
  ts.isTypeReferenceNode(node) && /^z\.(output|input|infer)$/.test(node.typeName.getText(file));

/** `LoggedSpan['type']`, say: of a type that is written out for its own sake nowhere. */
function isImportedType(node: ts.TypeNode, checker: ts.TypeChecker): boolean {
  const symbol = ts.isTypeReferenceNode(node) ? checker.getSymbolAtLocation(node.typeName) : undefined;
  const declaration = symbol?.declarations?.[0];
  return (
    declaration !== undefined &&
    ts.isImportSpecifier(declaration) &&
    isForeign(declaration.parent.parent.parent as ts.ImportDeclaration)
  );
}

const aliased = (checker: ts.TypeChecker, name: ts.Node): ts.Symbol =>
  checker.getAliasedSymbol(checker.getSymbolAtLocation(name) as ts.Symbol);

/** True for an import of another folder or of zod. Imports of Node.js stay as they are. */
const isForeign = ({ moduleSpecifier }: ts.ImportDeclaration | ts.ExportDeclaration): boolean =>
  moduleSpecifier !== undefined && ts.isStringLiteral(moduleSpecifier) && /^(\.\.\/|zod$)/.test(moduleSpecifier.text);
