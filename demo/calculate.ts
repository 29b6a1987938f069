/**
 * The value of an expression of numbers, `+ - * /` and parentheses: the tool that the demo's agent uses.
 * @throws Error that names the place when it is none.
 */
export function calculate(expression: string): number {
  const tokens = expression.match(/\d+(?:\.\d+)?|\S/g) ?? [];
  let at = 0;
  const wrong = () => new Error(`no arithmetic at token ${at + 1} of ${JSON.stringify(expression)}`);

  const sum = (): number => {
    let value = product();
    while (tokens[at] === '+' || tokens[at] === '-') value = tokens[at++] === '+' ? value + product() : value - product();
    return value;
  };
  const product = (): number => {
    let value = factor();
    while (tokens[at] === '*' || tokens[at] === '/') value = tokens[at++] === '*' ? value * factor() : value / factor();
    return value;
  };
  const factor = (): number => {
    if (tokens[at] === '(') {
      at++;
      const value = sum();
      if (tokens[at++] !== ')') throw wrong();
      return value;
    }
    const value = Number(tokens[at++]);
    if (!Number.isFinite(value)) throw wrong();
    return value;
  };

  const value = sum();
  if (at < tokens.length) throw wrong();
  return value;
}
