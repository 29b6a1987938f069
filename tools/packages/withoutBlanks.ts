import ts from 'typescript';

/**
 * The code with its lines and comments as they are, but without the blanks that mean nothing: 4 KB of 60 when it is packed. Texts over several lines
 * stay whole.
 */
export function withoutBlanks(code: string): string {
  const file = ts.createSourceFile('code.ts', code, ts.ScriptTarget.Latest);
  let text = '';
  let end = 0;
  const add = (node: ts.Node): void => {
    if (node.kind >= ts.SyntaxKind.FirstJSDocNode && node.kind <= ts.SyntaxKind.LastJSDocNode) return;
    const parts = node.getChildren(file);
    for (const part of parts) add(part);
    if (parts.length > 0) return;
    const token = code.slice(node.getStart(file), node.end);
    if (token === '' && node.kind !== ts.SyntaxKind.EndOfFileToken) return;
    text += between(text, code.slice(end, node.getStart(file)), token) + token;
    end = node.end;
  };
  add(file);
  return text;
}

function between(before: string, blanks: string, after: string): string {
  if (/^[ \t]+$/.test(blanks)) return together.test(`${before.at(-1) ?? ''}\n${after[0] ?? ''}`) ? ' ' : '';
  return blanks.replaceAll(/\n[ \t]+/g, '\n');
}

/** Characters that would be one word, number, operator or comment without a blank. */
const together = /[\w$\u0080-\uffff]\n[\w$\u0080-\uffff#]|\d\n\.|\+\n\+|-\n-|\/\n|\n\//;
