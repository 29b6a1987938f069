/**
 * A module of a bundle as CommonJS, line by line the same. Rollup would write `part1.name` wherever a name of another part is used: with the names taken
 * from it once, both formats have nearly the same text, of which gzip keeps one. No part needs a later one, so each name is there when it is taken.
 */
export function commonJs(code: string): string {
  const exported: string[] = [];
  const taken = (names: string, from: string): string => `const { ${names.replaceAll(' as ', ': ')} } = require(${from});`;
  const lines = code.split('\n').map((line) => {
    const imports = /^import \{ (.*) \} from (.*);$/.exec(line);
    if (imports) return taken(imports[1] as string, imports[2] as string);
    const alone = /^import ('.*');$/.exec(line);
    if (alone) return `require(${alone[1]});`;
    const exports = /^export \{ (.*) \}(?: from (.*))?;$/.exec(line);
    if (!exports) return line;
    const names = (exports[1] as string).split(', ').map((name) => name.split(' as '));
    exported.push(
      ...names.map(([inner, outer]) => (outer === undefined ? `${inner}` : `${outer}: ${exports[2] ? outer : inner}`)),
    );
    return exports[2] ? taken(exports[1] as string, exports[2]) : '';
  });
  const unread = lines.find((line) => /^(import|export)\b/.test(line));
  if (unread) throw new Error(`no CommonJS is known for ${unread}`);
  const last = lines.findLastIndex((line) => line.startsWith('//# sourceMappingURL'));
  const exports = `module.exports = { ${exported.join(', ')} };`;
  lines.splice(last < 0 ? lines.length : last, 0, exports);
  return `'use strict'; ${lines.join('\n')}`;
}
