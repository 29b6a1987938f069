import ts from 'typescript';

const { TypeFlags } = ts;
const WRITTEN_BY_NAME =
  TypeFlags.Any |
  TypeFlags.Unknown |
  TypeFlags.Never |
  TypeFlags.StringLike |
  TypeFlags.NumberLike |
  TypeFlags.BigIntLike |
  TypeFlags.BooleanLike |
  TypeFlags.ESSymbolLike |
  TypeFlags.Null |
  TypeFlags.Undefined |
  TypeFlags.Void;

/** Types written out in full, without the schemas that they are inferred from: what a declaration of a package may say on its own. */
export class PlainTypes {
  private readonly program: ts.Program;
  private readonly checker: ts.TypeChecker;
  /** Types that have a name of their own among the definitions: those asked for by name, and those that hold themselves. */
  private readonly names = new Map<ts.Type, string>();
  private readonly texts = new Map<string, string>();
  /** Types whose text is being made. */
  private readonly open = new Set<ts.Type>();
  private readonly recursive = new Set<ts.Type>();

  constructor(program: ts.Program) {
    this.program = program;
    this.checker = program.getTypeChecker();
  }

  /** The type as a text that names nothing but definitions and what every runtime has. */
  textOf(node: ts.TypeNode): string {
    return this.text(this.checker.getTypeFromTypeNode(node));
  }

  /** Definitions that a text names. */
  namedIn(text: string): string[] {
    const words = new Set(text.match(/\w+/g));
    return [...this.texts.keys()].filter((name) => words.has(name));
  }

  /** Defines an exported type under its own name. @throws Error where another type of that name is defined already */
  define(symbol: ts.Symbol): void {
    const type = this.checker.getDeclaredTypeOfSymbol(symbol);
    if (this.names.get(type) === symbol.name) return;
    if (this.texts.has(symbol.name)) throw new Error(`two types are called ${symbol.name}`);
    const text = this.text(type);
    if (text === symbol.name) return; // it holds itself, and is defined by that
    this.names.set(type, symbol.name);
    this.texts.set(symbol.name, text);
  }

  definitions(): ReadonlyMap<string, string> {
    return this.texts;
  }

  private text(type: ts.Type): string {
    if (this.names.has(type)) return this.nameFor(type);
    if (!type.aliasSymbol && !isNamedObject(type)) return this.written(type);
    if (this.open.has(type)) {
      this.recursive.add(type);
      return this.nameFor(type);
    }
    this.open.add(type);
    const text = this.written(type);
    this.open.delete(type);
    if (!this.recursive.has(type)) return text;
    this.texts.set(this.nameFor(type), text);
    return this.nameFor(type);
  }

  private nameFor(type: ts.Type): string {
    const name = this.names.get(type) ?? (type.aliasSymbol ?? type.symbol).name;
    if (name.startsWith('__')) throw new Error(`a type that holds itself needs a name: ${this.checker.typeToString(type)}`);
    this.names.set(type, name);
    return name;
  }

  private written(type: ts.Type): string {
    if (type.isUnion()) return this.union(type);
    if (type.flags & WRITTEN_BY_NAME) return this.checker.typeToString(type);
    if (this.checker.isTupleType(type)) return this.tuple(type as ts.TupleTypeReference);
    if (this.checker.isArrayType(type)) {
      const [item] = this.checker.getTypeArguments(type as ts.TypeReference);
      return `${type.symbol.name}<${this.text(item as ts.Type)}>`;
    }
    if (this.isGlobal(type)) return type.symbol.name;
    return this.object(type);
  }

  private union(type: ts.UnionType): string {
    const isNothing = (member: ts.Type) => (member.flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined)) !== 0;
    const ordered = [...type.types.filter((member) => !isNothing(member)), ...type.types.filter(isNothing)];
    const members = ordered.map((member) => this.text(member));
    const isBoolean = members.includes('true') && members.includes('false');
    const texts = isBoolean ? ['boolean', ...members.filter((text) => text !== 'true' && text !== 'false')] : members;
    return [...new Set(texts)].join(' | ');
  }

  private tuple(type: ts.TupleTypeReference): string {
    const { elementFlags, readonly } = type.target;
    const items = this.checker.getTypeArguments(type).map((item, index) => {
      const flags = elementFlags[index] as ts.ElementFlags;
      if (flags & ts.ElementFlags.Rest) return `...(${this.text(item)})[]`;
      return `(${this.text(item)})${flags & ts.ElementFlags.Optional ? '?' : ''}`;
    });
    return `${readonly ? 'readonly ' : ''}[${items.join(', ')}]`;
  }

  private object(type: ts.Type): string {
    if (type.getCallSignatures().length > 0) throw new Error(`a function is no plain type: ${this.checker.typeToString(type)}`);
    const indexes = this.checker
      .getIndexInfosOfType(type)
      .map(({ keyType, type: value }) => `[key: ${this.text(keyType)}]: ${this.text(value)}`);
    const properties = this.checker.getPropertiesOfType(type).map((property) => {
      const isOptional = property.flags & ts.SymbolFlags.Optional;
      const key = /^[A-Za-z_$][\w$]*$/.test(property.name) ? property.name : JSON.stringify(property.name);
      return `${this.comment(property)}${key}${isOptional ? '?' : ''}: ${this.text(this.checker.getTypeOfSymbol(property))}`;
    });
    const members = [...indexes, ...properties];
    return members.length === 0 ? '{}' : `{\n${members.join(';\n')};\n}`;
  }

  private comment(property: ts.Symbol): string {
    const text = ts.displayPartsToString(property.getDocumentationComment(this.checker));
    return text ? `/** ${text.replaceAll('*/', '* /')} */\n` : '';
  }

  /** True for a type of the language or the runtime, which means the same wherever the package is used. */
  private isGlobal(type: ts.Type): boolean {
    const file = type.symbol?.declarations?.[0]?.getSourceFile();
    return (
      file !== undefined && !type.aliasSymbol && /^[A-Z]/.test(type.symbol.name) && this.program.isSourceFileDefaultLibrary(file)
    );
  }
}

/** Returns whether the type can hold itself by its name. */
const isNamedObject = (type: ts.Type): boolean =>
  (type.flags & ts.TypeFlags.Object) !== 0 &&
  type.symbol !== undefined &&
  !type.symbol.name.startsWith('__') &&
  !/^(Readonly)?Array$/.test(type.symbol.name);
