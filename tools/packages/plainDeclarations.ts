import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TsdownPlugin } from 'tsdown';
import ts from 'typescript';
import { clientEntries } from './clientEntries.ts';

/**
 * A plugin that gives the bundler the declarations of the client's modules, with the types that are inferred from schemas written out:
 * `z.output<typeof Project>` becomes `{ id: string; … }`. The package contains neither the schemas of the service nor zod, and no bundler does this: it
 * would take in all of zod's types.
 */
export function plainDeclarations(root: string): TsdownPlugin {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => readFileSync(path, 'utf8'));
  const compilerOptions = { ...config.compilerOptions, noEmit: false, declaration: true, emitDeclarationOnly: true };
  const { options } = ts.convertCompilerOptionsFromJson(compilerOptions, root);
  const entries = Object.keys(clientEntries).map((name) => join(root, 'client', `${name}.ts`));
  const program = ts.createProgram(entries, options);
  const texts = new Map<string, string>();
  const write: ts.WriteFileCallback = (_path, text, _mark, _onError, files) => texts.set(files?.[0]?.fileName ?? '', text);
  const afterDeclarations = [withoutSchemas(program.getTypeChecker())];
  const { diagnostics } = program.emit(undefined, write, undefined, true, { afterDeclarations });
  const problems = [...ts.getPreEmitDiagnostics(program), ...diagnostics];
  if (problems.length > 0) throw new Error(ts.formatDiagnostics(problems, ts.createCompilerHost(options)));
  return {
    name: 'plain-declarations',
    load: { order: 'pre', filter: { id: /\.d\.ts$/ }, handler: (id) => texts.get(id.replace(/\.d\.ts$/, '.ts')) },
  };
}

const withoutSchemas =
  (checker: ts.TypeChecker): ts.TransformerFactory<ts.SourceFile | ts.Bundle> =>
  (context) =>
  (file) => {
    const types = new Set((file as ts.SourceFile).statements.filter(ts.isTypeAliasDeclaration).map(({ name }) => name.text));
    /** A schema that has the name of its type: an import of the one would keep the other. */
    const isSchemaOfType = (node: ts.Node) =>
      ts.isVariableStatement(node) && node.declarationList.declarations.some(({ name }) => types.has(textOf(name)));
    const isOfZod = (node: ts.Node) => ts.isImportDeclaration(node) && textOf(node.moduleSpecifier) === 'zod';
    const visit = (node: ts.Node): ts.Node | undefined => {
      if (isSchemaOfType(node) || isOfZod(node)) return undefined;
      const source = ts.getParseTreeNode(node);
      if (!source || !ts.isTypeReferenceNode(source) || !/^z\.(output|input)$/.test(source.typeName.getText()))
        return ts.visitEachChild(node, visit, context);
      const type = checker.getTypeFromTypeNode(source);
      const { NoTruncation, InTypeAlias, MultilineObjectLiterals } = ts.NodeBuilderFlags;
      const flags = NoTruncation | InTypeAlias | MultilineObjectLiterals;
      const plain = checker.typeToTypeNode(type, source.getSourceFile(), flags) as ts.TypeNode;
      addComments(plain, type, checker);
      return plain;
    };
    return ts.visitNode(file, visit) as ts.SourceFile;
  };

/** Adds the comments of the fields, of which the compiler leaves out those that stand in another file. */
function addComments(node: ts.TypeNode, type: ts.Type, checker: ts.TypeChecker): void {
  const types = type.isUnion() ? [...type.types] : [type];
  const take = (fits: (one: ts.Type) => boolean): ts.Type => {
    const index = types.findIndex(fits);
    if (index < 0) throw new Error(`no type for the comments of ${checker.typeToString(type)}`);
    return types.splice(index, 1)[0] as ts.Type;
  };
  for (const part of ts.isUnionTypeNode(node) ? node.types : [node]) {
    if (ts.isArrayTypeNode(part)) {
      const [item] = checker.getTypeArguments(take((one) => checker.isArrayType(one)) as ts.TypeReference);
      addComments(part.elementType, item as ts.Type, checker);
    }
    if (!ts.isTypeLiteralNode(part)) continue;
    const fields = part.members.filter(ts.isPropertySignature);
    const names = String(fields.map(({ name }) => textOf(name)));
    const owner = take((one) => names === String(checker.getPropertiesOfType(one).map(({ name }) => name)));
    for (const field of fields) {
      const property = checker.getPropertyOfType(owner, textOf(field.name)) as ts.Symbol;
      const text = ts.displayPartsToString(property.getDocumentationComment(checker));
      const comment = { kind: ts.SyntaxKind.MultiLineCommentTrivia, text: `* ${text} `, hasTrailingNewLine: true } as const;
      ts.setCommentRange(field, { pos: -1, end: -1 });
      ts.setSyntheticLeadingComments(field, text ? [{ ...comment, pos: -1, end: -1 }] : undefined);
      addComments(field.type as ts.TypeNode, checker.getTypeOfSymbol(property), checker);
    }
  }
}

const textOf = (node: ts.Node): string => (node as ts.Identifier | ts.StringLiteral).text;
